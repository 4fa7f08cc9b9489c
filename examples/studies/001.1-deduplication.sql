-- Agrees in direction only: slower by a third, where theirs was slower by 25 times. Our table of 32,768
-- blocks fits into memory; theirs had outgrown it, and each write read it from the disks. What it costs
-- depends on that, and not on deduplication as such.
select t.dedup, round(median(t.read_iops + t.write_iops)) as ours_iops, any_value(p.value::double) as theirs_iops
from deduplication.trials as t
join imported.musings as p on p.experiment = 'dedup_on_off' and p.level = t.dedup and p.metric = 'iops'
group by all order by all
