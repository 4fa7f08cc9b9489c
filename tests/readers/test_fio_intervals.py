"""Compare fio's figures for part of a measurement with its log of every operation."""

from __future__ import annotations

import json
import random
import subprocess
from collections.abc import Iterator
from itertools import combinations, pairwise
from pathlib import Path

import pytest

from zlang.plan.plan import Action, Reader, Step
from zlang.readers import fio, fio_intervals, streams
from zlang.readers.reading import Histogram, Reading

STEP = Step("measure", Action.MEASURE, "", "", 60)
ARGUMENTS = {"logs": "logs", "runtime": 0}


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Measure a stream that reads 300 blocks at full speed and waits a second, four times, and one of 1.5 s."""
    at = tmp_path_factory.mktemp("measured")
    (at / "logs").mkdir()
    (at / "data").write_bytes(bytes(1 << 20))
    shared = ["--log_avg_msec=100", "--log_hist_msec=500", "--log_unix_epoch=1", "--per_job_logs=0", "--thread=1"]
    shared += ["--group_reporting=1", "--time_based=1", "--output-format=json+", "--output=fio.json"]
    bursts = ["--runtime=3500ms", "--thinktime=1s", "--thinktime_blocks=300", "--write_iolog=raw"]
    for number, more in ((1, bursts), (2, ["--runtime=1500ms", "--rate_iops=100"])):
        logs = [f"--write_{kind}_log=logs/stream{number}" for kind in ("iops", "bw", "hist")]
        section = [f"--name=stream{number}", "--new_group=1", "--filename=data", "--size=1m", "--rw=randread"]
        shared += [*section, "--bs=4096", *logs, *more]
    subprocess.run(["fio", *shared], check=True, cwd=at, capture_output=True)
    return at


def reading_of(at: Path, number: int) -> Reading:
    return fio.read(at, Reader("fio", "fio.json", {**ARGUMENTS, "stream": f"stream{number}"}), STEP)


def operations(at: Path) -> list[float]:
    """Return the start of each operation of the first stream, in seconds after the stream's start."""
    lines = [line.split() for line in (at / "raw").read_text().splitlines()]
    return [int(line[0]) / 1e6 for line in lines if line[2:3] == ["read"]]


def test_a_part_has_the_operations_that_the_raw_log_has(measured: Path) -> None:
    reading, every = reading_of(measured, 1), operations(measured)
    assert reading.intervals is not None
    assert reading.window is not None
    begin, _ = reading.window
    # The edges are in pauses, so the exact agreement of both clocks does not matter.
    edges = [every[0] - 0.5, *((instant + other) / 2 for instant, other in pairwise(every) if other - instant > 0.8)]
    for first, last in combinations(edges, 2):
        cut = reading.intervals.cut([(begin + first, begin + last)]).metrics
        logged = sum(first <= t < last for t in every)
        # fio writes no line of histograms between the first two bursts, so their share is only known from the rates.
        assert cut["read_ios"] == pytest.approx(logged, rel=0.25 if edges[1] in {first, last} else 0.03)
        assert cut["read_bytes"] == pytest.approx(4096 * cut["read_ios"], rel=0.03)
        assert cut["read_iops"] == pytest.approx(cut["read_ios"] / (last - first))


def test_late_log_entries_are_counted_by_histograms(tmp_path: Path) -> None:
    """Bursts of 300, one a second: rates over 140 ms, labelled 100 ms, and histograms that the next burst ends."""
    (tmp_path / "logs").mkdir()
    begin = 1_795_423_760_000
    bursts = range(0, 6000, 1000)
    for kind, each in (("iops", 300 * 1000 // 140), ("bw", 300 * 4 * 1000 // 140)):
        lines = (f"{begin + t + 140}, {each}, 0, 0, 0\n" for t in bursts)
        (tmp_path / f"logs/stream1_{kind}.log").write_text("".join(lines))
    counts = [(1000, 301), *((t, 300) for t in bursts[2:])]
    lines = (f"{begin + t}, 0, 4096, {', '.join(['0'] * 600 + [str(count)] + ['0'] * 1255)}\n" for t, count in counts)
    (tmp_path / "logs/stream1_clat_hist.log").write_text("".join(lines))
    whole = Reading({"read_ios": 1800.0, "read_bytes": 1800 * 4096.0}, window=(begin / 1000, begin / 1000 + 6))
    intervals = fio_intervals.find(tmp_path / "logs", "stream1", whole)
    assert intervals is not None
    for seconds in range(1, 6):
        cut = intervals.cut([(begin / 1000, begin / 1000 + seconds - 0.5)]).metrics
        assert cut["read_ios"] == pytest.approx(300 * seconds, abs=2)
        assert cut["read_bytes"] == pytest.approx(4096 * 300 * seconds, rel=0.01)


def test_the_whole_window_has_the_figures_of_the_report(measured: Path) -> None:
    reading = reading_of(measured, 1)
    assert reading.intervals is not None
    assert reading.window is not None
    cut = reading.intervals.cut([reading.window])
    for name in ("read_ios", "read_bytes", "read_clat_p50", "read_clat_p99"):
        assert cut.metrics[name] == pytest.approx(reading.metrics[name]), name
    whole = next(h.bins for h in reading.latency if h.metric == "read_clat")
    assert [(h.metric, dict(h.bins)) for h in cut.latency] == [("read_clat", dict(whole))]


def test_a_report_that_is_made_late_moves_nothing(measured: Path, tmp_path: Path) -> None:
    """Fio reports after closing all files, and closing a file written over a network takes time."""
    (tmp_path / "logs").symlink_to(measured / "logs")
    text = (measured / "fio.json").read_text()
    report = json.loads(text[text.index("{") :])
    windows = []
    for late in (0, 3000):
        (tmp_path / "fio.json").write_text(json.dumps({**report, "timestamp_ms": report["timestamp_ms"] + late}))
        reading = reading_of(tmp_path, 1)
        assert reading.window is not None
        windows.append(reading.window)
    assert windows[1] == pytest.approx(windows[0], abs=0.1)


def test_samples_are_the_rates_of_each_second(measured: Path) -> None:
    reading = reading_of(measured, 1)
    assert reading.intervals is not None
    assert reading.window is not None
    samples = [s for s in reading.intervals.samples(reading.window, "bursts") if s.metric == "read_iops"]
    assert {s.stream for s in samples} == {"bursts"}
    whole = [s.value for s in samples]
    assert len(whole) == round(reading.window[1] - reading.window[0])
    assert sum(whole) == pytest.approx(reading.metrics["read_ios"], rel=0.1)


def test_streams_of_different_length_have_figures_of_their_common_time(measured: Path) -> None:
    part = {"directory": "", "step": "measure", "reader": "fio", "artefact": "fio.json"}
    parts = [
        {**part, "name": name, "group": name, "args": {**ARGUMENTS, "stream": f"stream{number}"}}
        for number, name in enumerate(("bursts", "steady"), start=1)
    ]
    result = streams.read({"fio": fio.read}, measured, Reader("streams", "", {"streams": parts}), STEP)
    assert result.window is not None
    seconds = result.window[1] - result.window[0]
    assert seconds == pytest.approx(1.5, abs=0.1)
    bursts = result.streams[0]
    longest = reading_of(measured, 1).window
    assert longest is not None
    assert result.metrics["shared_time"] == pytest.approx(100 * seconds / (longest[1] - longest[0]))
    early = sum(t < 1.5 for t in operations(measured))
    assert bursts.metrics["read_iops"] == pytest.approx(early / seconds, rel=0.25)
    assert "read_lat_mean" not in bursts.metrics, "fio does not log it, so it is known of 3.5 s only"
    assert result.metrics["steady.read_iops"] == pytest.approx(100, rel=0.2)
    assert "steady.read_lat_mean" in result.metrics
    (why,) = result.against
    assert why.startswith("stream bursts was measured for ")


def test_logs_of_a_busy_machine_add_up_to_the_report(tmp_path: Path) -> None:
    """Workers may log nothing of a direction, lines may be late or double, and a log may end in the middle of one."""
    (tmp_path / "logs").mkdir()
    begin = 1_795_423_760_000
    for seed in range(300):
        rng = random.Random(seed)
        length = rng.choice([50, 300, 1000, 3000])
        for kind in ("iops", "bw", "clat_hist"):
            text = "".join(_lines_of_workers(rng, kind, begin, length))
            torn = rng.random() < 0.15
            (tmp_path / f"logs/stream1_{kind}.log").write_text(text[: rng.randrange(len(text) + 1)] if torn else text)
        totals = {direction: rng.choice([0, 1, 40, 1800]) for direction in ("read", "write")}
        metrics = {f"{direction}_ios": float(ios) for direction, ios in totals.items()}
        metrics |= {f"{direction}_bytes": 4096.0 * ios for direction, ios in totals.items()}
        latency = tuple(Histogram(f"{direction}_clat", {5000: ios}) for direction, ios in totals.items() if ios)
        made = begin / 1000 + rng.choice([0, 0.09, 2])
        report = Reading(metrics, latency=latency, window=(made, made + length / 1000))
        intervals = fio_intervals.find(tmp_path / "logs", "stream1", report)
        if intervals is not None:
            cut = intervals.cut([intervals.whole]).metrics
            assert {name: cut[name] for name in metrics} == pytest.approx(metrics, abs=0.01), seed
            middle = sum(intervals.whole) / 2
            assert intervals.cut([(intervals.whole[0], middle)]).metrics["read_ios"] <= totals["read"] + 0.01, seed


def _lines_of_workers(rng: random.Random, kind: str, begin: int, length: int) -> Iterator[str]:
    for _ in range(rng.randint(1, 4)):
        t = begin
        while (t := t + rng.choice([1, 100, 110, 140, 500])) <= begin + length + 200:
            for direction in (0, 1):
                value = rng.choice([0, 5, 300])
                bins = ", ".join(["0"] * 600 + [str(value)] + ["0"] * 1255)
                line = f"{t}, {direction}, 4096, {bins}" if kind == "clat_hist" else f"{t}, {value}, {direction}, 0, 0"
                if rng.random() < 0.6:
                    yield line + "\n"


def test_logs_that_are_torn_are_not_believed(measured: Path, tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    (tmp_path / "fio.json").write_bytes((measured / "fio.json").read_bytes())
    for log in (measured / "logs").glob("stream1_*"):
        (tmp_path / "logs" / log.name).write_bytes(log.read_bytes())
    assert reading_of(tmp_path, 1).intervals is not None
    (tmp_path / "logs/stream1_bw.log").write_text("1795423760299, x, 0, 0, 0\n")
    assert reading_of(tmp_path, 1).intervals is None
    (tmp_path / "logs/stream1_bw.log").unlink()
    assert reading_of(tmp_path, 1).intervals is None
