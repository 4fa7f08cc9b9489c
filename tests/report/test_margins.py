"""Test margins: the error of aggregates over trials that are not independent."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence

import pytest
from scipy import stats

from zlang.check.questions import Term
from zlang.report import margins
from zlang.report.margins import TrialTerms


def test_blocks_within_whole_plots_are_units_of_pooled_trials() -> None:
    """Each plot has its own blocks: no block holds every combination, and its trials are not independent."""
    draw = random.Random(1)
    sums: dict[str, list[float]] = {"a": [], "b": []}
    own = []
    for plot, blocks in sums.items():
        for number in range(4):
            shift = draw.gauss(0, 1)
            logs = [shift + draw.gauss(0, 0.01) for _ in range(3)]
            blocks.append(math.fsum(logs) / 6)
            own += [
                TrialTerms((), (plot, bs), (("r", f"{plot}{number}"),), (math.exp(log),)) for bs, log in enumerate(logs)
            ]
    margin = margins.geometric_mean(own, 0)
    assert margin is not None
    variances = [stats.tvar(blocks) / 4 for blocks in sums.values()]
    assert margin.value == pytest.approx(math.fsum(math.fsum(blocks) / 4 for blocks in sums.values()))
    assert margin.error == pytest.approx(math.sqrt(math.fsum(variances)))
    assert margin.df <= 6


METRIC = Term("median", (Term("metric", name="read_iops"),), "median(read_iops)")
FAST = Term(">", (METRIC, Term("value", value=1.0)))


def of_a_limit(own: Sequence[TrialTerms]) -> margins.Margin:
    margin = margins.margin(FAST, [METRIC], own, lambda _: 1.0, [])
    assert margin is not None
    return margin


def test_a_limit_is_judged_over_setups() -> None:
    """The result equals Student's t-test over the means of setups, however many trials each has."""
    draw = random.Random(3)
    logs = [[shift + draw.gauss(0, 0.01) for _ in range(3)] for shift in (draw.gauss(0, 0.3) for _ in range(4))]
    own = [TrialTerms((), ("a",), (None, ("r", n)), (math.exp(log),)) for n, made in enumerate(logs) for log in made]
    margin = of_a_limit(own)
    expected = stats.ttest_1samp([math.fsum(made) / 3 for made in logs], 0)
    assert margin.error is not None
    assert margin.value / margin.error == pytest.approx(expected.statistic)
    assert margin.df == pytest.approx(3)


def test_one_setup_gives_no_verdict_about_a_limit() -> None:
    own = [TrialTerms((), ("a",), (("r", n), ("r", 1)), (2 + n / 1000,)) for n in range(5)]
    assert of_a_limit(own).error is None
    assert "--order blocked" in of_a_limit(own).why
    assert margins.geometric_mean(own, 0) is not None, "a table shows what varies within the setup"
    alone = [TrialTerms((), ("a",), (("r", n), None), (2 + n / 1000,)) for n in range(5)]
    assert of_a_limit(alone).error is not None, "nothing was set up"


def test_combinations_that_share_setups_are_not_independent() -> None:
    """Two combinations on each of four setups: their sum varies from setup to setup."""
    draw = random.Random(5)
    sums, own = [], []
    for made in range(4):
        shift = draw.gauss(0, 0.3)
        logs = [shift + draw.gauss(0, 0.01) for _ in range(2)]
        sums.append(math.fsum(logs) / 2)
        own += [TrialTerms((), (bs,), (None, ("r", made)), (math.exp(log),)) for bs, log in enumerate(logs)]
    margin = of_a_limit(own)
    expected = stats.ttest_1samp(sums, 0)
    assert margin.error is not None
    assert margin.value / margin.error == pytest.approx(expected.statistic)
    assert margin.df == pytest.approx(3)
