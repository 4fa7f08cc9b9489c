"""A program: its text, its problems, and the selected experiment."""

from __future__ import annotations

import io
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from zlang.check import check as checking
from zlang.check import hosts
from zlang.check.afresh import AFRESH, Afresh
from zlang.check.check import Checked, Overrides
from zlang.check.program import Experiment, Instance
from zlang.check.settings import listed
from zlang.diagnostics import Code, Diagnostic, ProgramError
from zlang.errors import RunError, reason_of
from zlang.hints import TYPE_CHECKING
from zlang.source import Source, Span
from zlang.suggest import did_you_mean, nearest

if TYPE_CHECKING:
    from zlang.lint.levels import Levels
    from zlang.syntax.format import Formatted


_LONGEST = 1 << 26
"""The most characters of a program, and the most bytes of an imported file."""
_MANY = 1 << 16
"""More characters than most programs have."""


def read(path: str) -> Source:
    """A program's text with line ends as newlines. Raises RunError if the file does not exist or cannot be read."""
    return Source(path, text_of(path, None))


def text_of(path: str, newline: str | None) -> str:
    """A file's text; `newline` as `open` takes it. Raises RunError."""
    try:
        with Path(path).open(encoding="utf-8", newline=newline) as file:
            text = file.read(min(_MANY, _LONGEST + 1))  # Python allocates what it is asked for: 64 MiB take 0.2 ms
            if len(text) == _MANY:
                text += file.read(_LONGEST + 1 - _MANY)
    except UnicodeDecodeError:
        raise RunError(f"{path} is not UTF-8 text") from None
    except (OSError, ValueError) as error:
        raise RunError(f"cannot read {path}: {reason_of(error)}", _nearest_program(path)) from None
    if len(text) > _LONGEST:
        raise RunError(f"cannot read {path}: it has more than {_LONGEST:,} characters")
    return text


def _nearest_program(path: str) -> str:
    """The program in the same directory whose name is most similar to a missing one."""
    try:
        beside = {item.stem: item for item in Path(path).parent.glob("*.zexp")} if not Path(path).exists() else {}
    except (OSError, ValueError):
        return ""
    near = nearest(Path(path).stem, beside)
    return f"did you mean {' or '.join(f'`{beside[stem]}`' for stem in near)}?" if near else ""


def read_exactly(path: str) -> Source:
    """A program's text with its original line ends. Raises RunError if the file does not exist or cannot be read."""
    return Source(path, text_of(path, ""))


def format_source(source: Source) -> Formatted:
    """A program's text in the standard style, or the reason why it was left unchanged."""
    from zlang.syntax import format as formatting

    return formatting.program(source)


def apply_fixes(path: str, before: str, after: str) -> None:
    """Replace a program's text, keeping its line ends. Raises RunError, also if the text is no longer `before`."""
    exact = read_exactly(path).text
    line_end = "\r\n" if "\r\n" in exact else "\n"
    if exact != before.replace("\n", line_end):
        raise RunError(f"cannot fix {path}: it changed in the meantime, or it has mixed line endings")
    rewrite(path, after.replace("\n", line_end))


def rewrite(path: str, text: str) -> None:
    """Replace a program's text; a link stays one, and the file keeps its owner and attributes. Raises RunError."""
    from zlang.files import write_output

    try:
        write_output(Path(path), text.encode())
    except OSError as error:
        raise RunError(f"cannot write {path}: {reason_of(error)}") from None


def check(
    source: Source, overrides: Overrides, instead: Mapping[str, str] = MappingProxyType({}), work: Afresh = AFRESH
) -> Checked:
    """The problems of a program. `instead` has texts that replace imported files on the disk."""

    def imported(path: str) -> str:
        return instead[path] if path in instead else _text_of_import(path)

    return checking.program(source, imported, overrides, work)


def _text_of_import(path: str) -> str:
    """The text of an imported file, with line ends as newlines. Raises OSError, UnicodeDecodeError."""
    from zlang.files import read_regular

    content = read_regular(Path(path).resolve(), _LONGEST)
    return io.TextIOWrapper(io.BytesIO(content), "utf-8").read()


def here() -> Instance:
    """The current machine, for the rules about measurements on it; its facts are looked up on demand."""
    from zlang.run import machine

    return hosts.machine_instance("this machine", hosts.AskedFacts(machine.answer))


def lint(
    checked: Checked,
    options: Mapping[str, list[str]] = MappingProxyType({}),
    machine: Instance | None = None,
    work: Afresh = AFRESH,
) -> list[Diagnostic]:
    """Find valid code that would measure something other than it says, unless it is allowed.

    `options` are the rules that the command line denies, warns of or allows. Resources without a host are assumed to be
    on `machine`, if given. Raises RunError.
    """
    from zlang.lint import lint as rules

    return rules.findings(checked.program, levels(checked, options), machine, work)


def levels(checked: Checked, options: Mapping[str, list[str]]) -> Levels:
    """The severities of rules from the project file of a program and the options of the command line."""
    from zlang.lint import levels

    return levels.levels(directory(checked), options)


def directory(checked: Checked) -> Path:
    """The directory of a program: a project file is there, or above it."""
    name = checked.program.source.name
    return Path(name).absolute().parent if name.endswith(".zexp") else Path.cwd()


def chosen(checked: Checked, name: str | None, *, is_one: bool = False) -> list[Experiment]:
    """The named experiment, or all, in the order of the program. Raises RunError, ProgramError.

    If only one can be used (`is_one`) and there are several, a name is required.
    """
    if name is not None or is_one or not checked.program.experiments:
        return [choose(checked, name)]
    return list(checked.program.experiments.values())


def choose(checked: Checked, name: str | None) -> Experiment:
    """The named experiment, or the only one. Raises RunError, ProgramError."""
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
