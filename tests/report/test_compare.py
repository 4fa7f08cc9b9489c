"""Test comparisons: ratios agree with scipy, verdicts are put in words, whole plots are compared as units."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Hashable
from dataclasses import replace

import pytest
from designs import Levels, simulated
from scipy import stats

from zlang.errors import RunError
from zlang.report import compare, effects, ratios, strata
from zlang.report.design import Design, Row
from zlang.report.ratios import Ratio
from zlang.report.strata import Observation
from zlang.report.summary import Cell

LOGS = [[0.31, 0.28, 0.35, 0.30], [0.52, 0.49, 0.47, 0.55]]
TWO = (("bs", ("a", "b")), ("depth", (1, 32)))


def test_a_paired_ratio_is_that_of_the_paired_t_test() -> None:
    ratio = ratios.paired({(): [b - a for a, b in zip(*LOGS, strict=True)]})
    assert ratio is not None
    expected = stats.ttest_rel(LOGS[1], LOGS[0]).confidence_interval(0.95)
    assert ratio.interval() == pytest.approx((math.exp(expected.low), math.exp(expected.high)))
    assert ratio.n == 4
    of_three = stats.ttest_rel(LOGS[1], LOGS[0]).confidence_interval(1 - 0.05 / 3)
    assert ratio.interval(3) == pytest.approx((math.exp(of_three.low), math.exp(of_three.high)))


def test_unpaired_ratios_use_welchs_test() -> None:
    ratio = ratios.unpaired({(): LOGS[0]}, {(): LOGS[1][:3]})
    assert ratio is not None
    expected = stats.ttest_ind(LOGS[1][:3], LOGS[0], equal_var=False)
    assert ratio.error is not None
    assert ratio.log / ratio.error == pytest.approx(expected.statistic)
    assert 2 <= ratio.df <= 5


def test_differences_between_combinations_are_not_noise() -> None:
    first: dict[Hashable, list[float]] = {"a": [0.10, 0.11, 0.12]}
    two: dict[Hashable, list[float]] = {**first, "b": [0.90, 0.91, 0.92]}
    alone, both = ratios.paired(first), ratios.paired(two)
    assert alone is not None
    assert both is not None
    assert both.log == pytest.approx(0.51)
    assert (both.n, both.df) == (6, 4)
    assert alone.error is not None
    assert both.error == pytest.approx(alone.error / math.sqrt(2))


@pytest.mark.parametrize(
    ("log", "error", "df", "unit", "better", "words"),
    [
        (math.log(1.135), 0.004, 9, "1/s", "higher", "12–15 % faster"),
        (math.log(0.865), 0.004, 9, "1/s", "higher", "13–14 % slower"),
        (math.log(1.135), 0.004, 9, "ns", "lower", "12–15 % slower"),
        (math.log(0.5), 0.004, 9, "s", "lower", "50 % faster"),
        (math.log(1.135), 0.004, 9, "bytes", "", "12–15 % higher"),
        (math.log(1.135), 0.004, 9, "1/s", "lower", "12–15 % higher"),
        (math.log(0.865), 0.004, 9, "s", "", "13–14 % lower"),
        (math.log(4), 0.05, 9, "1/s", "higher", "faster by a factor of 3.6–4.5"),
        (math.log(0.25), 0.05, 9, "1/s", "higher", "slower by a factor of 3.6–4.5"),
        (math.log(2.36), 0.36, 9, "ns", "lower", "slower by a factor of 1.05–5.3"),
        (math.log(200), 0.1, 9, "1/s", "higher", "faster by a factor of 160–251"),
        (0.001, 0.01, 9, "1/s", "higher", "no significant difference (4 % or more would have been detected)"),
        (0.001, 0.5, 2, "1/s", "higher", "inconclusive: only an 80-fold difference was detectable"),
        (0.001, 5, 1, "1/s", "higher", "inconclusive: not even a 100-fold difference was detectable"),
        (0.5, None, 0, "1/s", "higher", "inconclusive: nothing was repeated"),
        (0.0, 0.0, 9, "1/s", "higher", "no difference: the values are equal"),
    ],
)
def test_verdicts(log: float, error: float | None, df: int, unit: str, better: str, words: str) -> None:
    design = Design(metric="m", unit=unit, factors=(), levels=(), rows=(), better=better)
    assert compare.verdict_on(Ratio(df + 1, log, error, df), 1, design) == words


def test_blocks_remove_differences_between_them() -> None:
    for by in (0.0, 0.5):

        def log(levels: Levels, replicate: int, _place: int, by: float = by) -> float:
            return by * replicate + (0.1 if levels[0] == "b" else 0)

        (comparison,) = compare.factors(simulated(TWO, 4, log, noise=0.002), "bs", ("a", "b"))
        assert comparison.verdict in {"10–11 % faster", "11 % faster", "10 % faster"}


def test_every_factor_is_compared_and_the_intervals_are_wider_for_it() -> None:
    design = simulated((("bs", ("a", "b", "c")), ("depth", (1, 32))), 3, lambda *_: 0.0)
    comparisons = compare.factors(design, None, ())
    assert [(comparison.factor, comparison.first, comparison.second) for comparison in comparisons] == [
        ("bs", "a", "b"),
        ("bs", "a", "c"),
        ("depth", "1", "32"),
    ]
    (alone,) = compare.factors(design, "depth", ())
    assert alone.ratio is not None
    single, three = alone.ratio.interval(1), alone.ratio.interval(3)
    assert single is not None
    assert three is not None
    assert three[0] < single[0] < single[1] < three[1]


def test_a_factor_of_setups_is_compared_over_setups() -> None:
    """Random differences between setups are not an effect, however often each setup is measured."""
    draw = random.Random(2)
    offsets: dict[object, float] = {}

    def log(levels: tuple[object, ...], _replicate: int, _place: int) -> float:
        return offsets.setdefault(levels[:2], draw.gauss(0, 0.2))

    factors = (("compression", ("lz4", "zstd")), ("recordsize", ("4k", "8k", "16k", "32k")), ("rw", ("read", "write")))
    design = simulated(factors, 10, log, noise=0.001, whole=2)
    (comparison,) = compare.factors(design, "compression", ())
    assert comparison.ratio is not None
    assert (comparison.ratio.n, comparison.note) == (4, "compared over 4 setups of each level")
    assert "were detectable" in comparison.verdict
    (cheap,) = compare.factors(design, "rw", ())
    assert cheap.ratio is not None
    assert cheap.ratio.n == 80
    by_name = {effect.name: effect for effect in effects.effects(design)}
    assert by_name["compression"].is_of_setups
    assert (by_name["compression"].p or 0) > 0.05


OATS = """
111 130 157 174  117 114 161 141  105 140 118 156
61 91 97 100     70 108 126 149   96 124 121 144
68 64 112 86     60 102 89 96     89 129 132 124
74 89 81 122     64 103 132 133   70 89 104 117
62 90 100 116    80 82 94 126     63 70 109 99
53 74 118 113    89 82 86 104     97 99 119 121
"""
"""Yates' split plots (Complex Experiments, 1935), `MASS::oats` in R: a line a block, three varieties, four amounts."""


def test_whole_plots_are_tested_as_in_the_textbook_of_split_plots() -> None:
    """R: `summary(aov(Y ~ N * V + Error(B / V), oats))` has F = 1.485 for V over 10 degrees of freedom, p = 0.272."""
    table = [[float(cell) for cell in line.split()] for line in OATS.strip().splitlines()]
    factors = (("block", (1, 2, 3, 4, 5, 6)), ("variety", ("victory", "golden", "marvel")), ("amount", (0, 2, 4, 6)))
    place = {level: n for _, levels in factors for n, level in enumerate(levels)}

    def model(levels: Levels, _replicate: int, _place: int) -> float:
        block, variety, amount = levels
        return table[int(str(block)) - 1][4 * place[variety] + int(str(amount)) // 2]

    design = simulated(factors, 1, model, noise=0.0, whole=2)
    variety = next(effect for effect in effects.effects(design) if effect.name == "variety")
    assert (variety.df, variety.is_of_setups) == (2, True)
    assert variety.p == pytest.approx(0.2724, abs=1e-4)
    (comparison,) = compare.factors(design, "variety", ("golden", "marvel"))
    assert comparison.ratio is not None
    plots = [[sum(line[n : n + 4]) / 4 for line in table] for n in (4, 8)]
    expected = stats.ttest_rel(plots[1], plots[0])
    assert comparison.ratio.error is not None
    assert comparison.ratio.log / comparison.ratio.error == pytest.approx(expected.statistic)
    assert comparison.ratio.df == expected.df


def test_a_hard_factor_is_compared_over_its_setups_in_blocks() -> None:
    """The result equals a paired t-test over the means of setups, however many trials each has."""
    draw = random.Random(5)
    offsets: dict[tuple[int, object], float] = {}

    def log(levels: Levels, replicate: int, _place: int) -> float:
        return offsets.setdefault((replicate, levels[0]), draw.gauss(0, 0.2))

    factors = (("compression", ("lz4", "zstd")), ("bs", (1, 2, 3, 4)))
    design = simulated(factors, 5, log, whole=1, is_blocked=True)
    (comparison,) = compare.factors(design, "compression", ())
    means = [
        [sum(r.log for r in design.rows if r.levels[0] == c and r.replicate == n) / 4 for n in range(1, 6)]
        for c in ("lz4", "zstd")
    ]
    expected = stats.ttest_rel(means[1], means[0])
    assert comparison.ratio is not None
    assert comparison.ratio.error is not None
    assert (comparison.ratio.df, comparison.note) == (4, "compared over 5 setups of each level")
    assert comparison.ratio.log / comparison.ratio.error == pytest.approx(expected.statistic)
    by_name = {effect.name: effect for effect in effects.effects(design)}
    assert by_name["compression"].p == pytest.approx(expected.pvalue)


def test_differences_between_setups_are_not_noise_of_factors_within_them() -> None:
    draw = random.Random(6)
    offsets = {(replicate, level): draw.gauss(0, 0.5) for replicate in range(1, 6) for level in ("lz4", "zstd")}
    factors = (("compression", ("lz4", "zstd")), ("bs", (1, 2, 3)), ("rw", ("read", "write")))
    chances = []
    for times in (0, 1):

        def log(levels: Levels, replicate: int, _place: int, times: int = times) -> float:
            return times * offsets[replicate, str(levels[0])] + 0.02 * (levels[1] == 3)

        design = simulated(factors, 5, log, whole=1, is_blocked=True)
        p_values = {effect.name: effect.p for effect in effects.effects(design)}
        within = ("bs", "rw", "bs × rw", "compression × bs", "compression × rw", "interactions of three or more")
        chances.append([p_values[name] for name in within])
    assert chances[1] == pytest.approx(chances[0])
    assert (chances[0][0] or 1) < 0.05


def test_datasets_on_one_pool_are_not_setups_of_the_pool() -> None:
    design = simulated((("pool", ("p", "q")), ("dataset", ("a", "b", "c"))), 4, lambda *_: 0.0, whole=2)
    pools = {"p": 100, "q": 200}
    rows = tuple(replace(row, setups=(pools[str(row.levels[0])], *row.setups)) for row in design.rows)
    (comparison,) = compare.factors(replace(design, rows=rows), "pool", ())
    assert comparison.verdict == "inconclusive: set up once"


def test_runs_are_compared_by_the_means_of_their_blocks() -> None:
    def in_run(name: str, seed: int) -> Design:
        shifts = random.Random(seed)
        by = [shifts.gauss(0, 0.3) for _ in range(5)]
        made = simulated(TWO, 4, lambda _levels, replicate, _place: by[replicate], seed, noise=0.01)
        return replace(made, rows=tuple(replace(row, run=name) for row in made.rows))

    first, other = in_run("r1", 1), in_run("r2", 2)
    comparison = compare.compare_runs(("r1", "r2"), first, other)
    means = [[sum(r.log for r in d.rows if r.block == n) / 4 for n in range(1, 5)] for d in (first, other)]
    expected = stats.ttest_ind(means[1], means[0], equal_var=False)
    assert comparison.ratio is not None
    assert comparison.ratio.error is not None
    assert comparison.ratio.log / comparison.ratio.error == pytest.approx(expected.statistic)
    assert comparison.ratio.df <= 6


@pytest.mark.parametrize("is_blocked", [True, False])
def test_runs_are_compared_over_their_setups(*, is_blocked: bool) -> None:
    """Variation between setups is not a difference between runs; one setup in each run does not reveal it."""
    draw = random.Random(4)
    offsets: dict[tuple[object, ...], float] = {}

    def in_run(name: str) -> Design:
        def log(_levels: Levels, replicate: int, _place: int) -> float:
            return offsets.setdefault((name, is_blocked and replicate), draw.gauss(0, 0.3))

        factors = (("fs", ("ext4",)), ("bs", ("a", "b")))
        made = simulated(factors, 5, log, noise=0.001, whole=1, is_blocked=is_blocked)
        return replace(made, rows=tuple(replace(row, run=name) for row in made.rows))

    comparison = compare.compare_runs(("r1", "r2"), in_run("r1"), in_run("r2"))
    assert not comparison.is_significant
    assert comparison.is_judged == is_blocked
    if is_blocked:
        assert comparison.note.startswith("compared over 5 setups or blocks of each run")
    else:
        assert comparison.verdict == "inconclusive: set up once in a run"
        assert "--order blocked" in comparison.note


def test_one_setup_per_level_is_inconclusive() -> None:
    design = simulated((("compression", ("lz4", "zstd")), ("rw", ("read", "write"))), 3, lambda *_: 0.0, whole=1)
    (comparison,) = compare.factors(design, "compression", ())
    assert comparison.verdict == "inconclusive: set up once"
    assert "--order blocked" in comparison.note


def test_names_that_are_wrong() -> None:
    design = simulated(TWO, 2, lambda *_: 0.0)
    with pytest.raises(RunError) as caught:
        compare.factor_named(design, "dept")
    assert "`depth`" in caught.value.hint
    with pytest.raises(RunError) as caught:
        compare.factors(design, "bs", ("a", "x"))
    assert "its levels are a, b" in caught.value.hint


@pytest.mark.parametrize(
    ("kept", "message", "hint"),
    [
        (0, "no trial that counts has a value of `read_iops`", "`zlang status`"),
        (1, "no factor has two levels in the trials with `read_iops`", "--metric write_iops"),
    ],
)
def test_data_without_factors_are_refused_with_a_reason(kept: int, message: str, hint: str) -> None:
    design = simulated(TWO, 2, lambda *_: 0.0)
    alone = replace(design, rows=design.rows[:kept], factors=(), levels=(), others=("write_iops",))
    for ask in (lambda: compare.factors(alone, None, ()), lambda: effects.effects(alone)):
        with pytest.raises(RunError) as caught:
            ask()
        assert caught.value.message == message
        assert hint in caught.value.hint


def test_effects_are_those_of_the_analysis_of_variance() -> None:
    """A balanced design has the textbook's sums of squares (Montgomery, Design and Analysis, ch. 5)."""
    design = simulated(TWO, 5, lambda levels, *_: (levels[0] == "b") * 0.2 + (levels == ("b", 32)) * 0.1, noise=0.05)
    logs = {row.levels: [r.log for r in design.rows if r.levels == row.levels] for row in design.rows}
    cells = {levels: sum(ones) / 5 for levels, ones in logs.items()}
    grand = sum(cells.values()) / 4
    total = sum((row.log - grand) ** 2 for row in design.rows)
    of_bs = 10 * sum((sum(v for k, v in cells.items() if k[0] == bs) / 2 - grand) ** 2 for bs in ("a", "b"))
    contrast = cells["a", 1] - cells["b", 1] - cells["a", 32] + cells["b", 32]
    by_name = {effect.name: effect for effect in effects.effects(design)}
    assert by_name["bs"].share == pytest.approx(of_bs / total)
    assert by_name["bs × depth"].share == pytest.approx(5 * contrast**2 / 4 / total)
    assert sum(effect.share for effect in by_name.values()) == pytest.approx(1)
    groups = list(logs.values())
    anova = stats.f_oneway(*groups)
    errors = [by_name["blocks"], by_name["replicates"]]
    between = sum(effect.share for effect in by_name.values() if effect not in errors)
    error = sum(effect.share for effect in errors) / sum(effect.df for effect in errors)
    assert between / 3 / error == pytest.approx(anova.statistic)


def test_blocks_are_taken_out_of_the_error() -> None:
    design = simulated((("bs", ("a", "b")),), 6, lambda levels, n, _: 0.3 * n + 0.03 * (levels[0] == "b"), noise=0.02)
    sides = [[row.log for row in sorted(design.rows, key=lambda r: r.block) if row.levels == (bs,)] for bs in "ab"]
    by_name = {effect.name: effect for effect in effects.effects(design)}
    assert by_name["bs"].p == pytest.approx(stats.ttest_rel(sides[0], sides[1]).pvalue)
    assert by_name["blocks"].share > 0.9


def test_a_factor_of_one_branch_does_not_explain_the_branch() -> None:
    """Volumes differ, and the record sizes of one of them do not: the volume has the effect, not the record size."""
    design = simulated(
        (("volume", ("ext4", "zfs")), ("recordsize", ("4k", "8k"))), 4, lambda levels, *_: 0.5 * (levels[0] == "zfs")
    )
    rows = [replace(row, levels=("ext4", None)) if row.levels[0] == "ext4" else row for row in design.rows]
    by_name = {effect.name: effect for effect in effects.effects(replace(design, rows=tuple(rows)))}
    assert by_name["volume"].share > 0.98
    assert by_name["recordsize"].df == 1
    assert "confounded factors" not in by_name


def test_factors_that_are_constant_in_every_setup_take_nothing_from_those_within() -> None:
    """Such a factor is only rounding error within setups: as a parameter it made p not a number."""
    factors = (("rs", (8, 16, 128)), ("pool", ("a", "b")), ("bs", (4, 64)))
    design = simulated(factors, 3, lambda *_: 0.0, whole=2)
    unblocked = replace(design, rows=tuple(replace(row, block=1) for row in design.rows))
    own = {effect.name: effect for effect in effects.effects(unblocked)}["bs"]
    logs = [[row.log for row in design.rows if row.levels[2] == bs] for bs in (4, 64)]
    cells: dict[object, list[float]] = {}
    for row in design.rows:
        cells.setdefault(row.levels, []).append(row.log)
    error = sum((log - sum(ones) / 3) ** 2 for ones in cells.values() for log in ones) / 24
    squares = 9 * (sum(logs[0]) / 18 - sum(logs[1]) / 18) ** 2
    assert own.p == pytest.approx(stats.f.sf(squares / error, 1, 24))


def test_a_factor_of_one_branch_is_judged_by_the_setups_of_this_branch() -> None:
    """Each record size is set up once: trials of the other branch do not show how much setups differ."""
    design = simulated((("volume", ("ext4", "zfs")), ("rs", (8, 16, 128))), 4, lambda *_: 0.0, whole=2)
    rows = [replace(row, levels=("ext4", None), setups=()) if row.levels[0] == "ext4" else row for row in design.rows]
    own = {effect.name: effect for effect in effects.effects(replace(design, rows=tuple(rows)))}
    assert own["rs"].p is None
    again = [replace(row, setups=(row.position,)) if row.setups else row for row in rows]
    own = {effect.name: effect for effect in effects.effects(replace(design, rows=tuple(again)))}
    groups = [[row.log for row in rows if row.levels == ("zfs", rs)] for rs in (8, 16, 128)]
    assert own["rs"].p == pytest.approx(stats.f_oneway(*groups).pvalue)


def test_a_level_that_was_set_up_once_has_no_p() -> None:
    design = simulated((("fs", ("ext4", "zfs")), ("bs", (4, 64))), 4, lambda *_: 0.0, whole=1)
    rows = [replace(row, setups=(row.position,)) if row.levels[0] == "ext4" else row for row in design.rows]
    own = {effect.name: effect for effect in effects.effects(replace(design, rows=tuple(rows)))}
    assert own["fs"].p is None
    assert own["bs"].p is not None
    (note,) = effects.notes(design, list(own.values()))
    assert note.startswith("`fs`: set up once, so not tested; `zlang run --order blocked --again`")


def test_combinations_without_a_counterpart_leave_the_others_compared_within_blocks() -> None:
    """Most sampled combinations exist on one side only: blocks do not add error to the paired ones."""
    design = simulated(
        (("bs", ("a", "b")), ("depth", (1, 2, 3, 4, 5, 6))), 4, lambda _, n, __: 1.0 * n, noise=0.01, is_blocked=True
    )
    sampled = {("a", 1), ("b", 1), ("a", 2), ("a", 3), ("a", 4), ("b", 5), ("b", 6)}
    rows = tuple(replace(row, block=row.replicate) for row in design.rows if row.levels in sampled)
    (own,) = compare.factors(replace(design, rows=rows), "bs", ("a", "b"))
    sides = [[row.log for row in sorted(rows, key=lambda r: r.block) if row.levels == (bs, 1)] for bs in "ab"]
    expected = stats.ttest_rel(sides[1], sides[0]).confidence_interval()
    interval = own.ratio.interval() if own.ratio else None
    assert interval == pytest.approx((math.exp(expected.low), math.exp(expected.high)))


@pytest.mark.parametrize(("kept", "n"), [(2, 4), (1, 2)])
def test_a_level_with_few_trials_is_compared_within_the_blocks_that_it_has(kept: int, n: int) -> None:
    """Trials of one block do not represent several blocks: unpaired, 10 to 16 % of verdicts were false."""
    blocks = (0.0, 0.4, -0.3, -0.5, 0.6)

    def log(levels: Levels, replicate: int, _place: int) -> float:
        return blocks[replicate - 1] + 0.01 * (levels[1] == 32)

    design = simulated(TWO, 5, log, is_blocked=True, noise=0.001)
    rows = [row for row in design.rows if row.levels[0] != "a" or row.replicate <= kept]
    (comparison,) = compare.factors(replace(design, rows=tuple(rows)), "bs", ())
    assert comparison.ratio is not None
    assert comparison.ratio.n == n
    assert comparison.ratio.log == pytest.approx(0, abs=0.005)
    assert comparison.verdict.startswith("no significant difference")


def test_factors_come_before_interactions_that_a_few_combinations_cannot_tell_from_them() -> None:
    """In an orthogonal array of three factors, each factor is an interaction of the others."""
    factors = (("bs", ("a", "b")), ("depth", (1, 2)), ("jobs", (1, 2)))
    design = simulated(factors, 4, lambda levels, *_: 0.5 * (levels[0] == "b"), noise=0.02)
    rows = [row for row in design.rows if (row.levels[0] == "b") ^ (row.levels[1] == 2) ^ (row.levels[2] == 2)]
    own = {effect.name: effect for effect in effects.effects(replace(design, rows=tuple(rows)))}
    assert own["bs"].share > 0.95
    assert own["bs"].p is not None
    assert own["bs"].p < 0.001
    assert {"depth", "jobs"} <= {*own}
    (note,) = effects.notes(replace(design, rows=tuple(rows)), list(own.values()))
    assert note.startswith("each factor is tested as if it had the same effect at all levels of the others")


def test_confounded_factors_are_named() -> None:
    """A factor exists under only one level of another; the shares still refer to the whole variation."""
    design = simulated(TWO, 5, lambda levels, *_: (levels[0] == "b") * 0.2 + (levels[1] == 32) * 0.2, noise=0.01)
    kept = tuple(row for row in design.rows if row.levels != ("a", 32))
    by_name = {effect.name: effect for effect in effects.effects(replace(design, rows=kept))}
    assert by_name["confounded factors"].share > 0.1
    note = effects.notes(replace(design, rows=kept), list(by_name.values()))[-1]
    assert "bs and depth (combinations are missing; `design = full` measures all)" in note
    assert sum(effect.share for effect in by_name.values()) == pytest.approx(1)


def test_shares_that_add_up_to_more_than_all_are_explained() -> None:
    """Two factors with opposite effects mask each other where their levels occur together."""
    design = simulated(TWO, 5, lambda levels, *_: (levels[0] == "b") * 0.2 - (levels[1] == 32) * 0.2, noise=0.01)
    kept = replace(design, rows=tuple(row for row in design.rows if row.levels != ("a", 32)))
    listed = effects.effects(kept)
    assert sum(effect.share for effect in listed) > 1.1
    assert any(note.startswith("the shares add up to") for note in effects.notes(kept, listed))


def test_levels_without_a_common_combination_are_left_to_effects() -> None:
    """In a pairwise design, no combination of the other factors may include both levels."""
    factors = (("bs", ("a", "b")), ("depth", (1, 2)), ("jobs", (1, 2)))
    design = simulated(factors, 4, lambda levels, *_: 0.5 * (levels[0] == "b"), noise=0.02)
    rows = [row for row in design.rows if (row.levels[0] == "b") ^ (row.levels[1] == 2) ^ (row.levels[2] == 2)]
    comparisons = compare.factors(replace(design, rows=tuple(rows)), "bs", ())
    assert [comparison.verdict for comparison in comparisons] == [
        "inconclusive: no combination of the other factors has both"
    ]
    assert "`zlang effects`" in comparisons[0].note
    single = replace(design, rows=tuple(row for row in rows if row.replicate == 1))
    (once,) = compare.factors(single, "bs", ())
    assert "`repeat = 3`" in once.note
    assert "`zlang effects`" not in once.note


def test_levels_that_only_one_side_has_do_not_make_trials_of_one_setup_independent() -> None:
    """Both depths were measured on the first setup, but at different block sizes, so nothing pairs them there."""
    design = simulated((("depth", (1, 2)), ("bs", ("a", "b"))), 3, lambda levels, *_: 0.5 * (levels[0] == 2))
    setups = {(1, "a"): (1,), (2, "b"): (1,), (2, "a"): (2,)}
    rows = tuple(replace(row, setups=setups[row.levels]) for row in design.rows if row.levels in setups)
    (by_depth,) = compare.factors(replace(design, rows=rows), "depth", ())
    assert by_depth.verdict == "inconclusive: set up once"


def test_without_replicates_interactions_are_not_tested() -> None:
    design = simulated(TWO, 1, lambda levels, *_: 0.5 * (levels[0] == "b"), noise=0.02)
    (by_depth,) = compare.factors(design, "depth", ())
    assert by_depth.note.startswith("nothing was repeated: judged by how the ratio differs between combinations")
    listed = effects.effects(design)
    assert all(effect.p is None for effect in listed)
    (note,) = effects.notes(design, listed)
    assert note.startswith("nothing was repeated, so an interaction may be chance")
    one_factor = simulated(TWO[:1], 1, lambda levels, *_: 0.5 * (levels[0] == "b"), noise=0.02)
    (comparison,) = compare.factors(one_factor, "bs", ())
    assert (comparison.verdict, "`repeat = 3`" in comparison.note) == ("inconclusive: nothing was repeated", True)
    repeated = simulated(TWO, 3, lambda *_: 0.0)
    few = "inconclusive: too few independent setups or blocks"
    assert compare.verdict_on(Ratio(3, 0.1, None, 0), 1, repeated) == few
    assert not effects.notes(simulated(TWO, 3, lambda *_: 0.0), effects.effects(simulated(TWO, 3, lambda *_: 0.0)))


def test_missing_trials_confound_factors() -> None:
    design = simulated(TWO, 5, lambda levels, *_: (levels[0] == "b") * 0.2 + (levels[1] == 32) * 0.2, noise=0.01)
    kept = tuple(row for row in design.rows if row.levels != ("a", 32) or row.replicate == 1)
    fewer = replace(design, rows=kept)
    (note,) = effects.notes(fewer, effects.effects(fewer))
    assert note.endswith("bs and depth (some points have fewer trials that count)")


def test_differences_between_setups_are_not_noise_if_most_trials_are_paired() -> None:
    """Of five setups, three lack the second level: an offset of a setup must not change the p-value."""

    def p_value(spread: float) -> float:
        def log(levels: tuple[Cell, ...], replicate: int, _: int) -> float:
            return spread * replicate * replicate if levels[0] == "xfs" else 0.0

        design = simulated((("fs", ("ext4", "xfs")), ("bs", (4096, 65536))), 5, log, whole=1, is_blocked=True)
        rows = tuple(row for row in design.rows if row.levels[1] == 4096 or row.replicate <= 2)
        own = next(effect for effect in effects.effects(replace(design, rows=rows)) if effect.name == "bs")
        return own.p or 0.0

    assert p_value(1.0) == pytest.approx(p_value(0.0))


def test_levels_in_separate_blocks_on_one_setup_are_not_called_setups() -> None:
    """A search measures each level in separate blocks, all on one file."""
    design = simulated(TWO, 3, lambda levels, *_: 0.5 * (levels[1] == 32))
    rows = tuple(replace(row, block=row.block + 10 * (row.levels[1] == 32), setups=(1,)) for row in design.rows)
    (judged,) = compare.factors(replace(design, rows=rows), "depth", ())
    assert (judged.is_significant, judged.note) == (True, "")


def test_often_recreated_data_do_not_hide_effects_within_a_setup() -> None:
    """Writes between the reads cause data to be laid out again, so many reads are the only ones on their data."""
    design = simulated((("fs", ("ext4", "xfs")), *TWO), 3, lambda *_: 0.0, whole=1, is_blocked=True)
    laid_out = itertools.cycle((1, 1, 2, 3, 4, 4, 4, 5))
    rows = tuple(
        replace(row, setups=(*row.setups, (row.position - 1) // 8 * 8 + n))
        for row, n in zip(design.rows, laid_out, strict=False)
    )
    own = {effect.name: effect.p for effect in effects.effects(replace(design, rows=rows))}
    assert own == pytest.approx({effect.name: effect.p for effect in effects.effects(design)}, nan_ok=True)


def test_units_with_different_cells_have_the_spread_of_their_side() -> None:
    """Few setups that vary a lot are compared with many that vary little, each with one or both block sizes."""
    draw = random.Random(5)
    false = 0
    for _ in range(200):
        observations = []
        for side, units, spread in ((0, 4, 0.5), (1, 20, 0.1)):
            for unit in range(units):
                of_unit = draw.gauss(0, spread)
                cells = ("a", "b") if unit % 2 else ("a",)
                observations += [Observation(side, (None, (side, unit)), (cell,), of_unit) for cell in cells]
        ratio = strata.difference(observations).ratio
        assert ratio is not None
        interval = ratio.interval()
        assert interval is not None
        false += not interval[0] <= 1 <= interval[1]
    assert false <= 18


def test_an_effect_that_setups_hide_from_its_share_is_explained() -> None:
    draw = random.Random(1)
    counts = {(1, "4"): 3, (1, "64"): 1, (2, "4"): 1, (2, "64"): 3}
    made = [place for place, count in counts.items() for _ in range(2 * count)]
    rows = [
        Row(bs, "r", n, n, 1, "", (bs,), (setup == 1) + 0.5 * (bs == "64") + draw.gauss(0, 0.02), (setup,))
        for n, (setup, bs) in enumerate(made, 1)
    ]
    design = simulated([("bs", ["4", "64"])], 1, lambda *_: 0.0)
    unbalanced = replace(design, rows=tuple(rows))
    all_effects = effects.effects(unbalanced)
    assert (effects.percent(all_effects[0].share), effects.chance(all_effects[0].p or 1)) == ("< 0.1", "< 0.001")
    (note,) = effects.notes(unbalanced, all_effects)
    assert note.startswith("`bs`: its p compares within groups of trials, where it explains 23.7 %;")
