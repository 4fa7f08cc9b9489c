"""Check that HdrHistogram logs give HdrHistogram's own figures, and that damaged logs give a reason.

The logs in `data` are from `hdrh.log.HistogramLogWriter` of hdrhistogram 0.10.8, and so are the figures.
"""

from __future__ import annotations

import base64
import shutil
import struct
import zlib
from pathlib import Path

import pytest
import reader_samples as samples

from zlang.readers import hdr
from zlang.readers.reading import Reading

LOG = (samples.DATA / "hdr-us.hlog").read_text()
LINE = LOG.splitlines()[-1] + "\n"
HOUR = 3_600_000_000


def read(tmp_path: Path, log: str, name: str, tag: str, unit: str) -> Reading:
    """Return the metrics of a kind with one distribution."""
    shutil.copy(samples.DATA / log, tmp_path / "x.hlog")
    (tmp_path / "out").write_text("")
    return samples.read(tmp_path, "shell", "out", found=[[name, "duration", "hdr", tag, unit, "./x.hlog"]])


@pytest.mark.parametrize(
    ("log", "tag", "unit", "ns", "mean", "values"),
    [
        ("hdr-us.hlog", "", "us", 1000, 1422.3333333333333, (53887, 628, 4491, 8239, 53887)),
        ("hdr-us.hlog", "read", "us", 1000, 1334.41, (19887, 671, 4759, 9279, 19887)),
        ("hdr-ns.hlog", "scan", "ns", 1, 898889.3866666667, (6062079, 491519, 3375103, 5832703, 6062079)),
    ],
)
def test_figures_are_those_of_hdrhistogram_in_nanoseconds(
    tmp_path: Path, log: str, tag: str, unit: str, ns: int, mean: float, values: tuple[int, ...]
) -> None:
    reading = read(tmp_path, log, "read_lat", tag, unit)
    assert reading.problems == ()
    words = ("mean", "max", "p50", "p95", "p99", "p999")
    figures = [figure * ns for figure in (mean, *values)]
    assert dict(reading.metrics) == pytest.approx(
        {f"read_lat_{word}": figure for word, figure in zip(words, figures, strict=True)}, rel=1e-12
    )
    (histogram,) = reading.latency
    assert histogram.metric == "read_lat"
    assert sum(histogram.bins.values()) == (150 if tag == "scan" else 300)
    assert max(histogram.bins) == values[0] * ns


def test_a_name_of_one_word_names_the_time_alone(tmp_path: Path) -> None:
    reading = read(tmp_path, "hdr-us.hlog", "latency", "read", "us")
    assert reading.metrics["latency_p50"] == 671_000
    assert [histogram.metric for histogram in reading.latency] == ["latency"]


def test_intervals_of_unlike_histograms_are_merged() -> None:
    text = line(counts(0, 0, 5)) + line(counts(0, 0, 0, 1), digits=2) + line(counts(-1024, 7), digits=2, lowest=1 << 10)
    # Bin 1024 of the last one is the first of its eighth bucket, of which the bins are 2^7 units of 1024 wide.
    assert dict(hdr.read(text, "", 1).counts) == {2: 5, 3: 1, (128 << 17) + (1 << 17) - 1: 7}


def counts(*each: int) -> bytes:
    """Encode counts of bins, and runs of empty bins as negative numbers, as ZigZag LEB128."""
    encoded = bytearray()
    for count in each:
        word = 2 * count if count >= 0 else -2 * count - 1
        while word >= 0x80:
            encoded.append(word & 0x7F | 0x80)
            word >>= 7
        encoded.append(word)
    return bytes(encoded)


def line(
    payload: bytes, *, digits: int = 3, lowest: int = 1, highest: int = HOUR, length: int | None = None, cookie: int = 3
) -> str:
    """Write an interval with this payload."""
    size = len(payload) if length is None else length
    header = struct.pack(">IIiIqqd", 0x1C849310 + cookie, size, 0, digits, lowest, highest, 1.0)
    packed = zlib.compress(header + payload)
    return f"0,1,1,{base64.b64encode(struct.pack('>II', 0x1C849314, len(packed)) + packed).decode()}\n"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "the log has no interval without a tag"),
        ("#[Histogram log format version 1.3]\n", "the log has no interval without a tag"),
        (LINE, "the log has no interval without a tag; tags of the log: `read`"),
        (LOG[:-1], "the log is cut off in its last line"),
        (line(counts(0, -5)), "the log counts no operation"),
        ("Histogram\n", "line 1 is not an interval of an HdrHistogram log"),
        ("\n# x\n0,1,1,HIST*\n", "line 3 of the log: its histogram is not base64"),
        ("0,1,1,HISTF\n", "line 1 of the log: its histogram is not base64"),
        ("0,1,1,HIST\n", "line 1 of the log: its histogram is cut off"),
        (line(counts(1))[:-8] + "\n", "line 1 of the log: its histogram is not base64"),
        (line(counts(1))[:-13] + "\n", "line 1 of the log: its histogram is cut off"),
        (LINE.replace("Tag=read,", "").replace("HISTF", "HISTE"), "in the V2 encoding, compressed"),
        (line(counts(1), cookie=1), "line 1 of the log: its histogram is not one of whole numbers in the V2 encoding"),
        (line(counts(1), length=2), "line 1 of the log: its histogram is damaged"),
        (line(counts(1), digits=6), "line 1 of the log: its histogram is damaged"),
        (line(counts(1), lowest=0), "line 1 of the log: its histogram is damaged"),
        (line(counts(1), lowest=5, highest=-5), "line 1 of the log: its histogram is damaged"),
        (line(b"\x82"), "line 1 of the log: its histogram is cut off"),
        (line(counts(-(1 << 50), 1)), "line 1 of the log: its histogram has more bins than it can have"),
        (line(counts(1 << 60)), "line 1 of the log: its histogram has a count that is too large"),
        (line(counts((1 << 54) - 1) * 600), "the log counts more operations, or longer ones, than there can be"),
        (line(counts(1), lowest=1 << 61, highest=1 << 62), "the log counts more operations, or longer ones"),
        (line(bytes(1 << 27)), "line 1 of the log: the histograms of the log are larger than 64 MiB"),
        (line(b"\2" * 2_000_000, digits=5, highest=1 << 62), "line 1 of the log: the log has more than 1,048,576"),
    ],
)
def test_damaged_logs(text: str, why: str) -> None:
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - the sentence is checked
        hdr.read(text, "", 1000)
    assert why in str(caught.value)


def test_a_bit_that_fell_over_is_noticed() -> None:
    packed = bytearray(base64.b64decode(LINE.rpartition(",")[2]))
    for place in range(8, len(packed)):
        packed[place] ^= 1
        with pytest.raises(ValueError, match="line 1 of the log: its histogram is"):
            hdr.read(f"0,1,1,{base64.b64encode(packed).decode()}\n", "", 1)
        packed[place] ^= 1


def test_a_trial_does_not_count_for_its_reason(tmp_path: Path) -> None:
    reading = read(tmp_path, "hdr-us.hlog", "lat", "write", "us")
    assert (dict(reading.metrics), reading.latency) == ({}, ())
    assert reading.problems == ("lat: the log has no interval with the tag `write`; tags of the log: none, `read`",)
    (tmp_path / "x.hlog").unlink()
    declarations = [["lat", "duration", "hdr", "", "us", "./x.hlog"]]
    assert samples.read(tmp_path, "shell", "out", found=declarations).problems == ("lat: x.hlog was not written",)


def test_a_kind_has_other_metrics_and_several_distributions(tmp_path: Path) -> None:
    shutil.copy(samples.DATA / "hdr-us.hlog", tmp_path / "x.hlog")
    (tmp_path / "out").write_text("ops=5\n")
    declarations = [
        ["ops", "count", "regex", "ops=(.*)", "", "stdout"],
        ["all", "duration", "hdr", "", "us", "./x.hlog"],
    ]
    reading = samples.read(
        tmp_path, "shell", "out", found=[*declarations, ["read", *declarations[1][1:3], "read", *declarations[1][4:]]]
    )
    assert (reading.metrics["ops"], reading.metrics["all_p50"], reading.metrics["read_p50"]) == (5, 628_000, 671_000)
    assert [histogram.metric for histogram in reading.latency] == ["all", "read"]
