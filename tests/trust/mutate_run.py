"""Damage a run folder in thousands of ways, by seed, and check what zlang still reports about it.

After each mutation of the journal, the plan or an artefact, every trial must have its original figures (or, where the
journal lost its end, earlier ones) or not count. Database and run must agree, and no command may raise an exception
that a user would see as a bug. Invented lines with a correct checksum may have other figures if the run is reported as
doubtful, because they are not signed.

    python tests/trust/mutate_run.py RUN_FOLDER [--seed N] [--count N]
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import orjson

from zlang.errors import RunError
from zlang.pipeline import costs, runs
from zlang.plan.plan import Trial
from zlang.readers.judge import judge
from zlang.run import journal, outputs
from zlang.run.account import Account
from zlang.run.folder import Folder
from zlang.store.ingest import ingest
from zlang.store.query import run_query

Figures = Mapping[str, object]
"""What is said of each trial that counts, by its place."""

_INGEST_EVERY = 25
_COUNTED = "select * exclude (started, position) from all_trials where valid order by trial, replicate"
VALUES: tuple[object, ...] = (
    None,
    True,
    -1,
    0,
    1e300,
    -1e300,
    2**63,
    2**64,
    "",
    "x" * 3000,
    "\x00",
    "../..",
    "/etc",
    [],
    {},
    1.5,
    "é",
)


# -- mutations of bytes


def flip(data: bytes, chance: random.Random) -> bytes:
    """Flip some bits."""
    changed = bytearray(data)
    for _ in range(chance.choice((1, 1, 1, 2, 8))):
        changed[chance.randrange(len(changed))] ^= 1 << chance.randrange(8)
    return bytes(changed)


def cut(data: bytes, chance: random.Random) -> bytes:
    """Remove the end, the beginning or a part between."""
    first, last = sorted(chance.choices(range(len(data) + 1), k=2))
    return chance.choice((data[:first], data[last:], data[:first] + data[last:]))


def zero(data: bytes, chance: random.Random) -> bytes:
    """Replace a block with NUL bytes, or add some."""
    at, length = chance.randrange(len(data)), chance.choice((1, 16, 512, 4096))
    return data[:at] + bytes(length) + data[at + chance.choice((0, length)) :]


def garble(data: bytes, chance: random.Random) -> bytes:
    """Overwrite bytes with others that are not text."""
    at = chance.randrange(len(data))
    return data[:at] + chance.randbytes(chance.choice((1, 4, 64))) + data[at + chance.choice((0, 4)) :]


def renumber(data: bytes, chance: random.Random) -> bytes:
    """Change a digit."""
    digits = [at for at, byte in enumerate(data) if chr(byte).isdigit()]
    if not digits:
        return data + b"7"
    at = chance.choice(digits)
    return data[:at] + str(chance.randrange(10)).encode() + data[at + chance.choice((0, 1)) :]


BYTES: tuple[Callable[[bytes, random.Random], bytes], ...] = (flip, cut, zero, garble, renumber)


# -- mutations of lines


def lose(lines: list[bytes], chance: random.Random) -> list[bytes]:
    """Remove some consecutive lines."""
    at = chance.randrange(len(lines))
    return lines[:at] + lines[at + chance.choice((1, 1, 2, 5, 20)) :]


def double(lines: list[bytes], chance: random.Random) -> list[bytes]:
    """Repeat some lines, there or elsewhere."""
    at, to = chance.randrange(len(lines)), chance.randrange(len(lines))
    return lines[:to] + lines[at : at + chance.choice((1, 1, 3, 20))] + lines[to:]


def move(lines: list[bytes], chance: random.Random) -> list[bytes]:
    """Move some lines elsewhere."""
    at, length = chance.randrange(len(lines)), chance.choice((1, 1, 2, 10))
    some, others = lines[at : at + length], lines[:at] + lines[at + length :]
    to = chance.choice((at + 1, chance.randrange(len(others) + 1)))
    return others[:to] + some + others[to:]


def insert(lines: list[bytes], chance: random.Random) -> list[bytes]:
    """Insert invalid lines."""
    at = chance.randrange(len(lines) + 1)
    junk = (
        b"\n",
        b"{}\n",
        b"\xff\xfe\n",
        bytes(100) + b"\n",
        b"x" * 3_000_000 + b"\n",
        b'{"n":1,"crc":0}\n',
        b"[" * 9999,
    )
    return [*lines[:at], chance.choice(junk), *lines[at:]]


LINES: tuple[Callable[[list[bytes], random.Random], list[bytes]], ...] = (lose, double, move, insert)


def forge(lines: list[bytes], chance: random.Random) -> list[bytes]:
    """Change the value of a member of a line, and give the line a correct checksum."""
    at = chance.randrange(len(lines))
    members = orjson.loads(lines[at])
    del members["crc"]
    members[chance.choice(list(members))] = chance.choice(VALUES)
    try:
        body = orjson.dumps(members)[:-1]
    except TypeError:  # beyond 64 bits
        body = b'{"n":99999999999999999999999999,"t":1e999,"event":"finish"'
    return [*lines[:at], b'%b,"crc":%d}\n' % (body, journal.cksum(body)), *lines[at + 1 :]]


# -- reported results


@dataclass
class Score:
    """Number of mutations tried of each kind, how many caused trials not to count, and the violations."""

    tried: Counter[str] = field(default_factory=Counter)
    noticed: Counter[str] = field(default_factory=Counter)
    ingested: int = 0
    wrong: list[str] = field(default_factory=list)


class Mutations:
    """A copy of a run folder that is repeatedly damaged and restored."""

    def __init__(self, source: Path, at: Path, seed: int) -> None:
        self._runs, self._db, self._chance = at / "runs", at / "results.duckdb", random.Random(seed)
        self._path = self._runs / source.name
        shutil.copytree(source, self._path, symlinks=True)
        self._folder = Folder(self._path)
        self._plan = [item for item in self._folder.read_plan().items() if isinstance(item, Trial)]
        self._figures = self._account()
        self._stages = self._stages_of_the_run()
        self._rows = self._ingested()
        self.score = Score()
        assert self._figures, "no trial of the run counts"
        assert len(self._rows) == len(self._figures)

    def run(self, count: int, seconds: float) -> Score:
        """Try the given number of mutations, or as many as time allows."""
        late = time.monotonic() + seconds
        artefacts = sorted(path for path in self._path.glob("trials/**/*") if path.is_file())
        artefacts += self._path.glob(outputs.FILE)
        for n in range(count):
            if time.monotonic() > late:
                break
            kind = self._chance.choices(("journal", "lines", "forged", "artefact", "plan"), (4, 4, 3, 6, 1))[0]
            target = {"artefact": self._chance.choice(artefacts), "plan": self._folder.plan}
            path = target.get(kind, self._folder.journal)
            data = path.read_bytes()
            name, done = self._mutation(kind, data)
            with self._mutated(path, data, done):
                if done != data:
                    self._look(
                        f"{n} {kind} {name} of {path.relative_to(self._path)}", kind, is_ingested=n % _INGEST_EVERY == 0
                    )
        return self.score

    def _mutation(self, kind: str, data: bytes) -> tuple[str, bytes | None]:
        chance = self._chance
        if kind in {"lines", "forged"}:
            change = forge if kind == "forged" else chance.choice(LINES)
            return change.__name__, b"".join(change(data.splitlines(keepends=True), chance))
        if kind == "artefact" and (not data or chance.random() < 0.1):
            return chance.choice((("removed", None), ("filled", data + b"1\n")))
        change_bytes = chance.choice(BYTES)
        return change_bytes.__name__, change_bytes(data, chance)

    @contextmanager
    def _mutated(self, path: Path, before: bytes, after: bytes | None) -> Iterator[None]:
        """Restore the file afterwards; in one of ten cases a link or a FIFO takes the place of what is removed."""
        path.unlink()
        if after is not None:
            path.write_bytes(after)
        elif self._chance.random() < 0.5:
            self._chance.choice((os.mkfifo, lambda at: Path(at).symlink_to("/etc/passwd"), os.mkdir))(path)
        yield
        path.rmdir() if path.is_dir() else path.unlink(missing_ok=True)
        path.write_bytes(before)

    def _look(self, mutation: str, kind: str, *, is_ingested: bool) -> None:
        self.score.tried[kind] += 1
        try:
            account: Figures = self._account()
            rows = self._ingested() if is_ingested else {}
            runs.failures(runs.account(self._folder))
            costs.spent(self._folder, runs.run_state(self._folder))
        except RunError:
            self.score.noticed[kind] += 1
            return
        except Exception as error:  # noqa: BLE001 - that is what is looked for
            self.score.wrong.append(f"{mutation}: {error!r}")
            return
        self.score.ingested += is_ingested
        self.score.noticed[kind] += account.keys() != self._figures.keys()
        strange = [
            f"{mutation}: {place} has {figures}"
            for place, figures in account.items()
            if figures not in self._stages[place]
        ]
        if kind != "forged" or not Account(self._folder, judge).doubt:
            self.score.wrong += strange
        if kind != "forged":
            self.score.wrong += [
                f"{mutation}: {place} is {row}, not {self._rows[place]}"
                for place, row in rows.items()
                if account.get(place) == self._figures[place] and row != self._rows[place]
            ]
            if is_ingested and rows.keys() != account.keys():
                self.score.wrong.append(
                    f"{mutation}: {sorted(rows)} count in the database, {sorted(account)} in the run"
                )

    def _account(self) -> Figures:
        """Return the results that count, according to `run`, `resume` and `status`."""
        account = Account(self._folder, judge)
        figures = {}
        for trial in self._plan:
            verdict, why_not = account.verdict(trial)
            if verdict is not None and not why_not:
                attempt = account.state.ended[trial.place]
                window = account.window(trial, attempt)
                elapsed = round(window[1] - window[0], 6) if window else None
                figures[trial.place] = (attempt.out, elapsed, dict(verdict.metrics), verdict.latency)
        return figures

    def _stages_of_the_run(self) -> dict[str, list[object]]:
        """Return each trial's past results: a journal that lost its end equals that of a killed run."""
        whole = self._folder.journal.read_bytes()
        lines = whole.splitlines(keepends=True)
        stages: dict[str, list[object]] = {trial.place: [] for trial in self._plan}
        for n in range(len(lines) + 1):
            self._folder.journal.write_bytes(b"".join(lines[:n]))
            for place, figures in self._account().items():
                if figures not in stages[place]:
                    stages[place].append(figures)
        self._folder.journal.write_bytes(whole)
        return stages

    def _ingested(self) -> Figures:
        """Return the results that count, according to the database."""
        self._db.unlink(missing_ok=True)
        ingest(self._runs, self._db)
        result = run_query(self._db, _COUNTED)
        rows = [dict(zip(result.columns, row, strict=True)) for row in result.rows]
        return {f"trials/{row['trial']}/{row['replicate']}": row for row in rows}


def mutate(source: Path, seed: int, count: int, seconds: float = 1e9) -> Score:
    """Damage a copy of a run folder."""
    with tempfile.TemporaryDirectory(prefix="zlang-mutations-") as at:
        return Mutations(source, Path(at), seed).run(count, seconds)


def main() -> int:
    """Damage a run folder and print the score."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=2000)
    options = parser.parse_args()
    score = mutate(options.folder, options.seed, options.count)
    lines = [
        f"{kind:10} {tried:6,} tried, {score.noticed[kind]:6,} made a trial not count or the run unreadable"
        for kind, tried in sorted(score.tried.items())
    ]
    lines.append(f"{score.tried.total():,} mutations with seed {options.seed}, {score.ingested:,} of them ingested")
    lines += [f"WRONG: {line}" for line in score.wrong]
    sys.stdout.write("\n".join(lines) + "\n")
    return 1 if score.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
