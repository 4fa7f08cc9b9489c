-- Agrees in direction: 4.6 times as fast, in the original 15 times. After deduplication all reads are of one block, which
-- stays in the cache; before, each read comes from the disk. The limit was then the filer's processors in the
-- original (93 %), and is probably the zfs-fuse daemon here.
select t.dedup, round(median(t.read_iops)) as ours_iops, round(any_value(p.value::double)) as theirs_iops
from deduplicated_reads.trials as t
join (select dedup, avg(try_cast(value as double)) as value from imported.netapp_sysstat where metric = 'nfs' group by dedup) as p
  on p.dedup = if(t.dedup = 'on', 'post', 'pre')
group by all order by all
