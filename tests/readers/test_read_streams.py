"""Test several streams in one trial: figures that add up, and the time in which all streams were measured."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from zlang.check import library
from zlang.files import Place
from zlang.plan.plan import Action, Reader, Step
from zlang.readers import fio, periods, streams
from zlang.readers.reading import Histogram, Reading, Window

STEP = Step("measure", Action.MEASURE, "", "", 60)


def reading_of(readings: dict[str, Reading], tmp_path: Path, groups: dict[str, str] | None = None) -> Reading:
    """Combine readings of these streams; they are read as fio's, whose metrics are declared."""
    by_directory = {f"stream{number}": reading for number, reading in enumerate(readings.values(), start=1)}

    def read(directory: Place, _reader: Reader, _step: Step, _window: Window | None = None) -> Reading:
        return by_directory[directory.name]

    parts = [
        {
            "name": name,
            "group": (groups or {}).get(name, name),
            "directory": directory,
            "step": "measure",
            "reader": "fio",
            "artefact": "fio.json",
            "args": {},
        }
        for name, directory in zip(readings, by_directory, strict=True)
    ]
    return streams.read({"fio": read}, tmp_path, Reader("streams", "", {"streams": parts}), STEP)


def measured(iops: float, mean: float, bins: dict[int, int], window: Window = (0.0, 60.0)) -> Reading:
    rates = {"read_iops": iops, "read_bw": 4096 * iops, "usr_cpu": 50.0}
    latency = {"read_clat_mean": mean, "read_clat_max": float(max(bins)), "read_clat_p50": mean}
    return Reading({**rates, **latency}, latency=(Histogram("read_clat", bins),), window=window)


def test_rates_add_up_and_histograms_are_merged(tmp_path: Path) -> None:
    fast, slow = measured(300, 10, {10: 3}), measured(100, 50, {50: 1})
    result = reading_of({"fast": fast, "slow": slow}, tmp_path)
    assert result.problems == result.against == ()
    assert result.metrics["read_iops"] == 400
    assert result.metrics["read_clat_mean"] == (3 * 10 + 50) / 4
    assert (result.metrics["read_clat_p50"], result.metrics["read_clat_p99"]) == (10, 50)
    assert result.metrics["read_clat_max"] == 50
    assert result.latency == (Histogram("read_clat", {10: 3, 50: 1}),)
    assert "usr_cpu" not in result.metrics
    assert (result.metrics["fast.read_iops"], result.metrics["slow.usr_cpu"]) == (300, 50)
    assert result.metrics["fairness"] == pytest.approx(400**2 / (2 * (300**2 + 100**2)))
    assert [stream.metrics["read_iops"] for stream in result.streams] == [300, 100]


def test_copies_are_one_stream_by_their_common_name(tmp_path: Path) -> None:
    readings = {f"boot.{n}": measured(100, 10, {10: 1}) for n in (1, 2)}
    groups = dict.fromkeys(readings, "boot")
    alone = reading_of(readings, tmp_path, groups)
    assert (alone.metrics["read_iops"], alone.metrics["fairness"]) == (200, 1)
    assert not [name for name in alone.metrics if "." in name]
    mixed = reading_of({**readings, "backup": measured(50, 20, {20: 1})}, tmp_path, groups)
    assert (mixed.metrics["boot.read_iops"], mixed.metrics["backup.read_iops"]) == (200, 50)


@pytest.mark.parametrize(
    ("windows", "window", "against"),
    [
        ([(0, 60), (1, 61)], (1, 60), []),
        (
            [(0, 60), (0, 30)],
            (0, 30),
            ["stream a was measured for 60.0 s, but together with all other streams only for 30.0 s"],
        ),
        (
            [(0, 60), (0, 60), (0, 30)],
            (0, 30),
            ["streams a, b were measured for 60.0 s, but together with all other streams only for 30.0 s"],
        ),
        (
            [(10, 60), (0, 60)],
            (10, 60),
            ["stream b was measured for 60.0 s, but together with all other streams only for 50.0 s"],
        ),
        ([(0, 2), (0.9, 2.9)], (0.9, 2), []),
        ([(0, 2), (3, 5)], None, ["the streams did not run at the same time"]),
    ],
)
def test_the_window_is_when_all_were_measured(
    tmp_path: Path, windows: list[Window], window: Window | None, against: list[str]
) -> None:
    readings = {name: measured(100, 10, {10: 1}, part) for name, part in zip("abc", windows, strict=False)}
    result = reading_of(readings, tmp_path)
    assert result.window == window
    assert list(result.against) == against


def test_a_stream_that_was_not_measured_fails_the_trial(tmp_path: Path) -> None:
    result = reading_of({"a": measured(1, 1, {1: 1}), "b": Reading(problems=("it is torn",))}, tmp_path)
    assert result.problems == ("stream b: it is torn",)
    assert result.metrics == {}


def test_the_windows_of_sections_are_those_of_their_logs(tmp_path: Path) -> None:
    """Fio's logs tell when a section was measured: here one ramps up, and one waits, for a second."""
    file = tmp_path / "data"
    file.write_bytes(bytes(1 << 20))
    common = ["--rw=randread", "--bs=4096", "--size=1m", f"--filename={file}", "--rate_iops=200", "--log_unix_epoch=1"]
    sections = [
        argument
        for name, more in (
            ("stream1", ["--runtime=2"]),
            ("stream2", ["--runtime=1", "--ramp_time=1"]),
            ("stream3", ["--runtime=1", "--exec_prerun=delay=1; sleep 1 #"]),
        )
        for argument in (f"--name={name}", "--new_group=1", *common, *more, f"--write_lat_log={tmp_path}/{name}")
    ]
    report = f"--output={tmp_path}/fio.json"
    shared = ["--thread=1", "--group_reporting=1", "--time_based=1", "--output-format=json+", report]
    subprocess.run(["fio", *shared, *sections], check=True, cwd=tmp_path)
    for number, seconds in ((1, 2), (2, 1), (3, 1)):
        result = fio.read(tmp_path, Reader("fio", "fio.json", {"stream": f"stream{number}"}), STEP)
        assert result.problems == ()
        assert result.window is not None
        begin, end = result.window
        lines = (tmp_path / f"stream{number}_clat.{number}.log").read_text().splitlines()
        times = [int(line.split(",")[0]) / 1000 for line in lines]
        assert abs(min(times) - begin) < 0.5
        assert abs(max(times) - end) < 0.5
        assert end - begin == pytest.approx(seconds, abs=0.5)


def test_events_that_ended_by_themselves_have_a_time(tmp_path: Path) -> None:
    """An event that was ended with the workloads has none; one that did not begin invalidates the trial."""
    for number, (ended, over) in enumerate([("12.5", False), ("70", True)], start=1):
        place = tmp_path / f"event{number}"
        place.mkdir()
        (place / "began").write_text("10\n")
        (place / "ended").write_text(f"{ended}\n")
        if over:
            (place / "over").touch()
    events = [{"name": name, "directory": f"event{n}"} for n, name in enumerate(("scrub", "hog", "late"), start=1)]
    part = {"name": "", "group": "", "directory": "stream1", "step": "measure", "artefact": "fio.json", "args": {}}

    def read(_directory: Place, _reader: Reader, _step: Step, _window: Window | None = None) -> Reading:
        return measured(100, 10, {10: 1})

    arguments = {"streams": [{**part, "reader": "fio"}], "events": events}
    result = streams.read({"fio": read}, tmp_path, Reader("streams", "", arguments), STEP)
    assert result.metrics["scrub.elapsed"] == 2.5
    assert "hog.elapsed" not in result.metrics
    assert result.metrics["usr_cpu"] == 50
    assert result.streams == ()
    assert result.against == ("late did not begin while the workloads ran",)
    assert [phase.name for phase in result.phases] == ["quiet", "hog+scrub", "hog"]


def test_the_parts_of_a_schedule_are_one_stream() -> None:
    """Rates are means over the whole time, including pauses; amounts add up, and histograms are merged."""
    declared = library.load().readers["fio"]
    first = replace(measured(100, 10, {10: 300}, (0.0, 3.0)), metrics={"read_iops": 100.0, "read_ios": 300.0})
    second = replace(measured(900, 50, {50: 900}, (4.0, 5.0)), metrics={"read_iops": 900.0, "read_ios": 900.0})
    whole = periods.joined([first, second], 5.0, declared)
    assert whole.window == (0.0, 5.0)
    assert whole.metrics["read_iops"] == pytest.approx(1200 / 5)
    assert whole.metrics["read_ios"] == 1200
    assert whole.latency == (Histogram("read_clat", {10: 300, 50: 900}),)
    broken = periods.joined([first, Reading(problems=("torn",))], 5.0, declared)
    assert broken.problems == ("torn",)
    ends_with_a_pause = periods.joined([first], 6.0, declared)
    assert (ends_with_a_pause.window, ends_with_a_pause.metrics["read_iops"]) == ((0.0, 6.0), 50)
