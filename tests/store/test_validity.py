"""Check that the database holds each reason why a trial does not count, and that `trials` has only those that do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import orjson
from run_folders import MakeRun, RunBuilder

from zlang.plan.plan import Action, Reader, Step
from zlang.run.events import Begin, Interrupt
from zlang.store.ingest import ingest
from zlang.store.query import run_query, session

REPORT = (Path(__file__).parent / "fio.json").read_bytes()
LEVELS = {"bs": 4096, "iodepth": 1}


def report(**changes: object) -> bytes:
    """Return the report with its job changed."""
    document = orjson.loads(REPORT)
    document["jobs"][0].update(changes)
    return orjson.dumps(document, option=orjson.OPT_INDENT_2)


def measured(run: RunBuilder, name: str, printed: bytes = REPORT, resident: str = "0") -> str:
    run.measured(name, 1, LEVELS, printed, artefact="fio.json", resident=resident)
    return f"trials/{name}/1/a1"


def looked_at(run: RunBuilder, name: str, step: Step) -> str:
    """Create a trial with an additional step, which has been carried out."""
    trial = run.trial(name, 1, LEVELS)
    run.trials[name, 1] = replace(trial, steps=(*trial.steps, step))
    return measured(run, name)


def not_in_force(run: RunBuilder) -> None:
    step = Step("property-pool", Action.VERIFY, "zfs get", "compression is lz4", 60, expect="lz4")
    run.write(f"{looked_at(run, 'setting', step)}/property-pool.out", "off\n")


def throttled(run: RunBuilder) -> None:
    reader = Reader("throttling", "after.out", {"before": "before.out"})
    out = looked_at(run, "throttled", Step("held", Action.COLLECT, "look", "was it held back", 60, reader=reader))
    run.write(f"{out}/before.out", "@ 1.5\n/sys/fs/cgroup/cpu.stat 1\n")
    run.write(f"{out}/after.out", "@ 9.5\n/sys/fs/cgroup/cpu.stat 3\n")


def too_short(run: RunBuilder) -> None:
    long = Reader("fio", "fio.json", {"jobs": 1, "runtime": 30})
    trial = run.trial("short", 1, LEVELS)
    run.trials["short", 1] = replace(trial, steps=(*trial.steps[:-1], replace(trial.steps[-1], reader=long)))
    measured(run, "short")


def interrupted(run: RunBuilder) -> None:
    trial = run.trial("interrupted", 1, LEVELS)
    run.events += [Begin(run.tick(), "interrupted", 1, trial.number, f"{trial.place}/a1"), Interrupt(run.tick())]


REASONS: dict[str, tuple[Callable[[RunBuilder], object], str]] = {
    "good": (lambda run: measured(run, "good"), ""),
    "warm": (lambda run: measured(run, "warm", resident="8192"), "cache not cold: 8192 bytes resident"),
    "setting": (not_in_force, "property-pool: `off`, not `lz4`"),
    "throttled": (throttled, "throttled: the cgroup's share of processors was used up 2 times"),
    "short": (too_short, "fio: job mixed ran for 3.001 s, not 30 s"),
    "error": (
        lambda run: measured(run, "error", report(error=28)),
        "fio: No space left on device (job mixed: error 28)",
    ),
    "torn": (lambda run: measured(run, "torn", REPORT[:9000]), "fio: fio.json is inco"),
    "failed": (lambda run: run.failed("failed", 1, LEVELS, "fio: bad option", rc=1), "measure: fio: bad option"),
    "interrupted": (interrupted, "interrupted: it started and did not finish"),
}


def test_each_reason_is_stored_and_only_valid_trials_are_shown(make_run: MakeRun, runs: Path, db: Path) -> None:
    run = make_run(reader=Reader("fio", "fio.json", {"jobs": 1, "runtime": 3}))
    for make, _ in REASONS.values():
        make(run)
    run.done()
    ingest(runs, db)
    reasons = {str(trial): str(why) for trial, why in run_query(db, "select trial, why_not from all_trials").rows}
    assert set(reasons) == set(REASONS)
    beginnings = {name: reasons[name][: len(why)] for name, (_, why) in REASONS.items()}
    assert beginnings == {name: why for name, (_, why) in REASONS.items()}
    assert run_query(db, "select trial from trials union select trial from metrics").rows == (("good",),)
    assert run_query(db, "select distinct trial from latency").rows == (("good",),)
    assert run_query(db, "select valid, invalid from runs").rows == ((1, len(REASONS) - 1),)
    assert reasons["good"] == ""


def test_questions_are_answered_while_a_run_goes_on_and_is_taken_in(make_run: MakeRun, runs: Path, db: Path) -> None:
    run = make_run(reader=Reader("fio", "fio.json", {"jobs": 1, "runtime": 3}), finished=False)
    measured(run, "first")
    run.done()
    ingest(runs, db)
    with session(db) as before:
        measured(run, "second")
        run.done()
        with (run.path / "journal.jsonl").open("ab") as journal:
            journal.write(b'{"t":1790000')  # the line that is being written
        ingest(runs, db)
        assert before.ask("select count(*) from trials").rows == ((1,),)
        assert run_query(db, "select count(*) from trials").rows == ((2,),)
