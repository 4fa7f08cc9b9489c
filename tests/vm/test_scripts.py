"""Emitted scripts on a machine with kernel OpenZFS that has neither zlang nor Python; zlang reads what they leave."""

from __future__ import annotations

from command_line import Zlang
from vm.guest import Guest


def carry_out(guest: Guest, zlang: Zlang, program: str) -> None:
    """Plan outside, run the script inside, bring the run folder out, and build the database from it."""
    zlang("plan", zlang.program(program), "--emit", "sh", "--out", "script")
    guest("mkdir -p /var/tmp/here")
    guest.put(zlang.at / "script", "/var/tmp/here/script")
    guest("! command -v python3 zlang && cd /var/tmp/here && sh script/plan.sh")
    guest.get("/var/tmp/here/runs", zlang.at / "runs")
    zlang("ingest", "runs")


SWEEP = """
import fio
import zfs

host guest { zfs = "VERSION" }
dir here on guest { path = "/var/tmp/here" }
pool tank on here { size = 128MiB  allocation = sparse  ashift = 12 }
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
    evidence = "0 bytes of data in the ARC 0 bytes of the devices, 0 bytes resident"
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
