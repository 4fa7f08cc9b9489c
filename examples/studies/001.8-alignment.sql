-- Agrees: aligned is faster, 1.8 times here and 1.4 times in the original. A file system with blocks of 4 KiB must
-- touch two of them for a request that starts inside one. In one of two earlier runs, on a busier machine, it was the
-- other way round.
select start, round(median(t.read_bw + t.write_bw) / 1e6) as ours_mb_per_s, any_value(p.value::double) as theirs_mb_per_s
from alignment.trials as t
join imported.musings as p on p.experiment = 'partition_alignment'
  and p.level = if(start = 1048576, 'aligned (sector 2048)', 'unaligned (sector 63)')
group by all order by start desc
