"""Margins: the error of aggregates whose trials are not independent."""

from __future__ import annotations

import math
import random

import pytest
from scipy import stats

from zlang.report import margins
from zlang.report.margins import TrialTerms


def test_blocks_within_whole_plots_are_units_of_what_is_pooled() -> None:
    """Each plot has blocks of its own: no block holds every combination, and the trials of one are not independent."""
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
