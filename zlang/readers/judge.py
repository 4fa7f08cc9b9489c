"""The judgement whether a trial that was carried out is valid.

In: the trial, the directory of its attempt, and the time of the measurement. Out: a `Judgement`.
Rule: a trial is valid only if every claim was checked and held, and every reader except those of collectors found all
requested values. A trial that a person set up and measured without zlang is valid unchecked, with a note. If a
collector failed, its samples are lost, but the measurement stays valid, with a note. Samples of collectors are cut to
the time in which the load was measured, without start and ramp; fio knows this time better than the journal.

A cold trial must read its data from devices during the measurement, whatever the check of its caches found before. At
least half of the data that no cache can have held must come from devices. The bytes from devices are those that the
kernel counts for the load, plus those that resources with a cache of their own count (`COUNTED`).

A `VERIFY` step checks the caches, unless its name begins with `property`, or the protocol makes no claim about them. A
cache check prints the number of resident bytes, and expects 0 or the whole size; any other output is quoted as it is. A
state that was not checked is not accepted, unless a person confirmed it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from zlang.errors import reason_of
from zlang.files import Place
from zlang.frozen import replace
from zlang.plan.plan import ALONE, COUNTED, EACH, Action, Fetch, Reader, Step, Trial
from zlang.readers import outside, shell, streams
from zlang.readers.reading import Histogram, Judgement, Phase, Reading, Sample, StreamReading, Window, text_of
from zlang.readers.registry import READERS

AS_IS = "as_is"
_LEAST_FETCHED = 0.5
_MOST_TEXT = 120


def judge(trial: Trial, out: Place, window: Window | None) -> Judgement:
    """Check the claims, read every artefact, and decide whether the trial is valid."""
    claims = [step for step in trial.steps if step.action is Action.VERIFY and step.expect is not None]
    of_cache = [step for step in claims if trial.cache_state != AS_IS and not step.name.startswith("property")]
    state, evidence, why_not = _cache(trial, out, of_cache)
    failed, notes = _claims(trial, out, [step for step in claims if step not in of_cache])
    collected = _Collected(trial, [*why_not, *failed], notes)
    ahead = _clocks_of_collectors(trial, out)
    has_several = len({s.host for s in trial.steps if s.action in {Action.COLLECT, Action.MEASURE}}) > 1
    of_load = window
    # Collectors come last: they are cut to the period in which the load was measured.
    for step in sorted(trial.steps, key=lambda step: step.action is Action.COLLECT):
        if step.reader is None:
            continue
        watches = step.action is Action.COLLECT
        reading = (
            _read_by_clock(step, out, of_load, ahead.get(step.name, 0.0), step.host if has_several else "")
            if watches or EACH in step.reader.args
            else _read(step, out, window)
        )
        collected.add(step, step.reader, reading)
        if collected.measured:
            of_load = _clip_to_measurement(window, collected.measured)
        against = [] if watches or trial.fetch is None else list(_cached(trial, trial.fetch, reading, out))
        if against:
            state = f"not {trial.cache_state}"
            collected.why_not += against
    collected.add_together()
    return Judgement(
        valid=not collected.why_not,
        why_not="; ".join(collected.why_not),
        cache_state=state,
        cache_evidence=evidence,
        metrics=collected.metrics,
        latency=tuple(collected.latency),
        samples=tuple(collected.samples),
        notes=tuple(collected.notes),
        window=of_load,
        streams=tuple(collected.streams),
        phases=tuple(collected.phases),
        ran=collected.ran,
    )


class _Collected:
    """The combined readings of a trial's steps; `why_not` and `notes` begin with the results of its checks."""

    def __init__(self, trial: Trial, why_not: list[str], notes: list[str]) -> None:
        self.why_not, self.notes = why_not, notes
        self.metrics: dict[str, float] = {}
        self.latency: list[Histogram] = []
        self.samples: list[Sample] = []
        self.measured: list[Window] = []
        """The periods in which workloads were measured."""
        self.streams: list[StreamReading] = []
        self.phases: list[Phase] = []
        self.ran: Window | None = None
        self._alone = trial.traits.get(ALONE)
        self._of_machines: dict[object, list[tuple[Step, Reading]]] = {}
        self._names: dict[object, dict[str, str]] = {}
        """The names in the trial of the metrics of a step, or of a collector on each of several machines."""
        self._taken: set[str] = set()

    def add(self, step: Step, reader: Reader, reading: Reading) -> None:
        """Add the reading of a step. A collector with problems does not make the trial invalid."""
        each = reader.args.get(EACH)
        names = self._names.setdefault(step.name if each is None else each, {})
        if not names and self._taken.isdisjoint(reading.metrics):
            names.update(zip(reading.metrics, reading.metrics, strict=True))
        for name in reading.metrics.keys() - names.keys():
            names[name] = f"{_without_host(step)}_{name}" if name in self._taken else name
        self._taken.update(names.values())
        if each is None:
            self.metrics.update(_renamed(reading.metrics, names))
        else:
            self._of_machines.setdefault(each, []).append((step, reading))
        if self._alone and step.action is Action.MEASURE:
            self.metrics |= {f"{self._alone}.{name}": value for name, value in reading.metrics.items()}
        self.latency += reading.latency
        self.samples += reading.samples
        self.streams += reading.streams
        self.phases += reading.phases
        self.measured += [reading.window] if reading.window is not None else []
        self.ran = reading.ran or self.ran
        place = f" on {step.host}" if EACH in reader.args else ""
        problems = [f"{reader.name}{place}: {problem}" for problem in reading.problems]
        if step.action is Action.COLLECT:
            self.notes += problems
        else:
            self.why_not += problems
        self.why_not += reading.against

    def add_together(self) -> None:
        """Add the metrics of collectors and rehearsals on several machines: combined, and for each machine."""
        for each, readings in self._of_machines.items():
            together, own = _on_each_machine(readings, self._names[each])
            self.metrics |= together
            self.streams += own


def _on_each_machine(
    readings: Sequence[tuple[Step, Reading]], names: Mapping[str, str]
) -> tuple[dict[str, float], list[StreamReading]]:
    """The metrics of a collector on several machines, combined and for each machine, by their names in the trial."""
    each = [StreamReading("", "", reading.metrics, reading.latency, step.host) for step, reading in readings]
    declared = [m for step, _ in readings if (r := step.reader) for m in streams.metrics_of(r.name, r.args)]
    together = _renamed(streams.together(each, declared), names)
    return together, [reading._replace(metrics=_renamed(reading.metrics, names)) for reading in each]


def _without_host(step: Step) -> str:
    """The name of a step, without the machine name if the step runs on each of several machines."""
    return step.name.replace(f".{step.host}", "") if _is_of_each(step) else step.name


def _is_of_each(step: Step) -> bool:
    """Whether each of several machines has such a step."""
    return step.reader is not None and EACH in step.reader.args


def _renamed(metrics: Mapping[str, float], names: Mapping[str, str]) -> dict[str, float]:
    """The metrics of a step by their names in the trial; if a name is taken, the step's name is added."""
    return {names[name]: value for name, value in metrics.items()}


def _clocks_of_collectors(trial: Trial, out: Place) -> dict[str, float]:
    """The seconds by which the clock of each collector is ahead of that of the measuring machine, by step."""
    if all(step.action is not Action.COLLECT and not _is_of_each(step) for step in trial.steps):
        return {}
    clocks = {name: ahead for name, (ahead, _) in streams.clocks_of(out).items()}
    measuring = [step.name for step in trial.steps if step.action is Action.MEASURE and step.name in clocks]
    return {name: ahead - clocks[measuring[0]] for name, ahead in clocks.items()} if measuring else {}


def _read_by_clock(step: Step, out: Place, window: Window | None, ahead: float, host: str) -> Reading:
    """Read a collector on a machine whose clock is ahead of the measuring machine's, by `ahead` seconds."""
    reading = _read(step, out, window and (window[0] + ahead, window[1] + ahead))
    samples = [sample._replace(t=sample.t - ahead, host=host) for sample in reading.samples] if ahead or host else None
    return reading if samples is None else replace(reading, samples=tuple(samples))


def _clip_to_measurement(window: Window | None, measured: Sequence[Window]) -> Window | None:
    """Clip a measured period to the window of the step: a tool's claim about any other time is not trusted."""
    begin, end = min(a for a, _ in measured), max(b for _, b in measured)
    if window is None:
        return begin, end
    begin, end = max(begin, window[0]), min(end, window[1])
    return (begin, end) if begin < end else window


def _read(step: Step, out: Place, window: Window | None) -> Reading:
    """Read the output of a step. Raises OSError, and ValueError with the file's name if its reader cannot read it."""
    assert step.reader is not None, "BUG: a step without a reader is read"
    try:
        return _read_unchecked(step, step.reader, out, window)
    except (ValueError, TypeError, LookupError, ArithmeticError) as error:
        file = step.reader.artefact or f"the output of {step.name}"
        raise ValueError(f"{file}: {reason_of(error)}") from error


def _read_unchecked(step: Step, reader: Reader, out: Place, window: Window | None) -> Reading:
    if reader.name == streams.NAME:
        return streams.read(READERS, out, reader, step, window)
    read = READERS.get(reader.name)
    if read is None:
        return Reading(problems=("this version of zlang has no such reader",))
    return shell.with_wrappers(read(out, reader, step, window), out, reader, step, window)


def _cache(trial: Trial, out: Place, checks: Sequence[Step]) -> tuple[str, str, list[str]]:
    """The verified state of the cache, the evidence, and the reasons for which it makes the trial invalid."""
    state = trial.cache_state
    if state == AS_IS:
        return AS_IS, "", []
    attested = [step for step in trial.steps if step.action is Action.ASK and step.expect is not None]
    attested = [step for step in attested if not step.name.startswith("property")]
    failed = _by_layer(checks, {step.name: _mismatch(step, out) for step in checks if not _holds(step, out)})
    if (checks or attested) and not failed:
        attestations = [f"attested: {_short(step.why)}" for step in attested]
        shown = _by_layer(checks, {step.name: _evidence(step, out) for step in checks})
        return state, "; ".join([*([shown] if shown else []), *attestations]), []
    evidence = failed or "not checked"
    return f"not {state}", evidence, [f"cache not {state}: {evidence}"]


def _cached(trial: Trial, fetch: Fetch, reading: Reading, out: Place) -> Iterator[str]:
    """The reasons to conclude that data came from a cache during the measurement."""
    if not reading.read:
        return
    counts = {} if reading.fetched is None else {"devices": reading.fetched}
    for step in trial.steps:
        if step.name.startswith(COUNTED) and step.name.endswith("-after"):
            key = step.name.removeprefix(COUNTED).removesuffix("-after")
            before, after = (_text(f"{COUNTED}{key}-{when}", out) or "" for when in ("before", "after"))
            if not (before.isdecimal() and after.isdecimal()):
                yield f"cache not {trial.cache_state}: {key} did not count what was read from it"
                continue
            counts[key] = float(after) - float(before)
    due = min(fetch.share * reading.read, fetch.most)
    for source, count in counts.items():
        least = _LEAST_FETCHED * due
        if count < least:
            came = f"only {max(count, 0):,.0f} of the {reading.read:,.0f} bytes that the workload read came"
            yield f"cache not {trial.cache_state}: {came} from {source}, not at least {least:,.0f}"


def _claims(trial: Trial, out: Place, others: Sequence[Step]) -> tuple[list[str], list[str]]:
    """The other claims that did not hold, and those that were not checked because zlang did not run the trial."""
    if not others:
        return [], []
    is_outside = any(step.reader and step.reader.name == outside.NAME for step in trial.steps)
    unchecked = [step.name for step in others if is_outside and _output(step, out) is None]
    failed = [s for s in others if s.name not in unchecked and not _holds(s, out)]
    return (
        [f"{step.name}: {_quoted(step, out)}" for step in failed],
        [f"measured without zlang, and not checked by it: {', '.join(unchecked)}"] if unchecked else [],
    )


def _holds(step: Step, out: Place) -> bool:
    return step.expect is not None and _output(step, out) == step.expect.strip()


def _output(step: Step, out: Place) -> str | None:
    return _text(step.name, out)


def _text(name: str, out: Place) -> str | None:
    """The output of the step with a name."""
    text = text_of(out / f"{name}.out")
    return None if text is None else text.strip()


def _mismatch(step: Step, out: Place) -> str:
    """Describe a failed cache check: `4096 bytes resident`, with the expected number unless it is 0.

    A check that cannot count bytes prints a sentence, which is quoted.
    """
    output, wanted = _output(step, out), (step.expect or "").strip()
    if output and output.isdecimal():
        return f"{output} bytes resident" + ("" if wanted == "0" else f", not {wanted}")
    return _short(output) if output and wanted == "0" else _quoted(step, out)


def _quoted(step: Step, out: Place) -> str:
    output = _output(step, out)
    if output is None:
        return f"{step.name}.out was not written"
    text, wanted = _differing(output, (step.expect or "").strip())
    text = _short(text) or _short(text_of(out / f"{step.name}.err") or "")
    return f"`{text}`, not `{_short(wanted)}`" if text else f"{step.name} printed nothing"


def _differing(result: str, wanted: str) -> tuple[str, str]:
    """Only the lines that differ, if each claim has its own line."""
    pairs = list(zip(result.splitlines(), wanted.splitlines(), strict=False))
    if len(result.splitlines()) != len(wanted.splitlines()):
        return result, wanted
    unlike = [(pair, other) for pair, other in pairs if pair.strip() != other.strip()]
    return ", ".join(item for item, _ in unlike), ", ".join(other for _, other in unlike)


def _evidence(step: Step, out: Place) -> str:
    text = _output(step, out) or ""
    return f"{text} bytes resident" if text.isdecimal() else _short(", ".join(text.splitlines()))


def _by_layer(checks: Sequence[Step], outputs: Mapping[str, str]) -> str:
    """The text about each cache layer, prefixed with the name of its resource if there are several."""
    several = len(checks) > 1
    return "; ".join(f"{name.partition('-')[2]}: {text}" if several else text for name, text in outputs.items())


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _MOST_TEXT else line[: _MOST_TEXT - 1] + "…"
