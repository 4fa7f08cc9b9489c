-- Agrees in direction. At random holes are read faster by a factor of 2 to 3 where theirs was 58: our disk is
-- the page cache of the pool's files and a virtual disk, which do not seek. That holes are no faster in order
-- than at random, as theirs, says that nothing is read for them.
select t.rw, t.content, round(median(t.read_iops)) as ours_iops, any_value(p.value::double) as theirs_iops
from unwritten_files.trials as t
join imported.unwritten_files as p
  on p.rw = t.rw and p.file_state = if(t.content = 'zeros', 'unwritten', 'written') and p.metric = 'iops' and p.stat = 'mean'
group by all order by all
