-- Agrees: aligned is faster, by 1.8 here and 1.4 there. A file system of blocks of 4 KiB has to touch two of
-- them for a block that begins within one. In one of two earlier runs, when the machine was busier, it was
-- the other way round.
select start, round(median(t.read_bw + t.write_bw) / 1e6) as ours_mb_per_s, any_value(p.value::double) as theirs_mb_per_s
from alignment.trials as t
join imported.musings as p on p.experiment = 'partition_alignment'
  and p.level = if(start = 1048576, 'aligned (sector 2048)', 'unaligned (sector 63)')
group by all order by start desc
