"""Make each system call of `zlang ingest` fail in turn, or kill the process there: measurements must stay intact.

strace also follows the process that builds the database. Afterwards, `ingest` without a fault must give the same
results.

    python tests/trust/ingest_faults.py [--seed N] [--count N] [--seconds N]
"""

from __future__ import annotations

import hashlib
import re
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import aftermath
import syscall_faults
from aftermath import PROGRAM, Score, Share
from command_line import Ended
from syscall_faults import Fault, drawn

FAULTS = {
    **syscall_faults.FAULTS,
    "clone": ("EAGAIN",),
    "clone3": ("EAGAIN",),
    "fcntl": ("EIO",),
    "memfd_create": ("EMFILE",),
    "pread64": ("EIO", "KILL"),
    "pwrite64": ("ENOSPC", "EIO", "KILL"),
    "statfs": ("EIO",),
}
"""What can befall each call; threads, locks and writes at an offset are DuckDB's."""
_CALL = re.compile(r"^(\d+) +(\w+)\(", re.MULTILINE)
_QUESTION = "select run, trial, replicate, n, position, elapsed from trials order by all"


class IngestFaults:
    """A run whose database is built repeatedly, each time with another fault."""

    def __init__(self, scratch: Path) -> None:
        self._root, self._calls = scratch / "disk", scratch / "calls"
        self._root.mkdir()
        (self._root / "program.zexp").write_text(PROGRAM)
        self._environment = {"PATH": aftermath.stand_in(scratch / "bin")}
        for arguments in (("run", "program.zexp"), ("ingest",)):
            ended = self._call(*arguments)
            assert ended.code == 0, ended.err
        self._rows, self._files = self._results(), self._hashes()
        assert self._rows.count("\n") == 1 + 3, self._rows
        ended = self._ingest()
        assert ended.code == 0, ended.err
        calls = Counter(_CALL.findall(self._calls.read_text("utf-8", "replace")))
        # strace counts the calls of each process and thread separately.
        self.calls = {name: max((n for (_, call), n in calls.items() if call == name), default=0) for name in FAULTS}

    def run(self, seed: int, count: int, seconds: float, share: Share) -> Score:
        """Try the given number of faults, or as many as time allows."""
        score = Score(sum(self.calls.values()))
        late = time.monotonic() + seconds
        for fault in drawn(self.calls, FAULTS, seed)[:count][share[0] :: share[1]]:
            if time.monotonic() > late:
                break
            score.add(str(fault), self._problems(fault))
            score.tried[fault.how] += 1
        return score

    def _problems(self, fault: Fault) -> list[str]:
        ended = self._ingest(fault)
        problems = aftermath.said_wrong("ingest", ended, {-signal.SIGKILL} if fault.how == "KILL" else frozenset())
        if ended.code == 0 and "3 of them count\n" in ended.out and self._results() != self._rows:
            problems.append(f"ingest ended with 0, and the results are {self._results()}")
        again = self._call("ingest")
        if again.code != 0 or self._results() != self._rows:
            problems.append(f"ingest again: {again}, {self._results()}")
        if self._hashes() != self._files:
            problems.append("the run folder is not as it was")
        remaining = {path.name for path in self._root.iterdir()} - {"program.zexp", "runs", "results.duckdb"}
        return problems + ([f"left behind: {sorted(remaining)}"] if remaining else [])

    def _ingest(self, fault: Fault | None = None) -> Ended:
        """Build the database from scratch."""
        for path in self._root.iterdir():
            if path.name not in {"program.zexp", "runs"}:
                shutil.rmtree(path) if path.is_dir() else path.unlink()
        inject = [fault.option()] if fault else []
        trace = f"--trace={','.join(FAULTS)}"
        tracer = ["strace", "--follow-forks", f"--output={self._calls}", trace, *inject, "--attach"]
        return aftermath.call(self._root, "ingest", environment=self._environment, tracer=tracer)

    def _call(self, *arguments: str) -> Ended:
        return aftermath.call(self._root, *arguments, environment=self._environment)

    def _results(self) -> str:
        return self._call("sql", "--format", "csv", _QUESTION).out

    def _hashes(self) -> Mapping[Path, str]:
        files = [path for path in sorted((self._root / "runs").rglob("*")) if path.is_file()]
        return {path: hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def fail_ingest(seed: int, count: int, seconds: float = 1e9, place: Path | None = None, share: Share = (0, 1)) -> Score:
    """Try faults."""
    with tempfile.TemporaryDirectory(prefix="ingest-", dir=place) as at:
        return IngestFaults(Path(at)).run(seed, count, seconds, share)


def main() -> int:
    """Try faults and print the score."""
    return aftermath.as_program(__doc__, fail_ingest, 300, lambda score: f"faults in {score.places:,} calls")


if __name__ == "__main__":
    sys.exit(main())
