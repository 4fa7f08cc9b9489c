"""Past durations of steps on this machine, read from the database; plans are estimated from them.

Rules: a machine is recognised by its kernel and its memory, from the facts of a run. A duration is the median over the
steps that succeeded. While a database is unchanged, it is opened only once: opening it takes longer than a plan.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

from zlang.hints import TYPE_CHECKING, Any
from zlang.plan.estimate import Past
from zlang.run import child_process, machine, status_cache

if TYPE_CHECKING:
    from zlang.store.query import Result

_LEAST = 16 << 20
"""Bytes: what is laid out below that says little of a bandwidth."""
_HERE = """
    WITH here AS (
        SELECT k.run FROM main.facts k JOIN main.facts m USING (run)
        WHERE k.name = 'kernel' AND k.value = $kernel
        AND m.name = 'memory' AND regexp_extract(m.value, 'MemTotal: *([0-9]+)', 1) = $memory
    ), done AS (
        SELECT *, coalesce(trial, nullif(regexp_extract("out", '^setups/([^/]+)/', 1), ''), 'facts') AS owner
        FROM main.steps WHERE rc = 0 AND elapsed IS NOT NULL AND run IN (FROM here)
    )
"""
_OWN = _HERE + "SELECT owner, step, median(elapsed) FROM done WHERE \"action\" <> 'collect' GROUP BY ALL"
_BY_STEP = _HERE + (
    "SELECT step, median(elapsed) FROM done WHERE \"action\" NOT IN ('collect', 'measure') "
    "AND written IS NULL GROUP BY ALL"
)
_RATE = _HERE + (
    "SELECT median(rate) FROM (SELECT max(written) / sum(elapsed) AS rate FROM done "
    'WHERE "action" = \'prepare\' AND written >= $least GROUP BY run, "out")'
)
_WRITES = _HERE + (
    'SELECT trial, median(value) FROM main.metrics SEMI JOIN (SELECT experiment, name AS metric FROM main."columns" '
    "WHERE means = 'write.throughput') USING (experiment, metric) WHERE run IN (FROM here) GROUP BY ALL"
)


_READ_BY = ("zlang.store",)
"""The package whose code determines the durations."""


def load(db: Path) -> Past:
    """The durations of steps on this machine, saved while the database is unchanged. Raises RunError."""
    has_log = db.with_name(f"{db.name}.wal").exists()  # DuckDB reads it as well
    if not has_log and (saved := status_cache.load(db, _READ_BY)) is not None:
        answer = json.loads(saved)
        if answer["machine"] == _this_machine():
            return _past(answer)
    snapshot = None if has_log else status_cache.describe(db)
    past = child_process.call(
        lambda: read(db, machine.answer("uname -srvm"), machine.memory()),
        f"reading {db}",
    )
    if snapshot is not None:
        status_cache.save(db, snapshot, json.dumps(_as_dict(past)), _READ_BY)
    return past


def _this_machine() -> list[str | int]:
    """The kernel and the amount of memory, without the start of another process."""
    system = os.uname()
    return [system.sysname, system.release, system.version, system.machine, os.sysconf("SC_PHYS_PAGES")]


def _as_dict(past: Past) -> dict[str, Any]:
    seconds: dict[str, dict[str, float]] = {}
    for (owner, step), took in past.seconds.items():
        seconds.setdefault(owner, {})[step] = took
    of_machine = {"machine": _this_machine(), "seconds": seconds}
    return {**of_machine, "by_step": past.by_step, "rate": past.rate, "writes": past.writes}


def _past(answer: dict[str, Any]) -> Past:
    seconds = {(owner, step): took for owner, steps in answer["seconds"].items() for step, took in steps.items()}
    return Past(seconds, answer["by_step"], answer["rate"], answer["writes"])


def read(db: Path, kernel: str, memory: str) -> Past:
    """Read the durations of steps on a machine. Raises RunError."""
    from zlang.store.query import session

    here = {"kernel": kernel, "memory": memory}

    with session(db) as requested:

        def rows(sql: str, **more: object) -> Result:
            return requested.ask(sql, {**here, **more})

        own = {(str(owner), str(step)): float(str(took)) for owner, step, took in rows(_OWN).rows}
        by_step = {str(step): float(str(took)) for step, took in rows(_BY_STEP).rows}
        writes = {str(trial): float(str(rate)) for trial, rate in rows(_WRITES).rows}
        ((rate,),) = rows(_RATE, least=_LEAST).rows
        return Past(own, by_step, None if rate is None else float(str(rate)), writes)
