"""Cut the power of a machine while a script measures; after the next boot the script resumes where it stopped."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator

import pytest
from command_line import Zlang
from vm.guest import LONGEST_COMMAND, Guest
from vm.test_scripts import bring_back, hand_over

PROGRAM = r'''
dir here { path = "/var/tmp/here" }
file data on here { size = 1MiB }
let n = 1..3
shell io {
  command = """
    cat data >/dev/null && echo {n}
    while test -e /var/tmp/hold && test "$(grep -c '"commit"' "$OUT"/../../../../journal.jsonl)" -ge 4; do sleep 1; done
  """
  timeout = 1h
}
experiment cut { on = data  run = io  cache = as_is  repeat = 3 }
'''
"""Nine trials; the fifth does not end before the machine has lost what is on its first disk."""
COMMITTED = 'cat /var/tmp/here/runs/*/journal.jsonl 2>/dev/null | grep \'"event":"commit"\''
BEGUN = 'cat /var/tmp/here/runs/*/journal.jsonl 2>/dev/null | grep -c \'"event":"begin"\''
"""A script begins the next trial when the commit of the one before is on the disk."""


@pytest.fixture
def on_a_disk(guest: Guest, carried_out: Zlang) -> Iterator[Zlang]:
    """Keep /var/tmp/here on a disk that survives the power cut."""
    guest("mkfs.ext4 -q /dev/vdb && mkdir -p /var/tmp/here && mount /dev/vdb /var/tmp/here")
    yield carried_out
    guest("umount /var/tmp/here && blkdiscard --zeroout /dev/vdb")


def test_a_script_goes_on_after_the_power_was_cut(guest: Guest, on_a_disk: Zlang) -> None:
    hand_over(guest, on_a_disk, PROGRAM, "--seed", "1")
    guest("sync")  # the script is on the disk, too
    guest("touch /var/tmp/hold; cd /var/tmp/here; (setsid sh script/plan.sh; touch ended) >said 2>&1 </dev/null &")
    end = time.monotonic() + LONGEST_COMMAND
    while guest(BEGUN, check=False).stdout != "5\n":  # a commit can be read before it is on the disk
        assert time.monotonic() < end, guest("cat /var/tmp/here/said", check=False).stdout
        has_ended = guest("cat /var/tmp/here/ended /var/tmp/here/said", check=False)
        assert has_ended.returncode, has_ended.stdout
        time.sleep(0.2)
    before = committed(guest)
    assert len(before) == 4
    guest.cut_power()
    guest.start()
    guest("mkdir -p /var/tmp/here && mount /dev/vdb /var/tmp/here")
    kept = committed(guest)
    assert kept[: len(before)] == before
    done = guest("cd /var/tmp/here && sh script/plan.sh", check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    after = committed(guest)
    assert after[: len(kept)] == kept
    assert len(after) == len(set(after)) == 9
    assert guest("ls -d /var/tmp/here/zlang-*", check=False).returncode != 0
    bring_back(guest, on_a_disk)
    rows = on_a_disk.rows("select valid, why_not from all_trials")
    assert [(row["valid"], row["why_not"]) for row in rows] == [(True, "")] * 9


def committed(guest: Guest) -> list[tuple[str, str]]:
    """Return the committed trials, in order."""
    stdout = guest(COMMITTED, check=False).stdout
    return re.findall(r'"trial":"(\w+)","replicate":(\d+)', stdout)
