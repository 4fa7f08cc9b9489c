-- 
select t.rw, t.content, round(median(t.read_iops)) as ours_iops, any_value(p.value::double) as theirs_iops
from unwritten_files.trials as t
join imported.unwritten_files as p
  on p.rw = t.rw and p.file_state = if(t.content = 'zeros', 'unwritten', 'written') and p.metric = 'iops' and p.stat = 'mean'
group by all order by all
