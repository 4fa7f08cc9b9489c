-- Agrees for reads: with metadata alone or nothing in the cache small random reads collapse, here by 5 and
-- there by 13 to 28, and sequential reads of 8 KiB by 4 (66 to 73 there), while reads of whole records lose
-- least here too. Agrees that small random writes collapse then. It contradicts for random writes with all in
-- the cache, where theirs was faster than ext4 by 8 and ours is slower by 33; why was not looked into (each
-- write has to pass through the daemon, into a record of which the whole is written and deduplicated anew;
-- theirs ended in 32 GiB of memory). Their 287,079 reads of 128 KiB a second are 37 GB/s, from memory.
select t.rw, t.bs, coalesce(t.primarycache, 'ext4') as store,
  round(median(coalesce(t.read_iops, t.write_iops))) as ours_iops, any_value(p.value::double) as theirs_iops
from patterns.trials as t
join imported.patterns_and_depths as p
  on p.rw = t.rw and p.bs = (t.bs / 1024)::bigint || 'k' and p.primarycache is not distinct from t.primarycache and p.metric = 'iops'
group by all order by t.rw, t.bs, ours_iops desc
