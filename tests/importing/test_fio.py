"""Check that imported fio job files measure the same: fio's readings of the original and the result are compared."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import fio_parser
import pytest
from imports import errors

from zlang.check import library
from zlang.check.check import Overrides
from zlang.cli.app import guarded
from zlang.errors import RunError
from zlang.importing import fio, fio_numbers
from zlang.pipeline import importing, plans, programs
from zlang.source import Source
from zlang.syntax import format as formatting

KEYWORDS = {"$pagesize": "4096", "$mb_memory": "4000", "$ncpus": "2"}
VARIABLES = {"SIZE": "8m", "EMPTY": "", "PATTERN": "randread"}

STUDY = """\
; A study of four loads.
; allow everything: this is a comment of fio's

[global]
directory=/srv/bench
filename=data.bin   ; one file for all
size=${SIZE}
ioengine=libaio
blocksize=4k
buffered=0
runtime=1m
time_based

# reads in any order
[random reads]
rw=${PATTERN}
iodepth=0x8
rwmixread=70

[seq]
stonewall
readwrite=readwrite
thinktime=5ms
rate=2m
rate_iops=500
latency_percentile=99.9
latency_target=20ms
log_avg_msec=250
sync=1

[writes]
stonewall
rw=write
bs=128kb
io_size=0x100000
offset=1024
zero_buffers
end_fsync=1
verify=0
random_distribution=zipf:1.2

[if]
stonewall
rw=randwrite
bs=4k,8k
percentage_random=50,0
nice=-5
"""

HEAD = {"filename", "group_reporting", "randrepeat", "randseed", "thread", "fallocate", "allow_file_create"}
HEAD |= {"invalidate", "refill_buffers", "directory", "new_group"}
"""Options that zlang gives by itself, or says in other words."""


def nothing_included(name: str, by: str) -> tuple[str, str]:
    raise AssertionError(name + by)


def imported(text: str) -> str:
    return fio.program(text, "study.fio", VARIABLES, KEYWORDS, nothing_included)


def named_as_in_the_library(options: dict[str, str]) -> dict[str, str]:
    kind = library.load().kind("fio")
    named = {}
    for name, value in options.items():
        other = re.fullmatch(r"write `([\w-]+)`", kind.without.get(name, ""))
        named[other[1] if other and name not in kind.properties else name] = value
    if "buffered" in named:
        named["direct"] = "1" if named.pop("buffered") == "0" else "0"
    return {name: value for name, value in named.items() if name not in kind.without and name not in HEAD}


@pytest.mark.skipif(shutil.which("fio") is None, reason="fio is not installed")
def test_the_emitted_job_file_has_the_options_of_the_imported_one(tmp_path: Path) -> None:
    original = tmp_path / "study.fio"
    original.write_text(STUDY)
    wanted = {name: named_as_in_the_library(of) for name, of in fio_parser.effective(original, VARIABLES).items()}
    text = imported(STUDY)
    checked = programs.check(Source("study.zexp", text), Overrides())
    (experiment,) = checked.program.experiments.values()
    emitted: dict[str, dict[str, str]] = {}
    for name, job in plans.job_files(plans.plan(checked, experiment, 1, Overrides())):
        (tmp_path / name).write_text(job)
        emitted |= fio_parser.effective(tmp_path / name, {"RUN": "run", "OUT": "out"})
    got = {name: named_as_in_the_library(of) for name, of in emitted.items()}
    wanted["seq"] |= {"rw": "rw", "sync": "sync"}  # other words for the same
    wanted["writes"]["size"] = str(8 * 2**20 - 1024)  # from the offset to the end of the file
    del wanted["writes"]["verify"]  # `0`: nothing is verified
    assert got == dict(zip(("random_reads", "seq", "writes", "if_job"), wanted.values(), strict=True))
    assert got["random_reads"]["iodepth"] == "8"
    assert got["if_job"]["bs"] == "8192"


UNITS = """\
[global]
kb_base=1000
size=3m
bs=4k
rw=read:8k
runtime=1m
bssplit=4k/50:8kib/50
[a]
io_size=1gib
[b]
stonewall
rw=randread:8
rate=2m,3mib
[c]
stonewall
rw=write
kb_base=1024
bs=8k
[d]
stonewall
rw=rw:-8kib
"""


@pytest.mark.skipif(shutil.which("fio") is None, reason="fio is not installed")
def test_sizes_follow_kb_base_1000(tmp_path: Path) -> None:
    (tmp_path / "units.fio").write_text(UNITS)
    wanted = {
        name: named_as_in_the_library(of) for name, of in fio_parser.effective(tmp_path / "units.fio", {}).items()
    }
    checked = programs.check(Source("units.zexp", imported(UNITS)), Overrides())
    got: dict[str, dict[str, str]] = {}
    for experiment in checked.program.experiments.values():
        for name, job in plans.job_files(plans.plan(checked, experiment, 1, Overrides())):
            (tmp_path / name).write_text(job)
            got |= fio_parser.effective(tmp_path / name, {"RUN": "run"})
    for job_name, rw in {"a": "read:8000", "b": "randread:8", "c": "write", "d": "rw:-8192"}.items():
        wanted[job_name] |= {"rw": rw, "bssplit": "4kib/50:8k/50"}
    assert {name: named_as_in_the_library(of) for name, of in got.items()} == wanted
    assert [wanted[name]["bs"] for name in "ac"] == ["4000", "8192"]


def test_an_import_is_formatted_and_has_no_errors() -> None:
    text = imported(STUDY)
    assert errors(text) == []
    assert formatting.program(Source("study.zexp", text)).text == text
    assert "# A study of four loads.\n" in text
    assert '# "allow everything: this is a comment of fio\'s"\n' in text
    assert 'dir here { path = "/srv/bench" }\nfile data on here { size = 8MiB }\n' in text
    assert "let load = random_reads | seq | writes | if_job\n" in text


@pytest.mark.parametrize(
    ("options", "line"),
    [
        ("group_reporting", "# group_reporting: omit it: zlang sets it so that it can read the results"),
        (
            "exec_prerun=rm -rf /",
            "# exec_prerun=rm -rf /: declare a `shell` workload, so that the plan shows the program",
        ),
        ("rw=randrw:8", "rw_batch = 8"),
        ("rw=randrw:8k", "rw_batch = 8"),
        ("rw=write:-8k", "rw_skip = -8KiB"),
        ("rw=read:far", "# rw=read:far: only the pattern is taken over, not `:far`"),
        ("threads=3", "# threads=3: write `numjobs`; fio's own `threads` acts only on a `profile`"),
        ("rw=shuffled", "# rw=shuffled: the pattern is unknown, so zlang wrote `read`"),
        ("bs=${NOWHERE}", "# bs=${NOWHERE}: the environment has no NOWHERE"),
        ("made_up=3", 'extra = ["made_up=3"]'),
        ("http_host=a{b}", 'extra = ["http_host=a{{b}}"]'),
        ("ioengine=http", "# [a] is left out: zlang does not know where the engine `http` writes"),
        ('bssplit="4k/10', 'bssplit = "\\"4k/10"'),
        ("pre_read=1", "cache = hot"),
        ("invalidate=0", "cache = as_is"),
        (
            "filename=/dev/sdz",
            "# fio measures /dev/sdz: to measure a device, declare it as a `disk`, and name that disk in `on`",
        ),
        ("numjobs=4", "# fio gives each of its workers a file of its own: here they share one"),
        ("size=50%", "# size=50%: write how large the file is"),
        ("size=$mb_memory/4*1024", "file data on here { size = 1000KiB }"),
        (
            "ioengine=exec\nprogram=reboot",
            "# [a] is left out: declare a `shell` workload, so that the plan shows the program",
        ),
        ("time_based", "# time_based: fio ignores this without a runtime"),
        ("description=What it is", "# What it is"),
        ("made\x1b[31m=3", "# made\\x1b[31m=3: this is not an option of fio"),
    ],
)
def test_comments_about_options(options: str, line: str) -> None:
    text = imported(f"[a]\n{options}\n")
    assert line in re.sub(" +(?==)", " ", text)
    assert errors(text) == []


def test_options_in_extra_reach_fio(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    text = imported("[global]\nsize=1m\nmade_up=3\n[a]\nbs=4k,8k\n[b]\nrw=write\n")
    assert 'extra = ["made_up=3", "bs=4k,8k"]' in text
    (tmp_path / "a.zexp").write_text(text)
    assert guarded(["plan", str(tmp_path / "a.zexp"), "--emit", "sh"]) == 0
    assert "--made_up=3 --bs=4k,8k" in capsys.readouterr().out


def test_options_in_extra_are_inherited_only_from_global() -> None:
    """`bs=4k,8k` has no property; `[b]` must not get it from `[a]`, and `[d]` replaces that of `[global]`."""
    text = imported("[global]\nioengine=psync\nsize=1m\nmade_up=3\n[a]\nbs=4k,8k\n[b]\nstonewall\nbs=1m\n")
    assert text.count("4k,8k") == 1
    assert 'extra = ["made_up=3", "bs=4k,8k"]' in text.partition("let a =")[2].partition("let b =")[0]
    assert errors(text) == []
    text = imported("[global]\nioengine=psync\nsize=1m\nbs=4k,8k\n[c]\nrw=write\n[d]\nstonewall\nbs=1m\n")
    assert re.search(r"let d = common with \{[^}]*bs *= 1MiB[^}]* extra *= \[\]", text)
    assert errors(text) == []


@pytest.mark.parametrize("words", ["rw=write", "ioengine=http", "--rw=write"])
def test_options_that_decide_what_is_written_cannot_be_in_extra(words: str) -> None:
    assert (
        "`extra` must not set"
        in errors(
            imported("[a]\nsize=1m\n")
            .replace("size ", f'extra = ["{words}"] size', 0)
            .replace("fio a {}", f'fio a {{ extra = ["{words}"] }}')
        )[0]
    )


def test_jobs_that_wait_for_none_are_streams_of_one_trial(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    text = imported(
        "[global]\nsize=1m\n[a]\n[b]\nrw=write\n[c]\nwait_for=b\n[d]\nstonewall=0\nsize=2m\n[e]\nstonewall\n"
    )
    assert errors(text) == []
    assert "fio d on data_3 {}\n" in text
    assert "let load = [a, b] | [c, d] | e\n" in text
    (tmp_path / "a.zexp").write_text(text)
    assert guarded(["plan", str(tmp_path / "a.zexp"), "--emit", "sh"]) == 0
    script = capsys.readouterr().out
    assert script.count("--new_group=1") > 2  # each stream is a section of one fio
    assert "# 3 trials;" in script


def test_concurrent_jobs_have_separate_files_as_in_fio(tmp_path: Path) -> None:
    job_file = "[global]\nsize=1m\ndirectory=/srv\n[a]\n[b]\niodepth=2\n[c]\nstonewall\n[d]\nfilename=one\n"
    text = imported(job_file)
    assert errors(text) == []
    assert text.count("\nfile ") == 3
    assert re.search(r"fio b on data_2 \{.*fio d on data_3 \{", text, re.DOTALL)
    checked = programs.check(Source("a.zexp", text), Overrides())
    (experiment,) = checked.program.experiments.values()
    (tmp_path / "a.fio").write_text(job_file)
    wanted = {name: named_as_in_the_library(of) for name, of in fio_parser.effective(tmp_path / "a.fio", {}).items()}
    got: dict[str, dict[str, str]] = {}
    for name, job in plans.job_files(plans.plan(checked, experiment, 1, Overrides())):
        (tmp_path / name).write_text(job)
        got |= fio_parser.effective(tmp_path / name, {"RUN": "run"})
    assert {name: named_as_in_the_library(of) for name, of in got.items()} == wanted
    assert [got[name]["filename"].rpartition("/")[2] for name in "abcd"] == ["data", "data_2", "data", "data_3"]


def test_equal_jobs_that_write_to_one_file_are_workers_of_one() -> None:
    shared = "[global]\nfilename=data\nsize=1m\nrw=write\nexitwhat=all\n"
    text = imported(
        f"{shared}[one]\nbs=8k\n[other]\n[two]\nbs=8192\n[three]\nstonewall\n[four]\nrw=read\n[five]\nrw=read\n"
    )
    assert errors(text) == []
    assert "let one = common with { bs = 8KiB  numjobs = 2 }" in text
    assert "let load = [one, other] | [three, four, five]" in text
    mixed = imported("[global]\nfilename=data\nsize=1m\nrw=randrw:8\n[one]\n[two]\n")
    assert errors(mixed) == []
    assert "numjobs = 2" in mixed
    apart = imported(f"{shared}offset_increment=4k\n[one]\n[two]\n")
    assert errors(apart) == []
    assert "# [two] is left out: [one] does the same to the same file" in apart


def test_comments_about_a_file_appear_for_every_job() -> None:
    text = imported("[a]\nsize=1g\n[b]\nstonewall\nrw=write\nsize=25%\n")
    assert text.count("\nfile ") == 1
    assert "# size=25%: write how large the file is\n" in text


def test_jobs_that_measure_the_same_are_one_level() -> None:
    text = imported("[global]\nsize=1m\n[a]\n[b]\nstonewall\nrw=write\n[c]\nstonewall\n")
    assert "# [c] measures the same as [a], so the program has only that one\nlet load = a | b\n" in text
    assert errors(text) == []


def test_the_file_in_place_of_a_device_reaches_as_far_as_its_jobs() -> None:
    text = imported("[a]\nfilename=/dev/sdz\nsize=10g\noffset=100g\nnumjobs=3\noffset_increment=20g\n")
    assert "{ size = 150GiB }" in text
    assert errors(text) == []


def test_a_file_includes_another(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "common.inc").write_text("rw=randwrite\nbs=64k\n")
    (tmp_path / "a.fio").write_text("[a]\ninclude common.inc\nsize=1m\n")
    assert guarded(["import", str(tmp_path / "a.fio")]) == 0
    assert "fio a { rw = randwrite  bs = 64KiB }" in capsys.readouterr().out
    (tmp_path / "common.inc").write_text("include common.inc\n")
    assert guarded(["import", str(tmp_path / "a.fio")]) == 1
    assert "files include each other" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "has no jobs"),
        ("[global]\nbs=4k\n", "has no jobs"),
        ("bs=4k\n", "`bs=4k` is not in a section"),
        ("[]\n", "needs a name"),
    ],
)
def test_a_file_that_is_no_job_file(text: str, message: str) -> None:
    with pytest.raises(RunError, match=re.escape(message)):
        importing.import_file(text, "a.fio", None)


@pytest.mark.parametrize(
    ("words", "bytes_"),
    [("4k", 4096), ("4kib", 4000), ("0x1000", 4096), ("(16m + 1k)", 16778240), ("(2^3 - -1)", 9), ("(7/2)", 3)]
    + [(wrong, None) for wrong in ("", "4x", "1.5m", "(4", "(4k * )", "(1/0)", "(2^999999)", "(" * 90, "4k,8k")],
)
def test_sizes(words: str, bytes_: int | None) -> None:
    assert fio_numbers.size(words) == bytes_


def test_a_program_is_not_imported() -> None:
    with pytest.raises(RunError, match="is already a zlang program"):
        importing.import_file("import fio\n", "a.zexp", None)


def test_an_existing_file_is_left_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    job, out = tmp_path / "a.fio", tmp_path / "a.zexp"
    job.write_text("[a]\nsize=1m\n")
    assert guarded(["import", str(job), "--out", str(out)]) == 0
    assert errors(out.read_text()) == []
    assert guarded(["import", str(job), "--out", str(out)]) == 1
    assert "already exists" in capsys.readouterr().err
