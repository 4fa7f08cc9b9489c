"""All readers, by the names that kinds use.

In: a name. Out: the function. Rule: every reader is listed here explicitly; none is discovered.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from zlang.hints import Final
from zlang.readers import (
    arcstats,
    capacity,
    diskstats,
    fio,
    fio_logs,
    meminfo,
    outside,
    pressure,
    rounds,
    shell,
    smart,
    sysstat,
    sysstat_x,
    throttling,
    vmstat,
    zpool_iostat,
)
from zlang.readers.reading import FindLogs, Read

READERS: Final[Mapping[str, Read]] = {
    "arcstats": arcstats.read,
    "capacity": capacity.read,
    "diskstats": diskstats.read,
    "fio": fio.read,
    "outside": outside.read,
    "iostat": sysstat.read_iostat,
    "meminfo": meminfo.read,
    "mpstat": sysstat.read_mpstat,
    "pressure": pressure.read,
    "rounds": rounds.read,
    "shell": shell.read,
    "smart": smart.read,
    "sysstat_x": sysstat_x.read,
    "throttling": throttling.read,
    "vmstat": vmstat.read,
    "zpool_iostat": zpool_iostat.read,
}

LOGS: Final[tuple[FindLogs, ...]] = (fio_logs.find_logs,)
"""The logs of single operations that a workload may leave beside its report, whatever reads that."""
LOG_NAMES: Final[tuple[Callable[[str], bool], ...]] = (fio_logs.may_be_log,)
"""Whether a file can be such a log, by its name."""
