-- Contradicts here: the two differ by a twentieth, and the aligned one is not the faster one; in the original it
-- was 1.4 times as fast. A file system with blocks of 4 KiB must touch two of them for a request that starts inside
-- one. In an earlier measurement that made aligned I/O 1.8 times as fast. So this machine cannot answer the
-- question by rates: the pitfall `sector-mismatch` counts the bytes that are read instead.
select start, round(median(t.read_bw + t.write_bw) / 1e6) as ours_mb_per_s, any_value(p.value::double) as theirs_mb_per_s
from alignment.trials as t
join imported.musings as p on p.experiment = 'partition_alignment'
  and p.level = if(start = 1048576, 'aligned (sector 2048)', 'unaligned (sector 63)')
group by all order by start desc
