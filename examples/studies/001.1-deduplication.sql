-- 
select t.dedup, round(median(t.read_iops + t.write_iops)) as ours_iops, any_value(p.value::double) as theirs_iops
from deduplication.trials as t
join imported.musings as p on p.experiment = 'dedup_on_off' and p.level = t.dedup and p.metric = 'iops'
group by all order by all
