-- Contradicts. Without cached data, records of 128 KiB are as fast as records of 8 KiB or faster here; in the
-- original they were 12 times slower. In the original, 16 times the data was 12 times the work for the array and
-- its links. Here the disk does not seek and has no such links, and zfs-fuse costs time for each read, whatever its
-- size. With records of 128 KiB, primarycache = all is the fastest by far, because each read brings 15 others into
-- the ARC.
select t.recordsize, t.primarycache, round(median(t.read_iops)) as ours_read_iops, any_value(p.value::double) as theirs_read_iops
from tuning_zfs.trials as t
left join imported.asm_zfs_ufs as p
  on p.primarycache = t.primarycache and p.metric = 'read_iops' and p.recordsize = (t.recordsize / 1024)::bigint || 'k' and p.source in ('text', 'text: AWR')
group by all order by all
