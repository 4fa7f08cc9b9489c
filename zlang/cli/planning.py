"""`zlang plan`: the plan of a program on one screen, as a list, in full, or as a file."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from pathlib import Path

from zlang.cache import by_object
from zlang.check.check import Checked
from zlang.check.program import Experiment
from zlang.cli import checking, defaults, standard_streams, words
from zlang.cli.overview import justified, print_overview
from zlang.cli.render import visible
from zlang.errors import RunError, UsageError, reason_of, suppress, unwritable
from zlang.hints import TYPE_CHECKING
from zlang.pipeline import arming, costs, machines, plans, programs, runs
from zlang.pipeline.plans import Planned
from zlang.plan.plan import LOCAL, Action, Step
from zlang.plan.state import Change, Walk
from zlang.record import Record
from zlang.report import wording
from zlang.text import LAYOUT

if TYPE_CHECKING:
    from zlang.run.reuse import Measured


class View(Record):
    """The view of a plan that the options select; by default the overview."""

    trials: bool = False
    steps: bool = False
    trial: int | None = None
    emit: str | None = None
    out: Path | None = None
    as_json: bool = False

    def require_one(self) -> None:
        """Raise UsageError if several options select a view."""
        if self.out is not None and self.emit is None:
            raise UsageError("choose what to write: add --emit sh, or another format", option="--out")
        views = {
            "--trials": self.trials,
            "--steps": self.steps,
            "--trial": self.trial is not None,
            "--emit": self.emit is not None,
        }
        given = [option for option, is_given in views.items() if is_given]
        if len(given) > 1:
            raise UsageError(f"give only one of {', '.join(given)}")
        if self.as_json and given not in ([], ["--trials"]):
            raise UsageError(f"omit {given[0]}: the JSON has all trials and steps", option="--json")

    @property
    def is_of_one(self) -> bool:
        """Whether the view can show only one experiment."""
        return self.as_json or self.emit is not None or self.trial is not None

    @property
    def is_of_one_machine(self) -> bool:
        """Whether the view is for the machine that carries out the steps."""
        if self.emit is None:
            return False
        from zlang.emit.registry import EMITTERS

        return self.emit not in EMITTERS or not EMITTERS[self.emit].of_all_hosts


OVERVIEW = View()


def plan(
    file: str,
    settings: list[str] | None = None,
    profile: str | None = None,
    experiment: str | None = None,
    seed: int | None = None,
    host: str | None = None,
    order: str | None = None,
    runs_dir: Path = defaults.RUNS,
    db: Path = defaults.DATABASE,
    view: View = OVERVIEW,
    *,
    reach: Sequence[str] = (),
    again: bool = False,
) -> int:
    """Show or write the plan."""
    words.ordered(order)
    overrides = checking.overrides(settings, profile)
    checked = checking.sound(file, overrides)
    experiments = programs.chosen(checked, experiment, is_one=view.is_of_one)
    for number, chosen in enumerate(experiments):
        if len(experiments) > 1:
            heading = f"experiment {chosen.name}\n" if view.trials or view.steps else ""
            print("\n" * bool(number) + heading, end="")
        reached = _reached(checked, chosen, view, host, reach)
        seed_used = plans.DEFAULT_SEED if seed is None else seed
        planned = plans.plan(checked, chosen, seed_used, overrides, host, order, reached)
        measured = dict if again else partial(runs.measured, planned, runs_dir, words.refuse)
        if _show_view(planned, view, db, measured):
            continue
        name = experiment if len(experiments) == 1 else chosen.name
        program = words.program(
            "FILE" if file == checking.STANDARD else file,
            settings,
            profile,
            name,
            seed,
            host,
            order,
            runs=runs_dir,
            again=again,
        )
        print_overview(planned, db, measured(), program, arming.own_commands(checked.program))
    return 0


def _reached(
    checked: Checked, experiment: Experiment, view: View, host: str | None, reach: Sequence[str]
) -> Iterable[str]:
    """The hosts that the plan of a view includes besides this machine."""
    names = machines.hosts_of(experiment) if view.emit == "sh" and view.out is not None and host is None else []
    if len(names) > 1:  # each host gets its own script
        return names
    return machines.reached(checked, experiment, reach) if host is None and not view.is_of_one_machine else ()


def _show_view(planned: Planned, view: View, db: Path, measured: Callable[[], Mapping[str, Measured] | None]) -> bool:
    """Show a plan in the requested form; False if that is the overview."""
    if view.as_json or view.emit is not None:
        standard_streams.use_utf8()
    if view.trial is not None:
        _in_full(planned, view.trial)
    elif view.trials and view.as_json:
        _write(_trial_lines(planned))
    elif view.emit is not None:
        _emit(planned, view.emit, view.out)
    elif view.as_json:
        _put(plans.lines(planned, costs.remaining_estimate(planned, db, measured())), "json", view.out)
    elif view.trials:
        _write(_trial_table(planned))
    elif view.steps:
        if not (sys.stdout.isatty() and plans.page(_steps(planned))):
            _write(_steps(planned))
    else:
        return False
    return True


def _write(pieces: Iterator[str]) -> None:
    """Print in large pieces: a plan may have millions of lines."""
    write = sys.stdout.write
    while batch := "".join(islice(pieces, 1024)):
        write(batch)


# -- one trial


def _in_full(planned: Planned, number: int) -> None:
    """Print a trial in full: its levels, its place in the order, its setups, and every command."""
    header = planned.plan.header
    if not 1 <= number <= header.trials:
        raise UsageError(f"the plan has trials 1 to {header.trials:,}", option="--trial")
    trial, setups = plans.trial(planned, number)
    print(f"trial {trial.number:,} of {header.trials:,}: {trial.identity}, replicate {trial.replicate}")
    plot = f", whole plot {trial.whole_plot:,}" if trial.whole_plot else ""
    print(f"  block {trial.block:,}{plot}; caches: {trial.cache}", end="")
    print(f"; on {visible(trial.host)}" if trial.host else "")
    print("\nlevels:" if header.factors else "")
    width = max((len(factor.path) for factor in header.factors), default=0)
    for factor in header.factors:
        level = wording.level(trial.factors[factor.name], factor.type)
        print(f"  {visible(factor.path):{width}}  {visible(level)}")
    for setup in setups:
        where = f" on {' and '.join(reversed(setup.beneath))}" if setup.beneath else ""
        print(f"\n# {visible(setup.creates or setup.key)}{where}: skipped if it is already in state {setup.signature}")
        _write(_step(step) for step in setup.make)
    print("\n# the trial")
    _write(_step(step) for step in trial.steps)
    if trial.follows:
        before = f"{trial.follows:,} trials before it" if trial.follows > 1 else "the trial before it"
        print(f"# it finds the data as {before} left them")
    for keys, next_ in (
        (trial.invalidates, "is written again before the next trial"),
        (trial.keeps, "is kept as it is"),
    ):
        if keys:
            print(f"# it writes to {', '.join(map(visible, keys))}, which {next_}")


# -- lists


def _trial_table(planned: Planned) -> Iterator[str]:
    factors = planned.plan.header.factors
    widths = [len(str(planned.plan.header.trials)), 9]
    for factor in factors:
        longest = max((len(wording.level(value, factor.type)) for value in factor.levels), default=12)
        widths.append(max(longest, len(visible(factor.name)), 1))
    heads = ["trial", "replicate", *(visible(factor.name) for factor in factors)]
    yield justified(heads, widths)
    schedule = planned.schedule
    for slot in schedule.slots():
        row = schedule.factors(slot.point)
        shown = [wording.level(row[factor.name], factor.type) for factor in factors]
        cells = [str(slot.number), str(slot.replicate), *shown]
        yield justified(cells, widths)


def _trial_lines(planned: Planned) -> Iterator[str]:
    import orjson

    schedule, dumps = planned.schedule, orjson.dumps
    for slot in schedule.slots():
        row = {"trial": slot.number, "replicate": slot.replicate, "factors": schedule.factors(slot.point)}
        yield dumps(row, option=orjson.OPT_APPEND_NEWLINE).decode()


def _steps(planned: Planned) -> Iterator[str]:
    """Every command, in the order of execution if nothing fails."""
    header, walk = planned.plan.header, Walk()
    shown = by_object(_shown, _MOST_SHOWN)
    shown_changes = by_object(_shown_changes, _MOST_SHOWN)
    for host, command, hint in arming.required_commands(header):
        where = f" on {host}" if host else ""
        yield f"# required{where}, or the run does not start: {visible(hint)}\n{visible(command, LAYOUT)}\n"
    yield _shown(header.facts)
    for slot, host, setups, parts, invalidates in planned.builder.commands():
        yield shown_changes(walk.enter(setups))
        levels = ", ".join([f"{name} = {value}" for name, value in planned.schedule.factors(slot.point).items()])
        where = f" on {host}" if len(header.hosts) > 1 else ""
        yield f"\n# trial {slot.number} of {header.trials}{where}, replicate {slot.replicate}: {visible(levels)}\n"
        yield "".join([shown(part) if isinstance(part, tuple) else _shown(part) for part in parts if part])
        walk.leave(invalidates)
    yield "\n# at the end\n"
    for unmake in walk.state.teardown():
        yield _shown(unmake.steps)


_MOST_SHOWN = 512
"""The parts of trials and the changes between them whose texts are kept, because many trials share them."""


def _shown(steps: Iterable[Step]) -> str:
    return "".join(map(_step, steps))


def _shown_changes(changes: Iterable[Change]) -> str:
    return "".join([_shown(change.steps) for change in changes])


def _step(step: Step) -> str:
    expect = f", must print {step.expect}" if step.expect is not None and step.action is not Action.ASK else ""
    command = f"{visible(step.command, LAYOUT)}\n" if step.command else ""
    where = "" if step.host == LOCAL or step.why.startswith(f"on {step.host}: ") else f" on {step.host}"
    return f"# {step.action}{where}: {visible(step.why)}{visible(expect)}\n{command}"


# -- files


def _emit(planned: Planned, form: str, out: Path | None) -> None:
    if form == "sh" and planned.schedule.reached and out is not None:
        for machine, pieces in plans.scripts(planned):
            path = _directory(out) / f"{machine}.sh"
            _require_replaceable(path, form)
            _save(path, pieces)
            print(f"written: {visible(str(out / f'{machine}.sh'))}")
        return
    if form not in plans.formats():
        _emit_jobs(planned, form, out)
        return
    _put(plans.emit(planned, form), form, out)


def _put(pieces: Iterator[str], form: str, out: Path | None) -> None:
    """Show a plan, or write it into a directory."""
    if out is None:
        _write(pieces)
        return
    path = _directory(out) / plans.formats()[form].file
    _require_replaceable(path, form)
    _save(path, pieces)
    print(f"written: {visible(str(path))}")


def _emit_jobs(planned: Planned, form: str, out: Path | None) -> None:
    words.one_of("--emit", form, (*plans.formats(), *plans.job_forms(planned)))
    written = 0
    for name, text in plans.job_files(planned):
        if out is None:
            sys.stdout.write(f"; {name}\n{text}\n")
        else:
            _save(_directory(out) / name, [text])
        written += 1
    if out is not None:
        print(f"written: {written} job files in {visible(str(out))}")


def _require_replaceable(path: Path, form: str) -> None:
    """Refuse to replace a file that does not hold a plan, because the user did not type its name."""
    if not path.is_file() or not path.stat().st_size:
        return
    with suppress(OSError), path.open("rb") as file:
        if plans.formats()[form].mark.encode() in file.read(_HEAD):
            return
    raise RunError(
        f"{path} exists, and is not a plan that zlang wrote", "move it away, or choose another directory with --out"
    )


_HEAD = 1 << 16
"""The bytes at the start of an emitted plan in which its mark must be."""


def _directory(out: Path) -> Path:
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RunError(f"cannot create the directory {out}: {reason_of(error)}") from None
    return out


def _save(path: Path, pieces: Iterable[str]) -> None:
    from zlang.files import write_output

    try:
        write_output(path, (piece.encode() for piece in pieces))
    except OSError as error:
        raise unwritable(path, error) from None
