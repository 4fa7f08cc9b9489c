"""Create, set, read back, measure cold and remove pools and datasets for real, on zfs-fuse. Needs root."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest
from command_line import REPOSITORY
from private_daemon import ZfsFuse

from tools import generate_zfs

EVIDENCE = "tank: nothing of it in the ARC, no L2ARC, 0 bytes of the devices; data: 0 bytes resident"

SWEEP = """
import fio
import zfs

dir here { path = "." }
pool tank on here { size = 64MiB }
dataset volume on tank {
  recordsize   = 8KiB | 128KiB
  compression  = off | gzip
  primarycache = all | metadata
  dedup        = off | on
}
file data on volume { size = 2MiB  content = compressible(50%) }
fio reads { rw = randread  bs = 8KiB  io_size = 256KiB }
experiment sweep { on = data  run = reads  cache = cold }
"""

PROGRAM = """
import fio
import zfs

dir here {{ path = "." }}
pool tank on here {{ size = 64MiB  allocation = sparse  {pool} }}
dataset volume on tank {{ {dataset} }}
file data on volume {{ size = 1MiB }}
fio reads {{ rw = read  bs = 64KiB }}
experiment one {{ on = data  run = reads  cache = cold }}
"""

SIZES = """
import zfs

dir here { path = "." }
pool tank on here { size = 64MiB  allocation = sparse }
dataset volume on tank { compression = gzip }
file data on volume { size = 4MiB  content = random | zeros }
experiment sizes { on = data  collect = [capacity {}, zfs_capacity {}] }
"""

# The measured command blocks in `sleep`, so that the run can be stopped during the measurement.
SLOW = """
import zfs

dir here { path = "." }
pool tank on here { size = 64MiB  allocation = sparse }
dataset volume on tank
shell waits { command = "touch running; sleep 60"  writes = off }
experiment slow { on = volume  run = waits }
"""

POOLS = [
    "layout = mirror  log = mirror(2)  side = 64MiB  ashift = 9  failmode = continue",
    "layout = raidz1  groups = 2  cache = 1  ashift = 12  autoexpand = on  autoreplace = on",
    "layout = raidz2  log = stripe(1)  delegation = off  listsnapshots = on  ashift = 13",
    "layout = raidz3  devices = 5  failmode = panic  offline = 2",
]

DATASETS = [
    """
      recordsize = 512B  checksum = fletcher2  copies = 2  secondarycache = none  logbias = throughput  atime = off
      xattr = off  casesensitivity = mixed  normalization = formD  utf8only = on  quota = 40MiB  refquota = 30MiB
      reservation = 1MiB  refreservation = 2MiB  compression = gzip-9  dedup = verify  primarycache = metadata
    """,
    """
      recordsize = 64KiB  checksum = sha256  compression = zle  dedup = on  primarycache = none  copies = 3
      extra = ["org.example:note=measured"]
    """,
]


def program_with(pool: str = "", dataset: str = "") -> str:
    return PROGRAM.format(pool=pool, dataset=dataset)


def test_a_sweep_over_properties_of_a_dataset(zfs_fuse: ZfsFuse) -> None:
    zfs_fuse.run(SWEEP)
    assert zfs_fuse.failed() == []
    sql = "select cache_state, cache_evidence, count(*) from trials where read_iops > 0 group by 1, 2"
    assert zfs_fuse.answers(sql) == [["cold", EVIDENCE, 16]]


def test_every_layer_is_cold_or_the_arc_is_warm(zfs_fuse: ZfsFuse) -> None:
    """The L2ARC is emptied as well; a rehearsal sees the ARC fill, whatever lies in the page cache above it."""
    text = program_with(pool="cache = 1").replace("rw = read  bs = 64KiB", "rw = randread  bs = 8KiB  io_size = 512KiB")
    zfs_fuse.run(text.replace("cache = cold", "cache = cold | warm { window = 3 }"))
    assert zfs_fuse.failed() == []
    cold = EVIDENCE.replace("no L2ARC", "no header of the L2ARC")
    sql = "select cache_state, cache_evidence, rounds > 3 from trials order by 1"
    assert zfs_fuse.answers(sql) == [["cold", cold, None], ["warm", "hit_ratio steady", True]]
    rising = "arg_min(value, t) < arg_max(value, t)"
    assert zfs_fuse.answers(f"select {rising} as rises from samples where metric = 'hit_ratio'") == [[True]]


def test_the_script_of_the_sweep(zfs_fuse: ZfsFuse) -> None:
    (zfs_fuse.place / "sweep.zexp").write_text(SWEEP.replace("off | on", "off"), "utf-8")
    (zfs_fuse.place / "plan.sh").write_text(zfs_fuse.zlang("plan", "sweep.zexp", "--emit", "sh"), "utf-8")
    zfs_fuse.say("dash", "plan.sh")
    zfs_fuse.zlang("ingest", "runs")
    assert zfs_fuse.answers("select cache_state, count(*) from trials group by 1") == [["cold", 8]]


def test_a_cache_on_a_separate_device(zfs_fuse: ZfsFuse) -> None:
    """The device is created before the pool that names it, emptied with it, and removed after it."""
    text = program_with("cache = none | stripe(fast)").replace("import zfs", "import filesystems\nimport zfs")
    text = text.replace("pool tank", "loop fast on here { size = 64MiB  allocation = sparse }\npool tank")
    zfs_fuse.run(text)
    sql = "select tank_cache, cache_state, cache_evidence from trials order by 1"
    with_cache = f"fast: 0 bytes resident; {EVIDENCE.replace('no L2ARC', 'no header of the L2ARC')}"
    assert zfs_fuse.answers(sql) == [["none", "cold", EVIDENCE], ["stripe(fast)", "cold", with_cache]]


def test_a_scrub_and_snapshots_meanwhile(zfs_fuse: ZfsFuse) -> None:
    """Both run during the measurement, and nothing of them is left; only snapshots change the dataset."""
    text = program_with().replace("cache = cold", "during = scrub {} | snapshots { every = 1s }")
    zfs_fuse.run(text.replace("rw = read  bs = 64KiB", "rw = read  bs = 64KiB  time_based = on  runtime = 10s"))
    assert zfs_fuse.failed() == []
    assert zfs_fuse.answers("select during from trials where read_iops > 0 order by 1") == [["scrub"], ["snapshots"]]


def test_a_resilver_and_a_backup_meanwhile(zfs_fuse: ZfsFuse) -> None:
    """A device is replaced and the pool is whole again, so it is kept; the sent and received data are removed."""
    text = program_with(pool="layout = mirror").replace(
        "cache = cold", "during = resilver { device = 2 } | send { receive = on }"
    )
    zfs_fuse.run(text.replace("rw = read  bs = 64KiB", "rw = read  bs = 64KiB  time_based = on  runtime = 2s"))
    assert zfs_fuse.failed() == []
    assert zfs_fuse.answers("select during from trials where read_iops > 0 order by 1") == [["resilver"], ["send"]]


def test_a_trial_of_each_example_with_events(zfs_fuse: ZfsFuse) -> None:
    """The first trial of each example counts, and nothing of its events is left."""
    small = ["--set", "time=3s", "--set", "volume=16MiB", "--set", "device=128MiB"]
    for name, settings in (("rebuilding", ["--profile", "smoke"]), ("snapshots", small)):
        shutil.copy(REPOSITORY / f"examples/streams/{name}.zexp", zfs_fuse.place)
        zfs_fuse.zlang("run", f"{name}.zexp", *settings, "--only", "1")
    assert zfs_fuse.failed() == []


@pytest.mark.parametrize("name", ["recordsize_for_postgresql", "slog", "zfs_or_ext4", "deduplication"])
def test_a_trial_of_each_question(zfs_fuse: ZfsFuse, name: str) -> None:
    shutil.copy(REPOSITORY / f"examples/howto/{name}.zexp", zfs_fuse.place)
    zfs_fuse.zlang("run", f"{name}.zexp", "--profile", "smoke", "--only", "1")
    assert zfs_fuse.failed() == []


def test_the_collectors(zfs_fuse: ZfsFuse) -> None:
    watched = program_with(dataset="compression = gzip").replace(
        "bs = 64KiB", "bs = 64KiB  time_based = on  runtime = 3s"
    )
    collected = "cache = cold  collect = [arcstats {}, zpool_iostat {}, zfs_capacity {}]"
    zfs_fuse.run(watched.replace("cache = cold", collected).replace("rw = read ", "rw = randwrite "))
    sql = "select arc_hits > 0, arc_size_bytes > 0, before_used_bytes > 2**20, after_dedupratio from trials"
    assert zfs_fuse.answers(sql) == [[True, True, True, 1]]
    sql = "select count(distinct metric), min(value) >= 0 from samples where source like 'zlang-%-tank'"
    assert zfs_fuse.answers(sql) == [[9, True]]


def test_an_experiment_about_capacity_alone(zfs_fuse: ZfsFuse) -> None:
    zfs_fuse.run(SIZES)
    sql = """
        select after_du_bytes > 4 * 2**20 or content = 'zeros', after_du_bytes < 5 * 2**20, after_apparent_bytes,
          after_referenced_bytes - after_du_bytes < 2**17, before_du_bytes = after_du_bytes, after_du_bytes < 2**20
        from trials order by content
    """
    assert zfs_fuse.answers(sql) == [
        [True, True, 4 * 2**20, True, True, False],
        [True, True, 4 * 2**20, True, True, True],
    ]


@pytest.mark.parametrize("pool", POOLS)
def test_properties_of_a_pool_are_read_back(zfs_fuse: ZfsFuse, pool: str) -> None:
    zfs_fuse.run(program_with(pool))
    assert zfs_fuse.failed() == []


@pytest.mark.parametrize("dataset", DATASETS)
def test_properties_of_a_dataset_are_read_back(zfs_fuse: ZfsFuse, dataset: str) -> None:
    zfs_fuse.run(program_with(dataset=dataset))
    assert zfs_fuse.failed() == []


@pytest.mark.parametrize(("kind", "tried"), [("pool", POOLS), ("dataset", DATASETS)])
def test_no_property_of_zfs_fuse_is_left_out(kind: str, tried: list[str]) -> None:
    given = set(re.findall(r"(\w+) =", " ".join(tried)))
    listed = [each for each in generate_zfs.properties(kind) if "since" not in dict(each.attributes)]
    assert {each.name for each in listed} - given == set()


@pytest.mark.parametrize(
    ("pool", "dataset", "message"),
    [
        ("", "recordsize = 256KiB", "'recordsize' must be power of 2 from 512 to 128k"),
        ("", "compression = zstd-19", "'compression' must be one of 'on | off | lzjb"),
        ("", "sync = disabled", "invalid property 'sync'"),
        ("special = stripe(1)", "", "must be a full path or shorthand device name"),
    ],
)
def test_errors_of_zfs_are_reported(zfs_fuse: ZfsFuse, pool: str, dataset: str, message: str) -> None:
    zfs_fuse.run(program_with(pool, dataset), code=1)
    assert message in zfs_fuse.failed()[0]


def test_a_property_not_in_force_is_an_error_with_both_values(zfs_fuse: ZfsFuse) -> None:
    meddle = """
    shell meddles { command = "zfs set atime=on \\"$(df --output=source . | tail -n 1)\\"" }
    experiment meddled { on = data  before = meddles  run = reads }
    """
    zfs_fuse.run(program_with(dataset="atime = off").replace("experiment one", "experiment other") + meddle, code=None)
    zfs_fuse.zlang("run", "program.zexp", "--experiment", "meddled", "--yes", code=1)
    assert zfs_fuse.failed() == ["property-volume: `atime=on`, not `atime=off`"]


def test_a_place_with_a_hostile_name(zfs_fuse: ZfsFuse) -> None:
    place = zfs_fuse.place / 'it\'s "$HOME"; é *'
    place.mkdir()
    zfs_fuse.run(program_with("cache = 1").replace('path = "."', 'path = "./it\'s \\"$HOME\\"; é *"'))
    assert zfs_fuse.failed() == []
    assert list(place.iterdir()) == []


def test_live_properties_are_set_while_the_data_stay(zfs_fuse: ZfsFuse) -> None:
    zfs_fuse.run(program_with(dataset="primarycache = all | none | metadata  atime = off | on"))
    journal = next(zfs_fuse.place.glob("runs/*/journal.jsonl")).read_text("utf-8")
    assert journal.count('"made"') == 4
    assert journal.count('"altered"') == 5


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_nothing_is_left_when_a_run_is_stopped(zfs_fuse: ZfsFuse, number: signal.Signals) -> None:
    (zfs_fuse.place / "slow.zexp").write_text(SLOW, "utf-8")
    run = started(zfs_fuse, "run", "slow.zexp", "--yes")
    run.send_signal(number)
    run.communicate(timeout=60)
    if number is signal.SIGKILL:
        assert len(zfs_fuse.pools()) == 1
        resumed = started(zfs_fuse, "resume", zfs_fuse.last_run())
        resumed.send_signal(signal.SIGINT)
        resumed.communicate(timeout=60)


def test_a_pool_that_was_left_exported_is_removed(zfs_fuse: ZfsFuse) -> None:
    (zfs_fuse.place / "slow.zexp").write_text(SLOW, "utf-8")
    run = started(zfs_fuse, "run", "slow.zexp", "--yes")
    run.kill()
    run.communicate(timeout=60)
    end_workers(zfs_fuse)
    (pool,) = zfs_fuse.pools()
    export(zfs_fuse, pool)
    resumed = started(zfs_fuse, "resume", zfs_fuse.last_run())
    resumed.send_signal(signal.SIGINT)
    resumed.communicate(timeout=60)


def test_a_pool_without_the_mark_of_the_run_is_not_destroyed(zfs_fuse: ZfsFuse) -> None:
    program = SLOW.replace("sleep 60", 'zfs set org.zlang:run=another \\"$(df --output=source . | tail -n 1)\\"')
    output = zfs_fuse.run(program, code=None)
    assert "is not of this run" in output.replace("\n", " ")
    (pool,) = zfs_fuse.pools()
    dataset = zfs_fuse.say("zfs", "list", "-H", "-o", "name", "-r", pool).split()[1]
    run = zfs_fuse.last_run()
    zfs_fuse.say("zfs", "set", f"org.zlang:run={run}", dataset)
    zfs_fuse.zlang("resume", run, code=None)


def test_a_pool_that_is_given_stays(zfs_fuse: ZfsFuse) -> None:
    device, root = zfs_fuse.place / "device", zfs_fuse.place / "root"
    with device.open("wb") as file:
        file.truncate(2**26)
    zfs_fuse.say("zpool", "create", "-R", str(root), "-m", "/", "theirs", str(device))
    zfs_fuse.say("zfs", "create", "-o", "recordsize=16K", "theirs/old")
    zfs_fuse.say("cp", "/etc/hostname", str(root / "old" / "data"))
    given = f'given pool tank on here {{ called = "theirs"  at = "{root}"  failmode = wait }}'
    given += '\ngiven dataset old on tank { called = "old"  recordsize = 16KiB }'
    program = re.sub(r"pool tank on here .*", given, program_with(dataset="recordsize = 8KiB"))
    zfs_fuse.run(program.replace("cache = cold", "").replace("data on volume", "data on (volume | old)"))
    assert zfs_fuse.failed() == []
    assert zfs_fuse.say("zfs", "list", "-H", "-o", "name").split() == ["theirs", "theirs/old"]
    assert zfs_fuse.say("ls", str(root / "old")).split() == ["data"]
    zfs_fuse.say("cmp", "/etc/hostname", str(root / "old" / "data"))
    export(zfs_fuse, "theirs")


def test_an_imported_pool_has_its_set_properties(zfs_fuse: ZfsFuse) -> None:
    device, root = zfs_fuse.place / "device", zfs_fuse.place / "root"
    with device.open("wb") as file:
        file.truncate(2**26)
    zfs_fuse.say("zpool", "create", "-R", str(root), "-m", "/", "-o", "failmode=continue", "theirs", str(device))
    zfs_fuse.say("zfs", "create", "-o", "recordsize=16K", "-o", "compression=gzip-9", "theirs/base")
    zfs_fuse.say("zfs", "create", "-o", "exec=off", "-o", "atime=off", "theirs/base/inner")
    assert zfs_fuse.zlang("import", "--zfs", "theirs/base", "--out", "theirs.zexp").startswith("written: theirs.zexp")
    text = (zfs_fuse.place / "theirs.zexp").read_text()
    assert f'called = "theirs"\n  at     = "{root}"\n' in text
    assert "  failmode = continue\n" in text
    assert "dataset base on theirs { recordsize = 16KiB  compression = gzip-9 }\n" in text
    assert "# exec=off: omit it: it controls permissions, not performance\n" in text
    zfs_fuse.zlang("check", "theirs.zexp")
    export(zfs_fuse, "theirs")


def started(zfs_fuse: ZfsFuse, *words: str) -> subprocess.Popen[str]:
    """Start a run and wait until it is measuring."""
    for marker in markers(zfs_fuse):
        marker.unlink()
    run = subprocess.Popen(zfs_fuse.zlang_command(*words), stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 60
    while not markers(zfs_fuse):
        assert time.monotonic() < deadline
        assert run.poll() is None
        time.sleep(0.1)
    return run


def markers(zfs_fuse: ZfsFuse) -> list[Path]:
    """List the files of a measurement; file systems are mounted for the daemon only, so its root is used."""
    return list(Path(f"/proc/{zfs_fuse.pid}/root{zfs_fuse.place}").glob("zlang-*/*/*/running"))


def end_workers(zfs_fuse: ZfsFuse) -> None:
    """End the measured processes of a killed run, which go on in its place."""
    for process in Path("/proc").glob("[0-9]*"):
        try:
            at = (process / "cwd").readlink()
        except OSError:
            continue
        if f"{zfs_fuse.place}/zlang-" in str(at):
            os.kill(int(process.name), signal.SIGKILL)


def export(zfs_fuse: ZfsFuse, pool: str) -> None:
    """Export a pool, which is busy for about a second after its last I/O."""
    deadline = time.monotonic() + 20
    while subprocess.run(zfs_fuse.command("zpool", "export", pool), capture_output=True).returncode != 0:
        assert time.monotonic() < deadline
        time.sleep(0.5)


def test_the_levels_of_gzip_are_read_back_as_they_are_called(zfs_fuse: ZfsFuse) -> None:
    """`gzip-6` is what ZFS itself calls `gzip`."""
    sweep = SWEEP.replace("compression  = off | gzip", "compression  = gzip-1 | gzip-6")
    for fixed in ("recordsize   = 8KiB | 128KiB", "primarycache = all | metadata", "dedup        = off | on"):
        assert fixed in sweep
        sweep = sweep.replace(fixed, fixed.split(" | ")[0])
    zfs_fuse.run(sweep)
    assert zfs_fuse.answers("select compression, count(*) from trials group by 1 order by 1") == [
        ["gzip-1", 1],
        ["gzip-6", 1],
    ]


SNAPSHOTS = """
import fio
import zfs

dir here { path = "." }
pool tank on here { size = 64MiB }
dataset volume on tank { recordsize = 8KiB }
file data on volume { size = 2MiB }
snapshot before on data
clone fork on before
let target = data | before | fork
arc_max limit { value = 64MiB }
shell look {
  command = "ls; zfs list -H -t all -o name,org.zlang:run"
  writes  = off
}
fio overwrites { rw = randwrite  bs = 8KiB  io_size = 1MiB  end_fsync = on }
experiment live { on = target  with = limit  run = overwrites  cache = cold  repeat = 2 }
experiment seen { on = target  run = look }
"""


def test_snapshots_and_clones_come_and_go_in_their_order(zfs_fuse: ZfsFuse) -> None:
    zfs_fuse.run(SNAPSHOTS.replace("experiment seen { on = target  run = look }", ""))
    assert zfs_fuse.failed() == []
    rows = zfs_fuse.answers("select cache_state, count(*) from trials group by 1")
    assert rows == [["cold", 6]]


def test_snapshots_and_clones(zfs_fuse: ZfsFuse) -> None:
    live = SNAPSHOTS.split("experiment live", maxsplit=1)[0]
    zfs_fuse.run(live + "experiment seen { on = target  run = look }")
    assert zfs_fuse.failed() == []
    run = zfs_fuse.last_run()
    listings = {path.read_text() for path in (zfs_fuse.place / "runs" / run / "trials").glob("*/*/*/measure.out")}
    assert len(listings) == 3
    assert sum("@before" in text for text in listings) == 2, "without it nothing of it is there"
    made = {line for text in listings for line in text.splitlines() if "\t" in line}
    assert {line.split("\t")[0].split("/", 1)[-1].replace(run, "RUN") for line in made} >= {
        "volume.RUN",
        "volume.RUN@before.RUN",
        "volume.RUN/fork.RUN",
    }
    assert {line.split("\t")[1] for line in made} == {run}


def test_a_limit_that_the_daemon_does_not_have_is_an_error_with_both_values(zfs_fuse: ZfsFuse) -> None:
    live = SNAPSHOTS.split("fio overwrites", maxsplit=1)[0].replace("value = 64MiB", "value = 96MiB")
    zfs_fuse.run(live + "experiment limited { on = data  with = limit  run = look }", code=1)
    assert zfs_fuse.failed() == [f"property-limit: `{64 << 20}`, not `{96 << 20}`"]
