"""Test the readers of vmstat, sysstat, the kernel's tables and arbitrary command output."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import time
import tracemalloc
from pathlib import Path

import pytest
import reader_samples as samples
from hypothesis import given, settings
from hypothesis import strategies as st

from zlang.check import library
from zlang.metrics import in_trials
from zlang.plan.plan import Action, Reader, Step
from zlang.readers import diskstats
from zlang.readers import shell as shell_reader
from zlang.readers.reading import LONGEST, Sample
from zlang.run import hashes

# --- vmstat


def declared(reader: str) -> set[str]:
    """Return the metrics that the library declares for a reader."""
    return {metric.name for metric in in_trials(library.load().readers[reader])}


def test_vmstat_rows_but_the_first() -> None:
    reading = samples.read(samples.DATA, "vmstat", "vmstat.txt")
    assert reading.problems == ()
    assert len(reading.samples) == 9 * 17
    assert reading.samples[0] == Sample(1795235165.0, "", "vmstat_r", 2.0)
    bo = [s.value for s in reading.samples if s.metric == "vmstat_bo"]
    assert bo[:4] == [0, 5680 * 1024, 51072 * 1024, 17696 * 1024]
    assert [s.value for s in reading.samples if s.metric == "vmstat_sy"][:2] == [43, 56]


def test_vmstat_without_times_or_in_an_unknown_zone(tmp_path: Path) -> None:
    text = (samples.DATA / "vmstat.txt").read_text()
    (tmp_path / "v").write_text(text.replace("UTC", "XYZ"))
    assert "run vmstat with TZ=UTC" in samples.read(tmp_path, "vmstat", "v").problems[0]
    (tmp_path / "v").write_text("procs ---\n r b us sy\n 1 0 2 3\n 1 0 2 3\n")
    assert samples.read(tmp_path, "vmstat", "v").problems == ("v: its rows have no time (vmstat needs -t)",)
    (tmp_path / "v").write_text("vmstat: error\n")
    assert samples.read(tmp_path, "vmstat", "v").problems == ("v has no sample of the measurement",)
    assert samples.read(tmp_path, "vmstat", "none").problems == ("none was not written",)


@settings(max_examples=100, deadline=None)
@given(data=st.data())
def test_a_torn_table_gives_the_same_rows_or_fewer(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    for tool in ("vmstat", "diskstats"):
        whole = (samples.DATA / f"{tool}.txt").read_bytes()
        path = tmp_path_factory.mktemp(tool) / "t"
        path.write_bytes(whole[: data.draw(st.integers(0, len(whole)))])
        samples_ = samples.read(path.parent, tool, "t").samples
        assert set(samples_) <= set(samples.read(samples.DATA, tool, f"{tool}.txt").samples)


@pytest.mark.skipif(shutil.which("vmstat") is None, reason="vmstat is not installed")
def test_a_real_vmstat(tmp_path: Path) -> None:
    with (tmp_path / "vmstat.out").open("wb") as out:
        subprocess.run(["vmstat", "-n", "-t", "1", "2"], stdout=out, env={"LANG": "C", "TZ": "UTC"}, check=True)
    reading = samples.read(tmp_path, "vmstat", "vmstat.out")
    assert {"vmstat_r", "vmstat_bi", "vmstat_us", "vmstat_st"} <= {s.metric for s in reading.samples}


# --- diskstats


def test_diskstats_rates_and_sums() -> None:
    reading = samples.read(samples.DATA, "diskstats", "diskstats.txt")
    assert reading.problems == ()
    assert reading.metrics == {
        "device_reads": 3,
        "device_writes": 16,
        "device_read_bytes": 40 * 512,
        "device_write_bytes": 16384 * 512,
    }
    last = {s.metric: s.value for s in reading.samples if s.source == "vda" and s.t == 1795242697.309694231}
    seconds = 1795242697.309694231 - 1795242697.000331151
    assert last["write_iops"] == pytest.approx(16 / seconds)
    assert last["write_bw"] == pytest.approx(16384 * 512 / seconds)
    assert last["write_await"] == pytest.approx(5 / 16 * 1e6)
    assert last["util"] == pytest.approx(4 / 10 / seconds)
    assert last["in_flight"] == 0
    assert {s.source for s in reading.samples} == {"loop0", "vda"}, "zram0 never did any I/O"


def test_whole_disks_by_their_names() -> None:
    disks = {"sda", "sdaa", "vdb", "nvme0n1", "nvme1n1", "mmcblk0", "xvda1", "nbd0", "hda"}
    parts = {"sda1", "sdaa12", "vdb9", "nvme0n1p1", "mmcblk0p2", "nbd0p1"}
    others = {"loop0", "dm-3", "md127", "md0p1", "zram0", "ram1", "zd0", "zd16p1", "sr0", "fd0", "bcache0", "nvme0c1n1"}
    assert diskstats.whole_disks(disks | parts | others) == disks


def test_counters_that_wrap_or_begin_again(tmp_path: Path) -> None:
    rows = (
        "@ 1.0\n8 0 sda 10 0 80 4294967290 0 0 0 0 0 0 0\n8 16 sdb 9 0 9 9 0 0 0 0 0 0 0\n"
        "@ 2.0\n8 0 sda 12 0 96 4 0 0 0 0 0 0 0\n8 16 sdb 1 0 8 1 0 0 0 0 0 0 0\n"
        "@ 3.0\n8 16 sdb 2 0 16 1 0 0 0 0 0 0 0\n8 32 sdc 2 0 16 1 0 0 0 0 0 0 0\n"
    )
    (tmp_path / "d").write_text(rows)
    reading = samples.read(tmp_path, "diskstats", "d")
    assert Sample(2.0, "sda", "read_await", 5e6) in reading.samples
    assert reading.metrics["device_read_bytes"] == (16 + 8) * 512
    (tmp_path / "d").write_text(rows[: rows.index("@ 2")])
    assert samples.read(tmp_path, "diskstats", "d").problems == ("d has fewer than two snapshots",)


# --- sysstat


def test_a_real_sysstat_however_it_is_ended(tmp_path: Path) -> None:
    environment = {**os.environ, "TZ": "UTC", "S_TIME_FORMAT": "ISO", "LC_ALL": "C"}
    began = time.time()
    ends = {}
    for ending in (signal.SIGTERM, signal.SIGINT):
        for tool, options in (("iostat", "-x -d -t -y"), ("mpstat", "-P ALL")):
            command = f"date '+@ %s.%N' && exec {tool} -o JSON {options} 1"
            with (tmp_path / f"{tool}-{ending.name}").open("wb") as out:
                ends[subprocess.Popen(["sh", "-c", command], stdout=out, env=environment)] = ending
    deadline = began + 60
    while any(path.read_bytes().count(b'"timestamp"') < 2 for path in tmp_path.iterdir()) and time.time() < deadline:
        time.sleep(0.05)
    for process, ending in ends.items():
        process.send_signal(ending)
        process.wait(60)
    for path in tmp_path.iterdir():
        tool, _, ending_name = path.name.partition("-")
        reading = samples.read(tmp_path, tool, path.name, interval=1)
        assert reading.problems == ()
        times = sorted({sample.t - began for sample in reading.samples})
        assert times[1] - times[0] == pytest.approx(1, abs=0.5)
        assert began + 0.5 < times[0] + began < deadline
        assert set(reading.metrics) <= declared(tool)
        assert reading.metrics
        is_whole = path.read_text().count("{") == path.read_text().count("}")
        assert is_whole == (ending_name == "SIGINT")
        # A file torn in the middle of a report has one report fewer.
        text = path.read_text()
        path.write_text(text[: text.rindex('"timestamp"') + 60])
        assert len({sample.t for sample in samples.read(tmp_path, tool, path.name).samples}) == len(times) - 1


def test_iostat_counts_disks_and_not_devices_on_top_of_them(tmp_path: Path) -> None:
    template = (
        '{{"disk_device": "{}", "r/s": {}, "w/s": 0.0, "rkB/s": {}, "wkB/s": 0.0, "r_await": {}, "w_await": 0.0, '
        '"aqu-sz": 1.5, "util": {}}}'
    )
    disks = [
        template.format(*words) for words in (("loop0", 9, 9, 9, 9), ("sda", 10, 40, 1, 20), ("sdb", 30, 60, 5, 70))
    ]
    report = f'{{"timestamp": "2026-11-21T00:00:01+0000", "disk": [{", ".join(disks)}]}}'
    # The collector was started just before midnight.
    (tmp_path / "i").write_text(f'@ 1795219199.75\n{{"sysstat": {{"statistics": [{report}')
    reading = samples.read(tmp_path, "iostat", "i", interval=1)
    assert reading.problems == ()
    assert {name: reading.metrics[name] for name in ("iostat_read_iops", "iostat_read_bw", "iostat_busy_ratio")} == {
        "iostat_read_iops": 40, "iostat_read_bw": 100 * 1024, "iostat_busy_ratio": 70,
    }  # fmt: skip
    assert reading.metrics["iostat_read_await"] == pytest.approx((10 * 1 + 30 * 5) / 40 * 1e6)
    assert "iostat_write_await" not in reading.metrics
    assert Sample(1795219201.0, "loop0", "iostat_read_iops", 9.0) in reading.samples


@pytest.mark.parametrize(
    "text", ["{}", "@ 1\n[]", '@ 1\n{"timestamp": 7}', '@ 1\n{"timestamp": "00:00:01", "disk": 1}']
)
def test_output_that_is_not_from_sysstat(tmp_path: Path, text: str) -> None:
    (tmp_path / "i").write_text(text)
    assert samples.read(tmp_path, "iostat", "i").problems


def test_the_sysstat_of_a_filer_with_any_heading(tmp_path: Path) -> None:
    for name, age, hits, busy in (("before", 7 * 60, 16 + 1 / 6, 100), ("after", 35, 53, 35 / 6)):
        text = (samples.DATA / f"sysstat_x-{name}.txt").read_text()
        reading = samples.read(samples.DATA, "sysstat_x", f"sysstat_x-{name}.txt", interval=1)
        assert reading.problems == ()
        assert reading.metrics["ontap_cache_age_s"] == pytest.approx(age, abs=1)
        assert reading.metrics["ontap_cache_hit_ratio"] == pytest.approx(hits)
        assert reading.metrics["ontap_disk_busy_ratio"] == pytest.approx(busy)
        assert reading.metrics["ontap_iscsi_iops"] == pytest.approx(7 + 2 / 3)
        assert (reading.samples[0].t, reading.samples[-1].t) == (101.5, 106.5)
    assert Sample(101.5, "", "ontap_net_out_bw", 409570 * 1024) in reading.samples
    # Of a head that was cut off only what it names is believed.
    (tmp_path / "s").write_text(text.replace("    FCP iSCSI   FCP  kB/s iSCSI  kB/s", ""))
    cut = samples.read(tmp_path, "sysstat_x", "s", interval=1)
    assert cut.metrics == {name: value for name, value in reading.metrics.items() if not re.search("fcp|iscsi", name)}
    figures = samples.read(samples.DATA, "sysstat_x", "sysstat_x-wide.txt", interval=1).metrics
    assert (figures["ontap_iscsi_iops"], figures["ontap_iscsi_in_bw"], figures["ontap_other_iops"]) == (
        5,
        128 * 1024,
        8,
    )
    assert "ontap_cache_age_s" not in figures, "more than 60 minutes is not a number"
    (tmp_path / "s").write_text(text.partition("\n")[2])
    assert samples.read(tmp_path, "sysstat_x", "s").problems == ("s does not begin with `@ SECONDS`",)


# --- smartctl

# The relevant output of smartctl 7 for two disks.
NVME = """{{"device": {{"name": "/dev/nvme0"}}, "logical_block_size": 512, "temperature": {{"current": 36}},
 "power_on_time": {{"hours": 2401}}, "nvme_smart_health_information_log": {{"temperature": 36, "percentage_used": 1,
 "data_units_read": 900, "data_units_written": {}, "media_errors": 0}}}}""".replace("\n", "")
ATA = """{"device": {"name": "/dev/sdb"}, "logical_block_size": 512, "temperature": {"current": 32},
 "power_on_time": {"hours": 1730}, "ata_smart_attributes": {"table": [
 {"id": 5, "name": "Reallocated_Sector_Ct", "value": 100, "raw": {"value": 8, "string": "8"}},
 {"id": 22, "name": "Unknown_Attribute", "raw": {"value": 100}},
 {"id": 241, "name": "Total_LBAs_Written", "value": 99, "raw": {"value": 2000, "string": "2000"}},
 {"id": 242, "name": "Host_Reads_32MiB", "value": 99, "raw": {"value": 2, "string": "2"}}]}}""".replace("\n", "")


def test_bytes_written_to_a_disk(tmp_path: Path) -> None:
    (tmp_path / "before").write_text(f"@ 1.5\n{NVME.format(700)}\n")
    (tmp_path / "after").write_text(f"@ 9.5\n{NVME.format(710)}\n")
    reading = samples.read(tmp_path, "smart", "after", before="before")
    assert reading.problems == ()
    assert reading.metrics["after_smart_written_bytes"] - reading.metrics["before_smart_written_bytes"] == 5_120_000
    (tmp_path / "after").write_text(f"@ 9.5\n{ATA}\n")
    reading = samples.read(tmp_path, "smart", "after", before="before")
    assert reading.metrics["after_smart_written_bytes"] == 2000 * 512
    assert reading.metrics["after_smart_read_bytes"] == 64 * 2**20
    assert reading.metrics["after_smart_media_errors"] == 8
    (tmp_path / "after").write_text('@ 9.5\n{"device": 7}\n[]\n{\n')
    assert samples.read(tmp_path, "smart", "after", before="before").problems == ("after has no such figure",)


# --- the kernel's other tables


def test_pressure_is_of_the_measurement(tmp_path: Path) -> None:
    line = "/proc/pressure/io:{} avg10=9.00 avg60=9.00 avg300=9.00 total={}\n"
    (tmp_path / "p").write_text(
        "".join(f"@ {t}\n{line.format('some', some)}" for t, some in ((10, 0), (11, 5), (12, 250_005), (13, 10**9)))
    )
    reading = samples.read(tmp_path, "pressure", "p", (11.0, 12.0))
    assert reading.metrics == {"psi_io_some_ratio": 25}
    assert reading.samples == (Sample(12.0, "", "psi_io_some_ratio", 25),)
    (tmp_path / "p").write_text("@ 1\ngrep: /proc/pressure/*: No such file or directory\n")
    assert samples.read(tmp_path, "pressure", "p").problems == ("p has no sample of the measurement",)


def test_uses_of_memory_are_means_over_the_measurement(tmp_path: Path) -> None:
    """Snapshots are in the format of /proc/meminfo; the last one is after the measurement."""
    lines = "MemTotal:        8131304 kB\nMemFree:         {} kB\nDirty:               {} kB\nHugePages_Total: 0\n"
    amounts = ((10, 1000, 8), (11, 1000, 8), (12, 2000, 16), (13, 4000, 24), (14, 9000, 96))
    (tmp_path / "m").write_text("".join(f"@ {t}\n{lines.format(free, dirty)}" for t, free, dirty in amounts))
    reading = samples.read(tmp_path, "meminfo", "m", (11.0, 13.0))
    assert reading.metrics == {"mem_free_bytes": 3000 * 1024, "mem_dirty_bytes": 20 * 1024}
    assert samples.read(tmp_path, "meminfo", "absent").problems == ("absent was not written",)


# --- shell

OUTPUT = """[INFO] start
run 1: 100 MB/s
{"hosts": [{"name": "a", "rates": {"50.0": "12.5"}, "ok": true}], "n": 3}
run 2: 250.5 MB/s
"""


def _shell(tmp_path: Path, *metrics: list[str], window: tuple[float, float] | None = None) -> tuple[object, object]:
    (tmp_path / "measure.out").write_text(OUTPUT)
    reading = samples.read(tmp_path, "shell", "measure.out", window, metrics=list(metrics))
    return dict(reading.metrics), " ".join(reading.problems)


def test_output_that_is_too_long_is_not_read(tmp_path: Path) -> None:
    """It takes no memory, and is not an error if nothing is extracted from it."""
    with (tmp_path / "measure.out").open("wb") as file:
        file.truncate(LONGEST + 1)
    step = Step("measure", Action.MEASURE, "", "", 60)
    tracemalloc.start()
    timed = shell_reader.read(tmp_path, Reader("shell", "measure.out", {"metrics": [["time"]]}), step, (0.0, 2.0))
    searched = shell_reader.read(tmp_path, Reader("shell", "measure.out", {"metrics": [["regex", "n: count=x"]]}), step)
    hashes.of_directory(tmp_path)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert (timed.problems, timed.metrics["elapsed"]) == ((), 2.0)
    assert searched.problems == ("measure.out is longer than 256 MiB, so it is not read",)
    assert peak < 16 << 20


def test_shell_takes_the_last_match_and_the_path(tmp_path: Path) -> None:
    assert _shell(tmp_path, ["regex", r"rate=([\d.]+) MB/s"]) == ({"rate": 250.5}, "")
    assert _shell(tmp_path, ["regex", r"rate=\d+(?= MB/s$)"]) == ({"rate": 5}, "")
    assert _shell(tmp_path, ["json", "n=n"]) == ({"n": 3}, "")
    assert _shell(tmp_path, ["json", 'r=hosts[0].rates["50.0"]']) == ({"r": 12.5}, "")


@pytest.mark.parametrize(
    ("metric", "problem"),
    [
        (["regex", "x=nope"], "x: nothing in the output matches `nope`"),
        (["regex", "x=("], "x: `(` is not a regular expression"),
        (["regex", "x=run (.*)"], "x: `2: 250.5 MB/s` is not a number"),
        (["regex", "x=(nope)?start"], "x: `None` is not a number"),
        (["json", "x=hosts[1].name"], "x: there is no `hosts[1]` in the output's JSON"),
        (["json", "x=hosts[0].name"], "x: `a` is not a number"),
        (["json", "x=hosts[0].ok"], "x: `True` is not a number"),
        (["json", "x=hosts.name"], "x: there is no `hosts.name` in"),
        (["json", "x=n]"], "x: `n]` is not a path"),
        (["time"], "the journal does not say when measure began and ended"),
        (["what", "x"], "`what` is not a way to find a metric"),
    ],
)
def test_shell_reports_missing_metrics(tmp_path: Path, metric: list[str], problem: str) -> None:
    figures, problems = _shell(tmp_path, metric)
    assert figures == {}
    assert problem in str(problems)


def test_shell_time(tmp_path: Path) -> None:
    window = (100.0, 102.5)
    assert _shell(tmp_path, ["time"], window=window) == ({"elapsed": 2.5}, "")
    for shell in filter(shutil.which, ("dash", "bash", "busybox")):
        command = [shell, "sh", "-c"] if shell == "busybox" else [shell, "-c"]
        busy = "i=0; while [ $i -lt 90000 ]; do i=$((i+1)); done"
        subprocess.run([*command, f"sh -c '{busy}'; times > times.txt"], cwd=tmp_path, check=True)
        figures, problems = _shell(tmp_path, ["time"], window=window)
        assert problems == ""
        assert isinstance(figures, dict)
        assert 0.01 < figures["user_s"] + figures["sys_s"] < 5
    (tmp_path / "times.txt").write_text("0m0.00s 0m0.01s\n1m2.50s 0m0.25s\n")
    assert _shell(tmp_path, ["time"], window=window)[0] == {"elapsed": 2.5, "user_s": 62.5, "sys_s": 0.25}
    (tmp_path / "times.txt").write_text("")
    assert "times.txt is not what" in str(_shell(tmp_path, ["time"], window=window)[1])


def test_shell_without_output_json_or_metrics(tmp_path: Path) -> None:
    assert samples.read(tmp_path, "shell", "measure.out").problems == ("measure.out was not written",)
    (tmp_path / "measure.out").write_text("[1] done\n")
    assert samples.read(tmp_path, "shell", "measure.out").problems == ()
    assert samples.read(tmp_path, "shell", "measure.out", metrics=[["json", "x=a"]]).problems == (
        "x: there is no JSON in the output",
    )


# --- throttling

HEAT, SHARE = "/sys/devices/system/cpu/cpu0/thermal_throttle/core_throttle_count", "/sys/fs/cgroup/a/cpu.stat"


@pytest.mark.parametrize(
    ("before", "after", "throttles", "against"),
    [
        ({HEAT: 3, SHARE: 5}, {HEAT: 3, SHARE: 5}, 0, ()),
        ({HEAT: 3, SHARE: 5}, {HEAT: 5, SHARE: 5}, 2, ("throttled: processors were too hot 2 times",)),
        ({SHARE: 5}, {SHARE: 6}, 1, ("throttled: the cgroup's share of processors was used up 1 times",)),
        ({}, {}, None, ()),
    ],
)
def test_throttled_trials_do_not_count(
    tmp_path: Path, before: dict[str, int], after: dict[str, int], throttles: int | None, against: tuple[str, ...]
) -> None:
    for t, (name, counts) in enumerate((("before", before), ("after", after)), 1):
        lines = "".join(f"{path} {count}\n" for path, count in counts.items())
        (tmp_path / name).write_text(f"@ {t}.5\n{lines}")
    reading = samples.read(tmp_path, "throttling", "after", before="before")
    assert reading.metrics == ({} if throttles is None else {"throttles": throttles})
    assert reading.against == against
    assert bool(reading.problems) == (throttles is None)
