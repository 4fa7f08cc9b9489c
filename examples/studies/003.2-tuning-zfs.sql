-- 
select t.recordsize, t.primarycache, round(median(t.read_iops)) as ours_read_iops, any_value(p.value::double) as theirs_read_iops
from tuning_zfs.trials as t
left join imported.asm_zfs_ufs as p
  on p.primarycache = t.primarycache and p.metric = 'read_iops' and p.recordsize = (t.recordsize / 1024)::bigint || 'k' and p.source in ('text', 'text: AWR')
group by all order by all
