-- 
select t.store, round(median(t.stored_bytes / t.taken_bytes), 2) as ours_ratio, any_value(if(t.store = 'dataset', 3.59, 1)) as theirs_ratio
from disk_space.trials as t group by all order by all
