-- Agrees in direction: faster by 3, theirs by 15. After deduplication all reads are of one block, which is in
-- the cache from then on. Without it ours come from the page cache of the pool's files, theirs from disks
-- that were busy all the time.
select t.dedup, round(median(t.read_iops)) as ours_iops, round(any_value(p.value::double)) as theirs_iops
from deduplicated_reads.trials as t
join (select dedup, avg(try_cast(value as double)) as value from imported.netapp_sysstat where metric = 'nfs' group by dedup) as p
  on p.dedup = if(t.dedup = 'on', 'post', 'pre')
group by all order by all
