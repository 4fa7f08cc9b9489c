-- Agrees: repeated bytes are written faster, by 1.3 here and 1.5 there, though of three runs each the slowest
-- with repeated bytes is slower than two with random ones. What compresses writes less, at whatever level it
-- is compressed.
select buffers, round(median(t.write_iops)) as ours_iops, any_value(p.value::double) as theirs_iops
from content_of_buffers.trials as t
join imported.musings as p on p.experiment = 'ssd_compressible_buffers' and p.metric = 'iops'
  and p.level = if(buffers = 'random', 'full random', 'repeating bytes')
group by all order by all
