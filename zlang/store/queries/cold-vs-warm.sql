-- Medians of a metric by cache protocol, and the state of the caches that was verified
-- param metric
select columns(getvariable('factors')), cache, cache_state, count(*) as n, median(value) as median
from trials join metrics using (run, trial, replicate)
where metric = $metric
group by all order by all
