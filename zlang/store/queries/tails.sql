-- Percentiles of latency of all replicates together, from the merged histograms
-- param direction = read
-- param kind = clat
with bins as (
    select columns(getvariable('factors')), trial, l.ns, sum(l.count) as ios
    from latency l join trials t using (run, trial, replicate)
    where l.direction = $direction and l.kind = $kind
    group by all
), ranked as (
    select *, sum(ios) over (partition by trial order by ns) as below, sum(ios) over (partition by trial) as total from bins
)
select columns(getvariable('factors')), max(total) as ios,
    min(ns) filter (below >= 0.5 * total) as io_lat_p50,
    min(ns) filter (below >= 0.99 * total) as io_lat_p99,
    min(ns) filter (below >= 0.999 * total) as io_lat_p999,
    max(ns) as io_lat_max
from ranked group by all order by all
