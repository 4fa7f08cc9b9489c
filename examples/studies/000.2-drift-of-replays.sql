-- Agrees for the second run: replays find in the ARC what the run before them read (the hit ratio doubles),
-- fresh offsets do not (it stays at what the ARC holds of the file, a third). It contradicts from the third
-- run on, where replays hit nothing: 82 to 88 % of their reads were of blocks that the ARC had just evicted
-- from its list of frequently used ones (`arc_mfu_ghost_hits`). In theirs that list stayed, and hits rose on.
-- How the ARC divides its memory depends on what went before, which here was the writing of the file. In both
-- the replicates are no replicates: what they measure is the run before them.
with theirs as (pivot imported.randread_drift on metric using any_value(value) group by replicate)
select t.offsets, t.replicate, round(t.arc_data_hit_ratio) as ours_hit_percent, round(t.read_clat_mean / 1e3) as ours_us,
  round(100 * any_value(p.arc_hit_ratio)) as theirs_hit_percent, any_value(p.iops) as theirs_iops
from drift.trials as t left join theirs as p on t.offsets = 'replayed' and p.replicate = t.replicate
group by all order by all
