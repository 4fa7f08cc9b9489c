"""The commands: their arguments, their options, and what each calls.

An annotation says how Typer reads an argument or an option. Annotations are evaluated only for a command line that is
read with Typer (`zlang/cli/command_line.py`). Commands import what they need when they are called.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from zlang.cli.defaults import DATABASE, RUNS
from zlang.errors import UsageError
from zlang.hints import TYPE_CHECKING, Annotated

if TYPE_CHECKING:
    import typer

    from zlang.cli.options import (
        Again,
        Allow,
        Arm,
        Database,
        Deny,
        File,
        Form,
        FormJson,
        Host,
        Json,
        Limit,
        Metric,
        OfRun,
        Order,
        Profile,
        Reached,
        Readable,
        Run,
        Runs,
        Seed,
        Set,
        Trust,
        Warn,
        Wear,
        Which,
        Wipe,
        complete_code,
        complete_kind,
        complete_run,
        read_number,
    )
    from zlang.emit.registry import EMITTERS
    from zlang.importing import FILES, POOL_OPTION
    from zlang.readers import REPORTS_OF

MOST_PARTS = 1000
"""Tasks that a job array can have where Slurm is set up as it comes: MaxArraySize is 1,001."""


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
) -> int:
    """Report all problems in programs, with their locations."""
    from zlang.cli import checking

    form = "json" if as_json else form
    rules = {"deny": deny or [], "warn": warn or [], "allow": allow or []}
    return checking.check(files, settings, profile, form, rules, fix=fix, diff=diff)


def explain(
    code: Annotated[
        str | None,
        typer.Argument(
            metavar="[CODE]",
            help="a code such as E203, a rule, a metric, a column, a kind or KIND.PROPERTY; default: list all codes",
            show_default=False,
            autocompletion=complete_code,
        ),
    ] = None,
) -> int:
    """Explain an error, a warning, a metric, a column or a kind.

    The page of an error or a warning has a wrong and a corrected program.
    """
    from zlang.cli import explaining

    return explaining.explain(code)


def fmt(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE…",
            help="programs, directories of programs, or `-` for standard input, formatted to standard output",
            show_default=False,
        ),
    ],
    check: Annotated[
        bool, typer.Option("--check", help="list files that would change, and exit with 1 if there are any")
    ] = False,
    diff: Annotated[bool, typer.Option("--diff", help="show what would change, and change nothing")] = False,
) -> int:
    """Format programs. Comments stay where they are."""
    from zlang.cli import formatting

    return formatting.fmt(files, check=check, diff=diff)


def plan(
    file: Readable,
    settings: Set = None,
    profile: Profile = None,
    experiment: Which = None,
    trials: Annotated[bool, typer.Option("--trials", help="list all trials in order")] = False,
    steps: Annotated[
        bool, typer.Option("--steps", help="print all commands in order, with the reason for each")
    ] = False,
    trial: Annotated[
        int | None, typer.Option("--trial", metavar="N", parser=read_number, help="show one trial in full")
    ] = None,
    emit: Annotated[
        str | None,
        typer.Option(
            "--emit",
            metavar="FORMAT",
            help=f"write the plan as {', '.join(EMITTERS)}, or, if FORMAT is the name of a tool, as its job files",
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
) -> int:
    """Show what a run would do. Nothing is run, and nothing is changed.

    The estimate leaves out trials whose results `run` would reuse from earlier runs. For plans of more than 10,000
    trials, `plan` may not look for such results, and says so.
    """
    from zlang.cli import planning

    view = planning.View(trials=trials, steps=steps, trial=trial, emit=emit, out=out, as_json=as_json)
    view.require_one()
    return planning.plan(
        file,
        settings,
        profile,
        experiment,
        seed,
        host,
        order,
        runs,
        db,
        view,
        reach=reach or (),
        again=again,
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
) -> int:
    """Compare two programs or plans.

    The comparison lists trials that are added, removed or changed, and their commands. The exit code is 6 if anything
    differs.

    A plan is a run folder, or a file that `zlang plan --emit json` or `zlang snapshot` wrote and whose name ends in
    `.jsonl`. A program is planned with the options given here, or else with those of the plan that it is compared with.
    """
    from zlang.cli import differing

    return differing.diff(old, new, settings, profile, experiment, seed, order, as_json=as_json)


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
) -> int:
    """Save the plan of a program as PROGRAM.plan.jsonl.

    The file is beside the program. With `--validate` the command fails if the plan has changed since it was saved.

    Use it in the CI of a repository of experiments, to see how a change of a file or of zlang alters the plans before
    they are run. The exit code is 6 if anything differs.
    """
    from zlang.cli import differing

    given = (file, settings, profile, experiment, seed, order)
    return differing.snapshot(*given, validate=validate, as_json=as_json)


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
    only: Annotated[
        int | None, typer.Option("--only", metavar="N", parser=read_number, help="run only this trial")
    ] = None,
    limit: Limit = None,
    yes: Annotated[
        bool, typer.Option("--yes", "-y", help="do not ask for confirmation, even if the space is too small")
    ] = False,
    failed: Annotated[
        bool, typer.Option("--failed", help="measure the failed trials of the latest run of this program again")
    ] = False,
    again: Again = False,
    arm: Arm = None,
    wipe: Wipe = None,
    reach: Reached = None,
    lanes: Annotated[
        int | None,
        typer.Option(
            "--lanes", metavar="N", min=1, help="measure on at most N groups of machines at the same time; default: all"
        ),
    ] = None,
) -> int:
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
    return running.run(*given, wishes, reach=reach or [], lanes=lanes or 0)


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
        int, typer.Option("--parts", metavar="N", min=1, max=MOST_PARTS, help="divide the plan into at most N parts")
    ] = MOST_PARTS,
    lanes: Annotated[
        int | None, typer.Option("--lanes", metavar="N", min=1, help="run at most N parts at a time; default: all")
    ] = None,
    limit: Limit = None,
    wear: Wear = False,
    failed: Annotated[
        bool, typer.Option("--failed", help="also submit parts with failed trials, which are measured again")
    ] = False,
    again: Again = False,
) -> int:
    """Submit the plan of a program to Slurm as a job array.

    Each task runs one part of the plan: some whole plots, which are groups of trials that need the same resources. If
    tasks were killed or lost, type the same command again: it submits the parts that are not finished. A program with
    several experiments becomes several jobs, one after the other.
    """
    from zlang.cli import submitting

    if not slurm:
        raise UsageError("add --slurm; zlang supports no other batch system", option="--slurm")
    program = (file, settings, profile, experiment, runs, db, seed, order)
    wishes = submitting.Submission(parts=parts, lanes=lanes or 0, limit=limit, wear=wear, failed=failed, again=again)
    return submitting.submit(*program, options or [], wishes)


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
) -> int:
    """List the hosts of a program, and how zlang reaches each of them.

    It does not connect to them; `zlang doctor FILE` does.
    """
    from zlang.cli import hosting

    return hosting.hosts(file, reach or [], as_json=as_json)


def resume(
    run_name: Annotated[str | None, typer.Argument(metavar="[RUN]", help="default: the latest run")] = None,
    runs: Runs = RUNS,
    db: Database = DATABASE,
    only: Annotated[
        int | None, typer.Option("--only", metavar="N", parser=read_number, help="run only this trial")
    ] = None,
    failed: Annotated[bool, typer.Option("--failed", help="measure trials again that failed or do not count")] = False,
    arm: Arm = None,
    wipe: Wipe = None,
    *,
    yes: Annotated[
        bool, typer.Option("--yes", "-y", help="confirm that the manual step that the run waits for is done")
    ] = False,
    trust: Trust = False,
    reach: Reached = None,
    no_ingest: Annotated[
        bool, typer.Option("--no-ingest", help="do not add the results to a database, and do not show them")
    ] = False,
) -> int:
    """Continue a run where it stopped."""
    from zlang.cli import running
    from zlang.run.arming import Armed

    armed = Armed(tuple(arm or ()), tuple(wipe or ()))
    given = (run_name, runs, db, armed)
    is_answered = not no_ingest
    return running.resume(
        *given, only=only, failed=failed, yes=yes, trust=trust, reach=reach or [], is_answered=is_answered
    )


def clean(
    run_name: Annotated[str | None, typer.Argument(metavar="[RUN]", help="default: the latest run")] = None,
    runs: Runs = RUNS,
    *,
    as_json: Json = False,
    trust: Trust = False,
    reach: Reached = None,
) -> int:
    """Remove what a killed run left behind.

    Nothing is measured, and only what the run created is removed.
    """
    from zlang.cli import running

    return running.clean(run_name, runs, as_json=as_json, trust=trust, reach=reach or [])


def status(
    run_name: Annotated[
        str | None, typer.Argument(metavar="[RUN]", help="default: all runs", autocompletion=complete_run)
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
    trial: Annotated[
        int | None,
        typer.Option(
            "--trial",
            metavar="N",
            parser=read_number,
            help="print the output of this trial (default: of the latest run)",
        ),
    ] = None,
) -> int:
    """Show the progress of runs, and what failed and why."""
    if follow and as_json:
        raise UsageError("omit --follow: it prints no JSON", option="--json")
    if follow and trial is not None:
        raise UsageError("omit --follow: it shows all trials", option="--trial")
    from zlang.cli import status as statuses

    if trial is not None:
        return statuses.show_output(run_name, runs, trial, as_json=as_json)
    return statuses.follow(run_name, runs) if follow else statuses.status(run_name, runs, as_json=as_json)


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
) -> int:
    """Rebuild the results database from run folders.

    The database then has the runs in DIR, and no others.
    """
    from zlang.cli import ingesting

    if csv is not None:
        ingesting.import_csv(directory, csv, run_name, program, settings, profile, experiment, seed, order)
    elif run_name is not None or program is not None:
        raise UsageError("it is only for --csv: add --csv FILE", option="--run" if run_name else "--program")
    if reports is not None:
        ingesting.import_reports(directory, reports)
    return ingesting.ingest(directory, db)


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
    raw: Annotated[bool, typer.Option("--raw", help="print plain numbers instead of `4KiB` and `1.2 ms`")] = False,
    write: Annotated[bool, typer.Option("--write", help="permit statements that change the database")] = False,
    unsafe: Annotated[
        bool, typer.Option("--unsafe", help="permit statements to use files, the network and settings")
    ] = False,
) -> int:
    """Query the results with SQL.

    For example: `zlang sql "select FACTOR, median(METRIC) from trials group by all order by all"`. Without a query, on
    a terminal, it starts a prompt with completion and history.
    """
    from zlang.cli import query_results, querying

    query_options = query_results.QueryOptions(
        form="json" if as_json else form, out=out, partition=tuple(partition or ()), raw=raw, write=write, unsafe=unsafe
    )
    return querying.sql(query, file, params or (), db, query_options)


def expect(
    run_name: OfRun = None,
    db: Database = DATABASE,
    against: Annotated[
        str | None,
        typer.Option(metavar="RUN", help="compare with this run instead of the latest one", show_default=False),
    ] = None,
    *,
    as_json: Json = False,
) -> int:
    """Judge the expectations of an experiment.

    The exit code is 0 if all of them pass, 4 if one fails, and 5 if one is inconclusive.
    """
    from zlang.cli import answering

    return answering.expect(run_name, db, against, as_json=as_json)


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
) -> int:
    """Print results with their intervals.

    Without CLAUSE, it prints the tables that the experiment declares. If there are none, it prints one of all points.
    `zlang table 'METRIC, p99(LATENCY) by FACTOR'` prints a row for each level. It computes percentiles from all
    operations.
    """
    from zlang.cli import answering

    return answering.table(_joined(clause), run_name, db, "json" if as_json else form)


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
) -> int:
    """Draw results with their intervals.

    Without CLAUSE, it draws the plots that the experiment declares. `zlang plot 'METRIC over FACTOR1 by FACTOR2,
    facet FACTOR3'` has a line for each level of FACTOR2, and a plot for each level of FACTOR3.

    A plot can also be over `latency`, `position` (trials in the order of measurement), `second` (samples of
    collectors) or `factors` (each factor in turn).
    """
    from zlang.cli import answering

    return answering.plot(_joined(clause), run_name, db, out, heat=heat, is_log=log)


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
) -> int:
    """Write a report of a run.

    It is one HTML page that needs no network, or Markdown, or all tables as CSV.
    """
    from zlang.cli import reporting

    return reporting.report(run_name, runs, db, form, out, is_bundle=bundle)


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
) -> int:
    """Compare levels or runs.

    The result has ratios with intervals, verdicts and caveats.
    """
    from zlang.cli import comparing

    return comparing.compare(pair or (), by, run_name, metric, db, "json" if as_json else form)


def effects(
    run_name: OfRun = None,
    metric: Metric = None,
    db: Database = DATABASE,
    form: Form = "table",
    *,
    as_json: FormJson = False,
) -> int:
    """Show how much of the variance each factor explains.

    The analysis of variance has main effects, two-factor interactions and replication.
    """
    from zlang.cli import comparing

    return comparing.effects(run_name, metric, db, "json" if as_json else form)


def findings(
    run_name: OfRun = None,
    db: Database = DATABASE,
    *,
    as_json: Json = False,
) -> int:
    """List reasons to doubt the results of a run.

    Examples are drift, outliers, and queues that were not full.
    """
    from zlang.cli import comparing

    return comparing.findings(run_name, db, as_json=as_json)


def init(
    file: Annotated[Path, typer.Argument(metavar="[FILE]", help="file to write")] = Path("experiment.zexp"),
) -> int:
    """Write a commented first program for this directory."""
    from zlang.cli import teaching

    return teaching.init(file)


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
) -> int:
    """Turn a file of another tool into a program.

    What a program cannot express becomes a comment. Instead of reading a file, the command can declare a pool, the
    mounts or the hardware of this machine: see the options.
    """
    from zlang.cli import importing

    return importing.import_into(file, form, out, pool, mounts=mounts, host=host)


import_.__name__ = "import"


def lsp() -> int:
    """Run the language server for editors.

    It uses standard input and output.
    """
    from zlang.cli import serving

    serving.serve()
    return 0


def kinds(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[KIND]",
            help="a kind, or KIND.PROPERTY; default: list all kinds",
            show_default=False,
            autocompletion=complete_kind,
        ),
    ] = None,
    *,
    as_json: Json = False,
) -> int:
    """List the kinds of the standard library, or describe one."""
    from zlang.cli import teaching

    return teaching.kinds(name, as_json=as_json)


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
) -> int:
    """List installed and missing tools.

    The list has their versions, and how to install them.

    If zlang.toml or --reach says how to reach the hosts of the program, it also checks each of them: the clock, the
    tools, and whether a fact contradicts the program.
    """
    from zlang.cli import doctoring

    return doctoring.doctor(file, save, reach or [], as_json=as_json)


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


def named(name: str) -> Callable[..., int]:
    """Return the command of that name."""
    return next(command for command in COMMANDS if command.__name__ == name)
