-- Percentiles of latency over all replicates, from merged histograms
-- param distribution
-- unit io_lat_p50 = ns
-- unit io_lat_p99 = ns
-- unit io_lat_p999 = ns
-- unit io_lat_max = ns
select columns(getvariable('factors')), l.metric, sum(l.count) as ios,
    latency_percentile(l.ns, l.count, 50) as io_lat_p50,
    latency_percentile(l.ns, l.count, 99) as io_lat_p99,
    latency_percentile(l.ns, l.count, 99.9) as io_lat_p999,
    max(l.ns) as io_lat_max
from latency l join trials t using (run, trial, replicate)
where l.stream is null and l.metric = coalesce($distribution, l.metric)
group by all order by all
