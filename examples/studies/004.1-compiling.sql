-- Agrees for ZFS: with metadata alone in the cache it takes longer by a half, here as there, and with nothing
-- in it longer still. That ZFS with all in the cache is as fast as ext4 is not to be seen here: zfs-fuse is a
-- process, and this compiles on the file system itself, not over NFS.
select t.store, t.primarycache, round(median(t.elapsed), 2) as ours_s, any_value(p.value::double) as theirs_s
from compiling.trials as t
join imported.compiles as p on p.metric = 'elapsed' and p.replicate = 'mean(published)' and p.primarycache is not distinct from t.primarycache
group by all order by ours_s
