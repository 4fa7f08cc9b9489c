-- What can be compared agrees. Without compression the files take 116 % of their size in records of 128 KiB, and
-- 107 % in records of 4 or 8 KiB. So about a tenth is lost in last records. The original lost 12.3 GB of 111. The
-- rest of its matrix was a picture. Here (percent of the files' size; `used` does not count parity) compression
-- gains nothing
-- below 4 KiB. Records of 1 KiB take twice the space on RAID-Z2, because a block of one sector has two of parity.
-- With gzip, files take less from 16 KiB on. gzip-9 gains no more than gzip-2.
pivot (
  select recordsize, compression, round(100 * after_used_bytes / after_apparent_bytes) as percent from capacity.trials
) on compression using any_value(percent) group by recordsize order by recordsize
