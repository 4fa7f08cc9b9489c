-- Contradicts, for a reason that was measured: this disk makes 7500 random reads of 128 KiB a second and
-- 32,000 of 8 KiB (fio, direct, 4 jobs), and zfs-fuse passes on some 5000 of 8 KiB. Records of 128 KiB so
-- reach the limit of the disk, and records of 8 KiB that of zfs-fuse, before the disk's. Theirs had an array
-- and links for which 16 times the data was 12 times the work. primarycache = all is the fastest by far with
-- records of 128 KiB, where a read brings 15 others into the ARC.
select t.recordsize, t.primarycache, round(median(t.read_iops)) as ours_read_iops, any_value(p.value::double) as theirs_read_iops
from tuning_zfs.trials as t
left join imported.asm_zfs_ufs as p
  on p.primarycache = t.primarycache and p.metric = 'read_iops' and p.recordsize = (t.recordsize / 1024)::bigint || 'k' and p.source in ('text', 'text: AWR')
group by all order by all
