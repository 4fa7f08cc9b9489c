-- Agrees in direction only. Compared with everything in the cache, it takes 2 % longer with metadata only and 7 %
-- longer with nothing; in the original 50 % and 71 %. There the files came over NFS; here the program is small, on
-- a local disk, and the compiler probably needs most of the time. Unlike in the original, ZFS is slower than ext4,
-- by a fifth.
select t.store, t.primarycache, round(median(t.elapsed), 2) as ours_s, any_value(p.value::double) as theirs_s
from compiling.trials as t
join imported.compiles as p on p.metric = 'elapsed' and p.replicate = 'mean(published)' and p.primarycache is not distinct from t.primarycache
group by all order by ours_s
