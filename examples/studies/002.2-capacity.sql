-- 
pivot (
  select recordsize, compression, round(100 * used_bytes / logical_bytes) as percent from capacity.trials
) on compression using any_value(percent) group by recordsize order by recordsize
