"""Check that the generator covers all ZFS properties and that the standard library matches its output."""

from __future__ import annotations

import pytest

from tools import generate_zfs
from zlang.check import library


@pytest.mark.parametrize("kind", generate_zfs.KINDS)
def test_the_library_has_the_generated_properties(kind: str) -> None:
    declared = library.load().kind(kind)
    generated = generate_zfs.properties(kind)
    assert [each.name for each in generated if each.name not in declared.properties] == []
    assert {declared.properties[each.name].cost for each in generated} <= {"live", "rewrite", "create"}


@pytest.mark.parametrize(
    ("name", "kind", "attribute", "value"),
    [
        ("recordsize", "dataset", "cost", "rewrite"),
        ("primarycache", "dataset", "cost", "live"),
        ("normalization", "dataset", "cost", "create"),
        ("compression", "zvol", "cost", "create"),  # a volume is written when it is made
        ("direct", "dataset", "since", '"zfs 2.3"'),
        (
            "compression",
            "dataset",
            "doc",
            '"compression of blocks; lz4 since 0.6; zstd since 2.0; off by default, on since 2.2"',
        ),
        ("recordsize", "dataset", "default", "128KiB"),
    ],
)
def test_attributes_of_a_property(name: str, kind: str, attribute: str, value: str) -> None:
    assert dict(generate_zfs.make_property(name, kind).attributes)[attribute] == value


def test_a_property_that_nothing_is_done_about_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(generate_zfs, "LEFT_OUT", generate_zfs.LEFT_OUT[1:])
    with pytest.raises(AssertionError, match="altroot"):
        generate_zfs.check_tables()
