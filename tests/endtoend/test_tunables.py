"""Check that tunables are in force in the trials that need them and are always restored. Needs root."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from command_line import Zlang

from zlang.run.events import Made

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root may set parameters of the kernel")

FACTOR = """
import linux
dir here { path = "." }
tunable swept { knob = file("QUEUE/read_ahead_kb")  value = 3100 | 3200 }
tunable other { knob = file("QUEUE/read_ahead_kb")  value = 2900 }
let set = [] | swept | [other]
shell look {
  command = "cat QUEUE/read_ahead_kb"  writes = off
}
experiment tuned { on = here  with = set  run = look  repeat = 3 }
"""

PROGRAM = """
import linux
dir here {{ path = "." }}
tunable one {{ knob = {knob}  value = {value} }}
shell look {{ command = "{command}"  writes = off }}
experiment tuned {{ on = here  with = one  run = look }}
"""


@pytest.fixture
def queue(tmp_path: Path) -> Iterator[Path]:
    """Return the settings of a private block device."""
    image = tmp_path / "image"
    image.write_bytes(bytes(1 << 20))
    made = subprocess.run(["losetup", "--find", "--show", image], capture_output=True, text=True, check=True)
    yield Path("/sys/block") / Path(made.stdout.strip()).name / "queue"
    subprocess.run(["losetup", "--detach", made.stdout.strip()], check=True)


@pytest.fixture
def ahead(queue: Path) -> Iterator[Path]:
    """Provide one of them; after the test it has its old value, and nothing of it is saved any more."""
    file = queue / "read_ahead_kb"
    before = file.read_text()
    yield file
    assert file.read_text() == before
    assert list(Path("/run").glob(f"zlang-tunable*,{queue.parent.name},*")) == []


def seen(zlang: Zlang) -> list[tuple[object, str]]:
    """Return the requested and observed value of each trial."""
    trials = [(trial, zlang.folder() / trial.place / "a1" / "measure.out") for trial in zlang.trials()]
    return [(trial.factors["value"] or trial.factors["set"], out.read_text().strip()) for trial, out in trials]


def expected(before: str) -> set[tuple[object, str]]:
    return {("[]", before.strip()), (3100, "3100"), (3200, "3200"), ("[other]", "2900")}


def test_each_trial_runs_with_its_setting(zlang: Zlang, ahead: Path) -> None:
    before = ahead.read_text()
    zlang.run(FACTOR.replace("QUEUE", str(ahead.parent)))
    assert len(seen(zlang)) == 12
    assert set(seen(zlang)) == expected(before)
    made = [event.key for event in zlang.events() if isinstance(event, Made)]
    assert made.count("here") == 1, "what is set is live"


def test_the_script_does_the_same(zlang: Zlang, ahead: Path) -> None:
    before = ahead.read_text()
    name = zlang.program(FACTOR.replace("QUEUE", str(ahead.parent)))
    (zlang.at / "plan.sh").write_text(zlang("plan", name, "--emit", "sh").out)
    done = subprocess.run(["sh", "plan.sh"], cwd=zlang.at, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert set(seen(zlang)) == expected(before)


def test_a_setting_is_restored_after_a_failure(zlang: Zlang, ahead: Path) -> None:
    done = zlang.run(PROGRAM.format(knob=f'file("{ahead}")', value=3100, command=f"cat {ahead} >&2; exit 3"), code=1)
    assert "3100" in done.err


def test_resume_restores_a_setting_after_a_crash(zlang: Zlang, ahead: Path) -> None:
    before, knob = ahead.read_text(), f'file("{ahead}")'
    command = "test -e ../again || {{ touch ../again; sleep 60; }}"
    run = zlang.start("run", zlang.program(PROGRAM.format(knob=knob, value=3100, command=command)), "--yes")
    deadline = time.monotonic() + 60
    while not (zlang.at / "again").exists():
        assert time.monotonic() < deadline
        time.sleep(0.05)
    run.send_signal(signal.SIGKILL)
    run.communicate()
    assert ahead.read_text() == "3100\n"
    other = Zlang(zlang.at / "other")
    other.at.mkdir()
    refused = other.run(PROGRAM.format(knob=knob, value=3300, command="true"), code=1)
    assert f"is set by the run {zlang.folder().name}; what it was before is in" in refused.err.replace("\n", " ")
    assert ahead.read_text() == "3100\n"
    (saved,) = Path("/run").glob(f"zlang-tunable*,{ahead.parent.parent.name},*")
    assert (saved / "value").read_text() == before
    zlang("resume", zlang.folder().name)


def test_a_value_changed_by_the_kernel_is_an_error_with_both_values(zlang: Zlang, ahead: Path) -> None:
    done = zlang.run(PROGRAM.format(knob=f'file("{ahead}")', value=5, command="true"), code=1)
    assert "property-one: `4`, not `5`" in done.err


@pytest.mark.parametrize(
    ("knob", "value", "why"),
    [
        ('sysctl("vm.dirty_expire_centisecs")', '"x"', "cannot be set to x, it is "),
        ('sysctl("vm.no_such_thing")', "1", "/proc/sys/vm/no_such_thing is not there"),
        ('file("/etc/hostname")', '"x"', "error[E337]"),
        ('file("/proc/sys/../../etc/hostname")', '"x"', "error[E337]"),
    ],
)
def test_settings_that_cannot_be_set(zlang: Zlang, knob: str, value: str, why: str) -> None:
    assert why in zlang.run(PROGRAM.format(knob=knob, value=value, command="true"), code=1).err


def test_one_of_several_words_and_a_pair(zlang: Zlang, queue: Path) -> None:
    """A scheduler is in brackets; the kernel accepts only one of `dirty_bytes` and `dirty_ratio`."""
    scheduler = queue / "scheduler"
    before = scheduler.read_text()
    zlang.run(PROGRAM.format(knob=f'file("{scheduler}")', value='"none"', command="true"))
    assert scheduler.read_text() == before
    pair = [Path("/proc/sys/vm/dirty_background_bytes"), Path("/proc/sys/vm/dirty_background_ratio")]
    were = [path.read_text() for path in pair]
    zlang.run(PROGRAM.format(knob='sysctl("vm.dirty_background_bytes")', value="512MiB", command="true"))
    assert [path.read_text() for path in pair] == were


SEVERAL = """
import linux
dir here { path = "." }
tunable all { knob = files("QUEUE/*a[dx]_[as]*_kb")  value = 512 }
tunable of_device { device = "DEVICE"  knob = queue("read_ahead_kb")  value = 3100 }
let set = [] | all | [of_device]
shell look { command = "cat QUEUE/read_ahead_kb QUEUE/max_sectors_kb"  writes = off }
experiment tuned { on = here  with = set  run = look  repeat = 2 }
"""


def test_all_files_of_a_pattern_and_the_queue_of_a_device(zlang: Zlang, ahead: Path, tmp_path: Path) -> None:
    most = ahead.with_name("max_sectors_kb")
    before = (ahead.read_text(), most.read_text())
    link = tmp_path / "by id"
    link.symlink_to(Path("/dev") / ahead.parents[1].name)
    zlang.run(SEVERAL.replace("QUEUE", str(ahead.parent)).replace("DEVICE", str(link)))
    outputs = {
        (str(trial.factors["set"]), (zlang.folder() / trial.place / "a1" / "measure.out").read_text())
        for trial in zlang.trials()
    }
    assert outputs == {("[]", "".join(before)), ("all", "512\n512\n"), ("[of_device]", f"3100\n{before[1]}")}
    assert (ahead.read_text(), most.read_text()) == before


@pytest.mark.parametrize(
    ("knob", "why"),
    [
        ('files("QUEUE/no_such_*")', "there is no file QUEUE/no_such_*"),
        ('files("QUEUE/read_*_kb")', "property-one: `4 in QUEUE/read_ahead_kb`, not `5`"),
        ('queue("read_ahead_kb")  device = "/dev/no_such_device"', "/dev/no_such_device is not there"),
        ('queue("read_ahead_kb")  device = "/etc/hostname"', "/etc/hostname is not a block device"),
        ('queue("no_such_setting")  device = "DEVICE"', "queue/no_such_setting is not there"),
    ],
)
def test_the_failing_one_of_several_settings_is_named(zlang: Zlang, ahead: Path, knob: str, why: str) -> None:
    place = str(ahead.parent.resolve())
    written = knob.replace("QUEUE", place).replace("DEVICE", f"/dev/{ahead.parents[1].name}")
    done = zlang.run(PROGRAM.format(knob=written, value=5, command="true"), code=1)
    assert why.replace("QUEUE", place) in done.err.replace("\n", " ")
