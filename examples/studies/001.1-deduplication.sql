-- Agrees in direction only: deduplication costs two fifths of the operations here; in the original it was 25 times
-- slower. Here the table of 32,768 blocks fits into memory. In the original it did not, so each write read it from
-- the disks. The cost depends on that, not on deduplication as such.
select t.dedup, round(median(t.read_iops + t.write_iops)) as ours_iops, any_value(p.value::double) as theirs_iops
from deduplication.trials as t
join imported.musings as p on p.experiment = 'dedup_on_off' and p.level = t.dedup and p.metric = 'iops'
group by all order by all
