-- Cannot agree: a loop device has no flash that wears, and 5 s of writes are not 8 hours. The three states differ
-- by less than a tenth. This shows only that the treatments are carried out and verified. More needs a real device.
select state, round(median(t.write_iops)) as ours_iops, any_value(p.value::double) as theirs_iops
from state_of_a_device.trials as t
join imported.musings as p on p.experiment = 'ssd_fade' and p.metric = 'iops' and p.level =
  case state when 'used' then 'after 4 months as ZIL' when 'erased' then 'after secure erase #1' else 'after 8 h random write' end
group by all order by ours_iops desc
