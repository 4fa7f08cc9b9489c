"""Test percentiles in SQL: bins reproduce fio's own, and those of many trials cover all their operations."""

from __future__ import annotations

import math
from pathlib import Path

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from run_folders import RunBuilder

from zlang.readers.reading import SortedBins, tail
from zlang.store import store
from zlang.store.ingest import ingest
from zlang.store.query import run_query

REPORTS = Path(__file__).parents[1] / "readers/data"


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("empty") / "results.duckdb"
    store.create(path, path.with_name("spill")).close()
    return path


@pytest.mark.parametrize("name", ["single", "four_jobs", "unified"])
def test_fios_own_percentiles_are_found_again(empty: Path, name: str) -> None:
    compared = 0
    for job in orjson.loads((REPORTS / f"{name}.json").read_bytes())["jobs"]:
        for direction in ("read", "write", "mixed"):
            for kind in ("slat_ns", "clat_ns", "lat_ns"):
                part = job.get(direction, {}).get(kind, {})
                if not part.get("bins") or not part.get("percentile"):
                    continue
                shown = {float(key): value for key, value in part["percentile"].items()}
                columns = ", ".join(f"latency_percentile(ns, count, {percent})" for percent in shown)
                rows = ", ".join(f"({ns}, {count})" for ns, count in part["bins"].items())
                computed = run_query(empty, f"select {columns} from (values {rows}) t(ns, count)").rows
                assert computed == (tuple(shown.values()),)
                compared += len(shown)
    assert compared >= 10


BINS = st.dictionaries(st.integers(0, 10**11), st.integers(1, 50), min_size=1, max_size=8)


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(histograms=st.lists(BINS, min_size=1, max_size=4), percent=st.sampled_from([1, 50, 99, 99.9, 99.99, 100]))
@pytest.mark.usefixtures("judged_by_print")
def test_merged_percentiles_are_those_of_all_operations(
    tmp_path_factory: pytest.TempPathFactory, histograms: list[dict[int, int]], percent: float
) -> None:
    place = tmp_path_factory.mktemp("merged")
    run = RunBuilder(place / "runs" / "r")
    for replicate, bins in enumerate(histograms, 1):
        printed = {"metrics": {"read_iops": 1}, "latency": [["read_clat", {str(k): n for k, n in bins.items()}]]}
        run.measured("p0", replicate, {"bs": 4096, "iodepth": 1}, orjson.dumps(printed))
    run.done()
    ingest(place / "runs", place / "results.duckdb")
    every = sorted(ns for bins in histograms for ns, count in bins.items() for _ in range(count))
    rank = max(1, math.ceil(len(every) * round(percent * 100) / 10_000))
    query = f"select latency_percentile(ns, count, {percent}) from latency"
    assert run_query(place / "results.duckdb", query).rows == ((every[rank - 1],),)


def test_no_operations_have_no_percentile(empty: Path) -> None:
    assert run_query(empty, "select latency_percentile(ns, count, 99) from latency").rows == ((None,),)


@given(bins=BINS, unused=st.dictionaries(st.integers(0, 10**11), st.just(0), max_size=3))
def test_operations_above_the_tail_take_one_percent_of_the_time_at_most(
    bins: dict[int, int], unused: dict[int, int]
) -> None:
    every = SortedBins.of(unused | bins)
    times = {ns: ns * count for ns, count in every.items()}
    values = sorted(times)
    fits = [ns for ns in values if 100 * sum(times[other] for other in values if other > ns) <= sum(times.values())]
    assert tail(every) == min(fits)


@pytest.mark.usefixtures("judged_by_print")
def test_the_database_has_the_tail_of_each_histogram(tmp_path: Path) -> None:
    run = RunBuilder(tmp_path / "runs" / "r")
    for replicate, bins in enumerate(({"1000": 10_000, "2000": 5, "90000": 1}, {"10": 1}), 1):
        printed = {"metrics": {"read_iops": 1}, "latency": [["read_clat", bins]]}
        run.measured("p0", replicate, {"bs": 4096, "iodepth": 1}, orjson.dumps(printed))
    run.done()
    ingest(tmp_path / "runs", tmp_path / "results.duckdb")
    rows = run_query(tmp_path / "results.duckdb", "SELECT replicate, tail FROM histograms ORDER BY 1").rows
    assert rows == ((1, 1000), (2, 10))
