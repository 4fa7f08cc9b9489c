-- Agrees in the finding: on ZFS a deeper queue brings nothing but latency (2 to 16 deep: operations as
-- before, reads from 0.8 to 9 ms and more), with metadata alone or nothing in the cache it is slower, here by
-- 2 and there by 60. It contradicts in the order of ext4 and ZFS: their disks turned, and ZFS with all in the
-- cache was faster by 6 to 9; our disk does not, the daemon costs each operation, and ext4 is faster by 4 to
-- 5.
select coalesce(t.primarycache, 'ext4') as store, t.iodepth,
  round(median(t.read_iops + t.write_iops)) as ours_iops, round(median(p.value::double)) as theirs_iops,
  round(median(t.read_clat_mean) / 1e6, 1) as ours_read_ms
from depths_and_jobs.trials as t
join imported.patterns_and_depths as p
  on p.rw = 'randrw' and p.numjobs = t.numjobs and p.iodepth = t.iodepth and p.primarycache is not distinct from t.primarycache
  and p.metric = 'iops'
group by all order by all
