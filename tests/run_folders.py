"""Write run folders by hand as a runner would leave them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import orjson

from zlang.check.questions import Clause, Expectation, Plot, Search, Table, Until
from zlang.metrics import Metric
from zlang.plan.plan import Action, Factor, Finding, Header, Plan, Reader, Scalar, Setup, Step, Trial
from zlang.readers.reading import Histogram, Judgement, Sample
from zlang.run.events import Begin, Commit, End, Fail, Finish, Recorded, Session, Start
from zlang.run.folder import Folder
from zlang.run.journal import encode


def factor(name: str, type_: str, path: str = "", levels: tuple[Scalar, ...] = ()) -> Factor:
    """Create a factor; its levels matter to ingest only if they are words."""
    return Factor(name, path or f"rand.{name}", type_, levels, len(levels))


FACTORS = (factor("bs", "size"), factor("iodepth", "count"))


@dataclass
class RunBuilder:
    """One run folder: trials are added in the order in which they are carried out."""

    path: Path
    experiment: str = "quickstart"
    factors: tuple[Factor, ...] = FACTORS
    began: float = 1_790_000_000.0
    facts: Mapping[str, str] = field(default_factory=dict)
    machines: Sequence[str] = ()
    setups: tuple[Setup, ...] = ()
    clauses: tuple[Clause | Search | Until, ...] = ()
    findings: tuple[Finding, ...] = ()
    metrics: tuple[Metric, ...] = ()
    sources: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping[str, str] = field(default_factory=dict)
    title: str = "A title"
    finished: bool = True
    reader: Reader = field(default_factory=lambda: Reader("shell", "measure.out", {}))
    traits: Mapping[str, Scalar] = field(default_factory=dict)
    host: str = ""
    trials: dict[tuple[str, int], Trial] = field(default_factory=dict)
    events: list[Recorded] = field(default_factory=list)
    clock: float = 0.0

    def __post_init__(self) -> None:
        self.clock = self.began
        self.path.mkdir(parents=True)
        self.events.append(Session(self.began, self.path.name, "boot"))

    def tick(self) -> float:
        self.clock += 0.5
        return self.clock

    def trial(self, identity: str, replicate: int, levels: Mapping[str, Scalar]) -> Trial:
        """Return the planned trial, which is added at its first use."""
        key = (identity, replicate)
        if key not in self.trials:
            verify = Step("cold", Action.VERIFY, "fincore f", "the cache is cold", 60, expect="0")
            measure = Step("measure", Action.MEASURE, "measure it", "the measurement", 60, reader=self.reader)
            number = len(self.trials) + 1
            steps = (verify, measure)
            point = (number, identity, replicate, 1, levels, "cold", "cold", (), (), steps)
            self.trials[key] = Trial(*point, self.host, traits=self.traits)
        return self.trials[key]

    def measured(
        self,
        identity: str,
        replicate: int,
        levels: Mapping[str, Scalar],
        printed: str | bytes,
        *,
        resident: str = "0",
        attempt: str = "a1",
        artefact: str = "measure.out",
    ) -> RunBuilder:
        """Add a trial that was carried out to its end."""
        trial = self.trial(identity, replicate, levels)
        out = f"{trial.place}/{attempt}"
        self._begin(trial, out)
        self.write(f"{out}/cold.out", resident + "\n")
        self.write(f"{out}/{artefact}", printed)
        for step in trial.steps:
            self.ran(step.name, out, 0)
        self.events.append(Commit(self.tick(), identity, replicate, out))
        return self

    def failed(
        self,
        identity: str,
        replicate: int,
        levels: Mapping[str, Scalar],
        message: str,
        *,
        rc: int = 1,
        attempt: str = "a1",
    ) -> RunBuilder:
        """Add a trial whose measurement failed with this message."""
        trial = self.trial(identity, replicate, levels)
        out = f"{trial.place}/{attempt}"
        self._begin(trial, out)
        self.write(f"{out}/measure.err", message)
        self.ran("measure", out, rc)
        self.events.append(Fail(self.tick(), identity, replicate, out, "measure"))
        return self

    def ran(self, step: str, out: str, rc: int) -> None:
        self.events.append(Start(self.tick(), step, out))
        self.events.append(End(self.tick(), step, out, rc))

    def write(self, name: str, content: str | bytes) -> None:
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)

    def _begin(self, trial: Trial, out: str) -> None:
        self.events.append(Begin(self.tick(), trial.identity, trial.replicate, trial.number, out))

    def done(self) -> Path:
        """Write plan, facts and journal."""
        facts = tuple(Step(name, Action.FACT, name, "", 10) for name in self.facts)
        for name, text in self.facts.items():
            self.write(f"facts/{name}.out", text)
        header = Header(
            experiment=self.experiment, title=self.title, plan="0" * 16, seed=1,
            points=len({i for i, _ in self.trials}), repeat=2, trials=len(self.trials), factors=self.factors,
            sources=self.sources, facts=facts, machines={name: {} for name in self.machines},
            tools={"fio": "3.33"}, findings=self.findings, metrics=self.metrics, settings=self.settings,
            expectations=tuple(clause for clause in self.clauses if isinstance(clause, Expectation)),
            tables=tuple(clause for clause in self.clauses if isinstance(clause, Table)),
            plots=tuple(clause for clause in self.clauses if isinstance(clause, Plot)),
            until=next((clause for clause in self.clauses if isinstance(clause, Until)), None),
            search=next((clause for clause in self.clauses if isinstance(clause, Search)), None),
        )  # fmt: skip
        items: list[Setup | Trial] = [*self.setups, *self.trials.values()]
        Folder(self.path).write_plan(Plan(header, lambda: iter(items)))
        if self.finished:
            self.events.append(Finish(self.tick()))
        (self.path / "journal.jsonl").write_bytes(
            b"".join(encode(event, number) for number, event in enumerate(self.events, 1))
        )
        return self.path


MakeRun = Callable[..., RunBuilder]


def judged_by_what_was_printed(trial: Trial, out: Path, window: tuple[float, float] | None) -> Judgement:
    """Replace the readers: the JSON printed by the measurement is the reading."""
    assert window is None or window[0] < window[1]
    printed = orjson.loads((out / "measure.out").read_bytes())
    resident = (out / "cold.out").read_text().strip()
    problems = [f"cache not cold: {resident} bytes resident"] if resident != "0" else []
    problems += printed.get("problems", ())
    return Judgement(
        valid=not problems,
        why_not="; ".join(problems),
        cache_state="not cold" if resident != "0" else "cold",
        cache_evidence=f"{resident} bytes resident",
        metrics={k: float(v) for k, v in printed.get("metrics", {}).items()},
        latency=tuple(
            Histogram(metric, {int(ns): n for ns, n in bins.items()}) for metric, bins in printed.get("latency", ())
        ),
        samples=tuple(Sample(*s) for s in printed.get("samples", ())),
        notes=tuple(printed.get("notes", ())),
        window=window,
    )
