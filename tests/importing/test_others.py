"""Import files of bench-fio, vdbench and elbencho: converted values, and messages about values not converted."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest
from imports import errors

from zlang.cli.app import guarded
from zlang.errors import RunError
from zlang.pipeline import importing
from zlang.source import Source
from zlang.syntax import format as formatting

BENCH_FIO = """\
# Two devices
[benchfio]
target = /dev/sda, /dev/sdb
output = benchmark
type = device
mode = randread,randrw
rwmixread = 50, 75
iodepth = 1,16
numjobs = 4
direct = 1
size = 10G
engine = libaio
precondition = True
destructive = True
loops = 3
extra_opts = norandommap=1
"""

VDBENCH = """\
* Mixed load on two volumes
sd=default,size=64m,openflags=o_direct
sd=sd1,lun=/srv/bed/one,threads=4
sd=sd2,lun=/srv/bed/two
wd=reads,sd=sd1,rdpct=100,seekpct=random,skew=25
wd=mix,sd=sd2,xfersize=(4k,75,64k,25),rdpct=70,
   seekpct=seq,hitarea=1m
rd=run1,wd=*,iorate=(400,800),elapsed=5m,warmup=30,interval=1,forthreads=(1-4,d)
rd=run2,wd=reads,io=curve,el=60,forx=(4k,8k) this is a comment
eof
rd=never
"""

FILES = """\
fsd=fsd1,anchor=/srv/bed,depth=1,width=2,files=100,size=128k
fwd=fwd1,fsd=fsd1,operation=read,xfersize=4k,fileio=random,fileselect=random,threads=8
fwd=fwd2,fsd=fsd1,operation=delete
rd=rd1,fwd=fwd*,fwdrate=max,format=yes,elapsed=10
"""

ELBENCHO = """\
#!/bin/sh
# sequential writes, then random reads
$ elbencho -w -b 4M -t 16 --direct -s 20g "/srv/bed/file" && \\
    sudo /usr/bin/elbencho -r -b 4k -t16 --iodepth 16 --direct --rand --timelimit 20 -s 20g /srv/bed/file
elbencho -wr -d -t 2 -n 3 -N 4 -s 1m -i 5 --dropcache --rwmixpct 30 --gpuids 0 /srv/bed >/dev/null
elbencho --hosts "node00[1-2]" --quit
"""

TEXTS = {"a.ini": BENCH_FIO, "a.parm": VDBENCH, "files": FILES, "a.sh": ELBENCHO}


def imported(text: str, name: str = "study") -> str:
    return importing.import_file(text, name, None)


def squeezed(text: str) -> str:
    return re.sub(" +", " ", text)


@pytest.mark.parametrize("name", TEXTS)
def test_an_import_is_formatted_and_has_no_errors(name: str) -> None:
    text = imported(TEXTS[name], name)
    assert errors(text) == []
    assert formatting.program(Source("study.zexp", text)).text == text


@pytest.mark.parametrize(
    ("name", "lines"),
    [
        (
            "a.ini",
            """\
# Two devices
# bench-fio measures /dev/sda: to measure a device, declare it as a `disk`, and name that disk in `on`
file data on here { size = 10GiB }
 iodepth = 1 | 16
 rwmixread = 50% | 75%
 norandommap = on
 # precondition = True: `import treatments`, and write `before = precondition {}` in the experiment
let load = plain | mixed
 cache = cold
 repeat = 3""",
        ),
        (
            "a.parm",
            """\
# Mixed load on two volumes
let threads = 1 | 2 | 4
let iorate = 400/s | 800/s
let xfersize = 4KiB | 8KiB
 rw = randread
 rate_iops = max(1/s, round(iorate * 1 / 4 / threads))
fio mix_sd2 on data_2 {
 bssplit = "4k/75:64k/25"
 # hitarea=1m: no option of fio hits a cache at a given rate; `cache = hot` and `cache = cold` are the extremes
 rwmixread = 70%
 runtime = 5min
 ramp_time = 30s
 run = [reads, mix_sd2]
 numjobs = 4
 bs = xfersize""",
        ),
        (
            "files",
            """\
# vdbench measures 200 files of size=128k: here one file is as large as all of them
file data on here { size = 25MiB }
# [fwd=fwd2] is left out: `delete` is neither a read nor a write, and fio does only those
 rw = randread
# format=yes: a `file` is written in full before it is measured""",
        ),
        (
            "a.sh",
            """\
# elbencho -w -b 4M -t 16 --direct -s 20g /srv/bed/file
 io_size = 1280MiB
 offset_increment = 1280MiB
 rw = randread
 iodepth = 16
 ioengine = libaio
 runtime = 20s
# elbencho measures 24 files of 1m: here one file is as large as all of them
file data_2 on here { size = 24MiB }
 rwmixread = 30%
 # --gpuids 0: no option of fio does this
 repeat = 5
 cache = cold
# [--hosts node00[1-2] --quit] is left out: it neither reads nor writes data""",
        ),
    ],
)
def test_imported_values(name: str, lines: str) -> None:
    text = squeezed(imported(TEXTS[name], name)).splitlines()
    assert [line for line in lines.splitlines() if line not in text] == []


def test_the_import_runs_what_bench_fio_would_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program = tmp_path / "a.zexp"
    program.write_text(imported(BENCH_FIO))
    assert guarded(["plan", str(program), "--emit", "sh"]) == 0
    calls = re.findall(r"--ioengine=libaio.*|.*--iodepth=.*", capsys.readouterr().out)
    points = {tuple(sorted(re.findall(r"--(?:rw|bs|iodepth|numjobs|rwmixread)=(\w+)", call))) for call in calls}
    plain = {("randread", "4096", depth, "4") for depth in ("1", "16")}
    mixed = {("randrw", "4096", depth, "4", share) for depth in ("1", "16") for share in ("50", "75")}
    assert points == {tuple(sorted(point)) for point in plain | mixed}


def test_a_configuration_of_elbencho_is_read(tmp_path: Path) -> None:
    (tmp_path / "own.elbencho").write_text("# one phase\nthreads=2\nblock=1M\nsize=1G\nwrite=1\nrand=0\n")
    text = imported("elbencho -c own.elbencho --block 4k /srv/bed/data\n", str(tmp_path / "a.sh"))
    assert " rw = write\n bs = 4KiB\n" in squeezed(text)
    assert " rw = write\n bs = 1MiB\n" in squeezed(imported((tmp_path / "own.elbencho").read_text(), "own.elbencho"))


def test_a_parameter_file_includes_another(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "volumes").write_text("sd=sd1,lun=/srv/bed/one,size=8m\n")
    (tmp_path / "a.parm").write_text("include=volumes\nwd=wd1,sd=sd1\nrd=rd1,wd=wd1,elapsed=3\n")
    assert guarded(["import", str(tmp_path / "a.parm")]) == 0
    assert "file data on here { size = 8MiB }" in capsys.readouterr().out
    (tmp_path / "volumes").write_text("include=volumes\n")
    assert guarded(["import", str(tmp_path / "a.parm")]) == 1
    assert "an included file cannot include another" in capsys.readouterr().err


VOLUMES = "sd=default,size=1g\nsd=sd1,lun=/srv/bed/one\nsd=sd2,lun=/srv/bed/two\nwd=wd1,sd=sd1,xfersize=64k\n"


@pytest.mark.parametrize(
    ("run", "parts"),
    [
        ("rd=r,wd=wd1,sd=sd2,xfersize=(4k,8k)", ["let xfersize = 4KiB | 8KiB", "fio wd1_sd2 {"]),
        ("rd=r,sd=sd*,rdpct=0,threads=1", ["fio r_sd2 on data_2 { rw = randwrite bs = 4KiB numjobs = 1 }"]),
        ("rd=r,wd=wd1,seekpct=random,forrdpct=(0-100,50)", ["let rdpct = 0% | 50% | 100%", "rwmixread = rdpct"]),
        ("rd=r,wd=wd1,forthreads=(8-2,d)", ["let threads = 8 | 4 | 2"]),
        ("rd=r,wd=wd1,elapsed=9,maxdata=2,threads=4", ["io_size = 512MiB", "runtime = 9s"]),
        ("rd=r,wd=wd1,maxdata=8g", ["io_size = 1GiB"]),
        ("rd=r,wd=wd1,maxdata=8g,threads=(1,2)", ["maxdata=8g: write as `io_size` how much each worker reads"]),
    ],
)
def test_options_of_a_run_definition(run: str, parts: list[str]) -> None:
    text = imported(f"{VOLUMES}{run}\n")
    assert errors(text) == []
    assert [part for part in parts if part not in squeezed(text)] == []


def test_a_load_of_limited_data_ends_when_it_has_moved_them() -> None:
    assert "time_based" not in imported(f"{VOLUMES}rd=r,wd=wd1,elapsed=9,maxdata=2\n")


def test_a_run_overrides_workloads_on_files_and_their_storage() -> None:
    of_files = "fsd=f,anchor=/srv,depth=1,width=1\nfwd=w,fsd=f,fileio=sequntial,threads=1\n"
    run = "rd=r,fwd=w,fwdrate=max,format=restart,elapsed=9,operation=write,files=5,size=1g"
    text = imported(f"{of_files}{run}\n")
    assert "rw = write" in squeezed(text)
    assert "file data on here { size = 5GiB }" in text
    loops = imported(f"{of_files}{run.replace('operation=write', 'foroperations=(write,read)')}\n")
    assert "rw = write" in squeezed(loops)
    assert "# foroperations=(write,read): here only `write`; write an experiment for each\n" in loops
    deleted = imported(f"{of_files}{run}\n{run.replace('write', 'delete').replace('rd=r', 'rd=s')}\n")
    assert "# [fwd=w] is left out: `delete` is neither a read nor a write" in deleted
    created = imported(f"{of_files}{run.replace('restart', '(clean,only)')}\n")
    assert "# [fwd=w] is left out: this only creates the files, and a `file` is written" in squeezed(created)


def test_a_file_system_has_files_up_to_its_total_size() -> None:
    text = imported("fsd=f,anchor=/srv,files=9,size=(1m,50,1g,50),totalsize=2g\nfwd=w,fsd=f\nrd=r,fwd=w\n")
    assert "files of size=(1m,50,1g,50) up to totalsize=2g: here one file is as large as all of them" in text
    assert "{ size = 2GiB }" in text


def test_options_of_fio_in_a_file_of_bench_fio_are_given_to_fio() -> None:
    text = squeezed(imported("[benchfio]\nsize=1g\nnorandommap=1\ntime_based=True\nmade_up=3\n"))
    assert " norandommap = on\n" in text
    assert " time_based = on\n" in text
    assert ' extra = ["made_up=3"]\n' in text


@pytest.mark.parametrize(
    ("paths", "count"),
    [
        ("/srv/f{1..16}", 16),
        ("/srv/{a,b}{01..03}", 6),
        ("/srv/f[1-4] /srv/g", 5),
        ("/srv/{1..9999}{1..9999} /srv/a", 2),
    ],
)
def test_paths_are_expanded_as_bash_does(paths: str, count: int) -> None:
    text = imported(f"elbencho -w -b 4k -s 1m {paths}\n")
    assert f"# elbencho measures {count} files or devices at once: here only the first of them\n" in text
    assert errors(text) == []


def test_each_thread_of_elbencho_has_separate_files() -> None:
    text = squeezed(imported("srun -N2 elbencho -w -t 4 -n 2 -N 3 -s 1m -d -b 1m /srv/bed\n"))
    assert "{ size = 24MiB }\n" in text
    assert " io_size = 6MiB\n offset_increment = 6MiB\n" in text


def test_a_file_that_would_be_too_long_a_program_is_refused() -> None:
    volumes = "".join(f"sd=s{number},lun=/srv/{number}\n" for number in range(900))
    with pytest.raises(RunError, match=r"^the program has [0-9,]+ words and signs; the limit is 200,000$"):
        imported(f"{volumes}wd=wd1\n" + "".join(f"rd=r{number},wd=wd1\n" for number in range(12)))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[benchfio]\nmode\n", "study is not an INI file"),
        ("[benchfio]\nmode=read\nmode=write\n", "study is not an INI file"),
        ("[benchfio]\nloops=-1\n", "`loops = -1` is not a number of repetitions"),
        ("sd=sd1,lun=/x\n", "study has no run definition"),
        ("rd=run1,wd=wd2\n", "rd=run1 does not name a workload that is defined"),
        ("wd=wd1,xfersize=(4k,8k\n", "study:1: a parenthesis has no matching one"),
        ("sd=sd1,lun=/x\nwd=wd1\nrd=r,forthreads=(1-100000000,1)\n", "a series of more than 100 values"),
        ("elbencho -w '/srv\n", "study: no closing quotation"),
        ("elbencho -w /srv\0/x\n", "study is not a text file"),
    ],
)
def test_a_file_that_cannot_be_read(text: str, message: str) -> None:
    with pytest.raises(RunError, match=re.escape(message)):
        imported(text)


PIECES = [
    "=",
    ",",
    "(",
    ")",
    '"',
    "'",
    "\\",
    "\n",
    "[",
    "]",
    "{",
    "}",
    "$lun",
    "-1",
    "9" * 400,
    "*",
    "1e9",
    "é",
    "#",
    "-",
    "%",
]


@pytest.mark.parametrize("name", TEXTS)
def test_a_damaged_file_is_imported_or_refused(name: str) -> None:
    chance = random.Random(name)
    for _ in range(25):
        text = TEXTS[name]
        for _ in range(chance.randint(1, 3)):
            start = chance.randrange(len(text))
            text = text[:start] + chance.choice(PIECES) + text[start + chance.randint(0, 5) :]
        try:
            program = importing.import_file(text, name, None)
        except RunError:
            continue
        assert errors(program) == [], text
