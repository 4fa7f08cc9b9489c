-- Agrees: ZFS with all in the cache is as fast as ext4 (the runs overlap), with metadata alone it takes
-- longer by a half, as there, and with nothing in the cache longer still, by 2.6 where theirs took 1.7 times
-- as long: over NFS the client keeps files, too, and here nothing does.
select t.store, t.primarycache, round(median(t.elapsed), 2) as ours_s, any_value(p.value::double) as theirs_s
from compiling.trials as t
join imported.compiles as p on p.metric = 'elapsed' and p.replicate = 'mean(published)' and p.primarycache is not distinct from t.primarycache
group by all order by ours_s
