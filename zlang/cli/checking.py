"""`zlang check`, and what every command does with a program first."""

from __future__ import annotations

import sys
from collections.abc import Iterable

import typer

from zlang import pipeline
from zlang.check.check import Checked, Overrides
from zlang.cli import render
from zlang.diagnostics import Diagnostic, ProgramError, Severity
from zlang.errors import RunError


def overrides(settings: list[str] | None, profile: str | None) -> Overrides:
    """What `--set` and `--profile` say."""
    values: dict[str, str] = {}
    for setting in settings or ():
        name, equals, value = setting.partition("=")
        if not equals or not name:
            raise typer.BadParameter(f"`{setting}` is not NAME=VALUE", param_hint="--set")
        values[name.strip()] = value
    return Overrides(values, profile)


def check(files: list[str], settings: list[str] | None, profile: str | None, *, as_json: bool) -> int:
    """Report all findings of some programs."""
    worst = 0
    said = overrides(settings, profile)
    for file in files:
        try:
            checked = pipeline.check(pipeline.read(file), said)
            findings, counts = [*checked.findings], ""
            if checked.is_sound:
                findings, counts = _with_spaces(checked)
        except RunError as error:
            print(render.run_error(error, colour=render.is_coloured(sys.stderr)), file=sys.stderr)
            worst = 1
            continue
        if as_json:
            _print_json(findings)
        else:
            report(findings)
        if any(finding.code.severity is Severity.ERROR for finding in findings):
            worst = 1
        elif not as_json:
            print(f"{render.visible(file)}: {counts}")
    return worst


def _with_spaces(checked: Checked) -> tuple[list[Diagnostic], str]:
    """What only counting the points can find, and the counts."""
    from zlang.space import points

    findings, counts = [*checked.findings], []
    for experiment in checked.program.experiments.values():
        try:
            count = points.of(experiment).count
        except ProgramError as error:
            findings.append(error.diagnostic)
            continue
        trials = count * experiment.repeat
        counts.append(f"{experiment.name}: {count:,} points, {trials:,} trials")
    return findings, "; ".join(counts) or "no experiment, nothing wrong"


def _print_json(findings: Iterable[Diagnostic]) -> None:
    import json

    for finding in findings:
        print(json.dumps(render.as_json(finding)))


def report(findings: Iterable[Diagnostic]) -> None:
    """Print findings to standard error, and how many."""
    shown = list(findings)
    colour = render.is_coloured(sys.stderr)
    for finding in shown:
        print(render.diagnostic(finding, colour=colour), file=sys.stderr)
    errors = sum(finding.code.severity is Severity.ERROR for finding in shown)
    warnings = len(shown) - errors
    parts = [f"{n} {word}{'s' if n > 1 else ''}" for n, word in ((errors, "error"), (warnings, "warning")) if n]
    if parts:
        print(", ".join(parts), file=sys.stderr)


def sound(file: str, said: Overrides) -> Checked:
    """A program without errors; otherwise they are printed and the command ends with 1."""
    checked = pipeline.check(pipeline.read(file), said)
    report(checked.findings)
    if not checked.is_sound:
        raise typer.Exit(1)
    return checked
