"""Check that damage to a run folder never changes its figures: a subset of `mutate_run.py`, which tries thousands."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_line import Zlang
from mutate_run import mutate

PROGRAM = """
import fio
import linux
dir here { path = "." }
file data on here { size = 1MiB }
fio reads { rw = randread  bs = 4KiB | 8KiB }
experiment small { on = data  run = reads  cache = as_is  collect = [vmstat {}] }
"""


@pytest.mark.parametrize("seed", [1, 2])
def test_damaged_trials_have_the_same_figures_or_do_not_count(disk: Path, seed: int) -> None:
    zlang = Zlang(disk)
    zlang("run", zlang.program(PROGRAM))
    zlang("resume", "--only", "1")
    score = mutate(zlang.folder(), seed, 80)
    assert score.wrong == []
    assert score.ingested
    assert all(score.noticed[kind] for kind in score.tried)
