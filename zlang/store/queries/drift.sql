-- Drift of a metric from the first to the last trial, in %
-- param metric
with centred as (
    select position, ln(value) - avg(ln(value)) over (partition by trial) as residual
    from trials join metrics using (run, trial, replicate)
    where metric = $metric and value > 0
)
select count(*) as n, 100 * (exp(regr_slope(residual, position) * (max(position) - min(position))) - 1) as "change %",
    corr(residual, position) as r
from centred
