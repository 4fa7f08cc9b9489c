"""Check that the resources of a machine become declarations that pass `check`."""

from __future__ import annotations

import pytest

from zlang.check.check import Overrides
from zlang.cli.app import guarded
from zlang.errors import RunError
from zlang.importing import machine
from zlang.pipeline import programs
from zlang.source import Source
from zlang.syntax import format as formatting

MOUNTS = r"""
23 27 0:22 / /sys rw,relatime - sysfs sysfs rw
27 1 254:0 / / rw,relatime - ext4 /dev/vda rw,discard
31 27 254:1 / /srv/my\040data rw,noatime shared:5 - xfs /dev/sdb1 rw,attr2
32 27 254:1 /x /srv/my\040data rw,noatime - xfs /dev/sdb1 rw,attr2
33 27 0:40 / /tank rw,xattr - zfs tank rw
34 27 254:2 / /boot/efi rw - vfat /dev/sda1 rw
"""


def is_sound(text: str) -> bool:
    checked = programs.check(Source("machine.zexp", text), Overrides())
    assert [finding.message for finding in checked.findings] == []
    return formatting.program(Source("machine.zexp", text)).text == text


def test_each_mounted_file_system_of_a_device_is_a_directory() -> None:
    text = machine.mounts(MOUNTS)
    assert is_sound(text)
    assert [line for line in text.splitlines() if not line.startswith("#")] == [
        'dir root { path = "/" }',
        'dir my_data { path = "/srv/my data" }',
        'dir tank { path = "/tank" }',
    ]


def test_an_imported_pool_has_only_the_properties_that_were_set() -> None:
    pool = "tank\tashift\t12\tlocal\ntank\tfailmode\twait\tdefault\ntank\tcomment\tours\tlocal\n"
    datasets = (
        "tank\tmountpoint\t/tank\tdefault\ntank/db\trecordsize\t16384\tlocal\ntank/db\tdedup\tsha512,verify\tlocal\n"
        "tank/db\tatime\toff\tinherited from tank\ntank/db\tmine:note\tx\tlocal\ntank/db\tquota\t0\tdefault\n"
        "tank/other\trecordsize\t4096\tlocal\n"
    )
    text = machine.pool("tank/db", pool, datasets)
    assert is_sound(text)
    assert 'called = "tank"\n  at     = "/tank"\n  ashift = 12\n  # comment=ours: omit it' in text
    assert "dataset db on tank { recordsize = 16KiB  dedup = sha512-verify }\n" in text
    assert "other" not in text
    with pytest.raises(RunError, match="there is no pool `none`"):
        machine.pool("none", "", datasets)
    with pytest.raises(RunError, match="there is no dataset `tank/none`"):
        machine.pool("tank/none", "", datasets)


def test_the_machine_itself_is_a_host(capsys: pytest.CaptureFixture[str]) -> None:
    assert guarded(["import", "--host"]) == 0
    text = capsys.readouterr().out
    assert is_sound(text)
    assert text.startswith("host ")


@pytest.mark.parametrize("words", [[], ["--host", "--mounts"], ["a.fio", "--zfs", "tank"]])
def test_one_thing_is_imported_at_a_time(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert guarded(["import", *words]) == 2
    assert "give one file" in capsys.readouterr().err
