"""Check that a workload that read its data from a cache is not cold, whatever was verified before. Needs root."""

from __future__ import annotations

import json
import os
import re
import subprocess
import tempfile
from pathlib import Path

import pytest
from command_line import REPOSITORY, Zlang
from refilling import REFILLED

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="loop devices, pools and mounting need root")

# The reader reads while the measurement waits for its start.
INTRUDER = """
kind intruder: collector {
  doc = "Somebody who reads the same file."
  needs file as at
  watch {
    sh "cat -- {at.dir}/{at.file} >/dev/null; exec sleep 60" { why = "a backup" }
    reads shell "{name}.out" { metrics = [] }
  }
}
"""
LAYERS = """
import fio
import filesystems
dir here { path = "." }
loop disk on here { size = 320MiB  allocation = sparse }
let volume = ext4 on disk {} | xfs on disk {} | btrfs on disk {}
file data on volume { size = 8MiB }
"""
READS = "fio reads { rw = randread  bs = 16KiB }\n"


@pytest.fixture
def zlang(tmp_path: Path) -> Zlang:
    return Zlang(tmp_path)


# The workload's own wrapper reads the file before or while it starts the workload.
WRAPPERS = """
kind before: wrapper {
  doc = "Read the file, and become the load."
  wrap { sh "cat -- zlang-*/disk-volume.*/data >/dev/null; exec {command}" }
}
kind meanwhile: wrapper {
  doc = "Become the load while the file is read."
  wrap { sh "cat -- zlang-*/disk-volume.*/data >/dev/null & exec {command}" }
}
"""


def why_not(zlang: Zlang, text: str, *options: str, code: int | None = 0) -> list[str]:
    """Return the reasons why trials do not count."""
    (zlang.at / "program.zexp").write_text(text, "utf-8")
    zlang("run", "program.zexp", "--yes", *options, code=code)
    last = max((zlang.at / "runs").iterdir(), key=lambda path: path.stat().st_mtime)
    return [failure["why"] for failure in json.loads(zlang("status", str(last), "--json").out)["failed"]]


def is_refilled(why: str) -> bool:
    """Check that a trial does not count because less than half of the file came from devices.

    The kernel may read some of it all the same: metadata that was dropped again, and pages of fio itself.
    """
    read = re.fullmatch(
        r"cache not cold: only ([\d,]+) of the 8,388,608 bytes that the workload read came from devices, "
        "not at least 4,194,304",
        why,
    )
    return read is not None and int(read[1].replace(",", "")) < 8_388_608 / 2


def test_a_refilled_file_is_not_cold(zlang: Zlang) -> None:
    text = REFILLED + LAYERS + READS + "experiment one { on = data  run = reads  cache = refilled }"
    assert [is_refilled(why) for why in why_not(zlang, text, code=None)] == [True] * 3


def test_loads_that_may_read_blocks_again_are_not_cold_if_nobody_read_them_from_devices(zlang: Zlang) -> None:
    loads = (
        'fio zipf { rw = randread  bs = 64KiB  random_distribution = "zipf:1.2" }\n'
        "fio repeats { rw = randread  bs = 4KiB  norandommap = on  ioengine = psync | splice }\n"
    )
    text = REFILLED + LAYERS + loads + "experiment one { on = data  run = zipf | repeats  cache = refilled | cold }"
    whys = why_not(zlang, text, code=None)
    assert {why.partition(" devices, ")[2] for why in whys} == {"not at least 32,768", "not at least 2,097,152"}
    assert zlang.rows("select cache, count(*) as n from trials group by all") == [{"cache": "cold", "n": 9}]


def test_a_kind_of_ones_own_can_say_what_came_from_devices(zlang: Zlang) -> None:
    page = (REPOSITORY / "docs/writing-kinds.md").read_text("utf-8")
    kind = re.search(r"^kind cold_reads: .*?^}$", page, re.MULTILINE | re.DOTALL)
    assert kind is not None
    layers = LAYERS.replace("ext4 on disk {} | xfs on disk {} | btrfs on disk {}", "ext4 on disk {}")
    text = f"{REFILLED}{layers}{kind[0]}\ncold_reads once\n"
    whys = why_not(zlang, f"{text}experiment one {{ on = data  run = once  cache = cold | refilled }}", code=None)
    assert [is_refilled(why) for why in whys] == [True]


def test_reads_of_a_wrapper_are_not_those_of_the_load(zlang: Zlang) -> None:
    load = "fio reads { rw = randread  bs = 16KiB  startdelay = 1s  under = none | before {} | meanwhile {} }\n"
    text = WRAPPERS + LAYERS + load + "experiment one { on = data  run = reads  cache = cold }"
    assert [is_refilled(why) for why in why_not(zlang, text, code=None)] == [True] * 6
    assert zlang.rows("select distinct under from trials where valid") == [{"under": "none"}]


def test_a_file_that_is_refilled_while_it_is_measured_is_not_cold(zlang: Zlang) -> None:
    reads = "fio reads { rw = randread  bs = 16KiB  startdelay = 2s  size = 6MiB }\n"
    text = (
        INTRUDER + LAYERS + reads + "experiment one { on = data  run = reads  cache = cold  collect = [intruder {}] }"
    )
    whys = why_not(zlang, text, code=None)
    assert [why.partition(" only ")[0] for why in whys] == ["cache not cold:"] * 3


def test_the_script_records_a_refilled_cache(zlang: Zlang) -> None:
    text = REFILLED + LAYERS + READS + "experiment one { on = data  run = reads  cache = refilled | cold }"
    (zlang.at / "program.zexp").write_text(text, "utf-8")
    (zlang.at / "plan.sh").write_text(zlang("plan", "program.zexp", "--emit", "sh").out, "utf-8")
    subprocess.run(["dash", "plan.sh"], cwd=zlang.at, check=True, capture_output=True, timeout=300)
    zlang("ingest", "runs", code=None)
    (run,) = (zlang.at / "runs").iterdir()
    failed = json.loads(zlang("status", str(run), "--json").out)["failed"]
    assert [failure["why"] for failure in failed if not is_refilled(failure["why"])] == []
    assert len(failed) == 3


HONEST = [
    # One pass, small blocks, past the page cache, and as a queue.
    "rw = read | randread  bs = 4KiB  direct = off | on",
    "rw = randread  bs = 4KiB  ioengine = libaio | io_uring | posixaio | mmap  iodepth = 8",
    # A small working set is read from the device once, and then from the cache.
    "rw = randread  bs = 16KiB  time_based = on  runtime = 2s",
    "rw = read  bs = 64KiB  size = 1MiB  time_based = on  runtime = 2s  offset = 6MiB",
    "rw = randread  bs = 16KiB  ramp_time = 1s  time_based = on  runtime = 1s",
    "rw = read  bs = 64KiB  numjobs = 2  offset = 1MiB  offset_increment = 2MiB",
    # Workers find data in the cache that others have read.
    "rw = read | randread  bs = 64KiB  numjobs = 4",
    "rw = read  bs = 64KiB  numjobs = 4  size = 2MiB  offset_increment = 2MiB",
    "rw = read  bs = 64KiB  numjobs = 8  time_based = on  runtime = 1s",
    # Blocks that are selected repeatedly, and those that were just written.
    'rw = randread  bs = 4KiB  random_distribution = "zipf:1.2"  io_size = 32MiB',
    "rw = randread  bs = 4KiB  norandommap = on  io_size = 32MiB",
    "rw = randrw  bs = 16KiB  rwmixread = 70%",
    "rw = rw  bs = 16KiB  rwmixread = 50%",
    "rw = randrw  bs = 16KiB  numjobs = 4  time_based = on  runtime = 1s",
    "rw = write | randwrite  bs = 64KiB  verify = crc32c",
]


def test_trials_that_may_read_from_a_cache_count(zlang: Zlang) -> None:
    layers = LAYERS.replace("let volume = ext4 on disk {} | xfs on disk {} | btrfs on disk {}", "ext4 volume on disk")
    loads = "".join(f"fio load{n} {{ {load} }}\n" for n, load in enumerate(HONEST))
    names = " | ".join(f"load{n}" for n in range(len(HONEST)))
    text = f"{layers}{loads}experiment one {{ on = data  run = {names}  cache = cold }}"
    assert why_not(zlang, text) == []


def test_compressed_data_take_less(zlang: Zlang) -> None:
    volume = "btrfs volume on disk { compress = none | zstd(3) }"
    layers = LAYERS.replace("let volume = ext4 on disk {} | xfs on disk {} | btrfs on disk {}", volume)
    layers = layers.replace("8MiB }", "8MiB  content = random | zeros | compressible(90%) }")
    assert why_not(zlang, f"{layers}{READS}experiment one {{ on = data  run = reads  cache = cold }}") == []


def test_devices_without_a_file_system(zlang: Zlang) -> None:
    text = (
        'import fio\nimport filesystems\ndir here { path = "." }\n'
        "loop disk on here { size = 16MiB  allocation = sparse }\n"
        "fio reads { rw = randread  bs = 16KiB  size = 4MiB }\n"
        "experiment one { on = disk  run = reads  cache = cold }"
    )
    assert why_not(zlang, text) == []


def test_blocks_that_were_never_written_are_in_no_cache(zlang: Zlang) -> None:
    program = REPOSITORY / "examples/pitfalls/read-of-never-written.promised.zexp"
    text = program.read_text("utf-8").replace("./lab.zexp", str(program.with_name("lab.zexp")))
    assert why_not(zlang, text, "--order", "blocked") == []


def test_files_in_memory_are_never_cold(zlang: Zlang) -> None:
    with tempfile.TemporaryDirectory(dir="/dev/shm") as memory:
        text = f'import fio\ndir here {{ path = "{memory}" }}\nfile data on here {{ size = 1MiB }}\n{READS}'
        reasons = why_not(zlang, f"{text}experiment one {{ on = data  run = reads  cache = cold }}", code=1)
    assert "the file is on tmpfs, so it is in memory and never cold" in str(reasons)
