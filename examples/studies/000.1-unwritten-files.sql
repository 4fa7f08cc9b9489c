-- Agrees in direction, not in size: in the median holes are faster by 1.1 at random and 1.3 in order, and the
-- runs overlap; theirs were faster by 58 at random. Our disk does not seek: it makes 7500 random reads of 128
-- KiB a second by itself (fio, direct, 4 jobs), about as many as zfs-fuse passes on of anything. That holes
-- are not faster in order than at random by more than the noise, as in theirs, says that nothing is read for
-- them.
select t.rw, t.content, round(median(t.read_iops)) as ours_iops, any_value(p.value::double) as theirs_iops
from unwritten_files.trials as t
join imported.unwritten_files as p
  on p.rw = t.rw and p.file_state = if(t.content = 'zeros', 'unwritten', 'written') and p.metric = 'iops' and p.stat = 'mean'
group by all order by all
