"""Check that a factor interaction is noted where one exists, and seldom where none does."""

from __future__ import annotations

import math

import pytest
from designs import Levels, simulated

from zlang.report import compare, effects, interactions
from zlang.report.design import Design

FACTORS = (("load", ("oltp", "both")), ("bs", (4, 16, 64)), ("depth", (1, 8)))


def _dependences(design: Design) -> list[interactions.Dependence]:
    return list(interactions.dependences(design, effects.effects(design), compare.factors(design, None, ())))


def _log(levels: Levels, _replicate: int, _place: int) -> float:
    load, bs, depth = levels
    gain = {4: math.log(3), 16: 0.0, 64: math.log(0.5)}[int(str(bs))]
    return 9 + 0.1 * math.log(float(str(depth))) + (gain if load == "both" else 0)


def test_an_effect_that_depends_on_another_factor_has_its_extremes() -> None:
    design = simulated(FACTORS, 5, _log)
    (dependence,) = _dependences(design)
    assert (dependence.factor, dependence.second, dependence.other) == ("load", "both", "bs")
    assert [level for level, _ in (dependence.least, dependence.greatest)] == ["64", "4"]
    assert [math.exp(ratio.log) for _, ratio in (dependence.least, dependence.greatest)] == pytest.approx(
        [0.5, 3], rel=0.05
    )
    for _, ratio in (dependence.least, dependence.greatest):
        assert ratio.n == 10
        assert ratio.interval(dependence.comparisons) is not None
    noted = {item.second: item.note for item in interactions.noted(design, compare.factors(design, None, ()))}
    assert noted["both"].startswith("the effect depends on `bs` (p < 0.001): both is 5")
    assert not any(note for second, note in noted.items() if second != "both")


def test_a_compared_factor_is_the_one_that_depends() -> None:
    design = simulated(FACTORS, 5, _log)
    notes = [item.note for item in interactions.noted(design, compare.factors(design, "bs", ()))]
    assert ["the effect depends on `load`" in note for note in notes] == [False, True]
    assert not any(item.note for item in interactions.noted(design, compare.factors(design, "depth", ())))


@pytest.mark.parametrize("gain", [0.0, 0.05])
def test_an_effect_that_hardly_depends_has_none(gain: float) -> None:
    """An interaction of 5 % is too small to be noted, even if it is statistically significant."""

    def log(levels: Levels, _replicate: int, _place: int) -> float:
        return 9 + (0.5 if levels[0] == "both" else 0) + (gain if levels[:2] == ("both", 4) else 0)

    every = [_dependences(simulated(FACTORS, 5, log, seed, noise=0.005)) for seed in range(20)]
    assert sum(map(bool, every)) <= 2


def test_values_that_do_not_vary_have_no_note() -> None:
    design = simulated(FACTORS, 2, lambda *_: 1.0, noise=0)
    assert not any("depends" in item.note for item in interactions.noted(design, compare.factors(design, None, ())))
