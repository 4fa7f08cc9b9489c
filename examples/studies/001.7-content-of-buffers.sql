-- The medians agree (1.3 times here, 1.5 times in the original), but this is not significant: of three runs each,
-- repeated bytes reach 197 to 3952 writes a second, random bytes 2091 to 2434. Compression reduces what is written,
-- but its effect is smaller than that of other users of this machine.
select buffers, round(median(t.write_iops)) as ours_iops, any_value(p.value::double) as theirs_iops
from content_of_buffers.trials as t
join imported.musings as p on p.experiment = 'ssd_compressible_buffers' and p.metric = 'iops'
  and p.level = if(buffers = 'random', 'full random', 'repeating bytes')
group by all order by all
