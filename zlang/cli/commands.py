"""The commands with their arguments and options, as Typer reads them.

Commands import what they need when they are called, so that each starts fast.
"""

from __future__ import annotations

import io
import re
import sys
from pathlib import Path
from typing import Annotated

import typer

from zlang import __version__, text
from zlang.cli.words import DATABASE, RUNS
from zlang.diagnostics import Code
from zlang.emit.registry import EMITTERS
from zlang.errors import RunError
from zlang.importing import FILES, POOL_OPTION
from zlang.readers import REPORTS_OF

HELP = "Storage experiments: vary hardware, file system properties and workloads, and query the results in SQL."
_COMMENT = re.compile(r"--[\w-]*\s")  # no option has a space in its name
_PLAIN = re.compile(r"[\w.%/-]+")
EPILOG = "Start with `zlang init`, then `zlang plan FILE`, `zlang run FILE`, `zlang sql QUERY`."


def _kinds(incomplete: str) -> list[str]:
    """The kinds that a shell completes."""
    from zlang.check import library

    return [name for name in library.load().names() if name.startswith(incomplete)]


def _explained(incomplete: str) -> list[str]:
    """The codes of errors and rules, the names of rules, and the kinds, that a shell completes."""
    from zlang.lint.levels import LINTS

    codes = sorted(name for name in {*(code.id for code in Code), *LINTS} if name.startswith(incomplete))
    return [*codes, *_kinds(incomplete)]


def _run_names(incomplete: str) -> list[str]:
    """The runs in the usual place that a shell completes."""
    try:
        return sorted(path.name for path in RUNS.iterdir() if path.is_dir() and path.name.startswith(incomplete))
    except OSError:
        return []


def _rules(incomplete: str) -> list[str]:
    """The names of the rules that a shell completes."""
    from zlang.lint.levels import LINTS

    return sorted({lint.name for lint in LINTS.values() if lint.name.startswith(incomplete)})


def _profiles(context: typer.Context) -> list[str]:
    """The profiles of the program on the command line."""
    return _declared(context)["Profile"]


def _experiments(context: typer.Context) -> list[str]:
    """The experiments of the program on the command line."""
    return _declared(context)["ExperimentDef"]


def _hosts(context: typer.Context) -> list[str]:
    """The hosts of the program on the command line."""
    return _declared(context)["host"]


def _params(context: typer.Context) -> list[str]:
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
        autocompletion=_params,
    ),
]
Profile = Annotated[
    str | None,
    typer.Option("--profile", metavar="P", help="use the parameter values of this profile", autocompletion=_profiles),
]
Which = Annotated[
    str | None,
    typer.Option(
        "--experiment",
        "-e",
        metavar="NAME",
        help="experiment to use, if the program has several",
        autocompletion=_experiments,
    ),
]
Seed = Annotated[
    int | None, typer.Option("--seed", metavar="N", help="seed for the order and for the offsets of workloads")
]
Order = Annotated[
    str | None,
    typer.Option(
        "--order", metavar="ORDER", help="order of the trials: planned (the default), blocked, random or as-written"
    ),
]
Deny = Annotated[
    list[str] | None,
    typer.Option("--deny", metavar="RULE", help="report findings of this rule as errors", autocompletion=_rules),
]
Warn = Annotated[
    list[str] | None,
    typer.Option("--warn", metavar="RULE", help="report findings of this rule as warnings", autocompletion=_rules),
]
Allow = Annotated[
    list[str] | None,
    typer.Option("--allow", metavar="RULE", help="suppress this rule", autocompletion=_rules),
]
Host = Annotated[
    str | None,
    typer.Option(
        "--host",
        metavar="NAME",
        help="only the trials of this host; type the command on that machine",
        autocompletion=_hosts,
    ),
]
Reached = Annotated[
    list[str] | None,
    typer.Option(
        "--reach",
        metavar="NAME=ADDRESS",
        help="reach this host by ssh at USER@HOST, or as this machine: NAME=local; can be repeated",
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
_MOST_PARTS = 1000
"""Tasks that a job array can have where Slurm is set up as it comes: MaxArraySize is 1,001."""
Wear = Annotated[bool, typer.Option("--wear", help="permit zlang to write more to a device than its stated endurance")]
Limit = Annotated[
    int | None, typer.Option("--limit", metavar="N", help="permit a run of up to N trials; default: 10,000")
]
Again = Annotated[bool, typer.Option("--again", help="measure again what earlier runs have measured")]
Form = Annotated[
    str,
    typer.Option("--format", metavar="FORMAT", help="table, csv, json, ndjson, markdown or latex", show_default=True),
]
Run = Annotated[
    str | None,
    typer.Option("--run", metavar="RUN", help="default: the latest run", show_default=False, autocompletion=_run_names),
]
OfRun = Annotated[
    str | None,
    typer.Argument(metavar="[RUN]", help="default: the latest run", show_default=False, autocompletion=_run_names),
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


def top(
    *,
    version: Annotated[bool, typer.Option("--version", help="print the version", is_eager=True)] = False,
) -> None:
    """Measure storage: small programs say what to vary."""
    if version:
        print(f"zlang {__version__}")
        raise typer.Exit


def check(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE…", help="programs, directories of programs, or `-` for standard input", show_default=False
        ),
    ],
    settings: Set = None,
    profile: Profile = None,
    form: Annotated[
        str, typer.Option("--format", metavar="FORMAT", help="text, short, json, sarif or github", show_default=True)
    ] = "text",
    *,
    as_json: FormJson = False,
    fix: Annotated[bool, typer.Option("--fix", help="first apply fixes that are unambiguous")] = False,
    diff: Annotated[bool, typer.Option("--diff", help="show what `--fix` would change, and change nothing")] = False,
    deny: Deny = None,
    warn: Warn = None,
    allow: Allow = None,
) -> None:
    """Report all problems of programs, with their locations."""
    from zlang.cli import checking

    form = "json" if as_json else form
    rules = {"deny": deny or [], "warn": warn or [], "allow": allow or []}
    raise typer.Exit(checking.check(files, settings, profile, form, rules, fix=fix, diff=diff))


def explain(
    code: Annotated[
        str | None,
        typer.Argument(
            metavar="[CODE]",
            help="a code such as E203, a rule, a metric, a kind or KIND.PROPERTY; default: list all codes",
            show_default=False,
            autocompletion=_explained,
        ),
    ] = None,
) -> None:
    """Explain a finding, a metric, a kind or a property.

    The page of an error or a warning has a wrong and a corrected program.
    """
    from zlang.cli import explaining

    raise typer.Exit(explaining.explain(code))


def fmt(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE…",
            help="programs, directories of programs, or `-` from standard input to standard output",
            show_default=False,
        ),
    ],
    check: Annotated[
        bool, typer.Option("--check", help="list files that would change, and exit with 1 if there are any")
    ] = False,
    diff: Annotated[bool, typer.Option("--diff", help="show what would change, and change nothing")] = False,
) -> None:
    """Format programs. Comments stay where they are."""
    from zlang.cli import formatting

    raise typer.Exit(formatting.fmt(files, check=check, diff=diff))


def plan(
    file: Readable,
    settings: Set = None,
    profile: Profile = None,
    experiment: Which = None,
    trials: Annotated[bool, typer.Option("--trials", help="list all trials in order")] = False,
    steps: Annotated[
        bool, typer.Option("--steps", help="print all commands in order, with the reason for each")
    ] = False,
    trial: Annotated[int | None, typer.Option("--trial", metavar="N", help="show one trial in full")] = None,
    emit: Annotated[
        str | None,
        typer.Option(
            "--emit",
            metavar="FORMAT",
            help=f"write the plan as {', '.join(EMITTERS)}, or as the job files of a tool: then FORMAT is its name",
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="write to this directory instead of standard output")
    ] = None,
    seed: Seed = None,
    host: Host = None,
    order: Order = None,
    runs: Runs = RUNS,
    db: Database = DATABASE,
    again: Again = False,
    reach: Reached = None,
    *,
    as_json: Json = False,
) -> None:
    """Show what a run would do. Nothing is run, and nothing is changed.

    The estimate leaves out trials whose results `run` would reuse from earlier runs. For plans of more than 10,000
    trials, `plan` may not look for such results, and says so.
    """
    if out is not None and emit is None:
        raise typer.BadParameter("say what to write there: add --emit sh, or another format", param_hint="--out")
    views = {"--trials": trials, "--steps": steps, "--trial": trial is not None, "--emit": emit is not None}
    given = [option for option, is_given in views.items() if is_given]
    if len(given) > 1:
        raise typer.BadParameter(f"each shows the plan in its own way: give one of {', '.join(given)}")
    if as_json and given not in ([], ["--trials"]):
        raise typer.BadParameter(f"omit {given[0]}: the JSON has all trials and steps", param_hint="--json")
    from zlang.cli import planning

    raise typer.Exit(
        planning.plan(
            file,
            settings,
            profile,
            experiment,
            seed,
            host,
            order,
            runs,
            db,
            planning.View(trials=trials, steps=steps, trial=trial, emit=emit, out=out, as_json=as_json),
            reach=reach or (),
            again=again,
        )
    )


def diff(
    old: Annotated[
        str, typer.Argument(metavar="OLD", help="a program, REVISION:PROGRAM in git, or a plan", show_default=False)
    ],
    new: Annotated[str, typer.Argument(metavar="NEW", help="the same, to compare with OLD", show_default=False)],
    settings: Set = None,
    profile: Profile = None,
    experiment: Which = None,
    seed: Seed = None,
    order: Order = None,
    *,
    as_json: Json = False,
) -> None:
    """Compare two programs or plans.

    The comparison lists trials that are added, removed or changed, and their commands. The exit code is 6 if anything
    differs.

    A plan is a run folder, or a file that `zlang plan --emit json` or `zlang snapshot` wrote and whose name ends in
    `.jsonl`. A program is planned with the options given here, or else with those of the plan that it is compared with.
    """
    from zlang.cli import differing

    raise typer.Exit(differing.diff(old, new, settings, profile, experiment, seed, order, as_json=as_json))


def snapshot(
    file: File,
    settings: Set = None,
    profile: Profile = None,
    experiment: Which = None,
    seed: Seed = None,
    order: Order = None,
    *,
    validate: Annotated[
        bool, typer.Option("--validate", help="compare with the saved plan, and write nothing")
    ] = False,
    as_json: Json = False,
) -> None:
    """Save the plan of a program as PROGRAM.plan.jsonl.

    The file is beside the program. With `--validate` the command fails if the plan has changed since it was saved.

    Use it in the CI of a repository of experiments, to see how a change of a file or of zlang alters the plans before
    they are run. The exit code is 6 if anything differs.
    """
    from zlang.cli import differing

    given = (file, settings, profile, experiment, seed, order)
    raise typer.Exit(differing.snapshot(*given, validate=validate, as_json=as_json))


def run(
    file: File,
    settings: Set = None,
    profile: Profile = None,
    experiment: Which = None,
    runs: Runs = RUNS,
    db: Database = DATABASE,
    seed: Seed = None,
    host: Host = None,
    order: Order = None,
    wear: Wear = False,
    only: Annotated[int | None, typer.Option("--only", metavar="N", help="run only this trial")] = None,
    limit: Limit = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="do not ask for confirmation")] = False,
    failed: Annotated[
        bool, typer.Option("--failed", help="measure the failed trials of the latest run of this program again")
    ] = False,
    again: Again = False,
    arm: Arm = None,
    wipe: Wipe = None,
    reach: Reached = None,
    lanes: Annotated[
        int | None,
        typer.Option("--lanes", metavar="N", min=1, help="use at most N groups of machines at a time; default: all"),
    ] = None,
) -> None:
    """Run the plan of a program, and show the results.

    All output is kept in a run folder.

    If zlang.toml or --reach says how to reach each host, a program with several hosts is run from this machine.

    Trials that an earlier run in the same directory has measured, with the same configuration, commands and versions,
    are not measured again: their results are reused.
    """
    from zlang.cli import running
    from zlang.run.arming import Armed

    armed = Armed(tuple(arm or ()), tuple(wipe or ()))
    given = (file, settings, profile, experiment, runs, db, seed, host, order, armed)
    wishes = running.Wishes(only=only, limit=limit, yes=yes, failed=failed, again=again, wear=wear)
    raise typer.Exit(running.run(*given, wishes, reach=reach or [], lanes=lanes or 0))


def submit(
    file: File,
    options: Annotated[
        list[str] | None,
        typer.Argument(metavar="[-- OPTION…]", help="options of sbatch, such as --partition=P", show_default=False),
    ] = None,
    settings: Set = None,
    profile: Profile = None,
    experiment: Which = None,
    runs: Runs = RUNS,
    db: Database = DATABASE,
    seed: Seed = None,
    order: Order = None,
    *,
    slurm: Annotated[bool, typer.Option("--slurm", help="submit a job array of Slurm")] = False,
    parts: Annotated[
        int, typer.Option("--parts", metavar="N", min=1, max=_MOST_PARTS, help="divide the plan into at most N parts")
    ] = _MOST_PARTS,
    lanes: Annotated[
        int | None, typer.Option("--lanes", metavar="N", min=1, help="run at most N parts at a time; default: all")
    ] = None,
    limit: Limit = None,
    wear: Wear = False,
    failed: Annotated[
        bool, typer.Option("--failed", help="also submit parts with failed trials, which are measured again")
    ] = False,
    again: Again = False,
) -> None:
    """Submit the plan of a program to Slurm as a job array.

    Each task runs one part of the plan. A part consists of whole plots. If tasks were killed or lost, type the same
    command again: it submits the parts that are not finished. A program with several experiments becomes several
    jobs, one after the other.
    """
    from zlang.cli import submitting

    if not slurm:
        raise typer.BadParameter("add --slurm; zlang supports no other batch system", param_hint="--slurm")
    program = (file, settings, profile, experiment, runs, db, seed, order)
    wishes = submitting.Submission(parts=parts, lanes=lanes or 0, limit=limit, wear=wear, failed=failed, again=again)
    raise typer.Exit(submitting.submit(*program, options or [], wishes))


def hosts(
    file: Annotated[
        str | None,
        typer.Argument(
            metavar="[FILE]", help="default: the hosts in zlang.toml, in this directory or above", show_default=False
        ),
    ] = None,
    reach: Reached = None,
    *,
    as_json: Json = False,
) -> None:
    """List the hosts of a program, and how each is reached.

    It does not connect to them; `zlang doctor FILE` does.
    """
    from zlang.cli import hosting

    raise typer.Exit(hosting.hosts(file, reach or [], as_json=as_json))


def resume(
    run_name: Annotated[str | None, typer.Argument(metavar="[RUN]", help="default: the latest run")] = None,
    runs: Runs = RUNS,
    db: Database = DATABASE,
    only: Annotated[int | None, typer.Option("--only", metavar="N", help="run only this trial")] = None,
    failed: Annotated[bool, typer.Option("--failed", help="measure trials again that failed or do not count")] = False,
    arm: Arm = None,
    wipe: Wipe = None,
    *,
    yes: Annotated[
        bool, typer.Option("--yes", "-y", help="confirm that the manual step for which the run waits is done")
    ] = False,
    trust: Trust = False,
    reach: Reached = None,
    no_ingest: Annotated[
        bool, typer.Option("--no-ingest", help="do not add the results to a database, and do not show them")
    ] = False,
) -> None:
    """Continue a run where it stopped."""
    from zlang.cli import running
    from zlang.run.arming import Armed

    armed = Armed(tuple(arm or ()), tuple(wipe or ()))
    given = (run_name, runs, db, armed)
    is_answered = not no_ingest
    code = running.resume(
        *given, only=only, failed=failed, yes=yes, trust=trust, reach=reach or [], is_answered=is_answered
    )
    raise typer.Exit(code)


def clean(
    run_name: Annotated[str | None, typer.Argument(metavar="[RUN]", help="default: the latest run")] = None,
    runs: Runs = RUNS,
    *,
    as_json: Json = False,
    trust: Trust = False,
    reach: Reached = None,
) -> None:
    """Remove what a killed run left behind.

    Nothing is measured, and only what the run created is removed.
    """
    from zlang.cli import running

    raise typer.Exit(running.clean(run_name, runs, as_json=as_json, trust=trust, reach=reach or []))


def status(
    run_name: Annotated[
        str | None, typer.Argument(metavar="[RUN]", help="default: all runs", autocompletion=_run_names)
    ] = None,
    runs: Runs = RUNS,
    *,
    as_json: Json = False,
    follow: Annotated[
        bool,
        typer.Option(
            "--follow", help="watch a run (default: the latest) while it runs, for example in another terminal"
        ),
    ] = False,
) -> None:
    """Show the progress of runs, and what failed and why."""
    if follow and as_json:
        raise typer.BadParameter("omit --follow: it prints no JSON", param_hint="--json")
    from zlang.cli import status as statuses

    raise typer.Exit(statuses.follow(run_name, runs) if follow else statuses.status(run_name, runs, as_json=as_json))


def ingest(
    directory: Annotated[
        Path, typer.Argument(metavar="[DIR]", help="a directory of run folders, or one run folder")
    ] = RUNS,
    db: Database = DATABASE,
    csv: Annotated[
        str | None,
        typer.Option(
            "--csv", metavar="FILE", help="first import this file of results that were measured without zlang"
        ),
    ] = None,
    reports: Annotated[
        Path | None,
        typer.Option(
            f"--{REPORTS_OF}", metavar="DIR", help=f"first import the JSON reports of {REPORTS_OF} in this directory"
        ),
    ] = None,
    run_name: Annotated[
        str | None, typer.Option("--run", metavar="RUN", help="the results belong to trials of this run")
    ] = None,
    program: Annotated[
        str | None, typer.Option("--program", metavar="FILE", help="the results belong to the plan of this program")
    ] = None,
    settings: Set = None,
    profile: Profile = None,
    experiment: Which = None,
    seed: Seed = None,
    order: Order = None,
) -> None:
    """Rebuild the results database from run folders.

    It then has the runs in DIR, and no others.
    """
    from zlang.cli import ingesting

    if csv is not None:
        ingesting.import_csv(directory, csv, run_name, program, settings, profile, experiment, seed, order)
    elif run_name is not None or program is not None:
        raise typer.BadParameter(
            "it is only for --csv: add --csv FILE", param_hint="--run" if run_name else "--program"
        )
    if reports is not None:
        ingesting.import_reports(directory, reports)
    raise typer.Exit(ingesting.ingest(directory, db))


def sql(
    query: Annotated[
        str | None,
        typer.Argument(
            metavar="[QUERY]",
            help="SQL for DuckDB; `-` reads standard input, `@name` runs a saved query, `@` lists the saved queries",
            show_default=False,
        ),
    ] = None,
    file: Annotated[
        Path | None,
        typer.Option("--file", "-f", metavar="FILE", help="read the query from this file", show_default=False),
    ] = None,
    params: Annotated[
        list[str] | None,
        typer.Option(
            "--param", metavar="NAME=VALUE", help="value of `$NAME` in the query, such as bs=4KiB; can be repeated"
        ),
    ] = None,
    db: Database = DATABASE,
    form: Annotated[
        str,
        typer.Option(
            "--format", metavar="FORMAT", help="table, csv, json, ndjson, markdown, latex or parquet", show_default=True
        ),
    ] = "table",
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="FILE", help="write the result to this file", show_default=False),
    ] = None,
    partition: Annotated[
        list[str] | None,
        typer.Option(
            "--partition",
            metavar="COLUMN",
            help="for Parquet: one directory for each level of this column; can be repeated",
        ),
    ] = None,
    *,
    as_json: FormJson = False,
    raw: Annotated[bool, typer.Option("--raw", help="plain numbers instead of `4KiB` and `1.2 ms`")] = False,
    write: Annotated[bool, typer.Option("--write", help="permit statements that change the database")] = False,
    unsafe: Annotated[
        bool, typer.Option("--unsafe", help="permit statements to use files, the network and settings")
    ] = False,
) -> None:
    """Query the results with SQL.

    For example: `zlang sql "select FACTOR, median(METRIC) from trials group by all order by all"`. Without a query, on
    a terminal, it starts a prompt with completion and history.
    """
    from zlang.cli import query_results, querying

    query_options = query_results.QueryOptions(
        form="json" if as_json else form, out=out, partition=tuple(partition or ()), raw=raw, write=write, unsafe=unsafe
    )
    raise typer.Exit(querying.sql(query, file, params or (), db, query_options))


def expect(
    run_name: OfRun = None,
    db: Database = DATABASE,
    against: Annotated[
        str | None,
        typer.Option(metavar="RUN", help="compare with this run instead of the latest one", show_default=False),
    ] = None,
    *,
    as_json: Json = False,
) -> None:
    """Judge the expectations of an experiment.

    The exit code is 0 if all of them pass, 4 if one fails, and 5 if one is inconclusive.
    """
    from zlang.cli import answering

    raise typer.Exit(answering.expect(run_name, db, against, as_json=as_json))


def _joined(words: list[str] | None) -> str | None:
    """A clause whose words a shell has parted."""
    return " ".join(words) if words else None


def table(
    clause: Annotated[
        list[str] | None,
        typer.Argument(metavar="[CLAUSE]", help="such as 'METRIC, p99(METRIC) by FACTOR'", show_default=False),
    ] = None,
    run_name: Run = None,
    db: Database = DATABASE,
    form: Form = "table",
    *,
    as_json: FormJson = False,
) -> None:
    """Print results with their intervals.

    Without a clause, it prints the tables that the experiment declares, or one of all points if there are none.
    `zlang table 'METRIC, p99(LATENCY) by FACTOR'` has a row for each level, and merges histograms for the
    percentile.
    """
    from zlang.cli import answering

    raise typer.Exit(answering.table(_joined(clause), run_name, db, "json" if as_json else form))


def plot(
    clause: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[CLAUSE]", help="such as 'METRIC over FACTOR by FACTOR, facet FACTOR'", show_default=False
        ),
    ] = None,
    run_name: Run = None,
    db: Database = DATABASE,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", metavar="FILE", help="write a picture (.png, .svg) or a Vega-Lite specification (.json)"
        ),
    ] = None,
    *,
    heat: Annotated[
        bool, typer.Option("--heat", help="draw a heat map of two factors: `… over FACTOR by FACTOR`")
    ] = False,
    log: Annotated[bool, typer.Option("--log", help="use a logarithmic axis for the measures")] = False,
) -> None:
    """Draw results with their intervals.

    Without a clause, it draws the plots that the experiment declares. `zlang plot 'METRIC over FACTOR1 by FACTOR2,
    facet FACTOR3'` has a line for each level of FACTOR2, and a plot for each level of FACTOR3.

    A plot can also be over `latency`, `position` (trials in the order of measurement), `second` (samples of
    collectors) or `factors` (each factor in turn).
    """
    from zlang.cli import answering

    raise typer.Exit(answering.plot(_joined(clause), run_name, db, out, heat=heat, is_log=log))


def report(
    run_name: OfRun = None,
    form: Annotated[
        str, typer.Option("--format", metavar="FORMAT", help="html, markdown or csv", show_default=True)
    ] = "html",
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="PATH",
            help="default: report.html, report.md, or the directory report",
            show_default=False,
        ),
    ] = None,
    runs: Runs = RUNS,
    db: Database = DATABASE,
    *,
    bundle: Annotated[
        bool, typer.Option("--bundle", help="write report.zip: the page and the raw files to which it links")
    ] = False,
) -> None:
    """Write a report of a run.

    It is one HTML page that needs no network, or Markdown, or all tables as CSV.
    """
    from zlang.cli import reporting

    raise typer.Exit(reporting.report(run_name, runs, db, form, out, is_bundle=bundle))


def compare(
    pair: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[A B]",
            help="two levels; or two groups of trials, each as 'LEVEL, FACTOR=LEVEL'; or two runs",
            show_default=False,
        ),
    ] = None,
    by: Annotated[
        str | None, typer.Option("--by", metavar="FACTOR", help="factor to compare; default: every factor")
    ] = None,
    run_name: Run = None,
    metric: Metric = None,
    db: Database = DATABASE,
    form: Form = "table",
    *,
    as_json: FormJson = False,
) -> None:
    """Compare levels or runs.

    The result has ratios with intervals, verdicts and caveats.
    """
    from zlang.cli import comparing

    raise typer.Exit(comparing.compare(pair or (), by, run_name, metric, db, "json" if as_json else form))


def effects(
    run_name: OfRun = None,
    metric: Metric = None,
    db: Database = DATABASE,
    form: Form = "table",
    *,
    as_json: FormJson = False,
) -> None:
    """Say how much of the variance each factor explains.

    The analysis of variance has main effects, two-factor interactions and replication.
    """
    from zlang.cli import comparing

    raise typer.Exit(comparing.effects(run_name, metric, db, "json" if as_json else form))


def findings(
    run_name: OfRun = None,
    db: Database = DATABASE,
    *,
    as_json: Json = False,
) -> None:
    """List reasons to doubt the results of a run.

    Examples are drift, outliers, and queues that were not full.
    """
    from zlang.cli import comparing

    raise typer.Exit(comparing.findings(run_name, db, as_json=as_json))


def init(
    file: Annotated[Path, typer.Argument(metavar="[FILE]", help="file to write")] = Path("experiment.zexp"),
) -> None:
    """Write a commented first program for this directory."""
    from zlang.cli import teaching

    raise typer.Exit(teaching.init(file))


def import_(
    file: Annotated[
        str | None, typer.Argument(metavar="[FILE]", help=f"{FILES}, or `-` for standard input", show_default=False)
    ] = None,
    form: Annotated[
        str | None,
        typer.Option("--format", metavar="FORMAT", help="format of the file; default: recognised from its content"),
    ] = None,
    pool: Annotated[
        str | None,
        typer.Option(POOL_OPTION, metavar="POOL", help="a pool of this machine, or POOL/DATASET, instead of a file"),
    ] = None,
    mounts: Annotated[bool, typer.Option("--mounts", help="the mounted file systems of this machine")] = False,
    host: Annotated[bool, typer.Option("--host", help="this machine, as `doctor --save` writes it")] = False,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="FILE", help="write to this file instead of standard output")
    ] = None,
) -> None:
    """Turn a file of another tool into a program.

    It also writes declarations of what this machine has. What a program cannot express becomes a comment.
    """
    from zlang.cli import importing

    raise typer.Exit(importing.import_into(file, form, out, pool, mounts=mounts, host=host))


import_.__name__ = "import"


def lsp() -> None:
    """Run the language server for editors.

    It uses standard input and output.
    """
    from zlang.cli import serving

    serving.serve()


def kinds(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[KIND]",
            help="a kind, or KIND.PROPERTY; default: list all kinds",
            show_default=False,
            autocompletion=_kinds,
        ),
    ] = None,
    *,
    as_json: Json = False,
) -> None:
    """List what the standard library offers."""
    from zlang.cli import teaching

    raise typer.Exit(teaching.kinds(name, as_json=as_json))


def doctor(
    file: Annotated[
        str | None, typer.Argument(metavar="[FILE]", help="a program: check only what it needs", show_default=False)
    ] = None,
    save: Annotated[
        Path | None,
        typer.Option("--save", metavar="FILE", help="write this machine as a `host` declaration"),
    ] = None,
    reach: Reached = None,
    *,
    as_json: Json = False,
) -> None:
    """List installed and missing tools.

    The list has their versions, and how to install them.

    If zlang.toml or --reach says how to reach the hosts of the program, it also checks each of them: the clock, the
    tools, and whether a fact contradicts the program.
    """
    from zlang.cli import doctoring

    raise typer.Exit(doctoring.doctor(file, save, reach or [], as_json=as_json))


COMMANDS = (
    check,
    explain,
    fmt,
    plan,
    diff,
    snapshot,
    run,
    submit,
    resume,
    clean,
    status,
    ingest,
    sql,
    expect,
    table,
    plot,
    report,
    compare,
    effects,
    findings,
    init,
    import_,
    lsp,
    kinds,
    hosts,
    doctor,
)


def application(arguments: list[str]) -> typer.Typer:
    """The command line. Typer takes a millisecond for each command, so one that is named first is alone in it."""
    app = typer.Typer(
        name="zlang",
        help=HELP,
        epilog=EPILOG,
        no_args_is_help=True,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["--help", "-h"]},
        pretty_exceptions_enable=False,
    )
    app.callback(invoke_without_command=True)(top)
    named = [command for command in COMMANDS if arguments[:1] == [command.__name__]]
    for command in named or COMMANDS:
        app.command()(command)
    return app


def carry_out(arguments: list[str]) -> object:
    """Carry out a command; what comes back is the code that `typer.Exit` was raised with."""
    try:
        return application(arguments)(args=_typed(arguments), prog_name="zlang", standalone_mode=False)
    except typer.TyperException as error:
        output = io.StringIO()
        error.show(file=output)  # type: ignore[attr-defined]  # all that Typer raises of it can
        sys.stderr.write(text.visible(output.getvalue(), text.LAYOUT))
        return error.exit_code
    except typer.Abort:
        print("nothing was done", file=sys.stderr)
        return 130


def _typed(arguments: list[str]) -> list[str]:
    """The arguments, changed so that SQL that begins with a comment (`-- …`) is not read as an option."""
    if arguments[:1] != ["sql"]:
        return arguments
    return [f"\n{word}" if _COMMENT.match(word) else word for word in arguments]
