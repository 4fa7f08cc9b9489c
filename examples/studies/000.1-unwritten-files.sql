-- Agrees in direction, not in size. Here holes are 1.1 times as fast at random and 1.3 times sequentially (medians),
-- and the runs overlap; in the original they were 58 times as fast at random. This disk does not seek: it does 7500
-- random reads of 128 KiB a second (fio, direct, 4 jobs), about as many as zfs-fuse can pass on at all. Holes are
-- equally fast sequentially and at random, as in the original: nothing is read for them.
select t.rw, t.content, round(median(t.read_iops)) as ours_iops, any_value(p.value::double) as theirs_iops
from unwritten_files.trials as t
join imported.unwritten_files as p
  on p.rw = t.rw and p.file_state = if(t.content = 'zeros', 'unwritten', 'written') and p.metric = 'iops' and p.stat = 'mean'
group by all order by all
