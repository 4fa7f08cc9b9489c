-- The main result agrees: on ZFS a deeper queue adds only latency (from depth 2 to 16 the same operations a second,
-- and ten times the latency of reads). With metadata only or nothing in the cache it is slower, here 2 times and in
-- the original 60 times. The order of ext4 and ZFS contradicts. In the original the disks rotated, and ZFS with
-- everything in the cache was 5 to 9 times as fast. This disk does not rotate, the daemon costs time for each
-- operation, and ext4 is 4 to 6 times as fast.
select coalesce(t.primarycache, 'ext4') as store, t.iodepth,
  round(median(t.read_iops + t.write_iops)) as ours_iops, round(median(p.value::double)) as theirs_iops,
  round(median(t.read_clat_mean) / 1e6, 1) as ours_read_ms
from depths_and_jobs.trials as t
join imported.patterns_and_depths as p
  on p.rw = 'randrw' and p.numjobs = t.numjobs and p.iodepth = t.iodepth and p.primarycache is not distinct from t.primarycache
  and p.metric = 'iops'
group by all order by all
