-- Reads agree. With metadata only or nothing in the cache, small random reads collapse: here 5-fold, in the
-- original 13- to 28-fold. Sequential reads of 8 KiB are three times as slow here, 66 to 73 times in the original.
-- Reads of whole records lose least. Small random writes lose almost half. Random writes with everything in the
-- cache contradict: in the original ZFS was 8 times as fast as ext4, and here it is 38 times slower. The reason was
-- not examined. Here each write passes through the daemon into a record that is written and deduplicated as a
-- whole; in the original, writes ended in 32 GiB of memory. The original's 287,079 reads of 128 KiB a second are 37
-- GB/s, which only memory can deliver.
select t.rw, t.bs, coalesce(t.primarycache, 'ext4') as store,
  round(median(coalesce(t.read_iops, t.write_iops))) as ours_iops, any_value(p.value::double) as theirs_iops
from patterns.trials as t
join imported.patterns_and_depths as p
  on p.rw = t.rw and p.bs = (t.bs / 1024)::bigint || 'k' and p.primarycache is not distinct from t.primarycache and p.metric = 'iops'
group by all order by t.rw, t.bs, ours_iops desc
