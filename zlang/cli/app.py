"""Words of the command line to calls of the pipeline; what is wrong, to an exit code.

Commands import what they need when they are called, so that `zlang check` starts fast.
"""

from __future__ import annotations

import gc
import os
import re
import sys
from pathlib import Path
from typing import Annotated

import typer
from typer._click.exceptions import UsageError  # typer exports only some of what it raises

from zlang import __version__
from zlang.cli.words import RUNS
from zlang.metrics import LEFT_BY

EXIT_CODES = {
    0: "done; of `check`, nothing is wrong (warnings may be); of `run`, every trial counts and all is as expected",
    1: "a program is wrong, a file cannot be read, or there are trials that do not count",
    2: "the command line is wrong; nothing was done",
    3: "a bug in zlang; the message names a log for the report",
    4: "an expectation failed (`run`, `resume`, `expect`)",
    5: "no expectation failed, but of one it cannot be told (`run`, `resume`, `expect`)",
    6: "two plans differ (`diff`, `snapshot --validate`)",
    130: "interrupted by Ctrl-C, or not confirmed; `zlang resume` goes on with a run",
    143: "ended by SIGTERM; likewise",
}
HELP = "Storage experiments: sweep hardware, file system properties and workloads, and ask the results in SQL."
_COMMENT = re.compile(r"--[\w-]*\s")  # no option has a space in its name
EPILOG = "Begin with `zlang init`, then `zlang plan FILE`, `zlang run FILE`, `zlang sql QUERY`."

File = Annotated[str, typer.Argument(help="the program, a .zexp file", show_default=False)]
Set = Annotated[
    list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="give a param another value; can be repeated")
]
Profile = Annotated[str | None, typer.Option("--profile", metavar="P", help="take the params' values from a profile")]
Which = Annotated[
    str | None, typer.Option("--experiment", "-e", metavar="NAME", help="which experiment, if the program has several")
]
Seed = Annotated[
    int | None, typer.Option("--seed", metavar="N", help="draw the order and the workloads' offsets by this seed")
]
Order = Annotated[
    str | None,
    typer.Option("--order", metavar="ORDER", help="of the trials: planned (by default), blocked, random or as-written"),
]
Deny = Annotated[list[str] | None, typer.Option("--deny", metavar="RULE", help="take a rule's findings as errors")]
Warn = Annotated[list[str] | None, typer.Option("--warn", metavar="RULE", help="take a rule's findings as warnings")]
Allow = Annotated[list[str] | None, typer.Option("--allow", metavar="RULE", help="leave a rule's findings away")]
Host = Annotated[
    str | None, typer.Option("--host", metavar="NAME", help="only the trials of this host, for the machine that it is")
]
Runs = Annotated[Path, typer.Option("--runs", metavar="DIR", help="where the run folders are kept")]
Database = Annotated[Path, typer.Option("--db", metavar="FILE", help="the results database")]
Arm = Annotated[
    list[str] | None,
    typer.Option(
        "--arm", metavar="DEVICE", help="this device, as the program names it, may be overwritten; repeatable"
    ),
]
Wipe = Annotated[
    list[str] | None,
    typer.Option("--wipe", metavar="DEVICE", help="even if there is something on it; repeatable"),
]
Again = Annotated[bool, typer.Option("--again", help="measure also what an earlier run has measured")]
Form = Annotated[
    str, typer.Option("--format", metavar="FORMAT", help="table, csv, json or markdown", show_default=True)
]
OfRun = Annotated[str | None, typer.Argument(metavar="[RUN]", help="the latest one by default", show_default=False)]
Metric = Annotated[
    str | None, typer.Option("--metric", "-m", metavar="METRIC", help="such as read_clat_p99; else the usual one")
]
Json = Annotated[bool, typer.Option("--json", help="for scripts: JSON instead of text")]

DATABASE = Path("results.duckdb")


def top(
    *,
    version: Annotated[bool, typer.Option("--version", help="print the version", is_eager=True)] = False,
) -> None:
    """Storage experiments as small programs."""
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
    as_json: Annotated[bool, typer.Option("--json", help="short for `--format json`")] = False,
    fix: Annotated[bool, typer.Option("--fix", help="first mend what can be mended in one way only")] = False,
    diff: Annotated[bool, typer.Option("--diff", help="only show what `--fix` would change")] = False,
    deny: Deny = None,
    warn: Warn = None,
    allow: Allow = None,
) -> None:
    """Say all that is wrong with programs, at its place."""
    from zlang.cli import checking

    form = "json" if as_json else form
    rules = {"deny": deny or [], "warn": warn or [], "allow": allow or []}
    raise typer.Exit(checking.check(files, settings, profile, form, rules, fix=fix, diff=diff))


def explain(
    code: Annotated[str | None, typer.Argument(help="such as E203, or all", show_default=False)] = None,
) -> None:
    """Say what a finding means: a wrong program, its message, the program mended."""
    from zlang.cli import explaining

    raise typer.Exit(explaining.explain(code))


def fmt(
    files: Annotated[
        list[str],
        typer.Argument(metavar="FILE…", help="programs; `-` is standard input, to standard output", show_default=False),
    ],
    check: Annotated[bool, typer.Option("--check", help="only name what would change; exit code 1 if any")] = False,
    diff: Annotated[bool, typer.Option("--diff", help="only show what would change")] = False,
) -> None:
    """Put programs into the one style; comments stay where they are."""
    from zlang.cli import formatting

    raise typer.Exit(formatting.fmt(files, check=check, diff=diff))


def plan(
    file: File,
    settings: Set = None,
    profile: Profile = None,
    experiment: Which = None,
    trials: Annotated[bool, typer.Option("--trials", help="list every trial, in order")] = False,
    steps: Annotated[bool, typer.Option("--steps", help="print every command, in order, with why it is there")] = False,
    trial: Annotated[
        int | None, typer.Option("--trial", metavar="N", help="show the trial of this number in full")
    ] = None,
    emit: Annotated[
        str | None,
        typer.Option(
            "--emit",
            metavar="FORMAT",
            help="write the plan as sh, json, markdown, dot, mermaid, or as the job files of the workload's own tool",
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="write files there, not to the screen")
    ] = None,
    seed: Seed = None,
    host: Host = None,
    order: Order = None,
    runs: Runs = RUNS,
    db: Database = DATABASE,
    again: Again = False,
    *,
    as_json: Json = False,
) -> None:
    """Show what a program would do. Nothing is run and nothing is changed.

    What it takes is without the trials that an earlier run in the directory of runs has measured, as `run` takes them
    over; of more than 10,000 trials that are left they are not looked for.
    """
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
            again=again,
            trials=trials,
            steps=steps,
            trial=trial,
            emit=emit,
            out=out,
            as_json=as_json,
        )
    )


def diff(
    old: Annotated[
        str, typer.Argument(metavar="OLD", help="a program, REVISION:PROGRAM of git, or a plan", show_default=False)
    ],
    new: Annotated[str, typer.Argument(metavar="NEW", help="likewise", show_default=False)],
    settings: Set = None,
    profile: Profile = None,
    experiment: Which = None,
    seed: Seed = None,
    order: Order = None,
    *,
    as_json: Json = False,
) -> None:
    """Say which trials come, go and change between two programs or plans, and what commands do.

    A plan is a run folder, or a file of `zlang plan --emit json` or `zlang snapshot`, whose name ends in `.jsonl`. A
    program is planned with what is said here, or like the plan that it is compared with. The exit code is 6 if anything
    differs.
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
        bool, typer.Option("--validate", help="write nothing: say what differs from the plan that was kept")
    ] = False,
    as_json: Json = False,
) -> None:
    """Keep a program's plan beside it, as PROGRAM.plan.jsonl; `--validate` fails when it would be another one now.

    For the checks of a repository of experiments: what a change of a file, or of zlang, does to the plans is seen
    before they are carried out. The exit code is 6 if anything differs.
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
    wear: Annotated[
        bool, typer.Option("--wear", help="write more to a device than the endurance that is stated for it")
    ] = False,
    only: Annotated[int | None, typer.Option("--only", metavar="N", help="just the trial of this number")] = None,
    limit: Annotated[int | None, typer.Option("--limit", metavar="N", help="run at most so many trials")] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="do not ask")] = False,
    failed: Annotated[
        bool, typer.Option("--failed", help="measure again what failed in the latest run of this program")
    ] = False,
    again: Again = False,
    arm: Arm = None,
    wipe: Wipe = None,
) -> None:
    """Carry out a program's plan, keep everything, and show the medians.

    What an earlier run in the same directory of runs has measured, with the same configuration, commands and versions,
    is not measured again but taken over.
    """
    from zlang.cli import running
    from zlang.run.arming import Armed

    armed = Armed(tuple(arm or ()), tuple(wipe or ()))
    given = (file, settings, profile, experiment, runs, db, seed, host, order, armed)
    raise typer.Exit(running.run(*given, only=only, limit=limit, yes=yes, failed=failed, again=again, wear=wear))


def resume(
    run_name: Annotated[str | None, typer.Argument(metavar="[RUN]", help="the latest one by default")] = None,
    runs: Runs = RUNS,
    db: Database = DATABASE,
    only: Annotated[int | None, typer.Option("--only", metavar="N", help="just the trial of this number")] = None,
    failed: Annotated[bool, typer.Option("--failed", help="measure again what failed or does not count")] = False,
    arm: Arm = None,
    wipe: Wipe = None,
    *,
    yes: Annotated[
        bool, typer.Option("--yes", "-y", help="what the run was waiting for somebody to do is done")
    ] = False,
) -> None:
    """Go on with a run where it stopped."""
    from zlang.cli import running
    from zlang.run.arming import Armed

    armed = Armed(tuple(arm or ()), tuple(wipe or ()))
    raise typer.Exit(running.resume(run_name, runs, db, armed, only=only, failed=failed, yes=yes))


def clean(
    run_name: Annotated[str | None, typer.Argument(metavar="[RUN]", help="the latest one by default")] = None,
    runs: Runs = RUNS,
    *,
    as_json: Json = False,
) -> None:
    """Remove what a run left behind when it was killed; nothing is measured, and nothing but its own is removed."""
    from zlang.cli import running

    raise typer.Exit(running.clean(run_name, runs, as_json=as_json))


def status(
    run_name: Annotated[str | None, typer.Argument(metavar="[RUN]", help="all runs by default")] = None,
    runs: Runs = RUNS,
    *,
    as_json: Json = False,
) -> None:
    """Say where runs stand, what failed and why."""
    from zlang.cli import running

    raise typer.Exit(running.status(run_name, runs, as_json=as_json))


def ingest(
    directory: Annotated[Path, typer.Argument(metavar="[DIR]", help="run folders, or one")] = RUNS,
    db: Database = DATABASE,
    csv: Annotated[
        str | None, typer.Option("--csv", metavar="FILE", help="first bring in what another tool measured")
    ] = None,
    reports: Annotated[
        Path | None,
        typer.Option(f"--{LEFT_BY}", metavar="DIR", help=f"first bring in reports (JSON) that {LEFT_BY} left there"),
    ] = None,
    run_name: Annotated[
        str | None, typer.Option("--run", metavar="RUN", help="of the trials of this run, which asked for it")
    ] = None,
    program: Annotated[
        str | None, typer.Option("--program", metavar="FILE", help="of a plan that somebody else carried out")
    ] = None,
    settings: Set = None,
    profile: Profile = None,
    experiment: Which = None,
    seed: Seed = None,
    order: Order = None,
) -> None:
    """Build the results database again from the run folders."""
    from zlang.cli import asking

    if csv is not None:
        asking.bring_in(directory, csv, run_name, program, settings, profile, experiment, seed, order)
    elif run_name is not None or program is not None:
        raise typer.BadParameter("say what is brought in: --csv FILE", param_hint="--run" if run_name else "--program")
    if reports is not None:
        asking.bring_in_reports(directory, reports)
    raise typer.Exit(asking.ingest(directory, db))


def sql(
    query: Annotated[
        str | None,
        typer.Argument(
            metavar="[QUERY]",
            help="SQL of DuckDB; `-` reads it from standard input, `@name` is a saved one, `@` lists those",
            show_default=False,
        ),
    ] = None,
    file: Annotated[
        Path | None, typer.Option("--file", "-f", metavar="FILE", help="ask what is in a file", show_default=False)
    ] = None,
    params: Annotated[
        list[str] | None,
        typer.Option("--param", metavar="NAME=VALUE", help="the value of `$NAME`, such as bs=4KiB; can be repeated"),
    ] = None,
    db: Database = DATABASE,
    form: Annotated[
        str,
        typer.Option(
            "--format", metavar="FORMAT", help="table, csv, json, ndjson, markdown, latex or parquet", show_default=True
        ),
    ] = "table",
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="FILE", help="write the answer there", show_default=False)
    ] = None,
    partition: Annotated[
        list[str] | None,
        typer.Option("--partition", metavar="COLUMN", help="of Parquet: a directory for each level; can be repeated"),
    ] = None,
    *,
    raw: Annotated[bool, typer.Option("--raw", help="plain numbers instead of `4KiB` and `1.2 ms`")] = False,
    write: Annotated[bool, typer.Option("--write", help="let statements change the database")] = False,
    unsafe: Annotated[bool, typer.Option("--unsafe", help="let statements use files, the network, settings")] = False,
) -> None:
    """Ask the results: `zlang sql "select bs, median(read_iops) from trials group by all order by all"`.

    Without a query, on a terminal: many questions, with completion and history.
    """
    from zlang.cli import querying

    asked = querying.Asked(form, out, tuple(partition or ()), raw, write, unsafe)
    raise typer.Exit(querying.sql(query, file, params or (), db, asked))


def expect(
    run_name: OfRun = None,
    db: Database = DATABASE,
    *,
    as_json: Json = False,
) -> None:
    """Judge a run by its experiment's expectations: exit code 4 if one failed, 5 if of one it cannot be told."""
    from zlang.cli import answering

    raise typer.Exit(answering.expect(run_name, db, as_json=as_json))


def table(
    clause: Annotated[
        str | None,
        typer.Argument(metavar="[CLAUSE]", help="such as 'read_iops, p99(read_clat) by bs'", show_default=False),
    ] = None,
    run_name: Annotated[
        str | None, typer.Option("--run", metavar="RUN", help="the latest one by default", show_default=False)
    ] = None,
    db: Database = DATABASE,
    form: Form = "table",
) -> None:
    """Print medians with their intervals: the tables that a run's experiment asks for, or another one."""
    from zlang.cli import answering

    raise typer.Exit(answering.table(clause, run_name, db, form))


def plot(
    clause: Annotated[
        str | None,
        typer.Argument(metavar="[CLAUSE]", help="such as 'read_iops over iodepth by rw, facet bs'", show_default=False),
    ] = None,
    run_name: Annotated[
        str | None, typer.Option("--run", metavar="RUN", help="the latest one by default", show_default=False)
    ] = None,
    db: Database = DATABASE,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="FILE", help="write a picture: .png, .svg; or .json (Vega-Lite)"),
    ] = None,
    *,
    heat: Annotated[
        bool, typer.Option("--heat", help="as fields of colours, of two factors: `… over bs by iodepth`")
    ] = False,
) -> None:
    """Draw medians with their intervals: the plots that a run's experiment asks for, or another one.

    Over `latency`, `position` (of trials in the order), `second` (of collectors) or `factors` (each in turn) as well.
    """
    from zlang.cli import answering

    raise typer.Exit(answering.plot(clause, run_name, db, out, heat=heat))


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
            help="else report.html, report.md, or the directory report",
            show_default=False,
        ),
    ] = None,
    runs: Runs = RUNS,
    db: Database = DATABASE,
) -> None:
    """Write what was asked, run and found as one page that needs no network; or as Markdown, or all tables as CSV."""
    from zlang.cli import reporting

    raise typer.Exit(reporting.report(run_name, runs, db, form, out))


def compare(
    pair: Annotated[
        list[str] | None,
        typer.Argument(metavar="[A B]", help="two levels of the factor, or two runs", show_default=False),
    ] = None,
    by: Annotated[
        str | None, typer.Option("--by", metavar="FACTOR", help="compare its levels; else those of every factor")
    ] = None,
    run_name: Annotated[
        str | None, typer.Option("--run", metavar="RUN", help="the latest one by default", show_default=False)
    ] = None,
    metric: Metric = None,
    db: Database = DATABASE,
    form: Form = "table",
) -> None:
    """Say which levels (or runs) differ: ratios with intervals, verdicts in words, and what makes them doubtful."""
    from zlang.cli import comparing

    raise typer.Exit(comparing.compare(pair or (), by, run_name, metric, db, form))


def effects(
    run_name: OfRun = None,
    metric: Metric = None,
    db: Database = DATABASE,
    form: Form = "table",
) -> None:
    """Say what the variance comes from: main effects, interactions of two factors, repetitions."""
    from zlang.cli import comparing

    raise typer.Exit(comparing.effects(run_name, metric, db, form))


def findings(
    run_name: OfRun = None,
    db: Database = DATABASE,
    *,
    as_json: Json = False,
) -> None:
    """Say what makes the figures of a run doubtful: drift, outliers, queues that were not full and their like."""
    from zlang.cli import comparing

    raise typer.Exit(comparing.findings(run_name, db, as_json=as_json))


def init(
    file: Annotated[Path, typer.Argument(help="the file to write")] = Path("experiment.zexp"),
) -> None:
    """Write a first program, with comments, for this directory."""
    from zlang.cli import teaching

    raise typer.Exit(teaching.init(file))


def kinds(
    name: Annotated[str | None, typer.Argument(help="a kind, or KIND.PROPERTY; or all", show_default=False)] = None,
    *,
    as_json: Json = False,
) -> None:
    """Say what the standard library offers."""
    from zlang.cli import teaching

    raise typer.Exit(teaching.kinds(name, as_json=as_json))


def doctor(
    file: Annotated[str | None, typer.Argument(help="a program: only what it needs", show_default=False)] = None,
    save: Annotated[
        Path | None,
        typer.Option("--save", metavar="FILE", help="write what is known of this machine as a host"),
    ] = None,
    *,
    as_json: Json = False,
) -> None:
    """Say which tools and versions are here, what is missing and how to get it."""
    from zlang.cli import doctoring

    raise typer.Exit(doctoring.doctor(file, save, as_json=as_json))


COMMANDS = (
    check,
    explain,
    fmt,
    plan,
    diff,
    snapshot,
    run,
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
    kinds,
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
        pretty_exceptions_enable=False,
    )
    app.callback(invoke_without_command=True)(top)
    named = [command for command in COMMANDS if arguments[:1] == [command.__name__]]
    for command in named or COMMANDS:
        app.command()(command)
    return app


def main() -> None:
    """The `zlang` command."""
    code = guarded()
    gc.freeze()  # the interpreter would search all that is left for garbage before it ends
    sys.exit(code)


def guarded(arguments: list[str] | None = None) -> int:
    """The exit code of a command; every way in which it can end is spoken of here."""
    from zlang.cli import render
    from zlang.diagnostics import ProgramError
    from zlang.errors import RunError

    words = _typed(sys.argv[1:] if arguments is None else arguments)
    try:
        # The code is what `typer.Exit` was raised with.
        code = application(words)(args=words, prog_name="zlang", standalone_mode=False)
    except UsageError as error:
        error.show()
        return 2
    except typer.Abort:
        print("nothing was done", file=sys.stderr)
        return 130
    except ProgramError as error:
        print(render.diagnostic(error.diagnostic, colour=render.is_coloured(sys.stderr)), file=sys.stderr)
        return 1
    except RunError as error:
        print(render.run_error(error, colour=render.is_coloured(sys.stderr)), file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    except SystemExit as end:
        # Typer ends so when nobody reads any more, as in `zlang plan … | head`; that is no failure.
        if not isinstance(end.__context__, BrokenPipeError):
            raise
        return 0
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as error:  # noqa: BLE001 - a bug of ours: the user gets a sentence, we get a log
        return render.bug(error)
    return code if isinstance(code, int) else 0


def _typed(arguments: list[str]) -> list[str]:
    """The arguments, so that SQL which begins with a comment (`-- what is asked`) is not taken for an option."""
    if arguments[:1] != ["sql"]:
        return arguments
    return [f"\n{word}" if _COMMENT.match(word) else word for word in arguments]


if __name__ == "__main__":
    main()
