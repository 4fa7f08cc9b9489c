"""The options and arguments that several commands share, as Typer reads them, and the words that a shell completes.

The annotations of `zlang/cli/commands.py` name them. They are evaluated when Typer reads a command line.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

import typer

from zlang.cli.defaults import RUNS
from zlang.diagnostics import Code
from zlang.errors import RunError

_PLAIN = re.compile(r"[\w.%/-]+")


def complete_kind(incomplete: str) -> list[str]:
    """The kinds that a shell completes."""
    from zlang.check import library

    return [name for name in library.load().names() if name.startswith(incomplete)]


def complete_code(incomplete: str) -> list[str]:
    """The codes of errors and rules, the names of rules, and the kinds, that a shell completes."""
    from zlang.lint.levels import LINTS

    codes = sorted(name for name in {*(code.id for code in Code), *LINTS} if name.startswith(incomplete))
    return [*codes, *complete_kind(incomplete)]


def complete_run(incomplete: str) -> list[str]:
    """The runs in the usual place that a shell completes."""
    try:
        return sorted(path.name for path in RUNS.iterdir() if path.is_dir() and path.name.startswith(incomplete))
    except OSError:
        return []


def complete_rule(incomplete: str) -> list[str]:
    """The names of the rules that a shell completes."""
    from zlang.lint.levels import LINTS

    return sorted({lint.name for lint in LINTS.values() if lint.name.startswith(incomplete)})


def complete_profile(context: typer.Context) -> list[str]:
    """The profiles of the program on the command line."""
    return _declared(context)["Profile"]


def complete_experiment(context: typer.Context) -> list[str]:
    """The experiments of the program on the command line."""
    return _declared(context)["ExperimentDef"]


def complete_host(context: typer.Context) -> list[str]:
    """The hosts of the program on the command line."""
    return _declared(context)["host"]


def complete_setting(context: typer.Context) -> list[str]:
    """The params of the program on the command line, ready for a value, and each with the value that it has.

    Of two completions with the same beginning, shells take the beginning, and no space behind it.
    """
    return [text for param in _declared(context)["Param"] for text in (param[: param.index("=") + 1], param)]


def _declared(context: typer.Context) -> dict[str, list[str]]:
    """Names in the program that is on the command line, by what declares them; of kinds, only hosts."""
    from zlang.pipeline import programs
    from zlang.syntax import parse, tree

    names: dict[str, list[str]] = {"Profile": [], "ExperimentDef": [], "Param": [], "host": []}
    # Behind an option that has no value yet, the program is still among the words that are not read.
    words = [*context.args, *(value for value in context.params.values() if isinstance(value, str))]
    file = next((word for word in words if word.endswith(".zexp")), "")
    try:
        entries = parse.program(programs.read(file)).tree.entries
    except RunError:
        return names
    for entry in entries:
        match entry:
            case tree.Param():
                value = entry.value.span.text
                names["Param"].append(f"{entry.name.text}={value if _PLAIN.fullmatch(value) else 'VALUE'}")
            case tree.Profile() | tree.ExperimentDef():
                names[type(entry).__name__].append(entry.name.text)
            case tree.Declaration() if str(entry.kind) == "host":
                names["host"].append(entry.name.text)
            case _:
                pass
    return names


def read_number(text: str) -> int:
    """The value of an option that takes a number."""
    try:
        return int(text)
    except ValueError:
        raise typer.BadParameter(f"`{text}` is not a whole number") from None


File = Annotated[str, typer.Argument(metavar="FILE", help="program, a .zexp file", show_default=False)]
Readable = Annotated[
    str, typer.Argument(metavar="FILE", help="program, a .zexp file, or `-` for standard input", show_default=False)
]
Set = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="set a parameter of the program; can be repeated",
        autocompletion=complete_setting,
    ),
]
Profile = Annotated[
    str | None,
    typer.Option(
        "--profile", metavar="P", help="use the parameter values of this profile", autocompletion=complete_profile
    ),
]
Which = Annotated[
    str | None,
    typer.Option(
        "--experiment",
        "-e",
        metavar="NAME",
        help="experiment to use, if the program has several",
        autocompletion=complete_experiment,
    ),
]
Seed = Annotated[
    int | None,
    typer.Option("--seed", metavar="N", parser=read_number, help="seed for the order and for the offsets of workloads"),
]
Order = Annotated[
    str | None,
    typer.Option(
        "--order", metavar="ORDER", help="order of the trials: planned (the default), blocked, random or as-written"
    ),
]
Deny = Annotated[
    list[str] | None,
    typer.Option("--deny", metavar="RULE", help="report findings of this rule as errors", autocompletion=complete_rule),
]
Warn = Annotated[
    list[str] | None,
    typer.Option(
        "--warn", metavar="RULE", help="report findings of this rule as warnings", autocompletion=complete_rule
    ),
]
Allow = Annotated[
    list[str] | None,
    typer.Option("--allow", metavar="RULE", help="suppress this rule", autocompletion=complete_rule),
]
Host = Annotated[
    str | None,
    typer.Option(
        "--host",
        metavar="NAME",
        help="only the trials of this host; type the command on that machine",
        autocompletion=complete_host,
    ),
]
Reached = Annotated[
    list[str] | None,
    typer.Option(
        "--reach",
        metavar="NAME=ADDRESS",
        help="reach this host over ssh at USER@HOST; NAME=local: this machine is that host; can be repeated",
    ),
]
Runs = Annotated[Path, typer.Option("--runs", metavar="DIR", help="directory of the run folders")]
Database = Annotated[Path, typer.Option("--db", metavar="FILE", help="results database")]
Arm = Annotated[
    list[str] | None,
    typer.Option(
        "--arm",
        metavar="DEVICE",
        help="permit zlang to overwrite this device, named as in the program; can be repeated",
    ),
]
Wipe = Annotated[
    list[str] | None,
    typer.Option(
        "--wipe",
        metavar="DEVICE",
        help="permit zlang to overwrite this device even if it is not empty; can be repeated",
    ),
]
Wear = Annotated[bool, typer.Option("--wear", help="permit zlang to write more to a device than its stated endurance")]
Limit = Annotated[
    int | None,
    typer.Option("--limit", metavar="N", parser=read_number, help="permit a run of up to N trials; default: 10,000"),
]
Again = Annotated[bool, typer.Option("--again", help="measure again what earlier runs have measured")]
Form = Annotated[
    str,
    typer.Option("--format", metavar="FORMAT", help="table, csv, json, ndjson, markdown or latex", show_default=True),
]
Run = Annotated[
    str | None,
    typer.Option(
        "--run", metavar="RUN", help="default: the latest run", show_default=False, autocompletion=complete_run
    ),
]
OfRun = Annotated[
    str | None,
    typer.Argument(metavar="[RUN]", help="default: the latest run", show_default=False, autocompletion=complete_run),
]
Metric = Annotated[
    str | None,
    typer.Option(
        "--metric",
        "-m",
        metavar="METRIC",
        help="metric to use, a column of `trials`; default: the primary metric of the experiment",
    ),
]
Trust = Annotated[
    bool,
    typer.Option(
        "--trust",
        help="run the commands of this folder even if its seal does not show that you created it on this machine",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="print JSON instead of text")]
FormJson = Annotated[bool, typer.Option("--json", help="short for `--format json`")]
