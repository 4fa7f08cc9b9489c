-- Contradicts, for a measured reason: this disk does 7500 random reads of 128 KiB a second and 32,000 of 8 KiB (fio,
-- direct, 4 jobs), and zfs-fuse passes on about 5000 of 8 KiB. So records of 128 KiB reach the limit of the disk, and
-- records of 8 KiB reach that of zfs-fuse first. In the original, 16 times the data was 12 times the work for the array
-- and its links. primarycache = all is the fastest by far with records of 128 KiB, because each read brings 15 others
-- into the ARC.
select t.recordsize, t.primarycache, round(median(t.read_iops)) as ours_read_iops, any_value(p.value::double) as theirs_read_iops
from tuning_zfs.trials as t
left join imported.asm_zfs_ufs as p
  on p.primarycache = t.primarycache and p.metric = 'read_iops' and p.recordsize = (t.recordsize / 1024)::bigint || 'k' and p.source in ('text', 'text: AWR')
group by all order by all
