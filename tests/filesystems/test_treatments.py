"""Apply treatments to ext4 on a loop device: each works as documented and touches only the run's own resources."""

from __future__ import annotations

import json
import subprocess
from collections import Counter
from pathlib import Path

import pytest
from test_filesystems import answers, failed, last_run, place, pytestmark, zlang

from zlang.run import journal
from zlang.run.events import Made

__all__ = ["place", "pytestmark"]

STATES = """
import fio
import filesystems
import treatments

dir here { path = "." }
loop disk on here { size = 32MiB }
ext4 volume on disk
file data on volume { size = 4MiB }
fio works { rw = randwrite  bs = 4KiB  io_size = 256KiB }
experiment states {
  on     = data
  before = STATES
  run    = works
  cache  = cold
  repeat = 2
}
"""

ALL = """none | precondition { amount = 1MiB } | fill { until = 60% } | age { amount = 8MiB }
    | discard {} | secure_erase { how = overwrite }"""

OUTPUTS = {
    "precondition": "8192 KiB one after the other\n1024 KiB at random\n",
    "discard": "33554432 bytes were discarded\n",
    "secure_erase": "33554432 bytes were erased\n",
}


def treated() -> dict[str, list[str]]:
    """Return the output of the last command of each treatment, by treatment name."""
    outputs: dict[str, list[str]] = {}
    for path in sorted(Path("runs", last_run(), "setups").glob("*/*/before-*.out")):
        kind = path.name.split(".")[2].split("-")[0]
        outputs.setdefault(kind, []).append(path.read_text("utf-8"))
    return {kind: [text for text in texts if text] for kind, texts in outputs.items()}


def test_a_treatment_is_verified_and_lasts_as_long_as_its_target() -> None:
    Path("states.zexp").write_text(STATES.replace("STATES", ALL), "utf-8")
    output = zlang("run", "states.zexp", "--yes", code=None)
    assert failed() == [], output
    assert answers("select before::varchar, count(*) from trials group by all order by all") == [
        [state, 2] for state in ("age", "discard", "fill", "none", "precondition", "secure_erase")
    ]
    outputs = treated()
    assert all(text == OUTPUTS[kind] for kind in OUTPUTS for text in outputs[kind])
    assert 59 <= float(outputs["fill"][0].split()[0]) <= 61
    # A file is laid out for every trial, because it is written to; all else is created once for each state.
    events = journal.Lines(Path("runs", last_run(), "journal.jsonl"))
    made = Counter(event.key for event in events if isinstance(event, Made))
    assert made["data"] == 12
    assert {kind: len(texts) for kind, texts in outputs.items()} == {
        "precondition": 2,
        "fill": 1,
        "age": 1,
        "discard": 1,
        "secure_erase": 1,
    }


def test_a_device_is_treated_with_a_relative_run_directory() -> None:
    """Its link is then also relative to the directory in which `zlang` was started."""
    both = "precondition { passes = 1  amount = 1MiB } | discard {}"
    text = STATES.replace("STATES", both).replace("on     = data", "on     = disk").replace("repeat = 2", "")
    Path("states.zexp").write_text(text, "utf-8")
    output = zlang("run", "states.zexp", "--yes", code=None)
    assert failed() == [], output
    outputs = treated()
    assert set(outputs["precondition"]) == {"32768 KiB one after the other\n1024 KiB at random\n"}
    assert set(outputs["discard"]) == {OUTPUTS["discard"]}


@pytest.mark.parametrize(
    ("treatment", "why"),
    [
        ("secure_erase {}", "BLKSECDISCARD ioctl failed"),
        ("age {}", "say how much is written"),
        ("age { amount = 1MiB  used = 1% }", "bytes can be written until it is as full as it may become"),
    ],
)
def test_an_impossible_treatment_fails_the_trial(treatment: str, why: str) -> None:
    Path("states.zexp").write_text(STATES.replace("STATES", treatment).replace("repeat = 2", ""), "utf-8")
    zlang("run", "states.zexp", "--yes", code=1)
    assert [why in failure for failure in failed()] == [True]


def test_aging_is_the_same_in_every_awk(tmp_path: Path) -> None:
    Path("states.zexp").write_text(STATES.replace("STATES", "age { amount = 4MiB }"), "utf-8")
    lines = zlang("plan", "states.zexp", "--seed", "7", "--emit", "json").splitlines()
    items = [json.loads(line) for line in lines if line.startswith("{")]
    steps = [step for item in items for step in item.get("setup", {}).get("make", ())]
    text = next(step["command"] for step in steps if step["name"].startswith("before-"))
    program = text[text.index("function draw") : text.index("}' | {") + 1]
    settings = ["-v", "seed=7", "-v", "amount=4e6", "-v", "room=2e6", "-v", "smallest=4096", "-v", "largest=262144"]
    plans_of_awks = [
        subprocess.run([*awk, *settings, program], capture_output=True, text=True, check=True).stdout
        for awk in (["mawk"], ["busybox", "awk"])
    ]
    assert plans_of_awks[0] == plans_of_awks[1]
    assert plans_of_awks[0].count("delete") > 1
