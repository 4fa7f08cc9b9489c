-- Agrees, to the byte for zeros: 512 bytes. How well fio's default buffers compress depends on its version. Here fio
-- was told to write data that save 61 %, and lzjb finds most of that.
select t.content, t.compression, round(100 * t.after_du_bytes / 67108864.0, 1) as ours_percent,
  round(100 * any_value(p.value::double * if(p.unit = 'B', 1, 2**30)) / (36 * 2**30), 1) as theirs_percent
from size_on_disk.trials as t
left join imported.unwritten_capacity as p
  on p.file_state = if(t.content = 'zeros', 'unwritten', 'written') and p.compression = if(t.compression = 'off', 'off', 'on')
group by all order by all
