"""Create, set, read back, measure and remove ext4, xfs and btrfs for real, on loop devices. Needs root."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import TypeGuard

import pytest
from waiting import wait_for

from zlang.plan.plan import ROOT
from zlang.run import journal
from zlang.run.events import Altered, End, Made

REPOSITORY = Path(__file__).parents[2]
SIZES = {"ext4": "16MiB", "xfs": "320MiB", "btrfs": "256MiB"}

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="loop devices and mounting need root")

SWEEP = """
import fio
import filesystems

dir here { path = "." }
loop small on here { size = 16MiB }
loop large on here { size = 320MiB  allocation = sparse }
loop middle on here { size = 120MiB  allocation = sparse }
let volume = ext4 on small {} | xfs on large {} | btrfs on middle {}
file data on volume { size = 4MiB }
fio writes { rw = randwrite  bs = 4KiB  direct = on  io_size = 256KiB }
experiment sweep { on = data  run = writes  cache = cold }
"""

PROGRAM = """
import fio
import filesystems

dir here {{ path = "." }}
loop disk on here {{ size = {size}  {loop} }}
{kind} volume on disk {{ {properties} }}
file data on volume {{ size = 1MiB }}
fio reads {{ rw = read  bs = 64KiB }}
experiment one {{ on = data  run = reads  cache = cold }}
"""

# The measured command blocks in `sleep`, so that the run can be stopped during the measurement.
SLOW = """
import filesystems

dir here { path = "." }
loop disk on here { size = 16MiB }
ext4 volume on disk
shell waits { command = "touch running; sleep 60"  writes = off }
experiment slow { on = volume  run = waits }
"""

EVERY: dict[str, list[str]] = {
    "ext4": [
        """
          blocksize = 1KiB  inode_size = 256B  inode_ratio = 8KiB  reserved = 2%  journal_size = 4MiB
          stride = 4  stripe_width = 16  metadata_csum = off  inline_data = on  wide = on  flex_bg = off
          data = writeback  commit = 30s  barrier = off  delalloc = off  auto_da_alloc = off  discard = on
          dioread_nolock = off  journal_async_commit = on  atime = noatime  lazytime = on  stripe = 16
          max_batch_time = 1ms  min_batch_time = 10us  journal_ioprio = 5  inode_readahead_blks = 64
        """,
        """
          cluster_size = 16KiB  fast_commit = on  extents = on  journal = on  metadata_csum = on
          data = ordered  commit = 5s  barrier = on  delalloc = on  auto_da_alloc = on  discard = off
          dioread_nolock = on  journal_async_commit = off  atime = strictatime  lazytime = off  dax = off
          mkfs_discard = on
        """,
        """
          mkfs_extra = ["-Lmeasured"]  mount_extra = ["nouid32"]
          journal = off  extents = off  wide = off  atime = relatime  inline_data = off  fast_commit = off
        """,
    ],
    "xfs": [
        """
          blocksize = 1KiB  sector_size = 512B  inode_size = 512B  agcount = 2  su = 64KiB  sw = 2
          directory_block = 8KiB  crc = on  finobt = off  rmapbt = on  reflink = off  bigtime = off
          inobtcount = off  sparse_inodes = off  nrext64 = on  allocsize = 64KiB  logbufs = 4
          logbsize = 64KiB  largeio = on  inodes = inode32  discard = on  swalloc = on  wsync = on
          filestreams = on  atime = noatime  lazytime = on  log_su = 32KiB
        """,
        """
          mkfs_extra = ["-Lmeasured"]  mount_extra = ["grpid"]
          log_size = 64MiB  extent_hint = 16  cow_hint = 32  reflink = on  finobt = on  rmapbt = off
          noalign = on  largeio = off  inodes = inode64  discard = off  swalloc = off  wsync = off
          filestreams = off  atime = strictatime  lazytime = off  mkfs_discard = on
        """,
    ],
    "btrfs": [
        """
          nodesize = 4KiB  sectorsize = 4KiB  csum = xxhash  data = single  metadata = single  no_holes = off
          compress_force = zlib(9)  autodefrag = on  discard = none  ssd = ssd_spread  commit = 10s
          flushoncommit = on  max_inline = 1000B  thread_pool = 3  metadata_ratio = 4  treelog = off
          barrier = off  atime = noatime  lazytime = on
        """,
        """
          csum = blake2  data = dup  metadata = dup  no_holes = on  free_space_tree = on  mixed = off
          datacow = off  datasum = off  autodefrag = off  discard = sync  ssd = nossd  commit = 30s
          flushoncommit = off  max_inline = 2KiB  metadata_ratio = 0  treelog = on  barrier = on
          space_cache = v2  atime = strictatime  lazytime = off  mkfs_discard = on
        """,
        """
          csum = sha256  mixed = on  nodesize = 4KiB  free_space_tree = off  space_cache = v1
          compress = zstd(-5)  datacow = on  datasum = on  discard = async  ssd = ssd  atime = relatime
        """,
        'csum = crc32c  compress = lzo  space_cache = v2  mkfs_extra = ["--label=m"]  mount_extra = ["clear_cache"]',
        "compress = none  compress_force = lzo",
    ],
}


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Create a directory on a disk."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-c", "from zlang.cli.app import main; main()", *arguments]


ENVIRONMENT = {**os.environ, "PYTHONPATH": str(REPOSITORY)}


def zlang(*arguments: str, code: int | None = 0) -> str:
    done = subprocess.run(command(*arguments), capture_output=True, text=True, env=ENVIRONMENT, timeout=300)
    assert code is None or done.returncode == code, done.stdout + done.stderr
    return done.stdout + done.stderr


def failed() -> list[str]:
    return [failure["why"] for failure in json.loads(zlang("status", last_run(), "--json"))["failed"]]


def last_run() -> str:
    return max(Path("runs").iterdir(), key=lambda path: path.stat().st_mtime).name


def program(kind: str, properties: str = "", loop: str = "allocation = sparse") -> str:
    Path("one.zexp").write_text(PROGRAM.format(size=SIZES[kind], kind=kind, properties=properties, loop=loop), "utf-8")
    return "one.zexp"


def answers(sql: str) -> list[list[object]]:
    output = zlang("sql", sql, "--format", "json")
    rows, _ = json.JSONDecoder().raw_decode(output[output.index("[") :])  # warnings follow
    return [list(row.values()) for row in rows]


def test_a_sweep_over_three_file_systems() -> None:
    Path("sweep.zexp").write_text(SWEEP, "utf-8")
    zlang("run", "sweep.zexp", "--yes")
    assert failed() == []
    rows = answers("select volume, write_iops > 0, cache_state, cache_evidence from trials order by volume::varchar")
    shown = "{}: 0 bytes resident; volume.{}: no superblock in memory; data: 0 bytes resident"
    disks = {"btrfs": "middle", "ext4": "small", "xfs": "large"}
    assert rows == [[kind, True, "cold", shown.format(disk, kind)] for kind, disk in disks.items()]


def test_words_for_mke2fs_do_not_replace_each_other() -> None:
    text = PROGRAM.format(
        size="16MiB", loop="", kind="ext4", properties='mkfs_extra = ["-Estride=4", "-Estripe_width=8"]'
    )
    reads = "fio reads { rw = read  bs = 64KiB }"
    shows = """shell reads {
      command = "dumpe2fs -h $(findmnt --noheadings --output SOURCE --target .)"
      metrics = [regex("stride: count=RAID stride: +([0-9]+)"), regex("width: count=RAID stripe width: +([0-9]+)")]
      writes  = off
    }"""
    assert reads in text
    Path("one.zexp").write_text(text.replace(reads, shows), "utf-8")
    zlang("run", "one.zexp", "--yes")
    assert answers("select stride, width from trials") == [[4, 8]]


def test_a_file_system_is_balanced_meanwhile() -> None:
    text = PROGRAM.format(size="120MiB", loop="allocation = sparse", kind="btrfs", properties="")
    text = text.replace("cache = cold", "during = balance {}").replace(
        "64KiB }", "64KiB  time_based = on  runtime = 2s }"
    )
    Path("balanced.zexp").write_text(text, "utf-8")
    zlang("run", "balanced.zexp", "--yes")
    assert failed() == []
    assert answers("select read_iops > 0 from trials") == [[True]]


def kill_meanwhile(place: Path, tool: str, held: str, text: str) -> None:
    """Run a program, and kill the run while a tool called with these arguments is held up."""
    real, tools = shutil.which(tool), place / "tools"
    tools.mkdir()
    waits = f'#!/bin/sh\ncase $* in {held}) {real} "$@"; touch {place}/held; exec sleep 1000 ;; esac\n'
    (tools / tool).write_text(f'{waits}exec {real} "$@"\n')
    (tools / tool).chmod(0o755)
    Path("killed.zexp").write_text(text, "utf-8")
    environment = {**ENVIRONMENT, "PATH": f"{tools}:{os.environ['PATH']}"}
    run = subprocess.Popen(command("run", "killed.zexp", "--yes"), env=environment, stderr=subprocess.PIPE, text=True)
    wait_for(lambda: run.poll() is not None or (place / "held").exists())
    run.kill()
    run.communicate(timeout=60)
    assert list(place.glob("zlang-*"))


def test_nothing_is_left_of_a_run_that_was_killed_in_a_balance(place: Path) -> None:
    text = PROGRAM.format(size="120MiB", loop="allocation = sparse", kind="btrfs", properties="")
    text = text.replace("cache = cold", "during = balance {}")
    kill_meanwhile(
        place, "btrfs", "'balance start'*", text.replace("64KiB }", "64KiB  time_based = on  runtime = 1h }")
    )
    assert "still there" not in zlang("clean", last_run())
    (ended,) = [event for event in journal.Lines(Path("runs", last_run(), "journal.jsonl")) if is_end_of_balance(event)]
    assert ended.rc == 0


def test_a_run_that_was_killed_in_a_trim_goes_on(place: Path) -> None:
    """A trim that is still running is stopped; the trial is counted once, and nothing is left."""
    text = PROGRAM.format(size=SIZES["ext4"], loop="allocation = sparse", kind="ext4", properties="")
    text = "import events\n" + text.replace("cache = cold", "during = trim { every = 1s }")
    kill_meanwhile(place, "fstrim", "*", text.replace("64KiB }", "64KiB  time_based = on  runtime = 4s }"))
    zlang("resume", last_run(), "--yes")
    assert failed() == []
    assert answers("select count(*), min(read_iops) > 0 from trials") == [[1, True]]
    assert "still there" not in zlang("clean", last_run())
    assert not list(place.glob("zlang-*"))
    environments = [read(path) for path in Path("/proc").glob("[0-9]*/environ")]
    assert not [text for text in environments if f"/{last_run()}/".encode() in text]


def read(path: Path) -> bytes:
    """Read a file; return nothing for a process that has ended meanwhile."""
    try:
        return path.read_bytes()
    except OSError:
        return b""


def is_end_of_balance(event: object) -> TypeGuard[End]:
    return isinstance(event, End) and event.step.startswith("stop-")


def test_the_script_of_the_sweep() -> None:
    Path("sweep.zexp").write_text(SWEEP, "utf-8")
    Path("plan.sh").write_text(zlang("plan", "sweep.zexp", "--emit", "sh"), "utf-8")
    done = subprocess.run(["dash", "plan.sh"], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    zlang("ingest", "runs")
    rows = answers("select volume, cache_state from trials order by volume::varchar")
    assert rows == [[kind, "cold"] for kind in ("btrfs", "ext4", "xfs")]


@pytest.mark.parametrize(
    ("kind", "properties"), [(kind, properties) for kind, many in EVERY.items() for properties in many]
)
def test_every_property_is_read_back(kind: str, properties: str) -> None:
    output = zlang("run", program(kind, properties, "allocation = sparse  offset = 4KiB"), "--yes", code=None)
    assert failed() == [], output


SETTABLE = {
    "ext4": (
        """(commit, barrier, auto_da_alloc, discard, dioread_nolock, atime, lazytime,
             max_batch_time, min_batch_time, inode_readahead_blks)
           = (5s, on, off, on, off, noatime, on, 1ms, 0s, 16)
           | (30s, off, on, off, on, relatime, off, 2ms, 10us, 64)""",
        "stripe = 0 | 16",
    ),
    "xfs": ("(atime, lazytime) = (noatime, on) | (relatime, off)", "inodes = inode32 | inode64"),
    "btrfs": (
        """(autodefrag, discard, commit, flushoncommit, thread_pool, treelog, barrier, atime, lazytime)
           = (on, sync, 10s, on, 3, off, off, noatime, on) | (off, none, 30s, off, 4, on, on, relatime, off)""",
        "(compress, datasum, max_inline, metadata_ratio) = (none, off, 2KiB, 0) | (zstd(3), on, 0B, 4)",
    ),
}


@pytest.mark.parametrize("kind", SETTABLE)
def test_live_properties_change_the_mounted_file_system(kind: str) -> None:
    live, rewrite = (re.sub(r"\s*\n\s*", " ", settings) for settings in SETTABLE[kind])
    text = Path(program(kind, f"{live}\n{rewrite}")).read_text("utf-8")
    Path("one.zexp").write_text(text.replace("cache = cold", "repeat = 2"), "utf-8")  # cold would mount it anew
    output = zlang("run", "one.zexp", "--yes", code=None)
    assert failed() == [], output
    events = list(journal.Lines(Path("runs") / last_run() / "journal.jsonl"))
    made = Counter(event.key for event in events if isinstance(event, Made))
    assert made == {"here": 1, "disk": 1, "volume": 1, "data": 2}
    assert sum(isinstance(event, Altered) for event in events) >= 4


def test_all_that_can_be_set_is_tried() -> None:
    from zlang.check import library

    for kind, programs in SETTABLE.items():
        properties = library.load().kind(kind).properties
        by_cost = {
            cost: {n for n, property_ in properties.items() if property_.cost == cost} for cost in ("live", "rewrite")
        }
        for text, cost in zip(programs, ("live", "rewrite"), strict=True):
            assert set(re.findall(r"[a-z_]+", text.split("=")[0])) == by_cost[cost]


def test_no_property_is_left_out() -> None:
    from zlang.check import library

    for kind, many in EVERY.items():
        given = {
            words.split("=")[0].strip() for properties in many for words in re.split(r"\s{2,}", properties.strip())
        }
        assert set(library.load().kind(kind).properties) - given - {"dax", "copies"} == set()


OPTIONS = {
    "ext4": {
        "mkfs": """-b -C -Obigalloc -I -i -m -J -T stride stripe_width lazy_itable_init lazy_journal_init discard
            nodiscard has_journal metadata_csum inline_data fast_commit extent 64bit flex_bg""",
        "mount": """data commit barrier nobarrier delalloc nodelalloc auto_da_alloc noauto_da_alloc discard nodiscard
            noatime relatime strictatime lazytime stripe max_batch_time min_batch_time
            journal_ioprio inode_readahead_blks dioread_nolock dax journal_async_commit""",
    },
    "xfs": {
        "mkfs": """-b -s -m -i -n -K crc reflink rmapbt finobt bigtime inobtcount agcount su= sw= sunit swidth
            cowextsize extszinherit logdev nrext64 sparse""",
        "mount": """allocsize logbufs logbsize largeio nolargeio inode64 inode32 discard nodiscard swalloc noalign
            wsync filestreams noatime lazytime dax nobarrier sunit swidth""",
    },
    "btrfs": {
        "mkfs": """-n -s --csum -d -m -M no-holes free-space-tree single dup raid0 raid1 raid1c3 raid1c4 raid10 raid5
            raid6""",
        "mount": """compress compress-force zlib lzo zstd lz4 datacow nodatacow datasum nodatasum autodefrag discard
            nodiscard ssd ssd_spread nossd space_cache v1 v2 nospace_cache commit flushoncommit
            max_inline thread_pool metadata_ratio notreelog nobarrier""",
    },
}
"""Options of mke2fs 1.47, mkfs.xfs 6.1, mkfs.btrfs 6.2 and Linux 6.18 that a benchmark may be about."""


@pytest.mark.parametrize("kind", OPTIONS)
def test_every_option_is_a_property_or_is_left_out_for_a_reason(kind: str) -> None:
    text = (REPOSITORY / "stdlib" / "filesystems.zexp").read_text("utf-8")
    section = re.split(r"^kind ", text.split(f"\nkind {kind}:")[1], flags=re.MULTILINE)[0]
    properties, _, notes = section.partition("# Options that are left out, and why:")
    left_out = "\n".join(line for line in notes.partition("offers")[0].splitlines() if line.strip().startswith("# - "))
    makes = "\n".join(line for line in notes.splitlines() if f"mk{'e2fs' if kind == 'ext4' else 'fs'}" in line)
    for option in f"{OPTIONS[kind]['mkfs']} {OPTIONS[kind]['mount']}".split():
        mention = re.compile(rf"(?<![a-z0-9]){re.escape(option)}(?![a-z0-9])|-o{re.escape(option)}\b|-O\^?{option}\b")
        reason = re.search(rf"(?<![a-z0-9-]){re.escape(option)}(?![a-z0-9])[^:]*: ", left_out)
        assert mention.search(properties) or mention.search(makes) or reason, option


@pytest.mark.parametrize(
    ("kind", "properties", "in_force", "wanted"),
    [
        ("xfs", "allocsize = 100KiB", "allocsize=4k", "allocsize=100k"),
        ("xfs", "dax = on", "dax=never", "dax=always"),
        ("btrfs", "compress = zstd(0)", "compress=zstd:3", "compress=zstd:0"),
    ],
)
def test_properties_that_the_kernel_changed_are_reported(
    kind: str, properties: str, in_force: str, wanted: str
) -> None:
    zlang("run", program(kind, f"{properties}  atime = noatime"), "--yes", code=1)
    assert failed() == [f"property-volume: `{in_force}`, not `{wanted}`"]


@pytest.mark.parametrize(
    ("kind", "properties", "message"),
    [
        ("ext4", "blocksize = 3KiB", "not allowed"),
        ("ext4", "inode_size = 64KiB", "invalid inode size 65536"),
        ("ext4", "dax = on", "wrong fs type, bad option"),
        ("ext4", "blocksize = 8KiB", "blocks too big for system"),
        ("xfs", "agcount = 9999", "too small, need at least"),
        ("btrfs", "nodesize = 4KiB  sectorsize = 16KiB", "nodesize"),
    ],
)
def test_errors_of_mkfs_and_mount_are_reported(kind: str, properties: str, message: str) -> None:
    if message == "not allowed":
        assert "cannot be" in zlang("check", program(kind, properties), code=1)
        return
    zlang("run", program(kind, properties), "--yes", code=1)
    assert message in failed()[0]


@pytest.mark.parametrize("loop", ["sector_size = 4KiB", "direct_io = off  count = 3", "allocation = full"])
def test_the_loop_device(loop: str) -> None:
    output = zlang("run", program("ext4", "", loop), "--yes", code=None)
    assert failed() == [], output


PARTITIONS = """
import disks
import filesystems
import fio

dir here { path = "." }
loop image on here { size = 20MiB  sector_size = 512B | 4KiB  allocation = sparse }
partition part on image { size = 16MiB  (start, scheme) = (1MiB, gpt) | (1004KiB, dos) | (24KiB, gpt) }
ext4 volume on part
file data on volume { size = 1MiB }
fio reads { rw = read  bs = 64KiB }
experiment aligned { on = data  run = reads  cache = cold }
"""


def partitions_of_nobody_else() -> set[Path]:
    """List partitions of loop devices without a file or with one of this test: other tests run concurrently."""
    partitions = set()
    for partition in Path("/sys/block").glob("loop*/loop*p*"):
        file = partition.parent / "loop/backing_file"
        if not file.exists() or Path(file.read_text().strip()).is_relative_to(Path.cwd()):
            partitions.add(partition)
    return partitions


def test_the_start_of_a_partition_is_a_factor() -> None:
    before = partitions_of_nobody_else()
    Path("parts.zexp").write_text(PARTITIONS, "utf-8")
    zlang("run", "parts.zexp", "--yes", code=None)
    assert failed() == []
    assert partitions_of_nobody_else() <= before


def wait_for_the_trial(place: Path, after: int = 0) -> int:
    """Wait until a trial of SLOW runs that started `after` another, and return when it started."""
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        for mark in place.glob("zlang-*/*/running"):
            with suppress(FileNotFoundError):
                if (started := mark.stat().st_mtime_ns) > after:
                    return started
        time.sleep(0.1)
    pytest.fail("no trial started")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_nothing_is_left_when_a_run_is_stopped(number: signal.Signals, place: Path) -> None:
    Path("slow.zexp").write_text(SLOW, "utf-8")
    run = subprocess.Popen(command("run", "slow.zexp", "--yes"), env=ENVIRONMENT, stderr=subprocess.PIPE, text=True)
    first = wait_for_the_trial(place)
    run.send_signal(number)
    run.communicate(timeout=60)
    if number is signal.SIGKILL:
        assert list(place.glob("zlang-*"))
        resumed = subprocess.Popen(command("resume", last_run()), env=ENVIRONMENT, stderr=subprocess.PIPE, text=True)
        wait_for_the_trial(place, after=first)
        resumed.send_signal(signal.SIGINT)
        resumed.communicate(timeout=60)


def test_mounts_of_others_are_not_unmounted(place: Path) -> None:
    """Another user's mount over the run's own directory is reported and not unmounted."""
    Path("slow.zexp").write_text(SLOW.replace("sleep 60", "mount -t tmpfs foreign ."), "utf-8")
    output = zlang("run", "slow.zexp", "--yes", code=None)
    assert "foreign is mounted there, and that is not of this run" in output.replace("\n", " ")
    at = next(place.glob("zlang-*/disk-volume"))
    subprocess.run(["umount", str(at)], check=True)
    zlang("resume", last_run(), code=None)


def test_missing_root_is_reported_before_anything_is_created(monkeypatch: pytest.MonkeyPatch) -> None:
    from zlang.errors import RunError
    from zlang.pipeline import arming
    from zlang.run import machine as here

    monkeypatch.setattr(here, "is_root", lambda: False)
    with arming.search_tools({ROOT: "why", "sh": ""}) as search:
        assert search.missing() == {ROOT: "why"}
    with pytest.raises(RunError, match="must be run by root"):
        arming.require_tools({ROOT: "why"})
