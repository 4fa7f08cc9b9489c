-- The second run agrees: replays find in the ARC what the previous run read, and fresh offsets do not. Hits move
-- from the list of data used once (`mru`) to the list of data used often (`mfu`). The later runs contradict. Each
-- read of 128 KiB reaches ZFS as two accesses here (1.8 accesses to the ARC per read within the measured time), and
-- the second always hits. So 50 % means that no record was cached, and 65 % that a third of them were, which is the
-- share of the file that fits into the ARC. From the third run on, no record was cached. In an earlier measurement,
-- as many as were read had just been evicted from the ARC's list of frequently used data (`arc_mfu_ghost_hits`). In
-- the original that list stayed, and hits kept rising. How the ARC divides its memory depends on the history, here
-- the writing of the file. In both, the replicates are not independent, because each reads what the run before it
-- left in the ARC.
with theirs as (pivot imported.randread_drift on metric using any_value(value) group by replicate)
select t.offsets, t.replicate, round(t.arc_data_hit_ratio) as ours_hit_percent, round(t.read_clat_mean / 1e3) as ours_us,
  round(t.arc_mru_hits) as ours_mru, round(t.arc_mfu_hits) as ours_mfu,
  round(100 * any_value(p.arc_hit_ratio)) as theirs_hit_percent, any_value(p.iops) as theirs_iops,
  any_value(p.mru_hits) as theirs_mru, any_value(p.mfu_hits) as theirs_mfu
from drift.trials as t left join theirs as p on t.offsets = 'replayed' and p.replicate = t.replicate
group by all order by all
