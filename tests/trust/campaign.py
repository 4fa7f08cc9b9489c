"""Attack runs for a time that is given, and write down in docs/reliability.md how often, and what survived.

python tests/trust/campaign.py [--seconds N] [--seed N] [--page FILE]
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(REPOSITORY), str(REPOSITORY / "tests")]

import aftermath  # noqa: E402 - found only by the lines above
from command_line import file_system  # noqa: E402
from mutate_run import mutate  # noqa: E402
from power_loss import lose_power  # noqa: E402
from syscall_faults import inject_faults  # noqa: E402

BEGIN, END = "<!-- written by tests/trust/campaign.py -->", "<!-- end -->"
_EVERYTHING = 1_000_000
_MUTATIONS_AT_ONCE = 200


@dataclass(frozen=True, slots=True)
class Part:
    """How often one kind of attack was tried and went wrong."""

    name: str
    tried: int
    wrong: int
    note: str
    problems: tuple[str, ...] = ()


def cut_power(seed: int, seconds: float, place: Path) -> Part:
    """Try crash states."""
    score = lose_power(seed, _EVERYTHING, seconds, place)
    note = (
        f"crash states at {score.fsyncs:,} fsyncs; `resume` gave a reason and `clean` cleaned up: {score.refused:,}; "
        f"a directory stayed and was named: {score.kept:,}"
    )
    return Part("power cut", score.tried.total(), score.states_wrong, note, tuple(score.wrong))


def fail_calls(seed: int, seconds: float, place: Path) -> Part:
    """Try failing system calls."""
    score = inject_faults(seed, _EVERYTHING, seconds, place)
    kinds = ", ".join(f"{how} {count:,}" for how, count in sorted(score.tried.items()))
    note = f"of {score.calls:,} calls of one run: {kinds}"
    return Part("failing system call", score.tried.total(), score.cases_wrong, note, tuple(score.wrong))


def damage(seed: int, seconds: float, place: Path) -> Part:
    """Damage the journal, the plan and the artefacts of a run."""
    late = time.monotonic() + seconds
    disk = place / "mutated"
    disk.mkdir()
    (disk / "program.zexp").write_text(aftermath.PROGRAM)
    ended = aftermath.call(disk, "run", "program.zexp")
    assert ended.code == 0, ended.err
    (plan,) = disk.glob("runs/*/plan.jsonl")
    tried = noticed = 0
    wrong: list[str] = []
    while time.monotonic() < late:
        score = mutate(plan.parent, seed, _MUTATIONS_AT_ONCE)
        tried, noticed, seed = tried + score.tried.total(), noticed + score.noticed.total(), seed + 1
        wrong += score.wrong
    return Part("damaged run folder", tried, len(wrong), f"{noticed:,} made a trial not count", tuple(wrong))


PARTS: tuple[tuple[float, Callable[[int, float, Path], Part]], ...] = (
    (0.5, cut_power),
    (0.35, fail_calls),
    (0.15, damage),
)
"""What is tried, each with its share of the time."""


def write_scores(page: Path, parts: Sequence[Part], seed: int, seconds: float) -> None:
    """Write what was measured into its place in a page."""
    rows = [f"| {part.name} | {part.tried:,} | {part.tried - part.wrong:,} | {part.note} |" for part in parts]
    lines = [
        f"{time.strftime('%Y-%m-%d')}, seed {seed}, {seconds / 60:.0f} minutes, {_machine()}.",
        "",
        "| attack | tried | survived | of these |",
        "|---|---|---|---|",
        *rows,
    ]
    text = page.read_text("utf-8")
    before, rest = text.split(BEGIN + "\n", 1)
    page.write_text(before + BEGIN + "\n" + "\n".join(lines) + "\n" + END + rest.split(END, 1)[1], "utf-8")


def _machine() -> str:
    cpu = re.search(r"^model name\s*: (.*)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    ran = subprocess.run(["git", "-C", REPOSITORY, "rev-parse", "--short=10", "HEAD"], capture_output=True, check=False)
    commit = f"commit {ran.stdout.decode().strip()}" if ran.returncode == 0 else "no commit"
    system = f"{platform.system()} {platform.release()}, Python {platform.python_version()}"
    return f"{os.cpu_count()} × {cpu[1] if cpu else platform.machine()}, {system}, {commit}"


def _tell(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def main() -> int:
    """Try everything; 1 where something did not survive."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=3600)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--page", type=Path)
    options = parser.parse_args()
    began = time.monotonic()
    parts = []
    with tempfile.TemporaryDirectory(prefix="zlang-campaign-", dir="/var/tmp") as at:
        os.environ["XDG_STATE_HOME"] = str(Path(at, "state"))
        _tell(f"seed {options.seed}, {options.seconds:.0f} s, {file_system(Path(at))}")
        for share, attack in PARTS:
            part = attack(options.seed, share * options.seconds, Path(at))
            parts.append(part)
            _tell(f"{part.name}: {part.tried:,} tried, {part.wrong:,} wrong; {part.note}")
            for problem in part.problems:
                _tell(f"WRONG: {problem}")
    if options.page:
        write_scores(options.page, parts, options.seed, time.monotonic() - began)
    return 1 if any(part.wrong for part in parts) else 0


if __name__ == "__main__":
    sys.exit(main())
