-- What does not count, and why, the most common reason first
select why_not, count(*) as trials, min(number) as first_number
from all_trials where not valid group by why_not order by trials desc, why_not
