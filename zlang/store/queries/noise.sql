-- Variation among the replicates of each combination, the largest first
-- param metric
select columns(getvariable('factors')), count(*) as n, 100 * stddev_samp(value) / avg(value) as "cv %"
from trials join metrics using (run, trial, replicate)
where metric = $metric
group by all order by "cv %" desc nulls last
