-- Agrees that the raw device is the fastest, to read and to write, and that ZFS leaves less than half of its
-- reads. It contradicts in the order of the other two: ext4 with direct I/O leaves four fifths, where UFS was
-- slower than ZFS. They are file systems of different ages, and our ZFS is a process that each read has to go
-- through.
select t.store, round(median(t.read_iops)) as ours_read_iops, any_value(r.value::double) as theirs_read_iops,
  round(median(t.write_iops)) as ours_write_iops, any_value(w.value::double) as theirs_write_iops
from raw_zfs_ufs.trials as t
join imported.asm_zfs_ufs as r
  on lower(r.storage) = t.store and r.metric = 'read_iops' and r.source like 'table%'
join imported.asm_zfs_ufs as w
  on lower(w.storage) = t.store and w.metric = 'write_iops' and w.source like 'table%'
group by all order by ours_read_iops desc
