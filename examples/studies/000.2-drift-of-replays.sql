-- Agrees for the second run: replays find in the ARC what the run before them read, fresh offsets do not, and
-- hits go over from the list of what was used once (`mru`) to that of what was used often (`mfu`). It
-- contradicts after that. Each read of 128 KiB reaches ZFS as two here (there are 1.8 accesses to the ARC for
-- each read within the time that is counted), of which the second always hits: 50 % mean that no record was
-- there, 65 % a third of them, which is what the ARC holds of the file. In the fourth and fifth run no record
-- was there: as many as were read had just been evicted from the ARC's list of frequently used ones
-- (`arc_mfu_ghost_hits`). In theirs that list stayed, and hits rose on. How the ARC divides its memory
-- depends on what went before, which here was the writing of the file. In both the replicates are no
-- replicates: what they measure is the run before them.
with theirs as (pivot imported.randread_drift on metric using any_value(value) group by replicate)
select t.offsets, t.replicate, round(t.arc_data_hit_ratio) as ours_hit_percent, round(t.read_clat_mean / 1e3) as ours_us,
  round(t.arc_mru_hits) as ours_mru, round(t.arc_mfu_hits) as ours_mfu,
  round(100 * any_value(p.arc_hit_ratio)) as theirs_hit_percent, any_value(p.iops) as theirs_iops,
  any_value(p.mru_hits) as theirs_mru, any_value(p.mfu_hits) as theirs_mfu
from drift.trials as t left join theirs as p on t.offsets = 'replayed' and p.replicate = t.replicate
group by all order by all
