-- Agrees in the median, by 1.3 here and 1.5 there, but it is not shown: of three runs each, those with
-- repeated bytes reach from 197 to 3952 writes a second, those with random ones from 2091 to 2434. What
-- compresses writes less; how much that matters on this machine is less than what its other users do.
select buffers, round(median(t.write_iops)) as ours_iops, any_value(p.value::double) as theirs_iops
from content_of_buffers.trials as t
join imported.musings as p on p.experiment = 'ssd_compressible_buffers' and p.metric = 'iops'
  and p.level = if(buffers = 'random', 'full random', 'repeating bytes')
group by all order by all
