-- Agrees in direction, not in size. Here holes are read 1.6 times as fast as data, sequentially and at random
-- (medians); in the original, at random, they were read 58 times as fast. The disk here does not seek, and zfs-fuse
-- passes on hardly more reads than this disk delivers. Holes are equally fast sequentially and at random, as in the
-- original, because nothing is read for them.
select t.rw, t.content, round(median(t.read_iops)) as ours_iops, any_value(p.value::double) as theirs_iops
from unwritten_files.trials as t
join imported.unwritten_files as p
  on p.rw = t.rw and p.file_state = if(t.content = 'zeros', 'unwritten', 'written') and p.metric = 'iops' and p.stat = 'mean'
group by all order by all
