"""A plan as one POSIX shell script that needs neither zlang nor Python: `Plan` -> text.

The script is `library.sh`, which carries out any plan, and calls of its functions, which are this plan. It writes the
run folder that the runner writes. Rules: every text of the user's is within single quotes, in a here-document whose end
it cannot hold, or in a comment of one line; a trial's commands stand where the shell forgets them once they have run.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import resources
from itertools import groupby, islice

import orjson

from zlang.check.values import quote
from zlang.emit.base import NOT_DECIDED, one_line, point
from zlang.errors import RunError
from zlang.plan import wire
from zlang.plan.plan import Action, Header, Plan, Setting, Setup, Step, Trial
from zlang.text import LAYOUT

_END = "END_OF_PLAN"
"""Ends a here-document of plan lines, which all begin with a brace."""
_LINES_AT_ONCE = 200
"""A shell holds a here-document in memory: so many lines of the plan are in one."""
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
PATH=${{PATH:-/bin:/usr/bin}}
for z_place in /usr/local/sbin /usr/sbin /sbin; do
  case :$PATH: in *:$z_place:*) ;; *) PATH=$PATH:$z_place ;; esac
done
export CDPATH LC_ALL PATH
z_title={quoted_title}
z_plan={plan}
z_part={part}
z_word='{word}'
z_trials={trials}

"""


def emit(plan: Plan) -> Iterator[str]:
    """Give the script."""
    numbers = _Numbers()
    yield _opening(plan.header)
    if plan.header.is_sequential:
        yield f"# {NOT_DECIDED.format(trials=plan.header.trials)}\n\n"
    yield _library()
    yield '\n# ---- This plan ----\n\nz_open "$@"\n'
    yield from _tools(plan.header.tools)
    if plan.header.armed:
        yield f"armed {' '.join(_quote(name) for name in plan.header.armed)}\n"
    yield "z_enter_folder\n"
    yield from _sources(plan.header.sources)
    yield from _plan_and_setups(plan, numbers)
    yield "\nbegin_run\n"
    for step in plan.header.facts:
        yield f"\n# {one_line(step.why)}\nfact {_step(step)}\n"
    for item in plan.items():
        if isinstance(item, Trial):
            yield _trial(item, numbers)
    yield "\nend_run\n"


@dataclass(frozen=True, slots=True)
class _Numbers:
    """Signatures, keys, bases and settings by number, as the script calls them."""

    signatures: dict[str, int] = field(default_factory=dict)
    keys: dict[str, int] = field(default_factory=dict)
    bases: dict[str, int] = field(default_factory=dict)
    settings: dict[bytes, int] = field(default_factory=dict)

    def signature(self, signature: str) -> int:
        return self.signatures.setdefault(signature, len(self.signatures) + 1)

    def key(self, key: str) -> int:
        return self.keys.setdefault(key, len(self.keys) + 1)

    def base(self, base: str | None) -> int:
        return 0 if base is None else self.bases.setdefault(base, len(self.bases) + 1)

    def setting(self, setting: Setting) -> int:
        return self.settings.setdefault(orjson.dumps(setting), len(self.settings) + 1)


@cache
def _library() -> str:
    here = resources.files("zlang.emit")
    return "".join(here.joinpath(name).read_text("utf-8") for name in ("library.sh", "processes.sh"))


def _opening(header: Header) -> str:
    stem = re.sub(r"[^a-z0-9]+", "-", header.experiment.lower()).strip("-")[:_LONGEST_NAME].rstrip("-") or "run"
    title = one_line(header.title) or stem
    return _OPENING.format(
        title=title,
        quoted_title=_quote(title),
        plan=_word(header.plan),
        part=_quote(header.part),
        word=stem,
        trials=header.trials,
    )


def _tools(tools: Mapping[str, str]) -> Iterator[str]:
    for tool, hint in tools.items():
        yield f"need {_quote(tool)} {_quote(one_line(hint))}\n"


def _sources(sources: Mapping[str, str]) -> Iterator[str]:
    taken: set[str] = set()
    for name, text in sources.items():
        yield f"source_file {_file_name(name, taken)} {_quote(text)}\n"


def _file_name(name: str, taken: set[str]) -> str:
    """Make a name of its own, in one directory and without meaning to a shell, of a path."""
    plain = re.sub(r"[^A-Za-z0-9._-]+", "_", name.rsplit("/", 1)[-1]).lstrip(".-")
    stem = plain.removesuffix(".zexp")[:100] or "program"
    number, file = 1, f"{stem}.zexp"
    while file.lower() in taken:
        number += 1
        file = f"{stem}-{number}.zexp"
    taken.add(file.lower())
    return file


def _plan_and_setups(plan: Plan, numbers: _Numbers) -> Iterator[str]:
    """Keep the plan's lines, and define its setups, which have to be known before the first trial: to undo them."""
    setups: list[Setup] = []

    def seen() -> Iterator[Setup | Trial]:
        for item in plan.items():
            if isinstance(item, Setup):
                setups.append(item)
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
    words = " ".join(f"{each}{'r' if setting.rewrites else ''}" for each, setting in settings)
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


def _trial(trial: Trial, numbers: _Numbers) -> str:
    setups = " ".join(str(numbers.signature(signature)) for signature in trial.setups)
    invalidates = " ".join(str(numbers.key(key)) for key in trial.invalidates)
    name = f"{trial.number} {_word(trial.identity)} {trial.replicate}"
    steps = [step for step in trial.steps if step.action is not Action.TIDY]
    tidying = [step for step in trial.steps if step.action is Action.TIDY]
    lines = [
        f"\nif trial {name} {_quote(point(trial))} '{setups}' '{invalidates}'; then",
        *_chain([(_CALLS.get(step.action, "step"), step) for step in steps]),
        "  settle",
        *(line for step in tidying for line in _chain([("step", step)])),
        "  ended",
        "fi",
    ]
    return "\n".join(lines) + "\n"


def _chain(calls: Iterable[tuple[str, Step]]) -> Iterator[str]:
    """Call one after the other for as long as none fails."""
    texts = [f"  # {one_line(step.why)}\n  {function} {_step(step)}" for function, step in calls]
    yield " &&\n".join(texts) or "  :"


def _step(step: Step) -> str:
    if step.host != "local":
        message = f"step {step.name} is for the host {one_line(step.host)}; a shell script reaches only its own machine"
        raise RunError(message, "give each machine its own script: --host NAME")
    if step.action is Action.ASK:
        return f"{_word(step.name)} {_quote(one_line(step.why))} {_quote(step.command)}"
    return f"{_word(step.name)} {step.timeout} {_quote(step.command)}"


def _word(text: str) -> str:
    """Check that text needs no quotes and can stand in a path and in the journal."""
    assert _WORD.fullmatch(text), f"BUG: {text!r} is not a plain word"
    return text


def _quote(text: str) -> str:
    """Quote text as one word; characters that nobody would see in the script are made by printf."""
    if "\0" in text:
        message = f"a NUL character cannot stand in a shell script: {one_line(text)[:60]}"
        raise RunError(message, "write it as \\0 and let printf make it")
    if text.translate(_SEEN).isprintable():
        return quote(text)
    return "".join(
        quote("".join(part)) if is_visible else _made_by_printf("".join(part))
        for is_visible, part in groupby(text, lambda char: char.isprintable() or char in LAYOUT)
    )


def _made_by_printf(text: str) -> str:
    return "\"$(printf '" + "".join(f"\\{byte:03o}" for byte in text.encode()) + "')\""
