-- 
select t.rw, t.bs, coalesce(t.primarycache, 'ext4') as store,
  round(median(coalesce(t.read_iops, t.write_iops))) as ours_iops, any_value(p.value::double) as theirs_iops
from patterns.trials as t
join imported.patterns_and_depths as p
  on p.rw = t.rw and p.bs = (t.bs / 1024)::bigint || 'k' and p.primarycache is not distinct from t.primarycache and p.metric = 'iops'
group by all order by t.rw, t.bs, ours_iops desc
