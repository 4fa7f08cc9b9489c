"""The staging of one run folder: rows for its trials, steps, series and facts, and for invalid trials with reasons.

Rule: nothing is dropped silently; of a partly damaged folder, the intact rest is staged.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path

import orjson

from zlang import metrics
from zlang.check import library
from zlang.errors import RunError
from zlang.files import Packed, Place, open_regular
from zlang.frozen import replace
from zlang.hints import TYPE_CHECKING
from zlang.metrics import Metric, in_trials
from zlang.plan.plan import Finding, Header, Setup, Step, Trial
from zlang.plan.state import Make, Walk
from zlang.readers import outside
from zlang.readers.judge import judge
from zlang.readers.reading import Judgement
from zlang.readers.registry import LOG_NAMES
from zlang.run import findings, parallel, sequential
from zlang.run.account import PERHAPS_UNREAD, Account
from zlang.run.run_state import Attempt
from zlang.source import TABLE
from zlang.store import logs, series_rows
from zlang.store.experiment import StoredExperiment
from zlang.store.folders import FolderSource
from zlang.store.staging import Row, StagedLines, Staging, number, numbers

if TYPE_CHECKING:
    from collections.abc import Sequence

    from zlang.check.questions import Clause, Search, Until

BEFORE, AFTER = "before", "after"
"""The stages of a run at which something is found about it."""

Progress = Callable[[str, int, int], None]
"""Told the run's name, how many of its trials were read and how many there are."""

_STRIDE = 100
_FIRST_PART, _PART = 100, 2000
"""Items of a plan that are judged together; the first ones by this process, whose caches its children share."""
_TEXT_LIMIT = 1 << 20
_SAME_TIME = 1e-5
"""Seconds by which two times that are the same differ: wall clocks have no more digits in a float."""


def stage_problem(staging: Staging, run: str, experiment: str | None, text: str, **more: object) -> None:
    """Stage a problem that makes a part of a run invalid."""
    staging.add("problems", {"run": run, "experiment": experiment, "problem": text, **more})


def _declared(header: Header) -> Iterable[Metric]:
    """The metrics that a plan declares; plans of earlier releases declared none and used those of the library."""
    return header.metrics or [metric for declared in library.load().readers.values() for metric in declared]


def _own_metrics(header: Header) -> set[str]:
    """The metrics that only the program declares: queries can name them even if no valid trial has a value."""
    of_library = {metric.name for declared in library.load().readers.values() for metric in in_trials(declared)}
    return {metric.name for metric in in_trials(header.metrics)} - of_library


class RunRows:
    """Stages one run; `done` of its trials were carried out, and `valid` of these are valid."""

    def __init__(self, source: FolderSource, header: Header, experiment: StoredExperiment, staging: Staging) -> None:
        self.run = source.run
        self.folder = source.folder
        self.header = header
        self.experiment = experiment
        self.staging = staging
        self.done = self.valid = 0
        self.columns = experiment.columns.of_run(header.factors, _declared(header))
        self.account = Account(source.folder, judge)
        self.state = self.account.state
        self.attempts = self.state.attempts
        self.positions = self.state.positions()
        self.identities: set[str] = set()
        self.setups: dict[str, Setup] = {}
        self.walks: dict[str, Walk] = {}
        self.makings: dict[tuple[str, str], int] = {}
        self.made_outside = 0
        self.is_read = True
        """Whether nothing has to be read again at the next time."""
        self.sequential = sequential.of(header)
        self.places: dict[str, list[str]] = {}
        for out in self.state.steps:
            self.places.setdefault(out.rpartition("/")[0], []).append(out)
        self.named = {"run": source.run, "experiment": header.experiment}

    def stage(self, items: Iterable[Setup | Trial], progress: Progress | None) -> None:
        """Stage all rows of the run."""
        total = len(self.attempts)
        _ = self.account.is_plan_changed  # computed here, instead of by each child of `parallel`
        for part, damage in _in_parts(items):
            tried: dict[str, Trial] = {}
            for item in part:
                if isinstance(item, Trial) and item.place in self.attempts:
                    tried.setdefault(item.place, item)
            with parallel.results(self._judge, list(tried.values())) as verdicts:
                for item in part:
                    if isinstance(item, Setup):
                        self.setups[item.signature] = item
                        self._steps_of_setup(item)
                    elif self._trial(item, verdicts) and progress and self.done % _STRIDE == 0:
                        progress(self.run, self.done, total)
            if damage is not None:
                self._problem(f"the plan is damaged: {damage}")
        for name in sorted(_own_metrics(self.header)):
            self.columns.metric(name)
        self._stage_remainder()
        if progress:
            progress(self.run, self.done, total)

    def _judge(self, trial: Trial) -> tuple[Judgement | None, str, StagedLines]:
        """The verdict on a trial, and its rows that depend on nothing else: another process makes both.

        The verdict is without what is in these rows, unless it is needed to decide which trials are measured.
        """
        verdict, why_not, output = self.account.verdict_with_output(trial)
        lines = StagedLines()
        attempt = self.state.attempt(trial.place)
        if verdict is not None and attempt is not None:
            own = {**self.named, "trial": trial.identity, "replicate": trial.replicate}
            series_rows.add(lines, own, trial, verdict)
            for log in self._logs(attempt, output):
                lines.add(logs.FILES, {**own, **log})
            if self.sequential is None:
                streams = tuple(stream._replace(latency=()) for stream in verdict.streams)
                verdict = replace(verdict, latency=(), samples=(), streams=streams)
        return verdict, why_not, lines

    def _logs(self, attempt: Attempt, output: Place | None) -> Iterator[Row]:
        """The logs among the files of an attempt; packed files have none."""
        if attempt.is_packed:
            return
        names: Iterable[str] = ()
        if isinstance(output, Packed):
            names = output.files
        else:
            with suppress(OSError):  # the files were removed; the verdict says so
                names = os.listdir(self.folder.path / attempt.out)  # noqa: PTH208 - only the names are needed
        if any(may_be_log(name) for may_be_log in LOG_NAMES for name in names):
            # Its directory is not a link, or there would be no verdict.
            yield from logs.of_attempt(self.folder.path / attempt.out, names)

    def _trial(self, trial: Trial, verdicts: Iterator[tuple[Judgement | None, str, StagedLines]]) -> bool:
        """Stage a trial's steps, and its row if it was carried out: then its verdict is the next one."""
        attempt = self.attempts.pop(trial.place, None)
        self._steps_of_trial(trial, attempt)
        if attempt is None:
            return False
        self.done += 1
        ordered = self.state.reused.get(trial.place, trial)
        window = self.account.window(trial, attempt)
        row: dict[str, object] = {
            "run": self.run,
            "host": trial.host or None,
            "trial": trial.identity,
            "replicate": trial.replicate,
            "number": trial.number,
            "position": self.positions[trial.place],
            "block": ordered.block,
            "whole_plot": ordered.whole_plot,
            "cache": trial.cache,
            "outside": outside.reader_of(trial) is not None,
            "started": attempt.began.t,
            "elapsed": window[1] - window[0] if window else None,
        }
        row.update(self.columns.staged(trial.factors))
        self._stage_traits(trial)
        self._stage_setups_below(trial, attempt.out)
        verdict, why_not, lines = next(verdicts)
        self.staging.take(lines)
        row["valid"], row["why_not"] = not why_not, why_not
        if why_not:
            self._problem(why_not, trial=trial.identity, replicate=trial.replicate)
            self.is_read &= not why_not.startswith(PERHAPS_UNREAD)
        else:
            self.valid += 1
        if verdict is not None:
            self._measured(row, trial, verdict)
        if self.sequential is not None and not attempt.unended:
            self.sequential.learn(trial, verdict, window)
        self.staging.add(self.experiment.table, row)
        return True

    def _stage_setups_below(self, trial: Trial, out: str) -> None:
        """Stage the setups that a trial ran on, with the number of setups made until then."""
        is_run = self.state.has_made or outside.reader_of(trial) is None
        standing = self.state.setups_of_attempts.get(out, {}) if is_run else self._setups_outside(trial)
        there = [signature for signature in trial.setups if signature in self.setups and signature in standing]
        made = [signature for signature in there if self.setups[signature].is_a_unit]
        for depth, signature in enumerate(made, 1):
            row = {**self.named, "trial": trial.identity, "replicate": trial.replicate, "depth": depth}
            self.staging.add("trial_setups", {**row, "signature": signature, "making": standing[signature]})

    def _setups_outside(self, trial: Trial) -> dict[str, int]:
        """The setups of a person who carried out the plan without zlang: the same as a run would make.

        Trials are passed in the order of the plan.
        """
        if any(signature not in self.setups for signature in trial.setups):
            return {}
        walk = self.walks.setdefault(trial.host, Walk())
        for change in walk.enter([self.setups[signature] for signature in trial.setups]):
            if isinstance(change, Make):
                self.made_outside += 1
                self.makings[trial.host, change.setup.key] = self.made_outside
        walk.leave(trial.invalidates)
        return {signature: self.makings[trial.host, self.setups[signature].key] for signature in trial.setups}

    def _stage_traits(self, trial: Trial) -> None:
        """Stage the traits of a point, together with its first trial."""
        if trial.identity in self.identities:
            return
        self.identities.add(trial.identity)
        for name, value in trial.traits.items():
            if isinstance(value, int | float):
                self.staging.add(
                    "traits", {**self.named, "trial": trial.identity, "trait": name, "value": float(value)}
                )

    def _measured(self, row: dict[str, object], trial: Trial, verdict: Judgement) -> None:
        """Stage the metrics of a trial."""
        row["cache_state"], row["cache_evidence"] = verdict.cache_state, verdict.cache_evidence
        if verdict.ran:
            row["elapsed"] = verdict.ran[1] - verdict.ran[0]
        for note in verdict.notes:
            self._problem(note, trial=trial.identity, replicate=trial.replicate)
        measured = dict(verdict.metrics)
        own = row["elapsed"]
        if isinstance(own, float) and abs(measured.get("elapsed", math.inf) - own) < _SAME_TIME:
            del measured["elapsed"]  # the row has it
        row.update(zip(self.columns.codes(tuple(measured)), numbers(measured.values()), strict=True))
        self._streams(row, verdict)

    def _streams(self, row: Row, verdict: Judgement) -> None:
        """Stage the metrics of each of several streams."""
        own = {**self.named, "trial": row["trial"], "replicate": row["replicate"], "valid": verdict.valid}
        for stream in verdict.streams:
            each = {**own, "stream": stream.name or None, "host": stream.host or row["host"]}
            for metric, value in stream.metrics.items():
                if self.columns.has_meaning(metric):
                    self.columns.metric(metric)  # the catalogue lists its meaning even if no trial has a value
                named = {"group": stream.group, "metric": metrics.column(metric)}
                self.staging.add("stream_metrics", {**each, **named, "value": number(value)})

    def _inside(self, out: str) -> Path:
        """The directory that the journal names, within the folder."""
        return self.account.inside(out)

    def _steps_of_trial(self, trial: Trial, attempt: Attempt | None) -> None:
        for out in self.places.pop(trial.place, ()):
            counted = attempt is not None and attempt.out == out
            more = {"trial": trial.identity, "replicate": trial.replicate, "counted": counted}
            self._steps(out, trial.steps, more)

    def _steps_of_setup(self, setup: Setup) -> None:
        for out in self.places.pop(f"setups/{setup.signature}", ()):
            self._steps(
                out, (*setup.make, *setup.unmake), {"written": setup.footprint.written} if setup.footprint else {}
            )

    def _steps(self, out: str, steps: Iterable[Step], more: Row) -> None:
        planned = {s.name: s for s in steps}
        for ran in self.state.steps[out]:
            name = ran.start.step
            step = planned.get(name)
            row = {**self.named, **more, "position": ran.position, "out": out, "step": name}
            row["rc"] = ran.end.rc if ran.end else None
            row["started"], row["elapsed"] = ran.start.t, ran.elapsed
            if step is not None:
                row["action"], row["why"] = step.action, step.why
            self.staging.add("steps", row)

    def _stage_remainder(self) -> None:
        """Stage what belongs to no item of the plan: facts, the run itself, and trials that the plan does not have."""
        for outs in list(self.places.values()):
            for out in outs:
                self._steps(out, self.header.facts, {})
        for attempt in self.attempts.values():
            of_attempt = {"trial": attempt.trial, "replicate": attempt.replicate}
            self._problem("it ran, but the plan does not have it", **of_attempt)
        if self.state.torn:
            self._problem(f"{self.state.torn} damaged lines of the journal were left out")
        for damage in self.account.damage:
            self._problem(damage)
        for fact in self.header.facts:
            with suppress(ValueError):  # a symbolic link, which is not part of the folder
                path = self._inside("facts") / f"{fact.name}.out"
                is_there = path.is_file() and not path.is_symlink()
                if is_there and fact.name not in self.account.changed_facts:
                    self.staging.add("facts", {**self.named, "name": fact.name, "value": _text(path).strip()})
        for tool, version in self.header.tools.items():
            self.staging.add("facts", {**self.named, "name": f"tool {tool}", "value": version})
        self._clauses()
        self._stopping()
        for position, finding in enumerate(self._findings(), 1):
            row = {**self.named, "stage": BEFORE, "position": position, **asdict(finding)}
            self.staging.add("findings", {**row, "hint": finding.hint or None, "allowed": finding.allowed or None})
        for name, text in self.header.sources.items():
            if name.endswith(TABLE):
                self.staging.add("imports", {**self.named, "name": Path(name).stem, "text": text})
        for reuse in self.state.reused.values():
            row = {"run": self.run, "trial": reuse.trial, "replicate": reuse.replicate, "measured_in": reuse.run}
            self.staging.add("reused", row)
        self.staging.add("runs", self._summary())
        self.experiment.newest = max(self.experiment.newest, (self.state.last_session, self.run))

    def _findings(self) -> tuple[Finding, ...]:
        """The findings about the program: those made on the machine of the run, or else those of its plan."""
        try:
            on_machine = findings.load(self.folder.path)
        except RunError as error:
            self._problem(f"only the findings of the plan are known: {error}")
            on_machine = None
        return self.header.findings if on_machine is None else on_machine

    def _clauses(self) -> None:
        """Stage the clauses of the experiment."""
        header = self.header
        requested: dict[str, Sequence[Clause | Until | Search]] = {
            "expect": header.expectations,
            "table": header.tables,
            "plot": header.plots,
            "until": (header.until,) if header.until else (),
            "find": (header.search,) if header.search else (),
        }
        for clause, ones in requested.items():
            for position, item in enumerate(ones, 1):
                row = {**self.named, "clause": clause, "position": position, "title": getattr(item, "title", None)}
                self.staging.add("clauses", {**row, "text": item.text, "definition": orjson.dumps(item).decode()})

    def _stopping(self) -> None:
        """Stage the reasons why the run stopped measuring."""
        if self.sequential is None:
            return
        for stop in self.sequential.stops():
            row = {**self.named, "trial": stop.trial, "why": stop.why, "n": stop.n, "reach": stop.reach}
            self.staging.add("stops", row)
        for search in self.sequential.searches():
            row = {
                **self.named,
                "search": search.search,
                "step": search.step,
                "trial": search.trial,
                "holds": search.holds,
            }
            self.staging.add("searches", {**row, "objective": search.objective, "best": search.is_best})

    def _summary(self) -> Row:
        header, state = self.header, self.state
        return {
            **self.named,
            "title": header.title,
            "plan": header.plan,
            "part": header.part or None,
            # As text: a seed or a count may be beyond 64 bits, which the JSON writer does not take.
            "seed": str(header.seed),
            "points": str(header.points),
            "repeat": str(header.repeat),
            "planned": str(header.trials),
            "done": self.done,
            "valid": self.valid,
            "invalid": self.done - self.valid,
            "skipped": len(state.skipped),
            "started": state.first,
            "last_session": state.last_session,
            "last_event": state.last.t if state.last else None,
            "finished": state.is_finished,
            "sessions": state.sessions,
            "damaged_lines": state.torn + sum(map(len, state.gaps)),
        }

    def _problem(self, text: str, **more: object) -> None:
        stage_problem(self.staging, self.run, self.header.experiment, text, **more)


def _in_parts(items: Iterable[Setup | Trial]) -> Iterator[tuple[list[Setup | Trial], RunError | None]]:
    """The items of a plan in parts, the last one with the error because of which the plan cannot be read further."""
    part: list[Setup | Trial] = []
    size = _FIRST_PART
    try:
        for item in items:
            part.append(item)
            if len(part) == size:
                yield part, None
                part, size = [], _PART
    except RunError as error:
        yield part, error
    else:
        yield part, None


def _text(path: Path) -> str:
    """The output of a command up to a limit, or None."""
    try:
        with open_regular(path) as file:
            return file.read(_TEXT_LIMIT).decode("utf-8", "replace")
    except OSError:
        return ""
