"""Test each state of a device used by others, at each moment of a run: their data never change. Needs root.

A plan has a trial for each state. In each trial, others try to take the device at one moment; either the trial is then
refused, or they were denied. Nothing else that belongs to them is ever written to.
"""

from __future__ import annotations

import hashlib
import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import strikes
from command_line import Tools, Zlang
from strikes import ELSEWHERE, STATES, THEIRS, Pair

from zlang.run.events import Commit, Fail

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="devices need root")

PROGRAM = """
import disks

kind writes: workload {
  needs block as at
  writes = on
  run {
    sh \"\"\"
      sh ./strike 'after the guard' {at.id}
      dd if=/dev/urandom of={at.block} bs=65536 count=4 conv=notrunc,fsync status=none &&
      sh ./strike during {at.id} &&
      dd if=/dev/urandom of={at.block} bs=65536 seek=4 count=4 conv=notrunc,fsync status=none
    \"\"\" { why = "write to it" }
  }
}
disk target { (id, serial) = DEVICES  size = 8MiB }
experiment one { on = target  run = writes {} }
"""
MOMENTS = ("before the plan", "between plan and run", "after arming", "after the guard", "during")
AFTER_ARMING = f"""case $OUT in */facts) sh strike 'after arming' {" ".join(STATES)} ;; esac; exec {{real}} $@"""
"""A fact of the machine is the first that a run looks at."""
FREE = set(MOMENTS[:3])
"""Moments at which nothing holds the device: each strike succeeds."""
DENIED = {*THEIRS, "another-serial", "gone"}
"""What nobody can do while the device is held."""

_MOST_SECONDS = 900


@pytest.fixture
def pairs(disk: Path) -> Iterator[list[Pair]]:
    made: list[Pair] = []
    try:
        made = strikes.make(disk, list(STATES))
        yield made
    finally:
        if made:
            strikes.remove(made)


def plan_strike(at: Path, moment: str) -> None:
    """Write a script that strikes if it is called at this moment."""
    called = shlex.quote(moment)
    (at / "strike").write_text(
        f'test "$1" = {called} || exit 0\nshift\nexec {sys.executable} -S {strikes.__file__} {at} "$@"\n'
    )


def strike_all(at: Path) -> None:
    """Strike all devices before the run."""
    moment = (at / "strike").read_text().split("'")[1]
    subprocess.run(["sh", at / "strike", moment, *STATES], check=True)


def start(zlang: Zlang, *words: str) -> str:
    """Run a command without a time limit, and return its complaints."""
    _, output = zlang.start(*words).communicate(timeout=_MOST_SECONDS)
    return output.decode()


def script(zlang: Zlang) -> str:
    """Run the script, armed as it requires, and return its complaints."""
    words = ["sh", "plan.sh"]
    refused = subprocess.run(words, cwd=zlang.at, env=zlang.variables(), capture_output=True, text=True, check=False)
    armed = refused.stderr[refused.stderr.index("ZLANG_ARM='") :].split("'")[1]
    environment = {**zlang.variables(), "ZLANG_ARM": armed}
    done = subprocess.run(
        words, cwd=zlang.at, env=environment, capture_output=True, text=True, timeout=_MOST_SECONDS, check=False
    )
    return done.stderr


def carried_out(zlang: Zlang) -> dict[str, bool]:
    """Return whether the trial of each state was carried out to its end."""
    trials = {trial.place: Path(str(trial.factors["id"])).name for trial in zlang.trials()}
    return {
        trials[f"trials/{event.trial}/{event.replicate}"]: isinstance(event, Commit)
        for event in zlang.events()
        if isinstance(event, Commit | Fail)
    }


def has_to_end(state: str, moment: str) -> bool | None:
    """Return whether a trial must be carried out (True) or refused (False); None if both are safe."""
    if moment in FREE:
        return False
    return True if state in DENIED | {*ELSEWHERE} - {"another-serial", "gone"} else None


CASES = [(moment, by) for moment in MOMENTS for by in ("runner", "script") if (moment, by) != (MOMENTS[1], "script")]
"""A script looks at devices as it goes on: what comes before it is one moment."""


@pytest.mark.parametrize(("moment", "by"), CASES)
def test_nothing_of_others_changes(pairs: list[Pair], moment: str, by: str) -> None:
    assert list(carry_out(pairs, moment, by)) == []


def carry_out(pairs: list[Pair], moment: str, by: str) -> Iterator[str]:
    """Carry out the plan while others strike at one moment; return what should not have happened."""
    (at,) = {pair.at for pair in pairs}
    zlang = Zlang(at)
    theirs = {pair.state: hashlib.sha256(pair.bystander.read_bytes()).hexdigest() for pair in pairs}
    devices = " | ".join(f'("{pair.link}", "{pair.image}")' for pair in pairs)
    name = zlang.program(PROGRAM.replace("DEVICES", devices))
    plan_strike(at, moment)
    if moment == "before the plan":
        strike_all(at)
    start(zlang, "plan", name, *(("--emit", "sh", "--out", ".") if by == "script" else ()))
    if moment == "between plan and run":
        strike_all(at)
    if moment == "after arming":
        Tools(zlang).wrap("id", AFTER_ARMING)
    arm = [word for pair in pairs for word in ("--arm", str(pair.link))]
    printed = script(zlang) if by == "script" else start(zlang, "run", name, *arm)

    ended = carried_out(zlang) if (at / "runs").exists() else {}
    taken = {pair.state for pair in pairs if pair.taken.exists()}
    denied = {pair.state: pair.denied.read_text() for pair in pairs if pair.denied.exists()}
    if set(ended) != (set() if by == "runner" and moment in MOMENTS[:2] else set(STATES)):
        yield f"{by}: these trials came to an end: {sorted(ended)}; {printed}"
        return
    if taken | set(denied) != set(STATES) or (denied if moment in FREE else DENIED - set(denied)):
        yield f"{by}: {moment}, {sorted(taken)} were taken, and denied {denied}"
    for pair in pairs:
        if hashlib.sha256(pair.bystander.read_bytes()).hexdigest() != theirs[pair.state]:
            yield f"{by}, {pair.state}: the bystander was written to"
        if pair.state in taken & THEIRS and pair.digest() != pair.taken.read_text():
            yield f"{by}, {pair.state}: what others made on it was written to"
        wanted = has_to_end(pair.state, moment)
        if ended and wanted is not None and ended[pair.state] is not wanted:
            yield f"{by}, {pair.state}: carried out {ended[pair.state]}"
        if not ended and f"{pair.link} " not in printed:
            yield f"{by}, {pair.state}: is not refused"
