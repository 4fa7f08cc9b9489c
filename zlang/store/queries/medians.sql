-- Median, minimum and maximum of a metric for each combination of the factors
-- param metric
select columns(getvariable('factors')), count(*) as n, median(value) as median, min(value) as least, max(value) as greatest
from trials join metrics using (run, trial, replicate)
where metric = $metric
group by all order by all
