-- Agrees in what it found for ZFS: of the reads that the raw device makes, ZFS leaves about half, and here as
-- there writes are nearer to each other. It contradicts for UFS: ext4 with direct I/O leaves all of it,
-- within what the noise of this machine lets one see. Theirs was a file system of another age, on another
-- system.
select t.store, round(median(t.read_iops)) as ours_read_iops, any_value(r.value::double) as theirs_read_iops,
  round(median(t.write_iops)) as ours_write_iops, any_value(w.value::double) as theirs_write_iops
from raw_zfs_ufs.trials as t
join imported.asm_zfs_ufs as r
  on lower(r.storage) = t.store and r.metric = 'read_iops' and r.source like 'table%'
join imported.asm_zfs_ufs as w
  on lower(w.storage) = t.store and w.metric = 'write_iops' and w.source like 'table%'
group by all order by ours_read_iops desc
