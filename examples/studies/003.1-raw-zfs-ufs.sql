-- Agrees that the raw device is the fastest for reads and writes. The order of the other two contradicts: ext4 with
-- direct I/O reads as fast as the raw device, but in the original UFS was slower than ZFS. ZFS reaches two thirds
-- of the reads of the raw device, and half in the original. The file systems are of different ages, and ZFS is a
-- user-space process here, which every read must pass.
select t.store, round(median(t.read_iops)) as ours_read_iops, any_value(r.value::double) as theirs_read_iops,
  round(median(t.write_iops)) as ours_write_iops, any_value(w.value::double) as theirs_write_iops
from raw_zfs_ufs.trials as t
join imported.asm_zfs_ufs as r
  on lower(r.storage) = t.store and r.metric = 'read_iops' and r.source like 'table%'
join imported.asm_zfs_ufs as w
  on lower(w.storage) = t.store and w.metric = 'write_iops' and w.source like 'table%'
group by all order by ours_read_iops desc
