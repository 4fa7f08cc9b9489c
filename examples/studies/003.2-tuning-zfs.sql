-- Contradicts, for a reason that was measured: this disk makes 7500 random reads of 128 KiB a second and
-- 32,000 of 8 KiB (fio, direct, 4 jobs), and zfs-fuse itself not more than about 9000 reads of any size from
-- the disk. Records of 128 KiB so reach the limit of the disk, and records of 8 KiB that of zfs-fuse. Theirs
-- had an array for which 16 times the data was 12 times the work. As there, primarycache = all is the fastest
-- where the ARC holds the working set, as it does here: 256 MiB.
select t.recordsize, t.primarycache, round(median(t.read_iops)) as ours_read_iops, any_value(p.value::double) as theirs_read_iops
from tuning_zfs.trials as t
left join imported.asm_zfs_ufs as p
  on p.primarycache = t.primarycache and p.metric = 'read_iops' and p.recordsize = (t.recordsize / 1024)::bigint || 'k' and p.source in ('text', 'text: AWR')
group by all order by all
