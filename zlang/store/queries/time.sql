-- Time spent on each step, the longest first
select action, step, count(*) as times, sum(elapsed) as seconds, max(elapsed) as longest
from steps group by all order by seconds desc nulls last
