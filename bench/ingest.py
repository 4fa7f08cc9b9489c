"""Measure how fast `zlang ingest` makes a database, in fio reports per CPU second of all its processes, and its memory.

In: nothing (fio is run once where it is installed, else the document of the tests is taken). Out: the table. A bare
program (`bare_ingest.py`) makes the same rows.
Usage: python bench/ingest.py [DOCUMENTS] [RUNS]
"""

from __future__ import annotations

import json
import multiprocessing
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from itertools import repeat
from pathlib import Path

import duckdb
import measure

from zlang.plan.plan import Action, Factor, Header, Plan, Reader, Step, Trial
from zlang.run import hashes
from zlang.run.events import Begin, Commit, End, Finish, Recorded, Session, Start
from zlang.run.folder import Folder
from zlang.run.journal import encode
from zlang.store.query import run_query

SAVED = Path(__file__).parents[1] / "tests" / "store" / "fio.json"
BARE = Path(__file__).with_name("bare_ingest.py")
RATE = 2000
"""Documents per CPU-second that are asked for."""
MEMORY = 600
"""MiB that it may use."""


def document(scratch: Path) -> tuple[bytes, int]:
    """A report of the fio that is installed, or the one that the tests keep, and how many jobs are in it."""
    report = _report(scratch)
    return report, len(json.loads(report)["jobs"])


def _report(scratch: Path) -> bytes:
    out = scratch / "fio.json"
    words = ["fio", "--name=mixed", f"--filename={scratch / 'data'}", "--size=8388608", "--rw=randrw", "--bs=4096"]
    words += ["--ioengine=psync", "--runtime=3", "--time_based=1", "--output-format=json+", f"--output={out}"]
    try:
        subprocess.run(words, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        return SAVED.read_bytes()
    return out.read_bytes()


def trial(number: int, jobs: int) -> Trial:
    """A trial as the quickstart has them."""
    reader = Reader("fio", "fio.json", {"jobs": jobs, "runtime": 3})
    steps = (
        Step("flush", Action.FLUSH, "dd of=data oflag=nocache conv=notrunc,fdatasync count=0", "empty the cache", 60),
        Step("cold", Action.VERIFY, "fincore --bytes --noheadings data", "nothing is resident", 60, expect="0"),
        Step("measure", Action.MEASURE, 'fio --name=mixed --output="$OUT/fio.json"', "measure", 90, reader=reader),
    )
    levels = {"bs": 4096 << number % 4, "iodepth": 1 << number % 6, "pattern": ("random", "sequential")[number % 2]}
    return Trial(number + 1, f"{number // 3:016x}", number % 3 + 1, 1, levels, "cold", "cold", (), (), steps)


def write_run(path: Path, trials: list[Trial], reports: Iterable[bytes], began: float) -> None:
    """One run folder in which every trial was carried out, each with the next of the reports."""
    (path / "trials").mkdir(parents=True)
    types = {"bs": "size", "iodepth": "count", "pattern": "word"}
    factors = tuple(Factor(name, f"r.{name}", type_, (), 0) for name, type_ in types.items())
    header = Header("bench", "", "0" * 16, 1, len(trials) // 3, 3, len(trials), factors, {}, (), {})
    folder = Folder(path)
    folder.write_plan(Plan(header, lambda: iter(trials)))
    events: list[Recorded] = [Session(began, path.name, "boot", hashes.of_file(folder.plan), up=0)]
    t = began
    for trial, report in zip(trials, reports, strict=False):
        out = f"{trial.place}/a1"
        events.append(Begin(t, trial.identity, trial.replicate, trial.number, out, up=t - began))
        place = path / out
        place.mkdir(parents=True)
        for step in trial.steps:
            events.append(Start(t, step.name, out, up=t - began))
            t += 3.0 if step.reader else 0.1
            events.append(End(t, step.name, out, 0, up=t - began))
            (place / f"{step.name}.out").write_bytes(b"0\n" if step.expect else b"")
            (place / f"{step.name}.err").write_bytes(b"")
        (place / "fio.json").write_bytes(report)
        events.append(Commit(t, trial.identity, trial.replicate, out, hashes.of_directory(place), up=t - began))
    numbered = enumerate([*events, Finish(t, up=t - began)], 1)
    folder.journal.write_bytes(b"".join(encode(event, number) for number, event in numbered))


def generate(root: Path, count: int, runs: int) -> None:
    """All the run folders."""
    report, jobs = document(root)
    for n in range(runs):
        numbers = range(n * count // runs, (n + 1) * count // runs)
        write_run(root / "runs" / f"bench-{n:04d}", [trial(i, jobs) for i in numbers], repeat(report), 1.79e9 + n * 1e5)


def main() -> int:
    """Generate, ingest, print."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    runs = int(sys.argv[2]) if len(sys.argv) > 2 else 10
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        writer = multiprocessing.get_context("spawn").Process(target=generate, args=(root, count, runs))
        writer.start()
        writer.join()
        command = measure.Command(measure.zlang("ingest", "runs"), root)
        first, again = measure.cost(command), measure.cost(command)
        bare = measure.cost(measure.Command([sys.executable, str(BARE), "runs", "bare.duckdb"], root))
        differing = differences(root / "results.duckdb", root / "bare.duckdb")
        parsing = parsed(root / "runs")
        rows = run_query(root / "results.duckdb", "SELECT sum(valid), sum(1) FROM runs").rows
    if rows != ((count, runs),):
        sys.exit(f"of {count:,} documents in {runs} runs, these count: {rows}")
    print(f"{count:,} documents in {first.wall:.2f} s: {count / first.cpu:,.0f} per CPU-s")
    if differing:
        print(f"{differing:,} rows are not those of {BARE.name}")
    cpu = 1000 * first.cpu / count
    missed = measure.verdict(
        [
            measure.Check("ingest, CPU per document", cpu, "ms", "asked for", 1000 / RATE),
            measure.Check("ingest, CPU per document", cpu, "ms", "json.loads alone", parsing, None),
            measure.Check("ingest, CPU per document", cpu, "ms", BARE.name, 1000 * bare.cpu / count, None),
            measure.Check("ingest again, nothing changed, CPU", again.cpu, "s", "the first time", first.cpu, 0.3),
            measure.Check("ingest, memory of its largest process", first.peak, "MiB", "asked for", MEMORY),
        ]
    )
    return 1 if differing else missed


def differences(database: Path, bare: Path) -> int:
    """The number of metrics and histograms that only one of two databases has."""
    tables = {
        ("all_metrics", "bare.metrics"): "run, trial, replicate, metric, value",
        ("histograms", "bare.histograms"): "run, trial, replicate, metric, total, hash(ns), hash(counts)",
    }
    count = 0
    with duckdb.connect(database, read_only=True) as connection:
        connection.execute(f"ATTACH '{bare}' AS bare (READ_ONLY)")
        for names, columns in tables.items():
            for table, other_table in (names, names[::-1]):
                only = f"SELECT {columns} FROM {table} EXCEPT ALL SELECT {columns} FROM {other_table}"
                count += connection.sql(f"SELECT count(*) FROM ({only})").fetchall()[0][0]
    return count


def parsed(runs: Path) -> float:
    """Milliseconds of CPU that it takes to read and parse a document and do nothing with it."""
    paths = [path for path, _ in zip(runs.glob("*/trials/*/*/a1/fio.json"), range(1000), strict=False)]
    cpu = time.process_time()
    for path in paths:
        json.loads(path.read_bytes())
    return 1000 * (time.process_time() - cpu) / len(paths)


if __name__ == "__main__":
    measure.show_help(__doc__)
    sys.exit(main())
