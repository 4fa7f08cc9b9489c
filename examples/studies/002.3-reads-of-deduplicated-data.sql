-- Agrees in direction: faster by 4.6, theirs by 15. After deduplication all reads are of one block, which is
-- in the cache from then on; before, each has to come from the disk. Theirs were bounded by the filer's
-- processors then (93 %), ours probably by the daemon.
select t.dedup, round(median(t.read_iops)) as ours_iops, round(any_value(p.value::double)) as theirs_iops
from deduplicated_reads.trials as t
join (select dedup, avg(try_cast(value as double)) as value from imported.netapp_sysstat where metric = 'nfs' group by dedup) as p
  on p.dedup = if(t.dedup = 'on', 'post', 'pre')
group by all order by all
