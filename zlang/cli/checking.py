"""`zlang check`, and the reading and checking of programs for every command."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from zlang.check.check import Checked, Overrides
from zlang.check.program import Instance
from zlang.cli import render, standard_streams
from zlang.diagnostics import Diagnostic, Severity
from zlang.errors import ReportedError, RunError, UsageError
from zlang.pipeline import plans, programs
from zlang.source import Source
from zlang.text import as_unicode

Rules = Mapping[str, list[str]]
"""The levels of rules on the command line: `deny`, `warn` or `allow`, and their names."""
STANDARD = "-"
STANDARD_INPUT = "standard input"
TEXT = "text"


def formats() -> Mapping[str, Callable[[Sequence[Diagnostic], Sequence[RunError]], Iterator[str]]]:
    """The formats of findings for other programs; `text` is for people."""
    from zlang.cli.formats_of_findings import FORMATS

    return FORMATS


def overrides(settings: list[str] | None, profile: str | None) -> Overrides:
    """The values of `--set` and `--profile`."""
    values: dict[str, str] = {}
    for setting in settings or ():
        name, equals, value = setting.partition("=")
        if not equals or not name:
            raise UsageError(f"`{setting}` is not NAME=VALUE", option="--set")
        if setting != as_unicode(setting):
            raise RunError(f"`--set {as_unicode(setting)}` is not UTF-8 text")
        values[name.strip()] = value
    return Overrides(values, profile)


def check(
    files: list[str],
    settings: list[str] | None = None,
    profile: str | None = None,
    form: str = TEXT,
    rules: Rules = MappingProxyType({}),
    *,
    fix: bool = False,
    diff: bool = False,
) -> int:
    """Report all findings of programs, after fixes with `fix`; one in a file that several import is reported once.

    With `diff` the only output is what `fix` would change. `rules` are those that are denied, warned of or allowed.
    """
    if form != TEXT:
        from zlang.cli import words

        words.one_of("--format", form, (TEXT, *formats()))
    chosen = overrides(settings, profile)
    seen: set[tuple[object, ...]] = set()
    fresh: list[Diagnostic] = []
    unread: list[RunError] = []
    worst = 0
    for file in files_of(files, unread):
        try:
            source = read(file)
            if fix or diff:
                source = _apply_fixes(source, chosen, diff=diff)
            checked = programs.check(source, chosen)
        except RunError as error:
            unread.append(error)
            continue
        findings, counts, problem = plans.report(checked, rules)
        unread += [problem] if problem else []
        new = [finding for finding in findings if _place(finding) not in seen]
        seen |= {_place(finding) for finding in findings}
        fresh += new
        is_wrong = plans.is_wrong(findings)
        worst = max(worst, int(is_wrong))
        if form == TEXT and not diff:
            report(new, hint="" if fix else "`zlang check --fix` fixes {}")
            if fix and new:
                print("there is no unambiguous fix for the findings above", file=sys.stderr)
            if not is_wrong and not (fix and file == STANDARD):
                print(f"{render.visible(file)}: {counts}")
    for problem in unread:
        print(render.run_error(problem, colour=render.is_coloured(sys.stderr)), file=sys.stderr)
    if form != TEXT and not diff:
        standard_streams.use_utf8()
        sys.stdout.writelines(formats()[form](fresh, unread))
    return 1 if unread else worst


def _apply_fixes(source: Source, overrides: Overrides, *, diff: bool) -> Source:
    """Apply the safe fixes, or only show them, and return the resulting program."""
    from zlang.cli import words
    from zlang.pipeline import fixing

    fixed = fixing.apply_safe_fixes(source, overrides)
    if diff:
        changes = (words.difference(name, old, fixed.after[name], "fixed") for name, old in fixed.before.items())
        words.write("".join(line for lines in changes for line in lines))
        return source
    for name, old in fixed.before.items():
        if name != STANDARD_INPUT:
            programs.apply_fixes(name, old, fixed.after[name])
        for title in fixed.done[name]:
            print(f"{render.visible(name)}: fixed: {render.visible(title)}", file=sys.stderr)
    text = fixed.after.get(source.name, source.text)
    if source.name == STANDARD_INPUT:
        words.write(text)
    return Source(source.name, text)


def _place(finding: Diagnostic) -> tuple[object, ...]:
    return finding.code, os.path.normpath(finding.span.source.name), finding.span.start, finding.message


def files_of(files: Iterable[str], unread: list[RunError]) -> Iterator[str]:
    """The files to check, each once; a directory means all programs in it, and is `unread` if it has none."""
    for file in dict.fromkeys(files):
        if not Path(file).is_dir():
            yield file
            continue
        result = sorted(_programs_in(file))
        if not result:
            unread.append(RunError(f"no program in {file}", "file names of programs end in .zexp"))
        yield from result


def _programs_in(directory: str) -> Iterator[str]:
    """The programs in a directory, except hidden ones and the copies that runs keep."""
    for here, inner, names in os.walk(directory):
        if "plan.jsonl" in names:
            inner.clear()
            continue
        inner[:] = [name for name in inner if not name.startswith(".")]
        yield from (str(Path(here, name)) for name in names if name.endswith(".zexp") and not name.startswith("."))


def read(file: str) -> Source:
    """Read a program's text from a file or standard input. Raises RunError."""
    if file != STANDARD:
        return programs.read(file)
    try:
        return Source(STANDARD_INPUT, sys.stdin.buffer.read().decode())
    except UnicodeDecodeError:
        raise RunError("standard input is not UTF-8 text") from None


def require_file(file: str) -> None:
    """Raise RunError for standard input if a command prompts the user or needs the name of the program."""
    if file == STANDARD:
        raise RunError("this command does not read a program from standard input", "save it in a file first")


def report(findings: Iterable[Diagnostic], *, hint: str = "") -> None:
    """Print findings and their number to standard error; with `hint`, also the number of those with a safe fix."""
    shown = list(findings)
    if not shown:
        return
    from zlang.cli import words

    colour = render.is_coloured(sys.stderr)
    for finding in shown:
        print(render.diagnostic(finding, colour=colour), file=sys.stderr)
    counts = [(sum(item.code.severity is severity for item in shown), severity.value) for severity in Severity]
    parts = [words.counted(n, word) for n, word in counts if n]
    mendable = sum(any(fix.is_safe for fix in finding.fixes) for finding in shown)
    print(", ".join(parts) + (f"; {hint.format(mendable)}" if hint and mendable else ""), file=sys.stderr)


def sound(file: str, overrides: Overrides, machine: Instance | None = None) -> Checked:
    """Check a program; errors are printed and end the command with exit code 1. Only `check` prints notes.

    With `machine`, the rules use this machine's facts for resources that are on no named host.
    """
    checked = programs.check(read(file), overrides)
    findings = list(checked.findings)
    risky = [experiment for experiment in checked.program.experiments.values() if experiment.risks]
    if checked.is_sound and risky:
        from zlang.space import faults

        findings += faults.of(risky, plans.DEFAULT_SEED)[0]
    if not plans.is_wrong(findings):
        findings += [
            finding for finding in programs.lint(checked, {}, machine) if finding.code.severity is not Severity.NOTE
        ]
    report(findings)
    if plans.is_wrong(findings):
        raise ReportedError
    return checked
