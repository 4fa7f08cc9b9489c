"""A program: its text, what is wrong with it, and the experiment that is meant."""

from __future__ import annotations

import io
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from zlang.check import check as checking
from zlang.check import hosts
from zlang.check.afresh import AFRESH, Afresh
from zlang.check.check import Checked, Overrides
from zlang.check.program import Experiment, Instance
from zlang.check.settings import listed
from zlang.diagnostics import Code, Diagnostic, ProgramError
from zlang.errors import RunError, reason_of
from zlang.files import read_regular, write_output
from zlang.source import Source, Span
from zlang.suggest import did_you_mean, nearest

if TYPE_CHECKING:
    from zlang.lint.levels import Levels
    from zlang.syntax.format import Formatted


_LONGEST = 1 << 26
"""The most characters of a program, and bytes of what it imports."""


def read(path: str) -> Source:
    """A program's text, its lines ended by newlines. Raises RunError where there is none."""
    return Source(path, text_of(path, None))


def text_of(path: str, newline: str | None) -> str:
    """A file's text; `newline` as `open` takes it. Raises RunError."""
    try:
        with Path(path).open(encoding="utf-8", newline=newline) as file:
            text = file.read(_LONGEST + 1)
    except UnicodeDecodeError:
        raise RunError(f"{path} is not UTF-8 text") from None
    except (OSError, ValueError) as error:
        raise RunError(f"cannot read {path}: {reason_of(error)}", _nearest_program(path)) from None
    if len(text) > _LONGEST:
        raise RunError(f"cannot read {path}: it has more than {_LONGEST:,} characters")
    return text


def _nearest_program(path: str) -> str:
    """The program in the same directory whose name is nearest to one that is not there."""
    try:
        beside = {item.stem: item for item in Path(path).parent.glob("*.zexp")} if not Path(path).exists() else {}
    except (OSError, ValueError):
        return ""
    near = nearest(Path(path).stem, beside)
    return f"did you mean {' or '.join(f'`{beside[stem]}`' for stem in near)}?" if near else ""


def read_exactly(path: str) -> Source:
    """A program's text with the line ends that it has. Raises RunError where there is none."""
    return Source(path, text_of(path, ""))


def format_source(source: Source) -> Formatted:
    """A program's text in the one style, or why it was left alone."""
    from zlang.syntax import format as formatting

    return formatting.program(source)


def mend(path: str, before: str, after: str) -> None:
    """Replace a program's text, in the line ends that it has. Raises RunError, also where it is not `before` now."""
    exact = read_exactly(path).text
    line_end = "\r\n" if "\r\n" in exact else "\n"
    if exact != before.replace("\n", line_end):
        raise RunError(f"cannot fix {path}: it changed in the meantime, or it has mixed line endings")
    rewrite(path, after.replace("\n", line_end))


def rewrite(path: str, text: str) -> None:
    """Replace a program's text; a link stays one, and the file keeps its owner and attributes. Raises RunError."""
    try:
        write_output(Path(path), text.encode())
    except OSError as error:
        raise RunError(f"cannot write {path}: {reason_of(error)}") from None


def check(
    source: Source, overrides: Overrides, instead: Mapping[str, str] = MappingProxyType({}), work: Afresh = AFRESH
) -> Checked:
    """All that is wrong with a program. `instead` are texts of imported files that are not those on the disk."""

    def imported(path: str) -> str:
        return instead[path] if path in instead else _text_of_import(path)

    return checking.program(source, imported, overrides, work)


def _text_of_import(path: str) -> str:
    """The text of an imported file, its lines ended by newlines. Raises OSError, UnicodeDecodeError."""
    content = read_regular(Path(path).resolve(), _LONGEST)
    return io.TextIOWrapper(io.BytesIO(content), "utf-8").read()


def here() -> Instance:
    """Give this machine to the rules about measurements on it; it is looked at as far as they ask."""
    from zlang.run import machine

    return hosts.machine_instance("this machine", hosts.AskedFacts(machine.answer))


def lint(
    checked: Checked,
    options: Mapping[str, list[str]] = MappingProxyType({}),
    machine: Instance | None = None,
    work: Afresh = AFRESH,
) -> list[Diagnostic]:
    """Find what is valid and would still measure something else than it says, unless it is allowed.

    `options` are the rules that the command line denies, warns of or allows. What stands on no named host is on
    `machine`, where that is given. Raises RunError.
    """
    from zlang.lint import lint as rules

    return rules.findings(checked.program, levels(checked, options), machine, work)


def levels(checked: Checked, options: Mapping[str, list[str]]) -> Levels:
    """The severities of rules for the directory of a program, and for the options of the command line."""
    from zlang.lint import levels

    return levels.levels(directory(checked), options)


def directory(checked: Checked) -> Path:
    """The directory of a program: a project file lies there, or above it."""
    name = checked.program.source.name
    return Path(name).absolute().parent if name.endswith(".zexp") else Path.cwd()


def chosen(checked: Checked, name: str | None, *, is_one: bool = False) -> list[Experiment]:
    """The experiment that is named, or all, in the order of the program. Raises RunError, ProgramError.

    Where only one can be meant (`is_one`), it must be named.
    """
    if name is not None or is_one or not checked.program.experiments:
        return [choose(checked, name)]
    return list(checked.program.experiments.values())


def choose(checked: Checked, name: str | None) -> Experiment:
    """The experiment that is meant: the only one, or the one that is named. Raises RunError, ProgramError."""
    experiments = checked.program.experiments
    if not experiments:
        raise ProgramError(
            Code.NO_EXPERIMENT.at(
                Span(checked.program.source, 0, 0), hint="add one: `experiment NAME { on = …  run = … }`"
            )
        )
    if name is None and len(experiments) > 1:
        names = ", ".join(experiments)
        raise RunError(f"the program has {len(experiments)} experiments", f"choose one with --experiment: {names}")
    if name is not None and name not in experiments:
        hint = did_you_mean(name, experiments) or listed("experiment", experiments)
        raise RunError(f"the program has no experiment `{name}`", hint)
    return experiments[name] if name is not None else next(iter(experiments.values()))
