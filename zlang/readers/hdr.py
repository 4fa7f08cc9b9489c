"""HdrHistogram logs, as `HistogramLogWriter` writes them, with histograms in the V2 encoding.

In: the text of a log, a tag, and how many nanoseconds one unit of its values is. Out: the number of operations for each
latency, over all intervals with that tag, or over those without a tag.
Rules: a bin is named by its largest value, and a mean uses the middles of bins, as in HdrHistogram. A log that is
damaged, cut off or without operations raises a ValueError.

An interval is a line `Tag=TAG,START,LENGTH,MAX,HISTOGRAM`; the histogram is compressed by zlib and encoded in base64.
Its numbers are big-endian. A header is followed by the counts from the smallest bin on, as ZigZag LEB128; a negative
count is a number of empty bins.
"""

from __future__ import annotations

import base64
import binascii
import re
import struct
import zlib
from collections.abc import Iterator, Mapping

from zlang.hints import NamedTuple
from zlang.metrics import PERCENTILES, Metric, statistics_of
from zlang.readers.reading import percentiles

_INTERVAL = re.compile(r"^[^#\"\s].*", re.MULTILINE)
"""A line that is no comment and no head. Not all lines at once: a hostile file has as many as bytes."""
_TAG = "Tag="
_COMPRESSED, _ENCODED = 0x1C849314, 0x1C849313
_ENVELOPE, _HEADER = struct.Struct(">II"), struct.Struct(">IIiIqqd")
_MOST_DIGITS = 5
_FIELDS = 4
_MOST = 1 << 63
"""A limit that no count and no number of nanoseconds reaches: the database stores them in 64 bits."""
_MOST_BYTES = 1 << 26
"""Decompressed bytes of one log: a few seconds of work, and some ten thousand intervals."""
_MOST_BINS = 1 << 20
_SHOWN = 20
"""Tags, and letters of each, that a message shows."""
_MOST_SHIFT = 56
"""Bits of a count, with its sign: ten thousand million operations a second would need a month for more."""


class Bins(NamedTuple):
    """The number of operations for each latency in ns (the largest value of each bin), and their mean."""

    counts: Mapping[int, int]
    mean: float


class _Layout(NamedTuple):
    """The values of bins: half a bucket has `1 << half` of them, and those of the first are `1 << unit` wide."""

    half: int
    unit: int

    def bounds(self, index: int) -> tuple[int, int]:
        """The smallest value of a bin, and its number of values."""
        bucket = max(0, (index >> self.half) - 1)
        width = bucket + self.unit
        return (index - (bucket << self.half)) << width, 1 << width


def read(text: str, tag: str, nanoseconds: int) -> Bins:
    """Merge all intervals with a tag, or those without a tag if it is empty. Raises ValueError."""
    if text and not text.endswith("\n"):
        raise ValueError("the log is cut off in its last line")
    counts: dict[_Layout, dict[int, int]] = {}
    tags: set[str] = set()
    remaining = _MOST_BYTES
    for place, own, histogram in _intervals(text):
        tags.add(own)
        if own == tag:
            try:
                remaining -= _add(histogram, counts, remaining)
            except ValueError as problem:
                raise ValueError(f"line {_line(text, place)} of the log: {problem}") from None
    if tag not in tags:
        wanted = f"with the tag `{tag}`" if tag else "without a tag"
        others = ", ".join(f"`{other[:_SHOWN]}`" if other else "none" for other in sorted(tags)[:_SHOWN])
        raise ValueError(f"the log has no interval {wanted}" + (f"; tags of the log: {others}" if tags else ""))
    return _bins(counts, nanoseconds)


def statistics(metric: Metric, bins: Bins) -> Iterator[tuple[str, float]]:
    """The statistics of a distribution that each trial has, as metrics."""
    names = {word: own.name for word, own in statistics_of(metric).items()}
    yield names["mean"], bins.mean
    yield names["max"], float(max(bins.counts))
    values = percentiles(bins.counts, [share for _, share in PERCENTILES])
    yield from ((names[word], float(value)) for (word, _), value in zip(PERCENTILES, values, strict=True))


def _intervals(text: str) -> Iterator[tuple[int, str, str]]:
    """The place of each interval in the text, its tag and its histogram."""
    for match in _INTERVAL.finditer(text):
        fields = match.group().rstrip().split(",", _FIELDS)
        tag = fields.pop(0).removeprefix(_TAG) if fields[0].startswith(_TAG) else ""
        if len(fields) != _FIELDS:
            raise ValueError(f"line {_line(text, match.start())} is not an interval of an HdrHistogram log")
        yield match.start(), tag, fields[-1]


def _line(text: str, place: int) -> int:
    return text.count("\n", 0, place) + 1


def _add(text: str, counts: dict[_Layout, dict[int, int]], most: int) -> int:
    """Add the counts of an interval; return the number of bytes read."""
    data = _decompressed(text, most)
    if len(data) < _HEADER.size:
        raise ValueError("its histogram is cut off")
    cookie, length, _, digits, lowest, highest, _ = _HEADER.unpack_from(data)
    payload = data[_HEADER.size : _HEADER.size + length]
    if cookie != _ENCODED:
        raise ValueError("its histogram is not one of whole numbers in the V2 encoding")
    if digits > _MOST_DIGITS or not 1 <= lowest <= highest // 2 or len(payload) < length:
        raise ValueError("its histogram is damaged")
    bits = (2 * 10**digits - 1).bit_length()
    layout = _Layout(bits - 1, lowest.bit_length() - 1)
    buckets = 1 + max(0, highest.bit_length() - bits - layout.unit)
    others = sum(len(own) for of, own in counts.items() if of != layout)
    _count(payload, (buckets + 1) << layout.half, counts.setdefault(layout, {}), _MOST_BINS - others)
    return len(data)


def _decompressed(text: str, most: int) -> bytes:
    try:
        packed = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise ValueError("its histogram is not base64") from None
    if len(packed) < _ENVELOPE.size:
        raise ValueError("its histogram is cut off")
    cookie, length = _ENVELOPE.unpack_from(packed)
    if cookie != _COMPRESSED:
        raise ValueError("its histogram is not one of whole numbers in the V2 encoding, compressed")
    if len(packed) < _ENVELOPE.size + length:
        raise ValueError("its histogram is cut off")
    unpacking = zlib.decompressobj()
    try:
        data = unpacking.decompress(packed[_ENVELOPE.size : _ENVELOPE.size + length], most + 1)
    except zlib.error:
        raise ValueError("its histogram is damaged") from None
    if len(data) > most:
        raise ValueError(f"the histograms of the log are larger than {_MOST_BYTES >> 20} MiB: log longer intervals")
    if not unpacking.eof:
        raise ValueError("its histogram is cut off")
    return data


def _count(payload: bytes, end: int, counts: dict[int, int], most: int) -> None:
    """Add the counts of a payload in each bin before `end`; at most `most` bins may have a count."""
    index, word, shift = 0, 0, 0
    for byte in payload:
        word |= (byte & 0x7F) << shift
        if byte & 0x80:
            shift += 7
            if shift >= _MOST_SHIFT:
                raise ValueError("its histogram has a count that is too large")
            continue
        if word & 1:
            index += (word + 1) >> 1
        else:
            if word:
                counts[index] = counts.get(index, 0) + (word >> 1)
                if len(counts) > most:
                    raise ValueError(f"the log has more than {_MOST_BINS:,} different values")
            index += 1
        if index > end:
            raise ValueError("its histogram has more bins than it can have")
        word = shift = 0
    if shift:
        raise ValueError("its histogram is cut off")


def _bins(counts: Mapping[_Layout, Mapping[int, int]], nanoseconds: int) -> Bins:
    bins: dict[int, int] = {}
    total = spent = 0
    for layout, own in counts.items():
        for index, count in own.items():
            least, width = layout.bounds(index)
            greatest = (least + width - 1) * nanoseconds
            bins[greatest] = bins.get(greatest, 0) + count
            total += count
            spent += (least + (width >> 1)) * count
    if not total:
        raise ValueError("the log counts no operation")
    if total >= _MOST or max(bins) >= _MOST:
        raise ValueError("the log counts more operations, or longer ones, than there can be")
    return Bins(bins, spent / total * nanoseconds)
