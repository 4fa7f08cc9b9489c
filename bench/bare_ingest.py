"""The least that `zlang ingest` could do: the same rows from the folders that `ingest.py` writes, and nothing else.

In: run folders. Out: a database with their trials, metrics, histograms and commands. Every file is read and hashed, as
in zlang. Nothing is checked but the hash: plan, journal and report are taken as they are.
Usage: python bench/bare_ingest.py RUNS DATABASE
"""

from __future__ import annotations

import hashlib
import os
import sys
import tempfile
from pathlib import Path
from typing import Any, BinaryIO

import duckdb
import measure
import orjson

TYPES = {bool: "BOOLEAN", int: "DOUBLE", float: "DOUBLE", str: "VARCHAR", list: "BIGINT[]"}
WHOLE = {"replicate", "number", "position", "block", "whole_plot", "rc", "total", "bs", "iodepth"}
"""The columns with whole numbers."""
PERCENTILES = {"p50": "50.000000", "p95": "95.000000", "p99": "99.000000", "p999": "99.900000"}
RATES = {"iops": "iops", "bw": "bw_bytes", "bytes": "io_bytes", "ios": "total_ios"}
BUFFER = 1 << 18


class Rows:
    """Rows of several tables as JSON lines in a directory; the first row of a table has all of its columns."""

    def __init__(self, directory: str) -> None:
        self.directory = directory
        self.files: dict[str, BinaryIO] = {}
        self.first: dict[str, dict[str, Any]] = {}

    def add(self, table: str, row: dict[str, Any]) -> None:
        """Write a row."""
        if table not in self.files:
            self.files[table] = Path(self.directory, table).open("wb", buffering=BUFFER)  # noqa: SIM115 - `load` closes it
            self.first[table] = row
        self.files[table].write(orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE))

    def load(self, connection: duckdb.DuckDBPyConnection) -> None:
        """Make the tables."""
        for table, file in self.files.items():
            file.close()
            columns = {name: "BIGINT" if name in WHOLE else TYPES[type(v)] for name, v in self.first[table].items()}
            source = f"read_json('{file.name}', format = 'newline_delimited', columns = {columns})"
            connection.execute(f"CREATE TABLE {table} AS FROM {source}")


def main() -> int:
    """Read the folders, fill the database."""
    with tempfile.TemporaryDirectory() as name:
        rows = Rows(name)
        for run in sorted(Path(sys.argv[1]).iterdir()):
            read_run(run, rows)
        connection = duckdb.connect(sys.argv[2])
        connection.execute("SET threads = 2")
        rows.load(connection)
        columns = list(rows.first["trials"])
        metrics = ", ".join(columns[columns.index("elapsed") + 1 :])
        connection.execute(
            "CREATE TABLE metrics AS SELECT run, experiment, trial, replicate, valid, metric, value "
            f"FROM trials UNPIVOT (value FOR metric IN ({metrics}))"
        )
        connection.close()
    return 0


def read_run(run: Path, rows: Rows) -> None:
    """Add the rows of a run."""
    commands: dict[str, list[dict[str, Any]]] = {}
    hashes: dict[str, str] = {}
    with (run / "journal.jsonl").open("rb") as journal:
        for line in journal:
            event = orjson.loads(line)
            if event["event"] in {"start", "end"}:
                commands.setdefault(event["out"], []).append(event)
            elif event["event"] == "commit":
                hashes[event["out"]] = event["files"]
    with (run / "plan.jsonl").open("rb") as plan:
        next(plan)  # the header
        for position, line in enumerate(plan, 1):
            trial = orjson.loads(line)["trial"]
            own = {"run": run.name, "experiment": "bench", "trial": trial["identity"], "replicate": trial["replicate"]}
            out = f"trials/{own['trial']}/{own['replicate']}/a1"
            digest, files = read_directory(f"{run}/{out}")
            if digest != hashes[out]:
                sys.exit(f"{out} was changed")
            events = commands[out]
            for start, end, step in zip(events[::2], events[1::2], trial["steps"], strict=True):
                took = end["up"] - start["up"]
                row = {**own, "out": out, "step": step["name"], "action": step["action"], "why": step["why"]}
                rows.add("steps", {**row, "started": start["t"], "elapsed": took, "rc": end["rc"]})
            row = {**own, "number": trial["number"], "position": position, "block": trial["block"]}
            row |= {"whole_plot": trial["whole_plot"], "cache": trial["cache"], "valid": True, **trial["factors"]}
            row |= {"cache_evidence": files["cold.out"].decode(), "started": events[0]["t"], "elapsed": took}
            (job,) = orjson.loads(files["fio.json"])["jobs"]
            rows.add("trials", {**row, **metrics_of(job)})
            for metric, bins in histograms_of(job):
                ns, counts = [*map(int, bins)], [*bins.values()]
                held = {"valid": True, "metric": metric, "total": sum(counts), "ns": ns, "counts": counts}
                rows.add("histograms", {**own, **held})


def metrics_of(job: dict[str, Any]) -> dict[str, float]:
    """The metrics of the only job of a report."""
    metrics: dict[str, float] = {}
    longest = 0
    for direction in ("read", "write"):
        part = job[direction]
        if part["io_bytes"]:
            longest = max(longest, part["runtime"])
            metrics |= {f"{direction}_{name}": part[key] for name, key in RATES.items()}
            metrics[f"{direction}_runtime"] = part["runtime"] / 1000
            for kind in ("clat", "lat"):
                timed = part[f"{kind}_ns"]
                metrics[f"{direction}_{kind}_mean"], metrics[f"{direction}_{kind}_max"] = timed["mean"], timed["max"]
            percentile = part["clat_ns"]["percentile"]
            metrics |= {f"{direction}_clat_{name}": percentile[key] for name, key in PERCENTILES.items()}
    metrics["fio_runtime"] = longest / 1000
    weight = job["job_runtime"]  # that of each job in the mean of several, which rounds
    metrics |= {name: job[name] * weight / weight for name in ("usr_cpu", "sys_cpu")}
    return metrics | {name: job[name] for name in ("ctx", "majf", "minf")}


def histograms_of(job: dict[str, Any]) -> list[tuple[str, dict[str, int]]]:
    """The histograms of the only job of a report."""
    parts = [(f"{direction}_clat", job[direction]["clat_ns"]) for direction in ("read", "write")]
    return [(metric, timed["bins"]) for metric, timed in parts if timed.get("bins")]


def read_directory(directory: str) -> tuple[str, dict[str, bytes]]:
    """The hash of the files in a directory, as in the journal, and their contents."""
    files = {}
    with os.scandir(directory) as entries:
        for entry in entries:
            length = entry.stat(follow_symlinks=False).st_size
            files[entry.name] = content(entry.path, length) if length else b""
    lines = sorted(f"{hashlib.sha256(data).hexdigest()}  ./{name}\n" for name, data in files.items())
    return f"sha256-{hashlib.sha256(''.join(lines).encode()).hexdigest()}", files


def content(path: str, length: int) -> bytes:
    """The content of a file."""
    file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.read(file, length)
    finally:
        os.close(file)


if __name__ == "__main__":
    measure.show_help(__doc__)
    sys.exit(main())
