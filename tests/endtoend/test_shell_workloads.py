"""Test arbitrary commands as workloads, and collectors that run beside them."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path

import pytest
import reader_samples
from command_line import Zlang, left_of

from zlang.readers.reading import Window

METRICS = r"""
dir here { path = "." }
param words: string = "two words"
shell counts {
  command = \"\"\"
    echo 'speed: 12.5 MB/s'; echo 'speed: 99 MB/s'
    echo '{{"jobs": [{{"iops": 7, "odd.key": 3}}]}}'
    printf '%s\n' {words}
    i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done
  \"\"\"
  metrics = [time, regex("speed=speed: ([0-9.]+)"), json("iops=jobs[0].iops"), json("odd=jobs[0][\"odd.key\"]")]
}
experiment metrics { on = here  run = counts  repeat = 2 }
""".replace('\\"\\"\\"', '"""')

COLLECTED = """
import linux
dir here { path = "." }
shell waits { command = "sleep 2.2"  writes = off }
experiment collected { on = here  run = waits  collect = [vmstat { interval = 1s }, diskstats { interval = 1s }] }
"""


UNTIDY = """
import fio
dir here {{ path = "." }}
file data on here {{ size = 1MiB }}
shell leaves_a_file {{ command = "echo x >junk" }}
fio reads {{ rw = read  bs = 64KiB }}
experiment untidy {{ {fields}  repeat = 2 }}
"""


@pytest.mark.parametrize("fields", ["on = data  run = reads  before = leaves_a_file", "on = here  run = leaves_a_file"])
@pytest.mark.parametrize("runs", ["runs", "trials/1/setups/1/runs", "setups/1/trials/1/runs"])
def test_files_left_by_a_command_are_removed(zlang: Zlang, fields: str, runs: str) -> None:
    done = zlang.run(UNTIDY.format(fields=fields), "--yes", "--runs", runs)
    assert "2 of 2 trials count" in done.out
    assert not list(zlang.at.glob("zlang-*"))


def test_metrics_are_read_from_the_output(zlang: Zlang) -> None:
    zlang.run(METRICS)
    rows = zlang.rows("select elapsed, user_s, sys_s, speed, iops, odd from trials")
    assert len(rows) == 2
    for row in rows:
        assert (row["speed"], row["iops"], row["odd"]) == (99, 7, 3)
        elapsed, user = row["elapsed"], row["user_s"]
        assert isinstance(elapsed, float)
        assert isinstance(user, float)
        assert 0 <= user <= elapsed < 5
    (output,) = {path.read_text() for path in zlang.folder().glob("trials/*/*/a1/measure.out")}
    assert output.endswith("two words\n")


@pytest.mark.parametrize(
    ("metric", "why"),
    [
        ('regex("n=no such (.*)")', "n: nothing in the output matches `no such (.*)`"),
        ('json("n=jobs[7].iops")', "n: there is no `jobs[7]` in the output's JSON"),
        ('regex("n=(speed)")', "n: `speed` is not a number"),
    ],
)
def test_a_missing_metric_fails_the_trial(zlang: Zlang, metric: str, why: str) -> None:
    text = METRICS.replace('regex("speed=speed: ([0-9.]+)")', metric)
    ended = zlang.run(text, code=1)
    assert why in ended.err
    assert {row["why_not"] for row in zlang.rows("select why_not from all_trials")} == {f"shell: {why}"}


def test_a_command_that_fails(zlang: Zlang) -> None:
    fails = """
dir here { path = "." }
let fails = shell { command = "exit 3"  label = "a" } | shell { command = "echo no disk >&2; exit 1"  label = "b" }
          | shell { command = "kill -9 $$"  label = "c" } | shell { command = "true"  label = "d" }
experiment failing { on = here  run = fails }
"""
    zlang.run(fails, code=1)
    rows = zlang.rows("select why_not from all_trials order by fails")
    why = [str(row["why_not"]) for row in rows]
    assert (why[0], why[1], why[3]) == ("measure: exited with 3", "measure: no disk", "")
    assert why[2].lower().startswith("measure: killed"), "by some shells, or by us"
    shown = zlang("status", zlang.folder().name).out
    assert all(str(row["why_not"]) in shown for row in rows if row["why_not"])


def test_a_command_that_does_not_end(zlang: Zlang) -> None:
    endless = """
dir here { path = "." }
shell endless { command = "trap '' TERM; sleep 60 & sleep 60"  timeout = 1s }
experiment forever { on = here  run = endless }
"""
    began = time.monotonic()
    ended = zlang.run(endless, code=1)
    assert time.monotonic() - began < 50, "it did not wait for what sleeps a minute"
    assert "measure: timed out after 1 s" in ended.err
    assert "timed out after" in str(zlang.rows("select why_not from all_trials"))
    assert left_of(zlang.folder().name) == []


# On a separate device, which nothing else reads.
RAMPED = """
import fio
import linux
import filesystems
dir here { path = "." }
loop disk on here { size = 320MiB }
ext4 volume on disk {}
file data on volume { size = 64MiB }
fio reads { rw = randread  bs = 64KiB  direct = on  ramp_time = 3s  runtime = 3s  time_based = on  rate = 40MiB/s }
experiment ramped {
  on      = data
  run     = reads
  collect = [diskstats {}, iostat {}, mpstat {}, vmstat {}, meminfo {}, pressure {}]
}
"""


def test_collectors_leave_the_ramp_out(zlang: Zlang, tmp_path: Path) -> None:
    zlang.run(RAMPED)
    assert zlang.rows("select problem from problems") == []
    (trial,) = zlang.rows("select * from trials")
    read = number(trial, "read_bytes")
    assert 0 <= number(trial, "mpstat_idle_cpu") < 100
    assert 0 <= number(trial, "psi_io_some_ratio") <= 100
    assert number(trial, "mem_cached_bytes") > 0
    assert number(trial, "vmstat_bi") > 0.7 * read / 3
    assert number(trial, "iostat_read_bw") > 0.7 * read / 3
    assert number(trial, "device_read_bytes") > 0.7 * read
    (times,) = zlang.rows("select min(second) as first, max(second) as last from samples where metric = 'read_bw'")
    assert 0.8 < number(times, "first") < 2
    assert 1.9 < number(times, "last") < 3.2
    (out,) = zlang.folder().glob("trials/*/*/a1")
    window = reader_samples.read(out, "fio", "fio.json").window
    in_window, in_all = (bytes_of_loops(out, tmp_path, between) for between in (window, None))
    # fio paces itself, and the second in which the ramp ends is split as if the rate were constant.
    nearest = min(in_window, key=lambda name: abs(in_window[name] - read))
    assert in_window[nearest] == pytest.approx(read, rel=0.25)
    # The ramp reads as much as the window, and less on a machine that is slow to begin.
    assert in_all[nearest] > 1.5 * read


def bytes_of_loops(out: Path, scratch: Path, window: Window | None) -> dict[str, float]:
    """Return the bytes read from each loop device, as if it were a disk."""
    lines = (out / "ramped.collect.diskstats.out").read_text().splitlines(keepends=True)
    amounts = {}
    for loop in {line.split()[2] for line in lines if " loop" in line}:
        only = [line.replace(f" {loop} ", " sdz ") for line in lines if line.startswith("@") or f" {loop} " in line]
        (scratch / "loop").write_text("".join(only))
        amounts[loop] = reader_samples.read(scratch, "diskstats", "loop", window).metrics.get("device_read_bytes", 0)
    return amounts


def number(row: Mapping[str, object], name: str) -> float:
    """Return a number from the database."""
    value = row[name]
    assert isinstance(value, int | float), name
    return float(value)


def test_collectors_leave_samples(zlang: Zlang) -> None:
    zlang.run(COLLECTED)
    counts = zlang.rows("select metric, count(*) as n, count(distinct source) as sources from samples group by all")
    metrics = {str(row["metric"]): row["n"] for row in counts}
    assert "vmstat_us" in metrics
    assert metrics.keys() >= {"read_iops", "write_bw", "util"}
    (outside,) = zlang.rows(
        "select count(*) as n from samples s join trials t using (run, trial, replicate) "
        "where s.t < t.started - interval 3 second or s.t > t.started + interval 30 second"
    )
    assert outside["n"] == 0
    assert zlang.rows("select valid from all_trials") == [{"valid": True}]
    assert left_of(zlang.folder().name) == []


SIZES = """
import filesystems
dir here { path = "." }
loop disk on here { size = 256MiB  allocation = sparse }
btrfs volume on disk { compress = none | zstd(3) }
file data on volume { size = 16MiB  content = zeros }
experiment sizes { on = data  collect = [capacity {}, btrfs_capacity {}] }
"""


def test_an_experiment_about_capacity_alone(zlang: Zlang) -> None:
    """To du, a compressed extent of btrfs is as large as its content; compsize reports the real size."""
    zlang.run(SIZES)
    size = 16 * 2**20
    columns = "after_du_bytes, after_apparent_bytes, before_du_bytes, after_compsize_uncompressed_bytes"
    assert zlang.rows(f"select distinct {columns} from trials") == [dict.fromkeys(columns.split(", "), size)]
    disk = [
        number(row, "disk")
        for row in zlang.rows("select after_compsize_disk_bytes as disk from trials order by compress")
    ]
    assert disk[0] == size
    assert disk[1] < size / 30, "zstd makes one block of 4 KiB of 128 KiB of zeros"
    assert zlang.rows("select after_df_used_bytes < 10e6 as small from trials order by compress") == [
        {"small": False},
        {"small": True},
    ]


COUNTED = r"""
import events
import fio
dir here { path = "." }
file data on here { size = 1MiB }
kind starts: wrapper {
  doc = "Count how often something was started, and with how many words."
  wrap { sh "set -- {command} && echo \"$# words\" >{out}/starts.txt && echo x >>{out}/starts.txt && \"$@\"" }
  metric words: count = regex "^([0-9]+) words$" { from = "starts.txt"  doc = "number of words" }
  metric starts: count = regex "^(1|x)$" { from = "starts.txt"  doc = "what is no number" }
}
kind counts: wrapper {
  doc = "Count words."
  wrap { sh "set -- {command} && echo \"$# words\" >{out}/words.txt && \"$@\"" }
  metric words: count = regex "^([0-9]+) words$" { from = "words.txt"  doc = "number of words" }
}
fio reads { rw = read  bs = 64KiB  io_size = 1MiB  under = none | counts {} | starts {} }
shell looks { command = "ls"  writes = off  metrics = [time]  under = counts {} }
experiment counted { on = data  run = reads }
experiment plain { on = here  run = looks }
let naps = shell { command = "sleep 2"  writes = off  under = counts {}  label = "naps" }
experiment both { on = here  run = [looks with { command = "sleep 2" }, naps] }
experiment watched { on = data  run = reads with { under = counts {}  time_based = on  runtime = 2s }  during = hog {} }
"""


def test_metrics_of_a_wrapper_are_added_to_those_of_the_workload(zlang: Zlang) -> None:
    """A missing number invalidates the trial, like a missing number of the workload."""
    zlang("run", zlang.program(COUNTED), "--experiment", "counted", code=1)
    rows = zlang.rows("select under, words, read_iops > 0 as measured, valid, why_not from all_trials order by under")
    assert [list(row.values()) for row in rows] == [
        ["none", None, True, True, ""],
        ["counts", 3, True, True, ""],
        ["starts", 3, True, False, "fio: starts: `x` is not a number"],
    ]


def test_whether_processors_were_held_back_is_counted(zlang: Zlang) -> None:
    """If neither the machine nor the tests' cgroup can count throttling, zlang reports this."""
    zlang.run(COLLECTED.replace("[vmstat { interval = 1s }, diskstats { interval = 1s }]", "throttling {}"), code=None)
    (trial,) = zlang.rows("select throttles, why_not from all_trials")
    problems = [row["problem"] for row in zlang.rows("select problem from problems")]
    if trial["throttles"] is None:
        assert "the machine does not say whether its processors were throttled" in str(problems)
    else:
        assert (number(trial, "throttles") > 0) == str(trial["why_not"]).startswith("throttled: ")


UNDER = """
import wrappers
dir here {{ path = "." }}
shell looks {{ command = "{look}"  writes = off  under = {wrapper} }}
experiment e {{ on = here  run = looks }}
"""


@pytest.mark.parametrize(
    ("wrapper", "look", "printed"),
    [
        ("ionice { class = idle }", "ionice", "idle"),
        ("chrt { priority = 1 }", "chrt --pid $$ | sed -n 's/.*policy: //p'", "SCHED_RR"),
        ("taskset { cpus = [0] }", "taskset --cpu-list --pid $$ | sed 's/.*: //'", "0"),
        ("perf_stat {}", "echo started", "started"),
        ("numactl { node = 0 }", "numactl --show | grep -c '^membind: 0 '", "1"),
    ],
)
def test_a_wrapper_starts_the_command(zlang: Zlang, wrapper: str, look: str, printed: str) -> None:
    zlang.run(UNDER.format(look=look, wrapper=wrapper))
    (output,) = (path.read_text() for path in zlang.folder().glob("trials/*/*/a1/measure.out"))
    assert output == f"{printed}\n"


def test_a_wrapper_has_metrics(zlang: Zlang) -> None:
    zlang.run(COUNTED, "--experiment", "plain")
    assert [row["words"] for row in zlang.rows("select words from trials where elapsed > 0")] == [3]


def test_each_stream_has_the_metrics_of_its_wrapper(zlang: Zlang) -> None:
    zlang.run(COUNTED, "--experiment", "both")
    (row,) = zlang.rows("select valid, why_not, looks_words, naps_words from all_trials")
    assert list(row.values()) == [True, "", 3, 3]


def test_a_workload_with_events_has_the_metrics_of_its_wrapper(zlang: Zlang) -> None:
    zlang.run(COUNTED, "--experiment", "watched")
    assert [row["words"] for row in zlang.rows("select words from trials")] == [3]


def test_a_question_without_a_metric_is_about_the_load_not_about_a_collector(zlang: Zlang) -> None:
    """The load's metric is the same in every trial, and the collector's varies."""
    zlang.run("""
import linux
dir at { path = "." }
let n = 1 | 2
vmstat beside { }
shell load { command = "sleep {n}; echo ops: 5"  writes = off  metrics = [regex("ops: iops=ops: ([0-9]+)")] }
experiment e { on = at  run = load  collect = beside }
""")
    (headings, *_) = zlang("table").out.splitlines()
    assert "ops" in headings
    assert "vmstat" not in headings
