-- Reasons why trials do not count, the most common first
select why_not, count(*) as trials, min(number) as first_number
from all_trials where not valid group by why_not order by trials desc, why_not
