"""A trial counts only if its claims held and its measurement is one."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
import reader_samples as samples

from zlang.plan.plan import Action
from zlang.readers.judge import judge

MEASURE = samples.step("measure", "fio", "fio.json", jobs=1, runtime=1)


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """The directory of an attempt with a good report."""
    shutil.copy(samples.DATA / "single.json", tmp_path / "fio.json")
    return tmp_path


@pytest.mark.parametrize(
    ("cache", "expect", "found", "state", "evidence", "why_not"),
    [
        ("cold", "0", "   0\n", "cold", "0 bytes resident", ""),
        ("cold", "0", "4096\n", "not cold", "4096 bytes resident", "cache not cold: 4096 bytes resident"),
        ("cold", "0", "", "not cold", "verify-1 printed nothing", "cache not cold: verify-1 printed nothing"),
        ("cold", "0", None, "not cold", "verify-1.out was not written", "cache not cold: verify-1.out was not written"),
        ("cold", "0", "what?", "not cold", "`what?`, not `0`", "cache not cold: `what?`, not `0`"),
        ("hot", "8192", "8192", "hot", "8192 bytes resident", ""),
        ("hot", "8192", "0", "not hot", "0 bytes resident, not 8192", "cache not hot: 0 bytes resident, not 8192"),
        ("warm", "yes", "yes", "warm", "yes", ""),
        ("as_is", "lz4", "off", "as_is", "", "verify-1: `off`, not `lz4`"),
    ],
)
def test_the_cache(
    out: Path, cache: str, expect: str, found: str | None, state: str, evidence: str, why_not: str
) -> None:
    if found is not None:
        (out / "verify-1.out").write_text(found)
    verdict = judge(samples.trial(samples.check("verify-1", expect), MEASURE, cache=cache), out, None)
    assert (verdict.cache_state, verdict.cache_evidence) == (state, evidence)
    assert (verdict.valid, verdict.why_not) == (not why_not, why_not)
    assert verdict.metrics["read_iops"] > 0, "what was measured is kept, and marked"


def test_a_cold_cache_that_nothing_checked_is_not_believed(out: Path) -> None:
    verdict = judge(samples.trial(MEASURE, cache="cold"), out, None)
    assert (verdict.valid, verdict.cache_state, verdict.why_not) == (False, "not cold", "cache not cold: not checked")


def test_a_property_is_not_the_cache(out: Path) -> None:
    (out / "property-1.out").write_text("off\n")
    (out / "verify-1.out").write_text("0\n")
    checks = (samples.check("property-1", "lz4"), samples.check("verify-1", "0"))
    verdict = judge(samples.trial(*checks, MEASURE, cache="cold"), out, None)
    assert verdict.cache_state == "cold"
    assert verdict.why_not == "property-1: `off`, not `lz4`"


def test_fios_reason_is_the_trials(out: Path) -> None:
    shutil.copy(samples.DATA / "nospace.json", out / "fio.json")
    verdict = judge(samples.trial(MEASURE), out, None)
    assert not verdict.valid
    assert verdict.why_not == "fio: No space left on device (job nospace: error 28)"
    assert verdict.metrics == {}


def test_a_collector_that_failed_is_a_note(out: Path) -> None:
    shutil.copy(samples.DATA / "vmstat.txt", out / "vmstat.out")
    _say_when(out, 1795235173)
    good = samples.step("vmstat", "vmstat", "vmstat.out", Action.COLLECT)
    bad = samples.step("diskstats", "diskstats", "diskstats.out", Action.COLLECT)
    verdict = judge(samples.trial(good, bad, MEASURE), out, None)
    assert verdict.valid
    assert verdict.notes == ("diskstats: diskstats.out was not written",)
    assert len(verdict.samples) == 17


def test_a_collector_that_saw_the_machine_held_back_decides(out: Path) -> None:
    for when, count in (("before", 1), ("after", 4)):
        (out / f"{when}.out").write_text(f"@ 1.5\n/sys/fs/cgroup/cpu.stat {count}\n")
    watch = samples.step("look", "throttling", "after.out", Action.COLLECT, before="before.out")
    verdict = judge(samples.trial(watch, MEASURE), out, None)
    assert (verdict.valid, verdict.why_not) == (
        False,
        "throttled: the cgroup's share of processors was used up 3 times",
    )
    assert verdict.metrics["read_iops"] > 0


def test_collectors_are_read_for_what_fio_measured(out: Path) -> None:
    _say_when(out, 103)
    (out / "d.out").write_text("".join(f"@ {t}\n8 0 sda {t} 0 {8 * t} 0 0 0 0 0 0 0 0\n\n" for t in range(98, 106)))
    collector = samples.step("d", "diskstats", "d.out", Action.COLLECT)
    runtime = judge(samples.trial(MEASURE), out, None).metrics["fio_runtime"]
    verdict = judge(samples.trial(collector, MEASURE), out, (99.0, 104.0))
    begin, end = verdict.window or (0, 0)
    assert (begin, end) == (103 - runtime, 103)
    assert verdict.metrics["device_reads"] == pytest.approx(runtime)
    assert all(103 - runtime < sample.t <= 103.5 for sample in verdict.samples)
    # A clock that is not ours says nothing.
    assert judge(samples.trial(collector, MEASURE), out, (1.0, 2.0)).window == (1.0, 2.0)


def _say_when(out: Path, end: int) -> None:
    """Let fio have made its report at this second."""
    report = json.loads((out / "fio.json").read_text())
    (out / "fio.json").write_text(json.dumps({**report, "timestamp_ms": 1000 * end}, indent=1))


def test_two_measurements_with_the_same_names(out: Path) -> None:
    second = samples.step("measure-2", "shell", "fio.json", metrics=[["regex", r"read_iops=\"read_ios\" : (\d+)"]])
    verdict = judge(samples.trial(MEASURE, second), out, None)
    assert {"read_iops", "measure-2_read_iops"} <= set(verdict.metrics)


def test_a_reader_of_another_version(out: Path) -> None:
    verdict = judge(samples.trial(samples.step("measure", "iozone", "x")), out, None)
    assert verdict.why_not == "iozone: this version of zlang has no such reader"
