-- Agrees: nearly as much as there is to be saved is saved. 72 % of blocks of 128 KiB were to be there
-- already, a ratio of 3.57; ours is 3.13, as metadata and the table of deduplication take space, of which
-- small file systems have proportionally more.
select t.store, round(median(t.stored_bytes / t.taken_bytes), 2) as ours_ratio, any_value(if(t.store = 'dataset', 3.59, 1)) as theirs_ratio
from disk_space.trials as t group by all order by all
