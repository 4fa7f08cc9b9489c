"""The figures of one entry of fio's report, compared with each other.

In: an entry that holds what a report must hold. Out: the figures that are impossible or disagree, as sentences.
Rule: no report that fio wrote is refused. Each equation is fio's own (stat.c), with what it rounds.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from fractions import Fraction
from itertools import pairwise
from typing import Any

from zlang.readers.reading import percentiles

DIRECTIONS = ("read", "write", "trim", "mixed")
"""Of I/O, as fio names them."""

_Part = Any
_TIMES = ("slat_ns", "clat_ns", "lat_ns")
_RATE = 1e-6
"""By this share a rate may differ from its operations by its runtime: fio prints six decimals."""
_PRINTED = 1e-5
_BIN = 1 / 64
"""fio's bins are as wide as this share of their values, and a percentile is the middle of one."""
_PARTS = Fraction(1, 1 << 40)
_OTHER_SIZES = frozenset(
    {
        "bssplit",
        "bsrange",
        "blocksize_range",
        "bs_unaligned",
        "blocksize_unaligned",
        "unified_rw_reporting",
        "num_range",
    }
    | {"kb_base", "read_iolog", "blockalign", "ba"}
)
"""Options with which a block's size is not that of `bs`."""
_OTHER_DEPTHS = frozenset({"io_submit_mode", "rate_process"})
"""Options with which an operation is timed before it has a place in the queue."""
_SAMPLED = ("bw_agg", "bw_min", "bw_max", "bw_mean", "bw_dev", "iops_")
"""Figures that fio samples every half second. They are not used: above 2 TiB/s its `bw_agg` is negative (fio 3.33)."""
_MOST = 1 << 63
_TICK = 2
"""Milliseconds by which a runtime may be shorter than what was timed in it."""
_MOST_CPU = 1.05
"""The share of a processor that one thread can use; fio's clock and the kernel's are not one."""
_SIZE = re.compile(r"(\d+)([kmg]?)(?:i?b)?\Z", re.IGNORECASE)
_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}


def contradictions(job: _Part, shared: _Part = None) -> Iterator[str]:
    """Figures of one entry that cannot be true; `shared` are the report's options for all jobs."""
    name = job["jobname"]
    impossible = [f"`{path}` of job {name} is {value}" for path, value in _impossible(job)]
    if impossible:
        yield impossible[0]
        return
    options = {**(shared or {}), **job.get("job options", {})}
    for direction in DIRECTIONS:
        part = job.get(direction)
        if part:
            problems = (*_rates(part), *_blocks(part, direction, options), *_latencies(part, options))
            yield from (f"{direction} of job {name}: {problem}" for problem in problems)
    syncs = job.get("sync", {}).get("lat_ns")
    if syncs and syncs["N"]:
        yield from (f"sync of job {name}: {problem}" for problem in _latency(syncs))
    if job["usr_cpu"] + job["sys_cpu"] > 100 * _MOST_CPU * _threads(options):
        yield f"`usr_cpu` and `sys_cpu` of job {name} are {job['usr_cpu']} % and {job['sys_cpu']} %"


def _impossible(job: _Part) -> Iterator[tuple[str, object]]:
    """Figures that are none, negative, or larger than fio can count."""
    for key in ("elapsed", "job_runtime", "usr_cpu", "sys_cpu", "ctx", "majf", "minf"):
        if key in job and not _is_figure(job[key]):
            yield key, job[key]
    for direction in (*DIRECTIONS, "sync"):
        for key, value in job.get(direction, {}).items():
            if isinstance(value, dict):
                inner = [*value.items(), *value.get("bins", {}).items(), *value.get("percentile", {}).items()]
                yield from ((f"{direction}.{key}.{item}", x) for item, x in inner if _is_wrong(x))
                if not isinstance(value.get("N", 0), int):
                    yield f"{direction}.{key}.N", value["N"]
            elif _is_wrong(value) and not key.startswith(_SAMPLED):
                yield f"{direction}.{key}", value


def _is_wrong(value: object) -> bool:
    return not isinstance(value, dict | list) and not _is_figure(value)


def _is_figure(value: object) -> bool:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return is_number and math.isfinite(value) and 0 <= value < _MOST  # type: ignore[arg-type, operator]


def _rates(part: _Part) -> Iterator[str]:
    """Rates are operations and bytes by milliseconds."""
    runtime, done, moved = part["runtime"], part["total_ios"], part["io_bytes"]
    if part["io_kbytes"] != moved >> 10:
        yield f"{part['io_kbytes']} KiB are not {moved} bytes"
    if moved and not done:
        yield f"{moved} bytes were moved by no operation"
    if not runtime:
        return
    if not math.isclose(part["iops"], 1000 * done / runtime, rel_tol=_RATE, abs_tol=_RATE):
        yield f"{part['iops']} IOPS in {runtime} ms are not {done} operations"
    if abs(part["bw_bytes"] - 1000 * moved / runtime) > 1 + 1000 * moved / runtime * _RATE:
        yield f"{part['bw_bytes']} bytes a second in {runtime} ms are not {moved} bytes"
    if abs(part["bw"] - part["bw_bytes"] / 1024) > 1:
        yield f"{part['bw']} KiB a second are not {part['bw_bytes']} bytes a second"
    for subject in ("short_ios", "drop_ios"):
        if part.get(subject, 0) > done:
            yield f"`{subject}` is {part[subject]} of {done} operations"


def _blocks(part: _Part, direction: str, options: _Part) -> Iterator[str]:
    """Bytes are operations by block size, as far as the report says which size that is."""
    size = _block_size(options, direction)
    done, moved = part["total_ios"], part["io_bytes"]
    if not size or not done or not moved:
        return
    most, least = size * (done + _pending(options)), size * (done - part.get("short_ios", 0))
    # The last block of each pass and of each thread may be cut off.
    if not least * 0.99 - size * _threads(options) <= moved <= most:
        yield f"{moved} bytes are not {done} operations of {size} bytes"


def _block_size(options: _Part, direction: str) -> int:
    """The size of a direction's blocks; 0 where that is not said plainly."""
    if direction == "trim" or _OTHER_SIZES & options.keys():
        return 0
    words = str(options.get("bs", options.get("blocksize", ""))).split(",")
    word = words[min(DIRECTIONS.index(direction), len(words) - 1)] or words[0]
    match = _SIZE.match(word)
    return int(match[1]) * _UNITS[match[2].lower()] if match else 0


def _pending(options: _Part) -> int:
    """How many operations may be timed and not counted: those that were under way when the ramp time ended."""
    if "ramp_time" not in options:
        return 0
    return _threads(options) * _depth(options)


def _depth(options: _Part) -> int:
    text = str(options.get("iodepth", "1"))
    return int(text) if text.isdecimal() else _MOST


def _threads(options: _Part) -> int:
    text = str(options.get("numjobs", "1"))
    return int(text) if text.isdecimal() else _MOST


def _latencies(part: _Part, options: _Part) -> Iterator[str]:
    """A mean lies between its least and its greatest, percentiles go up, bins hold all that was timed."""
    pending = _pending(options)
    for key in _TIMES:
        item = part.get(key)
        if item and item["N"]:
            for problem in (*_latency(item), *_waiting(item, part["runtime"], options)):
                yield f"`{key}`: {problem}"
            if item["N"] > part["total_ios"] + pending:
                yield f"`{key}`: {item['N']} were timed of {part['total_ios']} operations"
        elif item and (item["max"] or item.get("bins")):
            yield f"`{key}`: {item['max']} ns is the longest of none"
    whole, remaining = part.get("lat_ns"), part.get("clat_ns")
    if whole and remaining and whole["N"] == remaining["N"]:
        for key in ("min", "mean", "max"):
            if whole[key] < remaining[key] * (1 - _PRINTED) - 1:
                yield f"the {key} of `lat_ns`, {whole[key]}, is below that of `clat_ns`, {remaining[key]}"


def _waiting(part: _Part, runtime: int, options: _Part) -> Iterator[str]:
    """So many operations are under way as there are places for them: Little's law."""
    if options.keys() & _OTHER_DEPTHS or not runtime:
        return
    places = max(1, _threads(options) * _depth(options))
    most = places * (runtime + _TICK) * 1_000_000 + _pending(options) * part["max"]
    if part["N"] * part["mean"] > most * (1 + _PRINTED):
        yield f"{part['N']} of {part['mean']} ns each do not fit into {runtime} ms with {places} at a time"


def _latency(part: _Part) -> Iterator[str]:
    yield from _spread(part)
    low, mean, high = part["min"], part["mean"], part["max"]
    if not low - _PRINTED <= mean + low * _PRINTED or not mean <= high * (1 + _PRINTED) + 1:
        yield f"the mean, {mean}, is not between {low} and {high}"
    listed = sorted((float(share), value) for share, value in part.get("percentile", {}).items())
    if any(earlier[1] > later[1] for earlier, later in pairwise(listed)):
        yield "its percentiles do not go up"
    if listed and not (low * (1 - _BIN) - 1 <= listed[0][1] and listed[-1][1] <= high * (1 + _BIN) + 1):
        yield f"its percentiles, {listed[0][1]} to {listed[-1][1]}, are not between {low} and {high}"
    bins = {int(value): count for value, count in part.get("bins", {}).items() if count}
    if bins:
        if sum(bins.values()) != part["N"]:
            yield f"its bins hold {sum(bins.values())} of {part['N']}"
        centre = sum(value * count for value, count in bins.items()) / sum(bins.values())
        if not math.isclose(mean, centre, rel_tol=2 * _BIN, abs_tol=1):
            yield f"the mean, {mean}, is not that of its bins, {centre:.0f}"
        if not (low * (1 - _BIN) - 1 <= min(bins) and max(bins) <= high * (1 + _BIN) + 1):
            yield f"its bins, {min(bins)} to {max(bins)}, are not between {low} and {high}"
        for share, value in listed:
            # fio counts in floating-point numbers.
            rounded = (Fraction(share) * 10 * (1 - _PARTS), Fraction(share) * 10 * (1 + _PARTS))
            least, most = percentiles(bins, [min(Fraction(1000), per_mille) for per_mille in rounded])
            if not least <= value <= most:
                yield f"its percentile {share:g} is {value}, and that of its bins {least}"


def _spread(part: _Part) -> Iterator[str]:
    """The variance lies between that of the two extremes alone and that of values which are all extreme."""
    count, low, mean, high = part["N"], part["min"], part["mean"], part["max"]
    variance, some = part["stddev"] ** 2, 1 + high * _PRINTED
    if count == 1:
        least = most = 0.0
    else:
        least = (max(0, high - mean - some) ** 2 + max(0, mean - low - some) ** 2) / (count - 1)
        most = (mean - low + some) * (high - mean + some) * count / (count - 1)
    if not least * (1 - _PRINTED) <= variance <= most * (1 + _PRINTED) + some:
        yield f"the standard deviation, {part['stddev']}, is not that of {count} from {low} to {high} around {mean}"
