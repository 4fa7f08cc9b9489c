"""Make each system call of `zlang run` fail in turn, or kill the process there, and check that the run can resume.

strace injects the faults only into the process of zlang, after it has started; the commands of the plan and the start
of Python are unaffected. The failing call and the kind of failure are drawn by seed from all calls of one run.

    python tests/trust/syscall_faults.py [--seed N] [--count N] [--seconds N]
"""

from __future__ import annotations

import random
import re
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import aftermath
from aftermath import PROGRAM, Aftermath, Figures, Score, Share
from command_line import Ended

from zlang.errors import RunError
from zlang.run.folder import Folder

FAULTS = {
    "openat": ("ENOSPC", "EIO", "EMFILE", "KILL"),
    "read": ("EIO", "KILL"),
    "write": ("ENOSPC", "EIO", "KILL"),
    "fsync": ("ENOSPC", "EIO", "KILL"),
    "rename": ("ENOSPC", "EIO", "KILL"),
    "mkdir": ("ENOSPC", "EIO", "KILL"),
    "unlink": ("EIO", "KILL"),
    "pipe2": ("EMFILE", "KILL"),
    "getdents64": ("EIO", "KILL"),
    "flock": ("EIO", "KILL"),
    "fstat": ("EIO",),
    "newfstatat": ("EIO", "KILL"),
    "readlink": ("EIO",),
    "lseek": ("EIO",),
    "mmap": ("ENOMEM",),
    "mprotect": ("ENOMEM",),
}
"""What can befall each call."""
_WHOLE_EVERY = 40
_CALL = re.compile(r"^(\w+)\(", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Fault:
    """A failure of the call with that name and number."""

    name: str
    number: int
    how: str

    def __str__(self) -> str:
        """Return the fault as it is listed."""
        return f"{self.how} at {self.name} {self.number}"

    def option(self) -> str:
        """Return the fault as an option of strace."""
        effect = "signal=KILL" if self.how == "KILL" else f"error={self.how}"
        return f"--inject={self.name}:{effect}:when={self.number}"


def drawn(calls: Mapping[str, int], faults: Mapping[str, Sequence[str]], seed: int) -> list[Fault]:
    """Return every fault of every call, in seeded order; `calls` has the number of calls of each name."""
    every = [Fault(name, n + 1, how) for name, most in calls.items() for n in range(most) for how in faults[name]]
    random.Random(seed).shuffle(every)
    return every


class SyscallFaults:
    """A run that is started repeatedly in its own directory, each time with another fault."""

    def __init__(self, scratch: Path) -> None:
        self._root, self._calls = scratch / "disk", scratch / "calls"
        self._root.mkdir()
        self._environment = {"PATH": aftermath.stand_in(scratch / "bin")}
        self._start_anew()
        ended = self._run()
        assert ended.code == 0, ended.err
        calls = Counter(_CALL.findall(self._calls.read_text("utf-8", "replace")))
        self.calls = {name: calls[name] for name in FAULTS if calls[name]}

    def run(self, seed: int, count: int, seconds: float, share: Share) -> Score:
        """Try the given number of faults, or as many as time allows."""
        score = Score(sum(self.calls.values()))
        late = time.monotonic() + seconds
        for number, fault in [*enumerate(drawn(self.calls, FAULTS, seed)[:count])][share[0] :: share[1]]:
            if time.monotonic() > late:
                break
            self._try(fault, score, is_whole=number % _WHOLE_EVERY == 0)
        return score

    def _try(self, fault: Fault, score: Score, *, is_whole: bool) -> None:
        self._start_anew()
        ended = self._run(fault)
        problems = aftermath.said_wrong("run", ended, {-signal.SIGKILL} if fault.how == "KILL" else frozenset())
        problems += Aftermath(self._root, self._committed(), self._environment, is_whole=is_whole).problems()
        score.add(str(fault), problems)
        score.tried[fault.how] += 1
        score.ended[f"{ended.code}"] += 1

    def _run(self, fault: Fault | None = None) -> Ended:
        inject = [fault.option()] if fault else []
        tracer = ["strace", f"--output={self._calls}", f"--trace={','.join(FAULTS)}", *inject, "--attach"]
        return aftermath.call(self._root, "run", "program.zexp", environment=self._environment, tracer=tracer)

    def _start_anew(self) -> None:
        for path in self._root.iterdir():
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        (self._root / "program.zexp").write_text(PROGRAM)

    def _committed(self) -> Figures:
        """Return the results that count right after the fault, without anything known only after the run has ended."""
        committed: dict[str, object] = {}
        for plan in self._root.glob("runs/*/plan.jsonl"):
            try:
                committed |= aftermath.figures(Folder(plan.parent))
            except RunError:
                continue
        return committed


def inject_faults(
    seed: int, count: int, seconds: float = 1e9, place: Path | None = None, share: Share = (0, 1)
) -> Score:
    """Try faults."""
    with tempfile.TemporaryDirectory(prefix="faults-", dir=place) as at:
        return SyscallFaults(Path(at)).run(seed, count, seconds, share)


def _sum_up(score: Score) -> str:
    codes = ", ".join(f"{code} ({times:,})" for code, times in sorted(score.ended.items()))
    return f"faults in {score.places:,} calls; `run` ended with {codes}"


def main() -> int:
    """Try faults and print the score."""
    return aftermath.as_program(__doc__, inject_faults, 300, _sum_up)


if __name__ == "__main__":
    sys.exit(main())
