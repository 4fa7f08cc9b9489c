-- Median of a metric in each run, for points that several runs have
-- param metric
select trial, run, count(*) as n, median(value) as median
from metrics
where metric = $metric and stream is null and trial in (select trial from metrics group by trial having count(distinct run) > 1)
group by all order by all
