"""Pools and datasets for real, on zfs-fuse: made, set, read back, measured cold, removed. Needs root."""

from __future__ import annotations

from private_daemon import ZfsFuse

SWEEP = """
import fio
import zfs

dir here { path = "." }
pool tank on here { size = 64MiB  ashift = 9 }
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


def test_a_sweep_over_properties_of_a_dataset(zfs_fuse: ZfsFuse) -> None:
    zfs_fuse.run(SWEEP)
    assert zfs_fuse.failed() == []
    sql = "select cache_state, cache_evidence, count(*) from trials where read_iops > 0 group by 1, 2"
    evidence = "0 bytes of data in the ARC 0 bytes of the devices, 0 bytes resident"
    assert zfs_fuse.answers(sql) == [["cold", evidence, 16]]
