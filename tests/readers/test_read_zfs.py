"""Test the readers of ZFS output: arcstats of OpenZFS 2.1, 2.3 and zfs-fuse, zpool iostat, and capacities."""

from __future__ import annotations

from pathlib import Path

import pytest
import reader_samples as samples
from hypothesis import given, settings
from hypothesis import strategies as st

from zlang.readers.reading import Sample

POOL = ["pool_alloc_bytes", "pool_free_bytes", "pool_read_iops", "pool_write_iops", "pool_read_bw", "pool_write_bw"]
# Two reports of OpenZFS 2.1 in the format of -T u and -H -p.
FIRST = "1795235177\ntm\t1802240\t1004830720\t0\t85\t35164\t659183\n"
SECOND = "1795235178\ntm\t1802240\t1004830720\t0\t164\t0\t7000665\n"


@pytest.mark.parametrize(
    ("release", "expected"),
    [
        (
            "2.1",
            {"arc_hits": 54992, "arc_demand_data_hits": 28116, "arc_mru_hits": 3257, "arc_size_bytes": 63455984},
        ),
        (
            "2.3",
            {"arc_hits": 148946, "arc_demand_data_hits": 76587, "arc_iohits": 0, "arc_mfu_hits": 145743},
        ),
    ],
)
def test_arcstats_of_openzfs(release: str, expected: dict[str, float]) -> None:
    reading = samples.read(samples.DATA, "arcstats", f"arcstats-{release}.txt")
    assert reading.problems == ()
    assert {name: reading.metrics[name] for name in expected} == expected
    assert ("arc_iohits" in reading.metrics) == ("arc_iohits" in expected)
    assert reading.metrics["arc_hit_ratio"] == 100
    assert Sample(110.0, "", "arc_access_iops", expected["arc_hits"] / 10) in reading.samples


def test_accesses_that_join_an_io_in_flight_are_not_hits(tmp_path: Path) -> None:
    first = "@ 1\nhits 4 10\niohits 4 0\nmisses 4 0\nsize 4 5\n"
    (tmp_path / "a").write_text(f"{first}@ 2\nhits 4 16\niohits 4 3\nmisses 4 1\nsize 4 7\n")
    reading = samples.read(tmp_path, "arcstats", "a")
    assert reading.metrics["arc_hit_ratio"] == 60
    assert "arc_data_hit_ratio" not in reading.metrics
    (tmp_path / "a").write_text(first)
    assert samples.read(tmp_path, "arcstats", "a").problems == ("a has fewer than two snapshots",)


@pytest.mark.parametrize("form", ["kstat.zfs.misc.arcstats.{}: {}\n", "zfs:0:arcstats:{}\t{}\n"])
def test_arcstats_of_freebsd_and_illumos(tmp_path: Path, form: str) -> None:
    """The counters of OpenZFS 2.1 in the forms of `sysctl` and `kstat -p` (their manuals)."""
    text = (samples.DATA / "arcstats-2.1.txt").read_text()
    lines = [line.split() for line in text.splitlines()]
    other = "".join(form.format(w[0], w[2]) if len(w) == 3 and w[2].isdigit() else " ".join(w) + "\n" for w in lines)
    (tmp_path / "a").write_text(other.replace("\n@", "\nzfs:0:arcstats:class\tmisc\nzfs:0:arcstats:crtime\t1.5\n\n@"))
    linux = samples.read(samples.DATA, "arcstats", "arcstats-2.1.txt")
    assert samples.read(tmp_path, "arcstats", "a") == linux


def test_zpool_iostat_of_both(tmp_path: Path) -> None:
    (tmp_path / "exact").write_text(FIRST + SECOND)
    exact = samples.read(tmp_path, "zpool_iostat", "exact").samples
    values = [1802240.0, 1004830720.0, 0.0, 164.0, 0.0, 7000665.0]
    assert exact == tuple(Sample(1795235178.0, "tm", name, value) for name, value in zip(POOL, values, strict=True))
    rounded = samples.read(samples.DATA, "zpool_iostat", "zpool_iostat-zfs-fuse.txt").samples
    assert len(rounded) == 3 * len(POOL)
    assert [s.value for s in rounded if s.metric == "pool_write_bw"] == [31.9 * 1024**2, 0, 0]


def test_capacities_of_one_dataset_and_of_two(tmp_path: Path) -> None:
    lines = "@ {}\nt\tallocated\t{}\nt/a\tused\t{}\nt/a\tcompressratio\t1.53x\n\tdu\t512\n"
    (tmp_path / "before").write_text(lines.format(1, "158K", 31744))
    (tmp_path / "after").write_text(lines.format(2, "30.4M", 31715840))
    reading = samples.read(tmp_path, "capacity", "after", before="before")
    assert reading.problems == ()
    assert reading.metrics == {
        "before_used_bytes": 31744,
        "after_used_bytes": 31715840,
        "before_allocated_bytes": 158 * 1024,
        "after_allocated_bytes": 30.4 * 1024**2,
        "before_compressratio": 1.53,
        "after_compressratio": 1.53,
        "before_du_bytes": 512,
        "after_du_bytes": 512,
    }
    assert Sample(2.0, "t/a", "used_bytes", 31715840) in reading.samples
    (tmp_path / "after").write_text(lines.format(2, "158K", 31744) + "t/b\tused\t1\n")
    assert "after_used_bytes" not in samples.read(tmp_path, "capacity", "after", before="before").metrics
    (tmp_path / "after").write_text("@ 2\na\tdu\t512\na\tdf_used\t9\n@ 3\nb\tdu\t1024\nb\tdf_used\t9\n")
    of_files = samples.read(tmp_path, "capacity", "after", before="before").metrics
    assert (of_files["after_du_bytes"], "after_df_used_bytes" in of_files) == (1536, False)
    (tmp_path / "after").write_text("@ 2\n")
    assert samples.read(tmp_path, "capacity", "after", before="none").problems == (
        "after has no such figure", "none was not written",
    )  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_a_torn_text_gives_the_same_samples_or_fewer(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    for tool, name in (("arcstats", "arcstats-2.3.txt"), ("zpool_iostat", "zpool_iostat-zfs-fuse.txt")):
        whole = (samples.DATA / name).read_bytes()
        path = tmp_path_factory.mktemp(tool) / "t"
        path.write_bytes(whole[: data.draw(st.integers(0, len(whole)))])
        read = {sample.metric for sample in samples.read(path.parent, tool, "t").samples}
        assert read <= {sample.metric for sample in samples.read(samples.DATA, tool, name).samples}
