"""Test properties chosen from those of an existing (given) resource, which the run does not change."""

from __future__ import annotations

import pytest

from zlang.check.check import Overrides
from zlang.diagnostics import Code
from zlang.pipeline import programs
from zlang.source import Source

PROGRAM = """
import fio
import zfs
dir here {{ path = "." }}
given pool tank on here {{ called = "tank"  at = "/tank" }}
given dataset old on tank {{ {} }}
file data on old {{ size = 16MiB }}
fio reads {{ rw = randread  bs = 4KiB }}
experiment e {{ on = data  run = reads  repeat = 3 }}
"""


@pytest.mark.parametrize(
    ("properties", "is_refused"),
    [
        ("compression = lz4 | zstd", True),
        ('called = "a" | "b"  compression = lz4 | zstd', True),
        ('called = "a" | "b"  compression = lz4', False),
        ('(called, compression) = ("a", lz4) | ("b", zstd)', False),
    ],
)
def test_a_property_of_a_given_thing_is_a_factor_only_with_its_name(properties: str, is_refused: bool) -> None:
    checked = programs.check(Source("a.zexp", PROGRAM.format(properties)), Overrides())
    refusals = [finding for finding in checked.findings if finding.code is Code.NOT_CONSTANT]
    assert len(refusals) == is_refused
    assert checked.is_sound != is_refused
    assert all("remove `given`" in finding.hint for finding in refusals)


def test_a_given_pool_has_room_of_which_nothing_is_known() -> None:
    text = PROGRAM.format('called = "a"').replace(
        "file data on old { size = 16MiB }", 'given zvol data on tank { called = "v"  size = 1GiB }'
    )
    checked = programs.check(Source("a.zexp", text), Overrides())
    assert checked.is_sound
    assert "ZL058" not in [finding.code.id for finding in programs.lint(checked)]
