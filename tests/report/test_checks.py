"""Every sign fires where the data are made so, and none where they are clean."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import orjson
import pytest
from designs import Levels, simulated
from run_folders import MakeRun, factor

from zlang import pipeline
from zlang.report import checks
from zlang.report.checks import Sign
from zlang.report.design import Design
from zlang.store.ingest import ingest

FACTORS = (("bs", ("4k", "8k", "16k")), ("rw", ("read", "write")))
Log = Callable[[Levels, int, int], float]


def signs(design: Design) -> set[Sign]:
    return {doubt.sign for doubt in checks.run(design)}


@pytest.mark.parametrize("repeat", [3, 5, 10])
def test_none_fires_on_clean_data(repeat: int) -> None:
    for seed in range(30):
        design = simulated(FACTORS, repeat, lambda levels, *_: len(str(levels)) / 3, seed)
        assert signs(design) == set()


@pytest.mark.parametrize(
    ("sign", "log"),
    [
        (Sign.DRIFT, lambda _levels, _replicate, place: -0.01 * place),
        (Sign.OUTLIER, lambda _levels, _replicate, place: 0.5 * (place == 17)),
        (Sign.TWO_MODES, lambda _levels, replicate, _place: 0.3 * (replicate % 2)),
        (Sign.WARMED, lambda _levels, replicate, _place: 0.3 * (replicate > 1)),
    ],
    ids=str,
)
def test_a_sign_fires_on_what_it_is_for(sign: Sign, log: Log) -> None:
    assert sign in signs(simulated(FACTORS, 6, log))


def test_all_fire_on_what_is_confounded_drifting_and_cached() -> None:
    """Levels one after the other on two hosts, values that sink, first repetitions that were not cached."""

    def log(_levels: Levels, replicate: int, place: int) -> float:
        return (0.0 if replicate == 1 else 0.5) - 0.005 * place + (1.5 if place == 40 else 0.0)

    factors = (("zfs", ("a", "b")), *FACTORS)
    made = simulated(factors, 4, log, whole=1, shuffled=False, host=lambda levels: f"host {levels[0]}")
    assert signs(made) >= {Sign.WARMED, Sign.OUTLIER, Sign.WITH_ORDER, Sign.WITH_HOST}


def test_few_repetitions_and_levels_in_their_order() -> None:
    assert signs(simulated(FACTORS, 2, lambda *_: 0.0)) == {Sign.FEW}
    assert signs(simulated(FACTORS, 3, lambda *_: 0.0, whole=1, shuffled=False)) == {Sign.WITH_ORDER}


@pytest.mark.usefixtures("told")
@pytest.mark.parametrize(
    ("in_flight", "found"),
    [(1.0, set()), (0.3, {Sign.SHALLOW}), (1.3, {Sign.LITTLE})],
    ids=["as asked", "less", "more"],
)
def test_depths(in_flight: float, found: set[Sign], make_run: MakeRun, runs: Path, db: Path) -> None:
    """IOPS times latency is what was in flight (Little)."""
    run = make_run(factors=(factor("iodepth", "count"), factor("jobs", "count")))
    for depth in (1, 32):
        for jobs in (1, 4):
            flight = in_flight * depth * jobs
            text = {"metrics": {"read_iops": 1000.0, "read_lat_mean": flight / 1000 * 1e9}}
            for replicate in (1, 2, 3):
                run.measured(f"p{depth}{jobs}", replicate, {"iodepth": depth, "jobs": jobs}, orjson.dumps(text))
    run.done()
    ingest(runs, db)
    assert {doubt.sign for doubt in pipeline.doubts(db, None)} - {Sign.WITH_ORDER} == found


def test_the_page_says_what_each_sign_means() -> None:
    page = (Path(__file__).parents[2] / "docs/results.md").read_text("utf-8")
    assert all(f"| {sign.code} | {sign.value[1]} |" in page for sign in Sign)
