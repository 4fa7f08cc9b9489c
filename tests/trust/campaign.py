"""Attack runs for a given time, and record in docs/reliability.md the number of attacks and their outcomes.

python tests/trust/campaign.py [--seconds N] [--seed N] [--workers N] [--place DIRECTORY] [--page FILE]
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import platform
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(REPOSITORY), str(REPOSITORY / "tests")]

import aftermath  # noqa: E402 - found only by the lines above
from aftermath import Score, Share  # noqa: E402
from command_line import file_system  # noqa: E402
from forge_run import forge  # noqa: E402
from hostile_texts import try_texts  # noqa: E402
from ingest_faults import fail_ingest  # noqa: E402
from mutate_run import mutate  # noqa: E402
from power_loss import lose_power  # noqa: E402
from syscall_faults import inject_faults  # noqa: E402

BEGIN, END = "<!-- written by tests/trust/campaign.py -->", "<!-- end -->"
_EVERYTHING = 1_000_000


@dataclass(frozen=True, slots=True)
class Part:
    """Number of tries and failures of one kind of attack."""

    name: str
    tried: int
    wrong: int
    note: str
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Attack:
    """A kind of attack: its share of the total time, the function that tries it, and its description."""

    name: str
    weight: float
    attempt: Callable[[int, float, Path, Share], Score]
    note: Callable[[Score], str]

    def carry_out(self, seed: int, seconds: float, place: Path, workers: int) -> Part:
        """Try the attack in several processes at once."""
        score = Score()
        with ProcessPoolExecutor(workers, multiprocessing.get_context("fork")) as pool:
            shares = [
                pool.submit(self.attempt, seed, self.weight * seconds, place, (n, workers)) for n in range(workers)
            ]
            for share in shares:
                score.merge(share.result())
        return Part(self.name, score.tried.total(), score.cases_wrong, self.note(score), tuple(score.wrong))


def cut_power(seed: int, seconds: float, place: Path, share: Share) -> Score:
    """Try crash states."""
    return lose_power(seed, _EVERYTHING, seconds, place, share)


def fail_calls(seed: int, seconds: float, place: Path, share: Share) -> Score:
    """Try failing system calls."""
    return inject_faults(seed, _EVERYTHING, seconds, place, share)


def fail_calls_of_ingest(seed: int, seconds: float, place: Path, share: Share) -> Score:
    """Try failing system calls while the database is built."""
    return fail_ingest(seed, _EVERYTHING, seconds, place, share)


def damage(seed: int, seconds: float, place: Path, share: Share) -> Score:
    """Damage the journal, the plan and the artefacts of a run."""
    with tempfile.TemporaryDirectory(prefix="mutated-", dir=place) as at:
        disk = Path(at, "disk")
        disk.mkdir()
        (disk / "program.zexp").write_text(aftermath.PROGRAM)
        ended = aftermath.call(disk, "run", "program.zexp")
        assert ended.code == 0, ended.err
        (plan,) = disk.glob("runs/*/plan.jsonl")
        mutations = mutate(plan.parent, seed + share[0], _EVERYTHING, seconds)
    score = Score(tried=mutations.tried, cases_wrong=len(mutations.wrong), wrong=mutations.wrong)
    score.ended["noticed"] = mutations.noticed.total()
    return score


def forge_folders(seed: int, seconds: float, place: Path, share: Share) -> Score:
    """Forge run folders, with and without a key."""
    return forge(seed, _EVERYTHING, seconds, place, share)


def place_texts(seed: int, seconds: float, place: Path, share: Share) -> Score:
    """Put hostile texts wherever a text can stand."""
    return try_texts(seed, _EVERYTHING, seconds, place, share)


def _note_of_power(score: Score) -> str:
    return (
        f"crash states at {score.places:,} fsyncs; `resume` gave a reason and `clean` cleaned up: "
        f"{score.ended['refused']:,}; a directory stayed and was named: {score.ended['kept']:,}"
    )


def _note_of_faults(score: Score) -> str:
    kinds = ", ".join(f"{how} {count:,}" for how, count in sorted(score.tried.items()))
    return f"of {score.places:,} calls: {kinds}"


def _note_of_damage(score: Score) -> str:
    return f"{score.ended['noticed']:,} made a trial not count"


def _note_of_forgeries(score: Score) -> str:
    return ", ".join(f"with {key} {count:,}" for key, count in sorted(score.tried.items()))


def _note_of_texts(score: Score) -> str:
    looked = score.ended["looked at"]
    return f"{len(score.tried):,} texts, each in {score.places:,} places; {looked:,} outputs were looked at"


# By CPU time of a case: a power cut 0.16 s, a failing call 0.44 s, one of ingest 1.2 s, a damaged folder 0.02 s,
# a forged folder 2 s, an output 0.22 s.
ATTACKS = (
    Attack("power cut", 0.46, cut_power, _note_of_power),
    Attack("failing system call of run", 0.34, fail_calls, _note_of_faults),
    Attack("failing system call of ingest", 0.04, fail_calls_of_ingest, _note_of_faults),
    Attack("damaged run folder", 0.05, damage, _note_of_damage),
    Attack("forged run folder", 0.04, forge_folders, _note_of_forgeries),
    Attack("hostile text", 0.07, place_texts, _note_of_texts),
)


def write_scores(page: Path, parts: Sequence[Part], seed: int, seconds: float, where: str) -> None:
    """Insert the scores at their place in a page; `where` is the type of the file system."""
    rows = [f"| {part.name} | {part.tried:,} | {part.tried - part.wrong:,} | {part.note} |" for part in parts]
    settings = f"seed {seed}, {seconds / 60:.0f} minutes in {where}, load {os.getloadavg()[2]:.0f}"
    lines = [
        f"{time.strftime('%Y-%m-%d')}, {settings}, {_machine()}.",
        "",
        "| attack | tried | survived | of these |",
        "|---|---|---|---|",
        *rows,
    ]
    text = page.read_text("utf-8")
    before, tail = text.split(BEGIN + "\n", 1)
    page.write_text(before + BEGIN + "\n" + "\n".join(lines) + "\n" + END + tail.split(END, 1)[1], "utf-8")


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
    """Try all attacks; return 1 if something did not survive."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=3600)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--place", type=Path, default=Path("/var/tmp"))
    parser.add_argument("--page", type=Path)
    options = parser.parse_args()
    began = time.monotonic()
    parts = []
    with tempfile.TemporaryDirectory(prefix="zlang-campaign-", dir=options.place) as at:
        os.environ["XDG_STATE_HOME"] = str(Path(at, "state"))
        where = file_system(Path(at))
        _tell(f"seed {options.seed}, {options.seconds:.0f} s, {where}")
        for attack in ATTACKS:
            part = attack.carry_out(options.seed, options.seconds, Path(at), options.workers)
            parts.append(part)
            _tell(f"{part.name}: {part.tried:,} tried, {part.wrong:,} wrong; {part.note}")
            for problem in part.problems:
                _tell(f"WRONG: {problem}")
    if options.page:
        write_scores(options.page, parts, options.seed, time.monotonic() - began, where)
    return 1 if any(part.wrong for part in parts) else 0


if __name__ == "__main__":
    sys.exit(main())
