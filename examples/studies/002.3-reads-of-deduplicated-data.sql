-- 
select t.dedup, round(median(t.read_iops)) as ours_iops, round(any_value(p.value::double)) as theirs_iops
from deduplicated_reads.trials as t
join (select dedup, avg(try_cast(value as double)) as value from imported.netapp_sysstat where metric = 'nfs' group by dedup) as p
  on p.dedup = if(t.dedup = 'on', 'post', 'pre')
group by all order by all
