-- 
select coalesce(t.primarycache, 'ext4') as store, t.iodepth,
  round(median(t.read_iops + t.write_iops)) as ours_iops, round(median(p.value::double)) as theirs_iops,
  round(median(t.read_clat_mean) / 1e6, 1) as ours_read_ms
from depths_and_jobs.trials as t
join imported.patterns_and_depths as p
  on p.rw = 'randrw' and p.numjobs = t.numjobs and p.iodepth = t.iodepth and p.primarycache is not distinct from t.primarycache
  and p.metric = 'iops'
group by all order by all
