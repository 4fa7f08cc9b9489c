-- 
with theirs as (pivot imported.randread_drift on metric using any_value(value) group by replicate)
select t.offsets, t.replicate, round(t.arc_data_hit_ratio) as ours_hit_percent, round(t.read_clat_mean / 1e3) as ours_us,
  round(100 * any_value(p.arc_hit_ratio)) as theirs_hit_percent, any_value(p.iops) as theirs_iops
from drift.trials as t left join theirs as p on t.offsets = 'replayed' and p.replicate = t.replicate
group by all order by all
