-- 
select t.store, t.primarycache, round(median(t.elapsed), 2) as ours_s, any_value(p.value::double) as theirs_s
from compiling.trials as t
join imported.compiles as p on p.metric = 'elapsed' and p.replicate = 'mean(published)' and p.primarycache is not distinct from t.primarycache
group by all order by ours_s
