"""Past durations of steps on this machine, read from the database; plans are estimated from them.

Rule: a machine is recognised by its kernel and its memory, from the facts of a run. A duration is the median over the
steps that succeeded.
"""

from __future__ import annotations

from pathlib import Path

from zlang.plan.estimate import Past
from zlang.store.query import Result, session

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


def past(db: Path, kernel: str, memory: str) -> Past:
    """The durations of steps on this machine. Raises RunError."""
    here = {"kernel": kernel, "memory": memory}

    with session(db) as requested:

        def rows(sql: str, **more: object) -> Result:
            return requested.ask(sql, {**here, **more})

        own = {(str(owner), str(step)): float(str(took)) for owner, step, took in rows(_OWN).rows}
        by_step = {str(step): float(str(took)) for step, took in rows(_BY_STEP).rows}
        writes = {str(trial): float(str(rate)) for trial, rate in rows(_WRITES).rows}
        ((rate,),) = rows(_RATE, least=_LEAST).rows
        return Past(own, by_step, None if rate is None else float(str(rate)), writes)
