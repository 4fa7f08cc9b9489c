"""Provide operations on a test's private zfs-fuse daemon."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

REPOSITORY = Path(__file__).parents[1]


@dataclass(frozen=True, slots=True)
class ZfsFuse:
    """A zfs-fuse daemon, and the directory that it shares with the machine."""

    pid: int
    place: Path

    def command(self, *words: str) -> list[str]:
        """Return the words of a command to be run where this daemon answers."""
        return ["nsenter", f"--target={self.pid}", "--mount", "--root", "env", f"--chdir={self.place}", *words]

    def zlang_command(self, *words: str) -> list[str]:
        """Return the words of a call of zlang there."""
        path = f"PYTHONPATH={REPOSITORY}"
        return self.command("env", path, sys.executable, "-c", "from zlang.cli.app import main; main()", *words)

    def say(self, *words: str) -> str:
        """Return the output of a command, which must succeed."""
        done = subprocess.run(self.command(*words), capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def zlang(self, *words: str, code: int | None = 0) -> str:
        """Return the output of zlang, which must exit with the expected code."""
        try:
            done = subprocess.run(self.zlang_command(*words), capture_output=True, text=True, timeout=900)
        except subprocess.TimeoutExpired as error:
            for journal in self.place.glob("runs/*/journal.jsonl"):
                error.add_note(f"the end of {journal}:\n{journal.read_text('utf-8')[-2000:]}")
            raise
        assert code is None or done.returncode == code, done.stdout + done.stderr
        return done.stdout + done.stderr

    def run(self, program: str, code: int | None = 0) -> str:
        """Return the output of `zlang run` for a program."""
        (self.place / "program.zexp").write_text(program, "utf-8")
        return self.zlang("run", "program.zexp", "--yes", code=code)

    def last_run(self) -> str:
        """Return the name of the run that started last."""
        return max((self.place / "runs").iterdir(), key=lambda path: path.stat().st_mtime).name

    def failed(self) -> list[str]:
        """Return the reasons why trials of the last run do not count."""
        return [failure["why"] for failure in json.loads(self.zlang("status", self.last_run(), "--json"))["failed"]]

    def answers(self, sql: str) -> list[list[object]]:
        """Return the rows of a query."""
        output = self.zlang("sql", sql, "--format", "json")
        rows, _ = json.JSONDecoder().raw_decode(output[output.index("[") :])  # warnings follow
        return [list(row.values()) for row in rows]

    def pools(self) -> list[str]:
        """Return the existing pools."""
        return [line for line in self.say("zpool", "list", "-H", "-o", "name").splitlines() if " " not in line]


@contextmanager
def started(place: Path, arc_mb: int, *options: str) -> Iterator[ZfsFuse]:
    """Start a daemon, wait until it answers, and end it on exit; `options` are those of zfs-fuse. Needs root."""
    script = Path(__file__).with_name("private_zfs_fuse.sh")
    daemon = subprocess.Popen(["unshare", "--mount", "sh", script, place, str(arc_mb), *options])
    here = ZfsFuse(daemon.pid, place)
    try:
        deadline = time.monotonic() + 20
        while subprocess.run(here.command("zpool", "list"), capture_output=True).returncode != 0:
            assert daemon.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.1)
        yield here
    finally:
        daemon.kill()
        daemon.wait()


def loops(place: Path) -> list[str]:
    """Return the loop devices whose files are in a directory."""
    listing = subprocess.run(["losetup", "--noheadings", "--output", "BACK-FILE"], capture_output=True, text=True)
    return [line for line in listing.stdout.splitlines() if str(place) in line]
