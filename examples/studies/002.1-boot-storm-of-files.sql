-- Agrees in direction: with 32 machines, deduplicated images give four times as many bytes a second. After deduplication all
-- reads are of one block, which stays in the cache. Before, 32 images of 8 MiB do not fit into the cache of 64 MiB, and one
-- and 8 images do. The storage is fair to 32 machines in both cases. The original says how much was read, not how fast.
-- Each level was set up once, so there is no verdict.
select dedup, copies, round(median(read_bw) / 1e6) as ours_mb_per_s, round(median(fairness), 2) as fairness
from boot_storm_of_files.trials
group by all order by all
