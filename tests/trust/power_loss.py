"""Cut the power at each fsync of a run, in many ways by seed, and check whether it can be resumed.

A run that is killed once and resumed is recorded: the names and bytes that exist before each fsync, and which of them
have been synced. A disk may lose everything else: in a crash state, each name and file is the synced or the present
version, or one whose tail is missing, torn or zeroed. Each state is restored in the same directory.

The model follows POSIX: fsync of a file does not cover its name, and each name of a directory is kept or lost
independently. It excludes writes that a disk acknowledged but lost, and the loss of the user's key.

    python tests/trust/power_loss.py [--seed N] [--count N] [--seconds N]
"""

from __future__ import annotations

import os
import random
import re
import shutil
import signal
import socket
import stat
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import aftermath
from aftermath import PROGRAM, Aftermath, Figures, Score, Share

from zlang.plan.plan import Trial
from zlang.run import run_state
from zlang.run.folder import Folder

_KILLED_AT = 92
"""Before which fsync the first session is killed: in the second trial."""
_WHOLE_EVERY = 40
"""One state of so many is resumed with its database."""

Names = dict[str, int]
_MESSAGE = struct.Struct("Q")


@dataclass(frozen=True, slots=True)
class Moment:
    """The state before an fsync: inodes with their names or bytes, present and synced."""

    names: dict[int, Names]
    synced_names: dict[int, Names]
    files: dict[int, bytes]
    synced_files: dict[int, bytes]


@dataclass
class Recorder:
    """Observer of a directory between fsyncs; it holds each inode open, so that its number is not reused."""

    root: Path
    environment: Mapping[str, str]
    synced_by_commands: Path
    moments: list[Moment] = field(default_factory=list)
    identities: dict[int, bytes] = field(default_factory=dict)
    """Inode and time of birth of the directories that runs made, as `dir` writes them down."""
    _handles: dict[int, int] = field(default_factory=dict)
    _synced_names: dict[int, Names] = field(default_factory=dict)
    _synced_files: dict[int, bytes] = field(default_factory=dict)
    _contents: dict[tuple[int, int, int], bytes] = field(default_factory=dict)

    def start(self) -> None:
        """Treat everything present as synced."""
        self._synced_names, self._synced_files = self._walk()

    def session(self, command: str, *arguments: str, killed_at: int | None = None) -> int:
        """Record a command, which may be killed before one of its fsyncs; return the number of fsyncs."""
        ours, theirs = socket.socketpair()
        child = os.fork()
        if child == 0:
            ours.close()
            os.fsync = lambda file: _ask(theirs, file)  # type: ignore[assignment]
            os._exit(aftermath.call(self.root, command, *arguments, environment=self.environment).code & 0xFF)
        theirs.close()
        count = 0
        while message := ours.recv(_MESSAGE.size):
            count += 1
            self._before_sync(*_MESSAGE.unpack(message))
            ours.send(b"K" if count == killed_at else b"!")
        ours.close()
        os.waitpid(child, 0)
        return count

    def _before_sync(self, inode: int) -> None:
        names, files = self._walk()
        for line in self.synced_by_commands.read_text().split():
            self._note(int(line), names, files)
        self.moments.append(Moment(names, dict(self._synced_names), files, dict(self._synced_files)))
        self._note(inode, names, files)

    def _note(self, inode: int, names: dict[int, Names], files: dict[int, bytes]) -> None:
        if inode in names:
            self._synced_names[inode] = names[inode]
        elif inode in files:
            self._synced_files[inode] = files[inode]

    def _walk(self) -> tuple[dict[int, Names], dict[int, bytes]]:
        names: dict[int, Names] = {}
        files: dict[int, bytes] = {}
        for at, directories, others in os.walk(self.root):
            here = names[Path(at).stat().st_ino] = {}
            for name in directories + others:
                path = Path(at, name)
                status = path.lstat()
                here[name] = status.st_ino
                self._hold(path, status)
                if stat.S_ISREG(status.st_mode):
                    key = (status.st_ino, status.st_mtime_ns, status.st_size)
                    if key not in self._contents:
                        self._contents[key] = path.read_bytes()
                    files[status.st_ino] = self._contents[key]
        return names, files

    def _hold(self, path: Path, status: os.stat_result) -> None:
        if status.st_ino in self._handles:
            return
        self._handles[status.st_ino] = os.open(path, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC)
        if path.name.startswith("zlang-"):
            self.identities[status.st_ino] = _identity(path)


def _note_syncs(tools: Path) -> Path:
    """Make the command `sync FILE` record the inodes of its files; return the record's path."""
    noted = tools / "synced"
    noted.touch()
    script = tools / "sync"
    script.write_text(f'#!/bin/sh\nshift\nstat --format=%i -- "$@" >>{noted}\n')
    script.chmod(0o755)
    return noted


def _ask(channel: socket.socket, file: object) -> None:
    """Tell the recorder that a file is about to be synced, and continue when it has recorded the state."""
    number = file if isinstance(file, int) else file.fileno()  # type: ignore[attr-defined]
    channel.send(_MESSAGE.pack(os.fstat(number).st_ino))
    if channel.recv(1) == b"K":
        os.kill(os.getpid(), signal.SIGKILL)


def _identity(path: Path) -> bytes:
    return subprocess.run(["stat", "--format=%i %W", path], capture_output=True, check=True).stdout.strip()


class Disk:
    """A possible content of a disk after power was lost at a moment, chosen by `chance`."""

    def __init__(self, moment: Moment, identities: dict[int, bytes], chance: random.Random) -> None:
        self._moment, self._identities, self._chance = moment, identities, chance
        self._names_kept = chance.choice((0.0, 1.0, 0.5, 0.5, 0.9))
        self._tail = chance.choice(("absent", "torn", "zeros", "whole", "mixed", "mixed"))
        self._files: list[tuple[Path, int]] = []
        self._reborn: list[tuple[bytes, bytes]] = []
        self.kind = f"tails {self._tail}"

    def restore(self, root: Path) -> None:
        """Write this state to the directory."""
        self._restore_names(root, root.stat().st_ino)
        for path, inode in self._files:
            path.write_bytes(self._content(inode))

    def _restore_names(self, at: Path, inode: int) -> None:
        for name, child in sorted(self._names(inode).items()):
            path = at / name
            if child not in self._moment.names and child not in self._moment.synced_names:
                self._files.append((path, child))
                continue
            path.mkdir()
            if child in self._identities:
                self._reborn.append((self._identities[child], _identity(path)))
            self._restore_names(path, child)

    def _names(self, inode: int) -> Names:
        synced, present = self._moment.synced_names.get(inode, {}), self._moment.names.get(inode, {})
        names = {}
        for name in synced.keys() | present.keys():
            kept = present.get(name) if self._chance.random() < self._names_kept else synced.get(name)
            if kept is not None:
                names[name] = kept
        return names

    def _content(self, inode: int) -> bytes:
        synced = self._moment.synced_files.get(inode, b"")
        content = self._damaged(synced, self._moment.files.get(inode, synced))
        for before, now in self._reborn:
            content = re.sub(rb"^%b$" % re.escape(before), now, content, flags=re.MULTILINE)
        return content

    def _damaged(self, synced: bytes, present: bytes) -> bytes:
        kind = self._chance.choice(("absent", "torn", "zeros", "whole")) if self._tail == "mixed" else self._tail
        if kind == "whole" or synced == present:
            return present
        if kind == "absent":
            return synced
        if not present.startswith(synced):  # it was written over
            return self._chance.choice((synced, present))
        tail = present[len(synced) :]
        at = self._chance.randrange(len(tail) + 1)
        return synced + tail[:at] + (bytes(len(tail) - at) if kind == "zeros" else b"")


class PowerLoss:
    """A recorded run in its own directory, and its crash states."""

    def __init__(self, scratch: Path) -> None:
        self._root = scratch / "disk"
        self._root.mkdir()
        self._environment = {"PATH": aftermath.stand_in(scratch / "bin")}
        synced = _note_syncs(scratch / "bin")
        (self._root / "program.zexp").write_text(PROGRAM)
        recorder = Recorder(self._root, self._environment, synced)
        recorder.start()
        killed_at = _KILLED_AT
        recorder.session("run", "program.zexp", killed_at=killed_at)
        recorder.session("resume")
        self._moments, self._identities = recorder.moments, recorder.identities
        (plan,) = self._root.glob("runs/*/plan.jsonl")
        self._run = Folder(plan.parent)
        self._figures = aftermath.figures(self._run)
        assert len(self._figures) == sum(isinstance(item, Trial) for item in self._run.read_plan().items())
        self._journal = self._run.journal.stat().st_ino
        self._scratch = scratch
        assert len(self._moments) > killed_at

    def run(self, seed: int, count: int, seconds: float, share: Share) -> Score:
        """Try the given number of states, or as many as time allows."""
        score = Score(len(self._moments))
        late = time.monotonic() + seconds
        for number in range(count)[share[0] :: share[1]]:
            if time.monotonic() > late:
                break
            chance = random.Random(f"{seed} {number}")
            at = chance.randrange(len(self._moments))
            self._try(number, at, Disk(self._moments[at], self._identities, chance), score)
        return score

    def _try(self, number: int, at: int, disk: Disk, score: Score) -> None:
        for path in self._root.iterdir():
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        disk.restore(self._root)
        committed = self._committed(self._moments[at])
        after = Aftermath(self._root, committed, self._environment, is_whole=number % _WHOLE_EVERY == 0)
        score.add(f"state {number}, before fsync {at + 1} of {len(self._moments)}, {disk.kind}", after.problems())
        score.tried[disk.kind] += 1
        score.ended["refused"] += after.refused
        score.ended["kept"] += after.kept

    def _committed(self, moment: Moment) -> Figures:
        """Return the figures of trials whose commit was synced."""
        journal = self._scratch / "synced.jsonl"
        journal.write_bytes(moment.synced_files.get(self._journal, b""))
        ended = run_state.read(journal).ended
        return {place: self._figures[place] for place, attempt in ended.items() if attempt.is_committed}


def lose_power(seed: int, count: int, seconds: float = 1e9, place: Path | None = None, share: Share = (0, 1)) -> Score:
    """Record a run and try crash states of it."""
    with tempfile.TemporaryDirectory(prefix="power-", dir=place) as at:
        return PowerLoss(Path(at)).run(seed, count, seconds, share)


def _sum_up(score: Score) -> str:
    refused, kept = score.ended["refused"], score.ended["kept"]
    shown = f"{refused:,} were refused with a message, {kept:,} keep a directory that is named"
    return f"states at {score.places} fsyncs; {shown}"


def main() -> int:
    """Try crash states and print the score."""
    return aftermath.as_program(__doc__, lose_power, 1000, _sum_up)


if __name__ == "__main__":
    sys.exit(main())
