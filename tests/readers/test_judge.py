"""Check that a trial counts only if its claims held and its measurement is valid."""

from __future__ import annotations

import json
import pickle
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
import reader_samples as samples

from zlang.plan.plan import ALONE, Action, Fetch, Reader, Step
from zlang.readers import outside, streams
from zlang.readers.judge import judge
from zlang.readers.reading import Histogram, Phase, Reading, SortedBins, StreamReading, Window
from zlang.readers.registry import READERS

MEASURE = samples.step("measure", "fio", "fio.json", jobs=1, runtime=1)


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """Create the directory of an attempt with a good report."""
    shutil.copy(samples.DATA / "single.json", tmp_path / "fio.json")
    return tmp_path


@pytest.mark.parametrize(
    ("cache", "expect", "printed", "state", "evidence", "why_not"),
    [
        ("cold", "0", "   0\n", "cold", "0 bytes resident", ""),
        ("cold", "0", "4096\n", "not cold", "4096 bytes resident", "cache not cold: 4096 bytes resident"),
        ("cold", "0", "", "not cold", "verify-1 printed nothing", "cache not cold: verify-1 printed nothing"),
        ("cold", "0", None, "not cold", "verify-1.out was not written", "cache not cold: verify-1.out was not written"),
        ("cold", "0", "in memory", "not cold", "in memory", "cache not cold: in memory"),
        ("hot", "8192", "8192", "hot", "8192 bytes resident", ""),
        ("hot", "8192", "0", "not hot", "0 bytes resident, not 8192", "cache not hot: 0 bytes resident, not 8192"),
        ("warm", "yes", "yes", "warm", "yes", ""),
        ("warm", "yes", "no\n\nmore", "not warm", "`no more`, not `yes`", "cache not warm: `no more`, not `yes`"),
        ("hot", "a\nb\nc", "a\nx\ny", "not hot", "`x, y`, not `b, c`", "cache not hot: `x, y`, not `b, c`"),
        ("hot", "a\nb\nc", "a\nb", "not hot", "`a b`, not `a b c`", "cache not hot: `a b`, not `a b c`"),
        ("hot", "a\nb", "a\nb", "hot", "a, b", ""),
        ("hot", "", "", "hot", "", ""),
        ("hot", "", "x", "not hot", "`x`, not ``", "cache not hot: `x`, not ``"),
        ("hot", "", "7", "not hot", "7 bytes resident, not ", "cache not hot: 7 bytes resident, not "),
        ("as_is", "lz4", "off", "as_is", "", "verify-1: `off`, not `lz4`"),
    ],
)
def test_the_cache(
    out: Path, cache: str, expect: str, printed: str | None, state: str, evidence: str, why_not: str
) -> None:
    if printed is not None:
        (out / "verify-1.out").write_text(printed)
    verdict = judge(samples.trial(samples.check("verify-1", expect), MEASURE, cache=cache), out, None)
    assert (verdict.cache_state, verdict.cache_evidence) == (state, evidence)
    assert (verdict.valid, verdict.why_not) == (not why_not, why_not)
    assert verdict.metrics["read_iops"] > 0, "what was measured is kept, and marked"


def test_a_long_line_is_cut(out: Path) -> None:
    for length, shown in ((120, "x" * 120), (121, "x" * 119 + "…")):
        (out / "verify-1.out").write_text("x" * length)
        verdict = judge(samples.trial(samples.check("verify-1", "0"), MEASURE), out, None)
        assert verdict.why_not == f"verify-1: `{shown}`, not `0`"


def test_of_several_caches_each_is_named(out: Path) -> None:
    checks = [samples.check(f"verify-{layer}-1", "0") for layer in ("pages", "arc")]
    for check in checks:
        (out / f"{check.name}.out").write_text("0")
    verdict = judge(samples.trial(*checks, MEASURE, cache="cold"), out, None)
    assert (verdict.cache_state, verdict.cache_evidence) == (
        "cold",
        "pages-1: 0 bytes resident; arc-1: 0 bytes resident",
    )
    (out / "verify-arc-1.out").write_text("8")
    verdict = judge(samples.trial(*checks, MEASURE, cache="cold"), out, None)
    assert (verdict.cache_state, verdict.why_not) == ("not cold", "cache not cold: arc-1: 8 bytes resident")


def test_attested_states_count_and_are_named(out: Path) -> None:
    def ask(name: str, expect: str | None) -> Step:
        return Step(name, Action.ASK, "", f"{name}:  the cache\nis empty", 0, expect=expect)

    attested = ask("verify-1", "")
    verdict = judge(samples.trial(attested, MEASURE, cache="cold"), out, None)
    assert (verdict.valid, verdict.cache_state) == (True, "cold")
    assert verdict.cache_evidence == "attested: verify-1: the cache is empty"
    (out / "verify-2.out").write_text("0")
    verdict = judge(samples.trial(attested, samples.check("verify-2", "0"), MEASURE, cache="cold"), out, None)
    assert verdict.cache_evidence == "0 bytes resident; attested: verify-1: the cache is empty"
    for other in (ask("property-1", ""), ask("verify-1", None)):
        assert judge(samples.trial(other, MEASURE, cache="cold"), out, None).cache_state == "not cold"


def test_a_command_that_claims_nothing_is_no_claim(out: Path) -> None:
    step = Step("verify-1", Action.VERIFY, "true", "a test", 10)
    assert judge(samples.trial(step, MEASURE), out, None).valid
    assert judge(samples.trial(step, MEASURE, cache="cold"), out, None).why_not == "cache not cold: not checked"


def test_all_reasons_are_named(out: Path) -> None:
    checks = [samples.check(name, "0") for name in ("one", "two")]
    assert judge(samples.trial(*checks, MEASURE), out, None).why_not == (
        "one: one.out was not written; two: two.out was not written"
    )


def test_latencies_of_all_measurements_are_kept(out: Path) -> None:
    single = judge(samples.trial(MEASURE), out, None).latency
    assert single
    second = samples.step("measure-2", "fio", "fio.json", jobs=1, runtime=1)
    assert judge(samples.trial(MEASURE, second), out, None).latency == (*single, *single)


def test_without_a_time_of_the_load_a_collector_is_read_for_that_of_the_step(out: Path) -> None:
    (out / "d.out").write_text("".join(f"@ {t}\n8 0 sda {t} 0 {8 * t} 0 0 0 0 0 0 0 0\n\n" for t in range(98, 106)))
    (out / "said.out").write_text("rate=1\n")
    says = samples.step("said", "shell", "said.out", metrics=[["regex", r"rate=rate=(\d+)"]])
    collector = samples.step("d", "diskstats", "d.out", Action.COLLECT)
    verdict = judge(samples.trial(collector, says), out, (99.0, 104.0))
    assert verdict.window == (99.0, 104.0)
    assert verdict.metrics["device_reads"] == pytest.approx(5)


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


def test_collectors_are_read_for_the_window_of_fio(out: Path) -> None:
    _say_when(out, 103)
    (out / "d.out").write_text("".join(f"@ {t}\n8 0 sda {t} 0 {8 * t} 0 0 0 0 0 0 0 0\n\n" for t in range(98, 106)))
    collector = samples.step("d", "diskstats", "d.out", Action.COLLECT)
    runtime = judge(samples.trial(MEASURE), out, None).metrics["fio_runtime"]
    verdict = judge(samples.trial(collector, MEASURE), out, (99.0, 104.0))
    begin, end = verdict.window or (0, 0)
    assert (begin, end) == (103 - runtime, 103)
    assert verdict.metrics["device_reads"] == pytest.approx(runtime)
    assert all(103 - runtime < sample.t <= 103.5 for sample in verdict.samples)
    # A clock other than that of the run is ignored.
    assert judge(samples.trial(collector, MEASURE), out, (1.0, 2.0)).window == (1.0, 2.0)


def _say_when(out: Path, end: int) -> None:
    """Set the second in which fio wrote its report."""
    report = json.loads((out / "fio.json").read_text())
    (out / "fio.json").write_text(json.dumps({**report, "timestamp_ms": 1000 * end}, indent=1))


def test_two_measurements_with_the_same_names(out: Path) -> None:
    second = samples.step("measure-2", "shell", "fio.json", metrics=[["regex", r"read_iops=\"read_ios\" : (\d+)"]])
    verdict = judge(samples.trial(MEASURE, second), out, None)
    assert {"read_iops", "measure-2_read_iops"} <= set(verdict.metrics)


def test_a_reader_of_another_version(out: Path) -> None:
    verdict = judge(samples.trial(samples.step("measure", "iozone", "x")), out, None)
    assert verdict.why_not == "iozone: this version of zlang has no such reader"


BYTES = 73_146_368
"""So many bytes fio read, by its report."""


@pytest.mark.parametrize(
    ("share", "most", "fetched", "counted", "why_not"),
    [
        (1.0, 1e12, BYTES // 2, (), ""),
        (1.0, 1e12, BYTES // 2 - 1, (), "cache not cold: only 36,573,183 of the 73,146,368 bytes that the workload"),
        (0.25, 1e12, BYTES // 8, (), ""),
        (0.25, 1e12, BYTES // 8 - 1, (), "came from devices, not at least 9,143,296"),
        (1.0, 4096, 2048, (), ""),
        (1.0, 4096, 2047, (), "came from devices, not at least 2,048"),
        (1.0, 1e12, None, (), ""),
        (1.0, 4096, None, ("1000", "3048"), ""),
        (
            1.0,
            4096,
            None,
            ("1000", "3047"),
            "only 2,047 of the 73,146,368 bytes that the workload read came from pool, not",
        ),
        (
            1.0,
            4096,
            None,
            ("3048", "1000"),
            "only 0 of the 73,146,368 bytes that the workload read came from pool, not",
        ),
        (
            1.0,
            4096,
            2048,
            ("1000", "1000"),
            "only 0 of the 73,146,368 bytes that the workload read came from pool, not",
        ),
        (1.0, 4096, 2047, ("1000", "9000"), "came from devices, not at least 2,048"),
        (1.0, 4096, 2048, ("1000", "-"), "cache not cold: pool did not count what was read from it"),
        (1.0, 4096, 2048, ("", "1000"), "cache not cold: pool did not count what was read from it"),
    ],
)
def test_data_that_a_cold_load_read_came_from_devices(
    out: Path, share: float, most: float, fetched: int | None, counted: tuple[str, ...], why_not: str
) -> None:
    """Every counter must show at least half of the expected amount."""
    if fetched is not None:
        # A wrapper in place of the shell had read 7,000 bytes before fio started.
        counts = (f"rchar: 9\nread_bytes: {7000 + read}\nwrite_bytes: 0\n" for read in (0, fetched))
        (out / "io").write_text("".join(counts))
    (out / "verify-1.out").write_text("0")
    steps = [
        samples.check("verify-1", "0"),
        samples.step("measure", "fio", "fio.json", jobs=1, runtime=1, counted="io"),
    ]
    for when, printed in zip(("before", "after"), counted, strict=False):
        (out / f"counted-pool-{when}.out").write_text(f"{printed}\n")
        steps.append(Step(f"counted-pool-{when}", Action.COLLECT, "true", "a test", 10))
    trial = replace(samples.trial(*steps, cache="cold"), fetch=Fetch(share, most))
    verdict = judge(trial, out, None)
    assert verdict.cache_state == ("not cold" if why_not else "cold")
    assert verdict.valid is not bool(why_not)
    assert why_not in verdict.why_not
    assert bool(why_not) is bool(verdict.why_not)


def test_a_load_that_reads_nothing_need_not_read_from_devices(out: Path) -> None:
    step = samples.step("measure", "shell", "fio.json", metrics=[["time"]])
    trial = replace(samples.trial(step), fetch=Fetch(1.0, 4096))
    assert "cache" not in judge(trial, out, None).why_not


def test_a_metric_of_a_single_stream_also_has_its_name(out: Path) -> None:
    """Measured metrics have both names, with and without the stream; those of collectors do not."""
    (out / "said.out").write_text("rate=1\n")
    (out / "seen.out").write_text("load=2\n")
    says = samples.step("said", "shell", "said.out", metrics=[["regex", r"rate=rate=(\d+)"]])
    sees = samples.step("seen", "shell", "seen.out", Action.COLLECT, metrics=[["regex", r"load=load=(\d+)"]])
    trial = replace(samples.trial(says, sees), traits={ALONE: "reads"})
    metrics = judge(trial, out, None).metrics
    assert (metrics["rate"], metrics["reads.rate"], metrics["load"]) == (1, 1, 2)
    assert "reads.load" not in metrics


def test_streams_are_read_within_the_time_of_the_trial(out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stream = StreamReading("one", "one", {"rate": 1.0}, ())
    phase = Phase("scrub", 2.0, 3.0)

    def read(_readers: object, _out: Path, _reader: Reader, _step: Step, window: Window | None = None) -> Reading:
        assert window == (1.0, 5.0)
        return Reading({"rate": 1.0}, streams=(stream,), phases=(phase,), window=(2.0, 3.0))

    monkeypatch.setattr("zlang.readers.streams.read", read)
    measures = [samples.step(name, streams.NAME, "") for name in ("measure-c1", "measure-c2")]
    verdict = judge(samples.trial(*measures), out, (1.0, 5.0))
    assert (verdict.streams, verdict.phases, verdict.window) == ((stream, stream), (phase, phase), (2.0, 3.0))


def test_unchecked_states_of_imported_results_are_named(out: Path) -> None:
    checks = [samples.check(name, "0") for name in ("one", "two", "three")]
    (out / "three.out").write_text("1")
    imported = samples.step("measure", outside.NAME, "metrics.json")
    verdict = judge(samples.trial(*checks, imported), out, None)
    assert "three: `1`, not `0`" in verdict.why_not
    assert "one" not in verdict.why_not
    assert "measured without zlang, and not checked by it: one, two" in verdict.notes


def test_each_layer_that_did_not_count_is_named(out: Path) -> None:
    """The second layer is checked, too."""
    shutil.copy(samples.DATA / "single.json", out / "fio.json")
    steps = [samples.check(f"counted-{key}-{when}", "") for key in ("a", "b") for when in ("before", "after")]
    trial = replace(samples.trial(*steps, MEASURE, cache="cold"), fetch=Fetch(1.0, 4096))
    why_not = judge(trial, out, None).why_not
    assert [key for key in "ab" if f"{key} did not count what was read from it" in why_not] == ["a", "b"]


@pytest.mark.parametrize("bins", [{}, {1000: 5, 2000: 1}, {7: 2.5}, {7: 1 << 70}, {1 << 70: 1}])
def test_a_histogram_is_the_same_from_another_process(bins: dict[int, int]) -> None:
    received = pickle.loads(pickle.dumps(Histogram("read_clat", SortedBins.of(bins)), pickle.HIGHEST_PROTOCOL))
    assert received == Histogram("read_clat", SortedBins.of(bins))
    assert dict(received.bins) == bins
    assert list(map(type, received.bins.values())) == list(map(type, bins.values()))


def test_a_reader_that_fails_names_its_file(out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    empty: dict[str, Reading] = {}
    monkeypatch.setitem(READERS, "fio", lambda *_: empty["jobs"])
    with pytest.raises(ValueError, match=r"^fio\.json: 'jobs'$"):
        judge(samples.trial(MEASURE), out, None)
