"""Run emitted scripts on kernel OpenZFS without zlang or Python; zlang then reads the files they leave."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from command_line import REPOSITORY, Zlang
from refilling import REFILLED
from vm.guest import Guest

from zlang.pipeline import results


def carry_out(guest: Guest, zlang: Zlang, program: str, *options: str, code: int = 0) -> None:
    """Plan outside, run the script in the guest, copy the run folder out, and build the database from it."""
    hand_over(guest, zlang, program, *options)
    done = guest(START, check=False)
    assert done.returncode == code, done.stdout + done.stderr
    bring_back(guest, zlang)


START = "! command -v python3 zlang && cd /var/tmp/here && sh script/plan.sh"


def hand_over(guest: Guest, zlang: Zlang, program: str, *options: str) -> None:
    """Plan outside, and copy the script into the guest."""
    zlang("plan", zlang.program(program), "--emit", "sh", "--out", "script", *options)
    guest("mkdir -p /var/tmp/here")
    guest.put(zlang.at / "script", "/var/tmp/here/script")


def bring_back(guest: Guest, zlang: Zlang) -> None:
    """Copy the run folder out, and build the database from it."""
    guest.get("/var/tmp/here/runs", zlang.at / "runs")
    zlang("ingest", "runs")


SWEEP = """
import fio
import zfs

host guest { zfs = "VERSION" }
dir here on guest { path = "/var/tmp/here" }
pool tank on here {
  size = 128MiB  allocation = sparse  ashift = 12
  layout = draid1  devices = 6  draid_data = 2  draid_spares = 1  offline = 1
}
dataset volume on tank { recordsize = 8KiB | 128KiB  compression = lz4  primarycache = all | metadata }
file data on volume { size = 4MiB }
fio reads { rw = randread  bs = 8KiB  io_size = 256KiB }
experiment sweep { on = data  run = reads  cache = cold }
"""


def test_a_sweep_over_properties_of_a_dataset(guest: Guest, carried_out: Zlang) -> None:
    """Settings are read back, and the ARC is empty before each measurement (arcstats)."""
    version = guest("zfs version").stdout.split()[0].removeprefix("zfs-").split("-")[0]
    carry_out(guest, carried_out, SWEEP.replace("VERSION", version))
    columns = "recordsize, primarycache, valid, why_not, cache_state, cache_evidence"
    rows = carried_out.rows(f"select {columns} from all_trials order by all")
    evidence = "tank: nothing of it in the ARC, no L2ARC, 0 bytes of the devices; data: 0 bytes resident"
    assert rows == [
        {
            "recordsize": size,
            "primarycache": kept,
            "valid": True,
            "why_not": "",
            "cache_state": "cold",
            "cache_evidence": evidence,
        }
        for size in (8192, 131072)
        for kept in ("all", "metadata")
    ]


POOL = """
import fio
import zfs
host guest { zfs = "VERSION" }
dir here on guest { path = "/var/tmp/here" }
pool tank on here { size = 128MiB  allocation = sparse }
dataset volume on tank { compression = off | zstd  recordsize = 128KiB }
file data on volume { size = 8MiB  content = compressible(50%) }
fio reads { rw = randread  bs = 8KiB }
experiment refill { on = data  run = reads  cache = refilled | cold }
"""


def test_data_cached_in_the_arc_by_another_reader_are_not_cold(guest: Guest, carried_out: Zlang) -> None:
    version = guest("zfs version").stdout.split()[0].removeprefix("zfs-").split("-")[0]
    hand_over(guest, carried_out, REFILLED + POOL.replace("VERSION", version))
    guest(START, check=False)
    bring_back(guest, carried_out)
    rows = carried_out.rows("select cache, valid, why_not from all_trials order by number, replicate")
    came = re.compile("cache not cold: only [0-9,]+ of the 8,388,608 bytes that the workload read came from tank, .*")
    assert {row["cache"] for row in rows if row["valid"]} == {"cold"}
    assert {row["cache"] for row in rows if came.fullmatch(str(row["why_not"]))} == {"refilled"}
    assert [row["valid"] for row in rows].count(True) == len(rows) / 2


LAYERS = """
import fio
import zfs

dir here { path = "/var/tmp/here" }
pool tank on here {
  size = 128MiB  side = 64MiB  allocation = sparse  layout = raidz1  log = mirror(2)  special = mirror(2)  cache = 1
}
dataset volume on tank { recordsize = 8KiB  special_small_blocks = 4KiB  sync = always  xattr = sa  dnodesize = auto }
file data on volume { size = 4MiB }
zvol disk on tank { size = 8MiB  volblocksize = 16KiB  compression = zstd-5 }
fio reads { rw = randread  bs = 8KiB  time_based = on  runtime = 3s }
experiment hot {
  on = data
  run = reads
  cache = hot
  collect = [arcstats {}, zpool_iostat {}, zfs_capacity {}, capacity {}]
}
experiment volume { on = disk  run = reads  cache = cold }
"""


def test_a_pool_of_many_parts_hot_and_a_volume_cold(guest: Guest, carried_out: Zlang) -> None:
    """Covers features that zfs-fuse lacks: special devices, volumes, and the ARC as a file's only cache."""
    carry_out(guest, carried_out, LAYERS, "--experiment", "hot")
    columns = "arc_data_hit_ratio > 99 as hits, after_logicalused_bytes > 4e6 as used, after_du_bytes > 4e6 as du"
    hot = carried_out.rows(f"select valid, why_not, cache_state, cache_evidence, {columns} from all_trials")
    assert [list(row.values()) for row in hot] == [[True, "", "hot", "4194304 bytes resident", True, True, True]]
    guest("rm -rf /var/tmp/here")
    carry_out(guest, carried_out, LAYERS, "--experiment", "volume")
    volume = carried_out.rows("select valid, why_not, cache_state from all_trials")
    assert [True, "", "cold"] in [list(row.values()) for row in volume]


@pytest.mark.parametrize(
    ("name", "clause"),
    [
        ("special_vdev", "where store == small_files_too and load == lists"),
        ("draid", "where layout == draid1 and recordsize == 8KiB"),
    ],
)
def test_a_trial_of_each_question(guest: Guest, carried_out: Zlang, name: str, clause: str) -> None:
    text = (REPOSITORY / f"examples/howto/{name}.zexp").read_text("utf-8")
    text = re.sub(r"  repeat +=.*", f"  {clause}", text).replace(
        "on here { size", "on here { allocation = sparse  size"
    )
    carry_out(guest, carried_out, text, "--profile", "smoke", "--set", 'place="/var/tmp/here"')
    rows = carried_out.rows("select valid, why_not, cache_state from all_trials")
    assert [list(row.values()) for row in rows] == [[True, "", "cold"]]


ON_DEVICES = """
import filesystems
import fio
import zfs

dir here { path = "/var/tmp/here" }
loop disks on here { size = 96MiB  count = 3  allocation = sparse }
loop fast on here { size = 64MiB  count = 2  allocation = sparse }
pool tank on disks { layout = mirror  log = mirror(fast)  cache = 1  ashift = 12 }
dataset volume on tank { recordsize = 8KiB }
file data on volume { size = 2MiB }
fio reads { rw = randread  bs = 8KiB  io_size = 64KiB }
experiment cold { on = data  run = reads  cache = cold }
"""


def test_a_workload_is_rehearsed_until_the_arc_is_warm(guest: Guest, carried_out: Zlang) -> None:
    """The guest's shell and awk judge the rounds, starting from an empty ARC."""
    text = ON_DEVICES.replace("cache = cold", "cache = warm { window = 3 }").replace(
        "io_size = 64KiB", "io_size = 1MiB"
    )
    carry_out(guest, carried_out, text)
    columns = "valid, why_not, cache_evidence, rounds > 3 as several"
    (row,) = carried_out.rows(f"select {columns} from all_trials")
    assert list(row.values()) == [True, "", "hit_ratio steady", True]
    columns = "arg_min(value, t) < 50 as cold, arg_max(value, t) > 90 as warm"
    assert carried_out.rows(f"select {columns} from samples where metric = 'hit_ratio'") == [
        {"cold": True, "warm": True}
    ]


def test_a_pool_on_block_devices(guest: Guest, carried_out: Zlang) -> None:
    """Covers what zfs-fuse lacks: each part on its own device, of two sizes, exported and imported by nodes."""
    carry_out(guest, carried_out, ON_DEVICES)
    rows = carried_out.rows("select valid, why_not, cache_state, cache_evidence from all_trials")
    zfs = "nothing of it in the ARC, no header of the L2ARC"
    evidence = f"fast: 0 bytes resident; disks: 0 bytes resident; tank: {zfs}; data: 0 bytes resident"
    assert [list(row.values()) for row in rows] == [[True, "", "cold", evidence]]


LIMITS = """
import zfs

dir here { path = "/var/tmp/here" }
arc_max limit { value = 256MiB | 512MiB | 64TiB }
shell look { command = "sed -n 's/^c_max .* //p' /proc/spl/kstat/zfs/arcstats"  writes = off }
let set = [] | limit
experiment limits { on = here  with = set  run = look }
"""


def test_the_limit_of_the_arc_is_set_and_restored(guest: Guest, carried_out: Zlang) -> None:
    """To write 0 to the parameter would leave the limit; what the kernel ignores is an error (see `LEFT`)."""
    was = guest("sed -n 's/^c_max .* //p' /proc/spl/kstat/zfs/arcstats").stdout.strip()
    carry_out(guest, carried_out, LIMITS)
    values = {
        trial.factors["value"]: (carried_out.folder() / trial.place / "a1" / "measure.out").read_text().strip()
        for trial in carried_out.trials()
    }
    assert values.items() >= {None: was, 256 << 20: str(256 << 20), 512 << 20: str(512 << 20)}.items()
    (refused,) = carried_out.rows("select value, why_not from all_trials where not valid")
    assert refused["value"] == 64 << 40
    assert str(refused["why_not"]).endswith(f"not `{64 << 40}`")


ARRAYS = """
import disks
import filesystems
import fio

dir here { path = "/var/tmp/here" }
loop parts on here { size = 40MiB  count = 4  allocation = sparse }
let under = md on parts { level = raid5  chunk = 64KiB  bitmap = internal  metadata = "1.0" }
          | lv on parts { size = 64MiB  stripes = 2  stripe_size = 16KiB  label = "striped" }
          | lv on parts { size = 64MiB  thin = on  chunk = 128KiB  label = "thin" }
          | lv on parts { size = 64MiB  cache = 16MiB  cache_mode = writeback  cache_chunk = 32KiB  label = "cached" }
ext4 volume on under { commit = 30s }
file data on volume { size = 2MiB }
fio reads { rw = randread  bs = 8KiB  io_size = 64KiB }
experiment arrays { on = data  run = reads  cache = cold }
"""


def test_arrays_and_logical_volumes(guest: Guest, carried_out: Zlang) -> None:
    """Their settings are read back from mdadm and lvs; each holds a file system, which is cold."""
    carry_out(guest, carried_out, ARRAYS)
    rows = carried_out.rows("select under, valid, why_not, cache_evidence from all_trials order by all")
    above = "volume: no superblock in memory; data: 0 bytes resident"
    assert [list(row.values()) for row in rows] == [
        ["md", True, "", f"parts: 0 bytes resident; {above}"],
        ["striped", True, "", f"parts: 0 bytes resident; under.striped: no dm-cache; {above}"],
        ["thin", True, "", f"parts: 0 bytes resident; under.thin: no dm-cache; {above}"],
        ["cached", True, "", f"parts: 0 bytes resident; under.cached: 0 blocks in dm-cache; {above}"],
    ]


MEANWHILE = """
import disks
import filesystems
import fio

dir here { path = "/var/tmp/here" }
loop parts on here { size = 24MiB  count = 3  allocation = sparse }
md array on parts { level = raid1  spares = 1  bitmap = internal }
ext4 volume on array
file data on volume { size = 2MiB }
fio reads { rw = randread  bs = 8KiB  time_based = on  runtime = 15s }
let event = rebuild { device = 2  speed_max = 4MiB/s } | check { speed_max = 4MiB/s }
experiment meanwhile { on = data  run = reads  during = event }
"""


def test_an_array_is_rebuilt_and_checked_meanwhile(guest: Guest, carried_out: Zlang) -> None:
    """The spare replaces its device, which becomes the spare: so the array is as it was created."""
    carry_out(guest, carried_out, MEANWHILE)
    phases = "phase_rebuild_read_iops > 0 as rebuilt, phase_check_read_iops > 0 as checked"
    rows = carried_out.rows(f"select event, valid, why_not, {phases} from all_trials order by event")
    assert [list(row.values()) for row in rows] == [
        ["rebuild", True, "", True, None],
        ["check", True, "", None, True],
    ]


def test_the_example_rebuilds_and_checks_arrays(guest: Guest, carried_out: Zlang) -> None:
    text = (STUDIES.parent / "streams/rebuilding_md.zexp").read_text("utf-8")
    text = text.replace('path = "."', 'path = "/var/tmp/here"').replace("repeat = 3", "repeat = 1")
    small = {"time": "20s", "start": "4s", "volume": "2MiB", "device": "24MiB", "fastest": "3MiB/s"}
    sets = [word for name, value in small.items() for word in ("--set", f"{name}={value}")]
    carry_out(guest, carried_out, text, *sets)
    phases = "phase_quiet_read_iops > 0 as quiet, phase_rebuild_read_iops > 0 or phase_check_read_iops > 0 as busy"
    rows = carried_out.rows(f"select level, event, valid, why_not, {phases} from all_trials order by level, event")
    assert [list(row.values())[2:] for row in rows] == [[True, "", True, True]] * 4


BEGUN = """
cd /var/tmp/here
(setsid sh script/plan.sh >said 2>&1 </dev/null & echo $! >pid)
until test "$(ls -d runs/*/trials/*/*/a*/event* 2>/dev/null | wc -l)" -gt $(cat events) &&
  grep -q -x -e recover -e check /sys/block/md1*/md/sync_action 2>/dev/null
do kill -0 -$(cat pid) || exit 1; sleep 0.1; done
ls -d runs/*/trials/*/*/a*/event* | wc -l >events
"""


@pytest.mark.parametrize("event", ["rebuild { device = 2  speed_max = 1MiB/s }", "check { speed_max = 1MiB/s }"])
def test_a_script_stopped_with_a_busy_array_recreates_it(guest: Guest, carried_out: Zlang, event: str) -> None:
    """If killed, it leaves the busy array to its next start; if told to stop, it removes the array itself."""
    changed = MEANWHILE[: MEANWHILE.index("let event")] + f"let event = {event}\n"
    hand_over(guest, carried_out, changed + "experiment meanwhile { on = data  run = reads  during = event }")
    guest("echo 0 >/var/tmp/here/events")
    for signal in ("KILL", "TERM"):
        guest(BEGUN)
        guest(f"cd /var/tmp/here && kill -{signal} -$(cat pid); while kill -0 -$(cat pid); do sleep 0.1; done")
        arrays = guest("ls -d /sys/block/md1*", check=False).stdout
        assert bool(arrays) == (signal == "KILL")
    done = guest(START, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    bring_back(guest, carried_out)
    assert carried_out.rows("select valid, why_not from all_trials") == [{"valid": True, "why_not": ""}]


LIMITED = r"""
import wrappers

dir here { path = "/var/tmp/here" }
scope half { cpu_max = 50% }
scope few { device = "/dev/disk/by-id/virtio-disk1"  riops = 50/s  wbps = 1MiB/s }
scope small { memory_max = 64MiB }
shell looks {
  command = "cd /sys/fs/cgroup$(sed -n 's/^0:://p' /proc/self/cgroup) && cat io.max cpu.max memory.max; sleep 1000 &"
  writes  = off
  under   = half | few | small | [few, half]
}
experiment limited { on = here  run = looks }
"""
HELD_BACK = '''
import events
import wrappers

dir here { path = "/var/tmp/here" }
shell looks {
  command = """
    until cd /sys/fs/cgroup/zlang-* && grep -q . cgroup.procs; do sleep 0.1; done
    cat cpu.max && grep -c . cgroup.procs
  """
  writes  = off
}
experiment held_back { on = here  run = looks  during = hog { under = scope { cpu_max = 25% } } }
'''


@pytest.fixture
def control_groups(guest: Guest) -> Iterator[None]:
    """Provide control groups of version 2 with their controllers enabled, as systemd does."""
    guest("mount -t cgroup2 none /sys/fs/cgroup && echo +io +cpu +memory >/sys/fs/cgroup/cgroup.subtree_control")
    yield
    guest("echo -io -cpu -memory >/sys/fs/cgroup/cgroup.subtree_control && umount /sys/fs/cgroup")


@pytest.mark.usefixtures("control_groups")
def test_a_control_group_limits_a_workload(guest: Guest, carried_out: Zlang) -> None:
    """The workload reads its limits in its group; afterwards the group and any leftover processes are gone."""
    carry_out(guest, carried_out, LIMITED)
    rows = carried_out.rows("select under, trial, valid from all_trials")
    outputs = {
        row["under"]: next((carried_out.folder() / "trials").glob(f"{row['trial']}/*/a1/measure.out")).read_text()
        for row in rows
    }
    few = "254:16 rbps=max wbps=1048576 riops=50 wiops=max\n"
    assert outputs == {
        "half": "50000 100000\nmax\n",
        "few": f"{few}max 100000\nmax\n",
        "small": "max 100000\n67108864\n",
        "[few, half]": "50000 100000\nmax\n",
    }
    assert all(row["valid"] for row in rows)
    assert guest("ls -d /sys/fs/cgroup/zlang*; pgrep -x -f 'sleep 1000'", check=False).stdout == ""


@pytest.mark.usefixtures("control_groups")
def test_a_control_group_limits_an_event(guest: Guest, carried_out: Zlang) -> None:
    """The group has the processes of the event while the workload runs, and is gone afterwards."""
    carry_out(guest, carried_out, HELD_BACK)
    assert carried_out.rows("select valid, why_not from all_trials") == [{"valid": True, "why_not": ""}]
    (output,) = carried_out.folder().glob("trials/*/1/a1/stream1/measure.out")
    limit, processes = output.read_text().splitlines()
    assert (limit, int(processes) > 0) == ("25000 100000", True)
    assert guest("ls -d /sys/fs/cgroup/zlang*", check=False).stdout == ""


NFS = """
import fio
import nfs
import zfs

dir here { path = "/var/tmp/here" }
pool tank on here { size = 96MiB  allocation = sparse }
dataset volume on tank { recordsize = 8KiB }
export served on volume { sync = off }
nfs mounted on served {
  (vers, rsize) = ("4.2", 32KiB) | ("3", 64KiB) | ("3", 33000B)
  wsize = 64KiB  actimeo = 1s  nconnect = 2  lock = off
}
file data on mounted { size = 2MiB }
fio reads { rw = randread  bs = 8KiB  io_size = 64KiB }
experiment network { on = data  run = reads  cache = cold }
"""


@pytest.mark.usefixtures("nfs_server")
def test_nfs_is_cold_at_both_ends(guest: Guest, carried_out: Zlang) -> None:
    """The client is unmounted, the export gone, and the pool exported; what the server made of a size is an error."""
    carry_out(guest, carried_out, NFS)
    rows = carried_out.rows("select rsize, valid, why_not, cache_evidence from all_trials order by rsize")
    assert [list(row.values())[:3] for row in rows] == [
        [32 << 10, True, ""],
        [33000, False, "property-mounted: `rsize=32768`, not `rsize=33000`"],
        [64 << 10, True, ""],
    ]
    for row in rows:
        assert "nothing of it in the ARC" in str(row["cache_evidence"])
        assert "0 bytes cached by the server" in str(row["cache_evidence"])


# Its table is exchanged while the file system is mounted: from then on every request fails.
FLAKY = """
import filesystems
import fio

kind flaky: resource on block {
  doc = "A device of the device mapper, which can be made to fail."
  offers block = "{on.block}-{name}"
  offers node  = quoted("readlink", "-e", "/dev/mapper/zlang-{run}-{name}")
  create {
    sh \"\"\"
      device=$(readlink -e -- {on.block}) && sectors=$(blockdev --getsz "$device") &&
      dmsetup create zlang-{run}-{name} --table "0 $sectors linear $device 0" &&
      node=$(readlink -e /dev/mapper/zlang-{run}-{name}) && ln -s "$node" {block}
    \"\"\"
  }
  destroy {
    sh \"\"\"
      if dmsetup info zlang-{run}-{name}; then dmsetup remove --retry zlang-{run}-{name} || exit 1; fi
      rm -f -- {block}
    \"\"\"
  }
}

dir here { path = "/var/tmp/here" }
loop disk on here { size = 16MiB }
flaky worn on disk
ext4 volume on worn
file data on volume { size = 1MiB }
shell fails {
  writes = off
  command = \"\"\"
    node=$(findmnt --noheadings --output SOURCE --target .) && device=$(dmsetup deps --options blkdevname "$node") &&
    device=$(echo "$device" | sed 's/.*(\\(.*\\)).*/\\1/') && sectors=$(blockdev --getsz "$node") &&
    dmsetup suspend "$node" && dmsetup load "$node" --table "0 $sectors flakey /dev/$device 0 0 3600" &&
    dmsetup resume "$node" && dd if=data iflag=direct of=/dev/null
  \"\"\"
}
fio reads { rw = read  bs = 64KiB }
let load = reads | fails
experiment worn_out { on = data  run = load  cache = cold  repeat = 2 }
"""


def test_a_device_that_begins_to_fail(guest: Guest, carried_out: Zlang) -> None:
    """Failures are recorded, the script ends, and everything is dismantled although every request fails."""
    carry_out(guest, carried_out, FLAKY, "--seed", "1", code=1)
    rows = carried_out.rows("select load, valid, why_not from all_trials")
    assert len(rows) == 4
    failed = [str(row["why_not"]) for row in rows if not row["valid"]]
    assert any("Input/output error" in why for why in failed), rows
    assert {row["load"] for row in rows if row["valid"]} <= {"reads"}


STUDIES = REPOSITORY / "examples/studies"


def carry_out_study(
    guest: Guest, zlang: Zlang, study: str, points: int, seed: int, *given: str
) -> list[dict[str, object]]:
    """Carry out the given number of points of a study, once each; return the data of its trials."""
    (zlang.at / "published").symlink_to(STUDIES / "published")
    text = re.sub(r"(?m)^  repeat +=.*\n", "", (STUDIES / f"{study}.zexp").read_text("utf-8"))
    text = re.sub(r"(?m)^  on +=.*$", rf"\g<0>\n  design = sample({points})", text)
    sets = [word for each in given for word in ("--set", each)]
    carry_out(guest, zlang, text, "--profile", "small", "--seed", str(seed), *sets)
    rows = zlang.rows("select * from all_trials")
    assert [(row["valid"], row["why_not"]) for row in rows] == [(True, "")] * points
    # Our results are beside the published ones.
    assert results.query(zlang.at / "results.duckdb", (STUDIES / f"{study}.sql").read_text("utf-8")).rows
    return rows


@pytest.mark.parametrize(
    ("study", "drawn", "given", "factors", "state"),
    [
        ("000.1-unwritten-files", (3, 1), ["size=8MiB", "time=1s", "past_fuse=off"], ["content", "rw"], "as_is"),
        ("002.2-capacity", (2, 1), ["files=10", "median=8KiB", "mean=16KiB"], ["recordsize", "compression"], "as_is"),
        (
            "003.2-tuning-zfs",
            (2, 3),
            ["size=8MiB", "time=1s", "past_fuse=off", "arc=64MiB"],
            ["recordsize", "primarycache", "checksum"],
            "cold",
        ),
        (
            "004.3-patterns",
            (3, 1),
            ["size=8MiB", "time=1s", "ramp=0s", "past_fuse=off"],
            ["store", "rw", "bs"],
            "as_is",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_study(
    guest: Guest,
    carried_out: Zlang,
    study: str,
    drawn: tuple[int, int],
    given: list[str],
    factors: list[str],
    state: str,
) -> None:
    """Settings are read back, and for a cold start arcstats showed no data in the ARC."""
    rows = carry_out_study(guest, carried_out, study, *drawn, *given)
    for factor in factors:
        assert len({row[factor] for row in rows}) > 1, factor
    assert {row["cache_state"] for row in rows} == {state}
    arc_contents = [path.read_text() for path in carried_out.folder().rglob("tank.arc")]
    assert arc_contents == ["0 bytes of data, other pools: \n"] * (drawn[0] if state == "cold" else 0)


@pytest.fixture
def compiler(guest: Guest) -> Iterator[None]:
    """Provide the compiler that built the ZFS modules under the name that make uses."""
    guest("ln -s gcc-12 /usr/bin/cc")
    yield
    guest("rm /usr/bin/cc")


@pytest.mark.usefixtures("nfs_server", "compiler")
def test_a_program_is_compiled_over_nfs(guest: Guest, carried_out: Zlang) -> None:
    """As in the original study, on ext4 and on ZFS, both ends of the mount are cold."""
    rows = carry_out_study(guest, carried_out, "004.1-compiling", 2, 2, "files=4", "over_nfs=on")
    assert {row["store"] for row in rows} == {"ext4", "dataset"}
    for row in rows:
        assert row["cache_state"] == "cold"
        assert "0 bytes cached by the server" in str(row["cache_evidence"])
