"""A plan as one POSIX shell script that needs neither zlang nor Python: `Plan` -> text.

The script consists of `library.sh`, which carries out any plan, and of calls of its functions, which are this plan. It
writes the same run folder as the runner. A plan of several machines has a script for each, with `meeting.sh`: all begin
a trial at an instant that they are given. Rules: all text from the user is within single quotes, in a here-document
whose end marker it cannot contain, or in a one-line comment; the commands of a trial are placed where the shell forgets
them once they have run.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import groupby, islice
from pathlib import Path

import orjson

from zlang.check.values import quote
from zlang.emit.base import NOT_DECIDED, one_line, point
from zlang.errors import RunError
from zlang.plan import divide, wire
from zlang.plan.plan import Action, Header, Plan, Setting, Setup, Step, Trial
from zlang.text import LAYOUT, is_visible

_END = "END_OF_PLAN"
"""The end marker of here-documents with plan lines, which all begin with a brace."""
_LINES_AT_ONCE = 200
"""The lines of the plan in one here-document, which a shell holds in memory."""
_WORD = re.compile(r"[A-Za-z0-9._-]+")
_LONGEST_NAME = 40
_SEEN = str.maketrans("", "", LAYOUT)
_CALLS = {Action.COLLECT: "collect", Action.ASK: "ask"}

_OPENING = """\
#!/bin/sh
# {title}
#
# {trials} trials; needs a POSIX shell with coreutils and util-linux, or busybox. Usage: sh plan.sh --help
# shellcheck disable=SC2016,SC2034,SC2154,SC2317
set -u
CDPATH=''
LC_ALL=C
ZLANG_LOOK=''
PATH=${{PATH:-/bin:/usr/bin}}
for z_place in /usr/local/sbin /usr/sbin /sbin; do
  case :$PATH: in *:$z_place:*) ;; *) PATH=$PATH:$z_place ;; esac
done
export CDPATH LC_ALL PATH ZLANG_LOOK
z_title={quoted_title}
z_plan={plan}
z_part={part}
z_word='{word}'
z_trials={trials}
z_of={planned}

"""


def emit(plan: Plan) -> Iterator[str]:
    """Yield the script."""
    return _script(plan, plan.header, _Share("", has_meetings=False))


def emit_for(plan: Plan, machine: str) -> Iterator[str]:
    """Yield the script of one machine of a plan. Raises RunError."""
    header = plan.header
    facts = divide.steps_of((step for step in header.facts if step.host == machine), machine)
    trials = divide.trials_of(plan, machine)
    own = replace(header, part=machine, tools=header.machines[machine], facts=facts, trials=trials)
    kept = Plan(replace(header, part=machine), plan.items)
    return _script(kept, own, _Share(machine, has_meetings=divide.has_meetings(plan)))


@dataclass(frozen=True, slots=True)
class _Share:
    """The part of a plan that a script carries out: all of it, or one machine's share, and whether it meets others."""

    machine: str
    has_meetings: bool

    def setup(self, setup: Setup) -> Setup | None:
        return divide.setup_of(setup, self.machine) if self.machine else setup

    def has(self, trial: Trial, own: Container[str]) -> bool:
        return not self.machine or divide.takes_part(trial, self.machine, own)

    def steps(self, trial: Trial) -> tuple[Step, ...]:
        return divide.steps_of(trial.steps, self.machine) if self.machine else trial.steps


def _script(plan: Plan, header: Header, share: _Share) -> Iterator[str]:
    """The script that carries out a share of a plan; `header` belongs to that share."""
    numbers = _Numbers()
    yield _opening(header, plan.header.trials)
    if header.is_sequential:
        yield f"# {NOT_DECIDED.format(trials=header.trials)}\n\n"
    yield _library(*(("meeting.sh",) if share.has_meetings else ()))
    yield '\n# ---- This plan ----\n\nz_open "$@"\n'
    if share.has_meetings:
        yield "z_set_meetings\n"
    yield from _tools(header.tools)
    if plan.header.armed:
        yield f"armed {' '.join(_quote(name) for name in plan.header.armed)}\n"
    yield "z_enter_folder\n"
    yield from _sources(plan.header.sources)
    yield from _plan_and_setups(plan, share, numbers)
    yield "\nbegin_run\n"
    for step in header.facts:
        yield f"\n# {one_line(step.why)}\nfact {_step(step)}\n"
    for item in plan.items():
        if isinstance(item, Trial) and share.has(item, numbers.signatures):
            yield _trial(item, share, numbers)
    yield "\nend_run\n"


@dataclass(frozen=True, slots=True)
class _Numbers:
    """Signatures, keys, bases and settings by the numbers that the script uses for them."""

    signatures: dict[str, int] = field(default_factory=dict)
    keys: dict[str, int] = field(default_factory=dict)
    bases: dict[str, int] = field(default_factory=dict)
    settings: dict[bytes, int] = field(default_factory=dict)
    values: dict[tuple[str, str], int] = field(default_factory=dict)
    commands: dict[tuple[str, ...], int] = field(default_factory=dict)

    def signature(self, signature: str) -> int:
        return self.signatures.setdefault(signature, len(self.signatures) + 1)

    def key(self, key: str) -> int:
        return self.keys.setdefault(key, len(self.keys) + 1)

    def base(self, base: str | None) -> int:
        return 0 if base is None else self.bases.setdefault(base, len(self.bases) + 1)

    def setting(self, setting: Setting) -> int:
        return self.settings.setdefault(orjson.dumps(setting), len(self.settings) + 1)

    def word(self, setting: Setting) -> str:
        """The numbers of a setting, of its property and value, and of its commands."""
        value = self.values.setdefault((setting.name, setting.value), len(self.values) + 1)
        commands = self.commands.setdefault(setting.commands, len(self.commands) + 1)
        return f"{value}:{commands}:{self.setting(setting)}" + ("r" if setting.rewrites else "")


@cache
def _library(*more: str) -> str:
    return "".join(Path(__file__).with_name(name).read_text("utf-8") for name in ("library.sh", "processes.sh", *more))


def _opening(header: Header, planned: int) -> str:
    stem = re.sub(r"[^a-z0-9]+", "-", header.experiment.lower()).strip("-")[:_LONGEST_NAME].rstrip("-") or "run"
    title = one_line(header.title) or stem
    return _OPENING.format(
        title=title,
        quoted_title=_quote(title),
        plan=_word(header.plan),
        part=_quote(header.part),
        word=stem,
        trials=header.trials,
        planned=planned,
    )


def _tools(tools: Mapping[str, str]) -> Iterator[str]:
    for tool, hint in tools.items():
        yield f"need {_quote(tool)} {_quote(one_line(hint))}\n"


def _sources(sources: Mapping[str, str]) -> Iterator[str]:
    taken: set[str] = set()
    for name, text in sources.items():
        yield f"source_file {_file_name(name, taken)} {_quote(text)}\n"


def _file_name(name: str, taken: set[str]) -> str:
    """Turn a path into a unique name within one directory, without characters special to a shell."""
    plain = re.sub(r"[^A-Za-z0-9._-]+", "_", name.rsplit("/", 1)[-1]).lstrip(".-")
    stem = plain.removesuffix(".zexp")[:100] or "program"
    number, file = 1, f"{stem}.zexp"
    while file.lower() in taken:
        number += 1
        file = f"{stem}-{number}.zexp"
    taken.add(file.lower())
    return file


def _plan_and_setups(plan: Plan, share: _Share, numbers: _Numbers) -> Iterator[str]:
    """Store the plan's lines, and define its setups, which must be known before the first trial: to remove them."""
    setups: list[Setup] = []

    def seen() -> Iterator[Setup | Trial]:
        for item in plan.items():
            if isinstance(item, Setup) and (own := share.setup(item)) is not None:
                setups.append(own)
            yield item

    lines = wire.dump(replace(plan, items=seen))
    while part := list(islice(lines, _LINES_AT_ONCE)):
        yield f"\nkeep <<'{_END}'\n{b''.join(part).decode()}{_END}\n"
        for setup in setups:
            yield _setup(setup, numbers)
        setups.clear()


def _setup(setup: Setup, numbers: _Numbers) -> str:
    number = numbers.signature(setup.signature)
    beneath = _quote(" ".join(str(numbers.key(key)) for key in setup.beneath)) if setup.parts else None
    parent = beneath or (0 if setup.parent is None else numbers.key(setup.parent))
    key = _quote(orjson.dumps(setup.key).decode())
    text = one_line(setup.creates)
    first_number = len(numbers.settings)
    settings = [(numbers.setting(setting), setting) for setting in setup.settings]
    words = " ".join(map(numbers.word, setup.settings))
    state = f"{numbers.base(setup.base)} {_quote(words)}" + (" ambient" if setup.is_ambient else "")
    lines = [
        f"\n# {text}",
        f"setup {number} {_word(setup.signature)} {numbers.key(setup.key)} {parent} {key} {_quote(text)} {state}",
        *_function(f"make_{number}", setup.make),
        *_function(f"unmake_{number}", setup.unmake, "tell"),
        *(
            line
            for each, setting in settings
            if each > first_number
            for line in _function(f"set_{each}", setting.steps)
        ),
    ]
    return "\n".join(lines) + "\n"


def _function(name: str, steps: Sequence[Step], by_hand: str = "ask") -> Iterator[str]:
    yield f"{name}() {{"
    calls = {**_CALLS, Action.ASK: by_hand}
    yield from _chain([(calls.get(step.action, "step"), step) for step in steps])
    yield "}"


def _trial(trial: Trial, share: _Share, numbers: _Numbers) -> str:
    present = (signature for signature in trial.setups if not share.machine or signature in numbers.signatures)
    setups = " ".join(str(numbers.signature(signature)) for signature in present)
    invalidates = " ".join(str(numbers.key(key)) for key in trial.invalidates)
    name = f"{trial.number} {_word(trial.identity)} {trial.replicate}"
    own = share.steps(trial)
    steps = [step for step in own if step.action is not Action.TIDY]
    tidying = [step for step in own if step.action is Action.TIDY]
    meeting = f"meeting {name} && " if share.has_meetings else ""
    lines = [
        f"\nif {meeting}trial {name} {_quote(point(trial))} '{setups}' '{invalidates}'; then",
        *(_meeting(trial, steps) if share.has_meetings else _chain(_calls(steps))),
        "  settle",
        *(line for step in tidying for line in _chain([("step", step)])),
        "  ended",
        "fi",
    ]
    return "\n".join(lines) + "\n"


def _meeting(trial: Trial, steps: Sequence[Step]) -> Iterator[str]:
    """One machine's own steps of a trial: those before it begins, its measurement, and those after all have ended."""
    names = [step.name for step in trial.steps]
    first = next((i for i, step in enumerate(trial.steps) if step.action is Action.MEASURE), len(names))
    before = [step for step in steps if names.index(step.name) < first]
    measuring = [step for step in steps if step.action is Action.MEASURE]
    after = [step for step in steps if step not in before and step not in measuring]
    texts = ["  prepared", *_texts(_calls(before)), *_texts(("meet", step) for step in measuring), "  all_ended"]
    yield " &&\n".join([*texts, *_texts(_calls(after))])


def _calls(steps: Iterable[Step]) -> list[tuple[str, Step]]:
    return [(_CALLS.get(step.action, "step"), step) for step in steps]


def _chain(calls: Iterable[tuple[str, Step]]) -> Iterator[str]:
    """Call functions in order until one fails."""
    yield " &&\n".join(_texts(calls)) or "  :"


def _texts(calls: Iterable[tuple[str, Step]]) -> list[str]:
    return [f"  # {one_line(step.why)}\n  {function} {_step(step)}" for function, step in calls]


def _step(step: Step) -> str:
    if step.host != "local":
        message = f"step {step.name} is for the host {one_line(step.host)}; a shell script reaches only its own machine"
        raise RunError(message, "give each machine its own script: --out DIR")
    if step.action is Action.ASK:
        return f"{_word(step.name)} {_quote(one_line(step.why))} {_quote(step.command)}"
    return f"{_word(step.name)} {step.timeout} {_quote(step.command)}"


def _word(text: str) -> str:
    """Check that text needs no quotes and can be part of a path and of the journal."""
    assert _WORD.fullmatch(text), f"BUG: {text!r} is not a plain word"
    return text


def _quote(text: str) -> str:
    """Quote text as one word; printf makes characters that would be invisible in the script."""
    if "\0" in text:
        message = f"a shell script cannot contain a NUL character: {one_line(text)[:60]}"
        raise RunError(message, "write it as \\0 and let printf make it")
    if is_visible(text.translate(_SEEN)):
        return quote(text)
    return "".join(
        quote("".join(part)) if is_shown else _made_by_printf("".join(part))
        for is_shown, part in groupby(text, lambda char: is_visible(char) or char in LAYOUT)
    )


def _made_by_printf(text: str) -> str:
    return "\"$(printf '" + "".join(f"\\{byte:03o}" for byte in text.encode()) + "')\""
