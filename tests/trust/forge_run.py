"""Forge a run folder: change plan, journal and outputs, recompute all checksums, and check how zlang reacts.

The forger has no key, a key of their own, or the user's key. Without the user's key, nothing in the plan may be carried
out or removed, and a figure that was not measured may count only with a warning. With it, the commands are the user's
own, but still no command of zlang may fail or remove what the run did not create.

    python tests/trust/forge_run.py [--seed N] [--count N]
"""

from __future__ import annotations

import os
import random
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import aftermath
import orjson
from aftermath import Figures, Score, Share
from mutate_run import VALUES

from zlang.errors import RunError
from zlang.run import hashes, journal, outputs, seal
from zlang.run.folder import Folder
from zlang.run.unverified import UNVERIFIED

PROGRAM = """
let n = 1..4
dir here { path = "." }
shell io {
  command = "test {n} -ne 4 || test -e ../go || kill -9 $(cat ../runs/*/lock); echo speed=FACTOR{n}; touch {n}"
  metrics = [regex("speed: count=speed=([0-9]+)")]
}
experiment e { on = here  run = io  table median(speed) by n }
"""
"""A run that is killed at one of its trials."""
Members = dict[str, object]


@dataclass
class Forger:
    """The folder of a killed run, the folder of another run, and the forgeries made from them."""

    run: Path
    other: Path
    chance: random.Random
    precious: Path
    pwned: Path

    def lines(self, run: Path | None = None) -> list[Members]:
        """Return the lines of a journal, without numbers, checksums and signatures."""
        content = ((run or self.run) / "journal.jsonl").read_bytes()
        return [_without_proof(orjson.loads(line)) for line in content.splitlines()]

    def write(self, lines: list[Members], sign: journal.Sign | None) -> None:
        """Write a journal with right numbers and checksums, and, if there is a key, signed."""
        whole = b""
        for number, members in enumerate(lines, 1):
            body = orjson.dumps({**members, "n": number})[:-1]
            body += b',"mac":"%b"' % sign(body).encode() if sign else b""
            whole += b'%b,"crc":%d}\n' % (body, journal.cksum(body))
        (self.run / "journal.jsonl").write_bytes(whole)

    def hash_anew(self, lines: list[Members]) -> None:
        """Update the file hashes in all lines that contain some."""
        for members in lines:
            if members["event"] == "session":
                members["plan"] = hashes.of_file(self.run / "plan.jsonl")
            elif members["event"] == "commit" and "packed" in members:
                with suppress(OSError, ValueError, TypeError):
                    packed = outputs.read(self.run, int(str(members["packed"])), str(members["out"]))
                    members["files"] = hashes.of_directory(packed)
            elif members["event"] == "commit" and (self.run / str(members["out"])).is_dir():
                members["files"] = hashes.of_directory(self.run / str(members["out"]))

    # What is forged: from lines to lines.

    def figure(self, lines: list[Members]) -> list[Members]:
        """Give trials another result."""
        for path in (*self.run.glob("trials/*/*/*/measure.out"), *self.run.glob(outputs.FILE)):
            path.write_text(path.read_text().replace("speed=", "speed=9"))
        return lines

    def order(self, lines: list[Members]) -> list[Members]:
        """Move some lines elsewhere."""
        first, last = sorted(self.chance.choices(range(len(lines) + 1), k=2))
        some = lines[first:last]
        self.chance.shuffle(some)
        return [*lines[:first], *some, *lines[last:]]

    def twice(self, lines: list[Members]) -> list[Members]:
        """Repeat lines."""
        at, to = self.chance.randrange(len(lines)), self.chance.randrange(len(lines))
        return [*lines[:to], *map(dict, lines[at : at + self.chance.choice((1, 4, 40))]), *lines[to:]]

    def fewer(self, lines: list[Members]) -> list[Members]:
        """Remove lines."""
        at = self.chance.randrange(len(lines))
        return lines[:at] + lines[at + self.chance.choice((1, 2, 10)) :]

    def value(self, lines: list[Members]) -> list[Members]:
        """Give a member another value."""
        members = self.chance.choice(lines)
        members[self.chance.choice(list(members))] = self.chance.choice(VALUES)
        return lines

    def never_unmade(self, lines: list[Members]) -> list[Members]:
        """Claim that setups still exist, and that they were created elsewhere."""
        for path in self.run.glob("setups/*/*/made"):
            path.write_text(f"{self.precious.stat().st_ino} 1\n{self.precious}\n")
            (self.run / "leaves").write_text(f"{self.precious}/theirs\n")
        return [members for members in lines if members["event"] != "unmade"]

    def other_trial(self, lines: list[Members]) -> list[Members]:
        """Take the outputs and lines of another run."""
        shutil.rmtree(self.run / "trials")
        shutil.copytree(self.other / "trials", self.run / "trials")
        for packed in self.other.glob(outputs.FILE):
            shutil.copyfile(packed, self.run / outputs.FILE)
        own = [members for members in lines if "trial" not in members]
        return own + [members for members in self.lines(self.other) if str(members.get("out")).startswith("trials/")]

    def other_journal(self, lines: list[Members]) -> list[Members]:
        """Take the whole journal of another run, and its outputs."""
        return self.lines(self.other) if self.other_trial(lines) else []

    def other_plan(self, lines: list[Members]) -> list[Members]:
        """Take the plan of another run."""
        shutil.copy(self.other / "plan.jsonl", self.run / "plan.jsonl")
        return lines

    def command(self, lines: list[Members]) -> list[Members]:
        """Replace the command in each step of the plan."""
        plan = self.run / "plan.jsonl"
        harm = orjson.dumps(f"touch {self.pwned}; rm -rf {self.precious}")
        plan.write_bytes(re.sub(rb'"command":"(?:[^"\\]|\\.)*"', lambda _: b'"command":' + harm, plan.read_bytes()))
        return lines

    def elsewhere(self, lines: list[Members]) -> list[Members]:
        """Claim that the run was started in another directory."""
        (self.run / "directory").write_bytes(os.fsencode(self.precious))
        return lines


Forgery = Callable[[Forger, list[Members]], list[Members]]
FORGERIES: tuple[Forgery, ...] = (
    Forger.figure,
    Forger.order,
    Forger.twice,
    Forger.fewer,
    Forger.value,
    Forger.never_unmade,
    Forger.other_trial,
    Forger.other_journal,
    Forger.other_plan,
    Forger.command,
    Forger.elsewhere,
)
KEYS = ("no key", "no seal", "another key", "the user's key")
_HARMFUL = (Forger.command, Forger.elsewhere)
"""With the user's key the commands of the plan are those of the user, and are carried out."""


class Forgeries:
    """A run that is repeatedly started, killed and forged."""

    def __init__(self, scratch: Path) -> None:
        self._root, self._kept = scratch / "disk", scratch / "kept"
        self._root.mkdir()
        self._environment = {"XDG_STATE_HOME": str(scratch / "state")}
        os.environ["XDG_STATE_HOME"] = str(scratch / "state")  # what is asked within this process
        (self._root / "go").touch()
        self._begin("7")
        (run,) = self._root.glob("runs/*")
        shutil.copytree(run, self._kept)

    def run(self, seed: int, count: int, seconds: float, share: Share) -> Score:
        """Try the given number of forgeries, or as many as time allows: each in turn, with other keys in each round."""
        score, late = Score(len(FORGERIES) * len(KEYS)), time.monotonic() + seconds
        for number in range(count)[share[0] :: share[1]]:
            if time.monotonic() > late:
                break
            rounds, which = divmod(number, len(FORGERIES))
            forgery, key = FORGERIES[which], KEYS[(rounds + which) % len(KEYS)]
            problems = self._try(forgery, key, random.Random(f"{seed} {number}"))
            score.add(f"{number} {forgery.__name__} with {key}", problems)
            score.tried[key] += 1
        return score

    def _begin(self, factor: str) -> None:
        for path in self._root.iterdir():
            if path.name != "go":
                shutil.rmtree(path) if path.is_dir() else path.unlink()
        (self._root / "program.zexp").write_text(PROGRAM.replace("FACTOR", factor))
        aftermath.call(self._root, "run", "program.zexp", environment=self._environment)

    def _try(self, forgery: Forgery, key: str, chance: random.Random) -> list[str]:
        (self._root / "go").unlink(missing_ok=True)
        self._begin("5")
        (run,) = self._root.glob("runs/*")
        (self._root / "go").touch()
        precious = self._root / "precious"
        precious.mkdir()
        (precious / "theirs").write_text("theirs")
        measured = aftermath.figures(Folder(run))
        assert len(measured) == 3, measured
        before = _content(run)
        forger = Forger(run, self._kept, chance, precious, self._root / "pwned")
        lines = forgery(forger, forger.lines())
        forger.hash_anew(lines)
        with self._key(key) as sign:
            forger.write(lines, sign if key == "the user's key" else None)
            if key == "no seal":
                (run / "seal").unlink()
            elif key != "no key":
                seal.write(run, run.name)
        if _content(run) == before and key == "the user's key":
            return []
        is_users = key == "the user's key"
        return self._problems(run, measured, is_users=is_users, is_harmful=is_users and forgery in _HARMFUL)

    @contextmanager
    def _key(self, key: str) -> Iterator[journal.Sign | None]:
        """Use the key that the forger has."""
        own = os.environ["XDG_STATE_HOME"]
        os.environ["XDG_STATE_HOME"] = f"{own}-of-another" if key == "another key" else own
        try:
            (run,) = self._root.glob("runs/*")
            yield seal.signer(run.name)
        finally:
            os.environ["XDG_STATE_HOME"] = own

    def _problems(self, run: Path, measured: Figures, *, is_users: bool, is_harmful: bool) -> list[str]:
        """Run each command, and list the violations."""
        problems: list[str] = []
        outputs: dict[str, str] = {}
        counted = self._counted(run)
        for words in (("status", run.name), ("ingest",), ("table",), ("resume",), ("clean",), ("table",)):
            ended = aftermath.call(self._root, *words, is_whole=True, environment=self._environment)
            problems += aftermath.said_wrong(words[0], ended)
            outputs.setdefault(words[0], ended.out + ended.err)
        strange = {place: figures for place, figures in counted.items() if figures != measured.get(place)}
        if strange and not is_users:
            silent = [word for word in ("status", "table") if not _is_doubted(outputs[word])]
            problems += [f"{strange} count, and {word}: {outputs[word]!r}" for word in silent]
        if is_harmful:
            return problems
        problems += ["a command of the forger was carried out"] * (self._root / "pwned").exists()
        problems += ["what the run did not make was removed"] * (not (self._root / "precious" / "theirs").exists())
        return problems

    def _counted(self, run: Path) -> Figures:
        try:
            return aftermath.figures(Folder(run))
        except RunError:
            return {}


def _is_doubted(text: str) -> bool:
    """Check that a command reports that figures cannot be verified, or shows none."""
    return UNVERIFIED in text or "error: " in text


def _content(run: Path) -> dict[str, bytes]:
    return {str(path.relative_to(run)): path.read_bytes() for path in run.rglob("*") if path.is_file()}


def _without_proof(members: Members) -> Members:
    return {name: value for name, value in members.items() if name not in {"n", "mac", "crc"}}


def forge(seed: int, count: int, seconds: float = 1e9, place: Path | None = None, share: Share = (0, 1)) -> Score:
    """Try forgeries."""
    with tempfile.TemporaryDirectory(prefix="forgeries-", dir=place) as at:
        return Forgeries(Path(at)).run(seed, count, seconds, share)


def main() -> int:
    """Forge run folders and print the score."""
    return aftermath.as_program(__doc__, forge, 88, lambda _: "forgeries")


if __name__ == "__main__":
    sys.exit(main())
