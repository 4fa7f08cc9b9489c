-- Agrees: with everything in the cache ZFS is as fast as ext4 (the runs overlap); with metadata only it takes half as
-- long again, as in the original; with nothing in the cache it takes 2.6 times as long (1.7 times in the original: over
-- NFS the client caches files too, and here nothing does).
select t.store, t.primarycache, round(median(t.elapsed), 2) as ours_s, any_value(p.value::double) as theirs_s
from compiling.trials as t
join imported.compiles as p on p.metric = 'elapsed' and p.replicate = 'mean(published)' and p.primarycache is not distinct from t.primarycache
group by all order by ours_s
