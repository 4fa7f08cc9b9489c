"""The SQL of ingest, which fills tables from staged rows.

Rule: rows keep the order in which they were staged, after those that are copied from the previous database.
"""

from __future__ import annotations

from collections.abc import Sequence

from zlang.hints import TYPE_CHECKING
from zlang.store import logs
from zlang.store.columns import Column, Role
from zlang.store.experiment import StoredExperiment
from zlang.store.incremental import Before
from zlang.store.staging import Row, Staging
from zlang.store.store import ALIAS, first_line, literal, quoted, timestamp

if TYPE_CHECKING:
    import duckdb

IMPORTED = "imported"
"""The schema of tables that programs import."""
_TAKEN_SCHEMAS = (IMPORTED, "main", "temp", "system", "memory", "pg_catalog", "information_schema", ALIAS)
_MEMORY = "256MiB"  # within the limit of DuckDB, which spills to disk beyond it


def everything(
    connection: duckdb.DuckDBPyConnection,
    staging: Staging,
    experiments: Sequence[StoredExperiment],
    stem: str,
    before: Before,
) -> None:
    """Fill all tables; `stem` is the name that DuckDB gives the database when its file is opened."""
    threads = connection.execute("SELECT least(2, current_setting('threads')::INTEGER)").fetchone()
    connection.execute(f"SET threads = {threads[0] if threads else 1}")
    connection.execute(f"SET memory_limit = '{_MEMORY}'")
    before.take_main()
    _main_tables(connection, staging)
    logs.load(connection, staging)
    schemas = _schemas(experiments, stem)
    _imported(connection, staging)
    for experiment in experiments:
        _wide_table(connection, staging, experiment, schemas[experiment.name], before)
    staging.load(connection, "columns")
    if experiments:
        newest = max(experiments, key=lambda e: e.newest)
        source = f"{quoted(schemas[newest.name])}.all_trials"
        connection.execute(
            f"CREATE VIEW main.all_trials AS SELECT * FROM {source} "
            "ANTI JOIN main.copies USING (run, trial, replicate) WHERE list_contains(main.runs_shown(), run)"
        )
        connection.execute("CREATE VIEW main.trials AS SELECT * FROM main.all_trials WHERE valid")
        _factors(connection, [c for c in newest.columns.listed() if c.role is Role.FACTOR])
    connection.execute("CHECKPOINT")


def _factors(connection: duckdb.DuckDBPyConnection, factors: Sequence[Column]) -> None:
    for position, factor in enumerate(factors, 1):
        connection.execute(
            f"INSERT INTO main.factors SELECT {position}, {literal(factor.name)}, {literal(factor.type)}, "
            f"{literal(factor.unit)}, count(DISTINCT {quoted(factor.name)}) "
            f"FROM main.all_trials HAVING count({quoted(factor.name)}) > 0"
        )


def _main_tables(connection: duckdb.DuckDBPyConnection, staging: Staging) -> None:
    for table in staging.tables(connection):
        if table == "samples":
            _samples(connection, staging)
        else:
            staging.load(connection, table)


def _samples(connection: duckdb.DuckDBPyConnection, staging: Staging) -> None:
    """Fill the table of time series, each staged as a list of times and a list of values."""
    types = staging.types_of(connection, "samples")
    chosen = {name: quoted(name) for name in types}
    chosen |= {"t": timestamp("unnest(t)"), "second": "unnest(t) - began", "value": "unnest(value)"}
    staged = {**types, "began": "DOUBLE", "t": "DOUBLE[]", "value": f"{types['value']}[]"}
    del staged["second"]
    rows = staging.source("samples", staged)
    connection.execute(f"INSERT INTO main.samples SELECT {', '.join(chosen.values())} FROM {rows}")
    staging.discard("samples")


def _imported(connection: duckdb.DuckDBPyConnection, staging: Staging) -> None:
    """Make each imported table from the run with the latest activity; DuckDB infers the types of its columns."""
    import duckdb

    connection.execute(f"CREATE SCHEMA {IMPORTED}")
    rows = connection.execute(
        "SELECT lower(name), arg_max(text, (last_session, run)), arg_max((run, i.experiment), (last_session, run)) "
        "FROM main.imports i JOIN main.runs USING (run) GROUP BY 1 ORDER BY 1"
    ).fetchall()
    for name, text, (run, experiment) in rows:
        read = f"read_csv({literal(staging.file(text))}, header = true)"
        try:
            connection.execute(f"CREATE TABLE {IMPORTED}.{quoted(name)} AS SELECT * FROM {read}")
        except duckdb.Error as error:
            problem = f"the imported table {name} cannot be made: {first_line(error)}"
            row = [run, experiment, problem]
            # It exists already if the run was copied from the previous database.
            connection.execute(
                "INSERT INTO main.problems (run, experiment, problem) SELECT * FROM (VALUES (?, ?, ?)) v(r, e, p) "
                "WHERE p NOT IN (SELECT problem FROM main.problems WHERE run = r AND problem IS NOT NULL)",
                row,
            )


def _wide_table(
    connection: duckdb.DuckDBPyConnection, staging: Staging, experiment: StoredExperiment, schema: str, before: Before
) -> None:
    columns = experiment.columns.listed()
    table = f"{quoted(schema)}.all_trials"
    staged = {c.code: "DOUBLE" if c.sql == "TIMESTAMP" else c.sql for c in columns}
    select = ", ".join(
        f"{timestamp(quoted(c.code)) if c.sql == 'TIMESTAMP' else quoted(c.code)} AS {quoted(c.name)}" for c in columns
    )
    connection.execute(f"CREATE SCHEMA {quoted(schema)}")
    connection.execute(f"CREATE TABLE {table} ({', '.join(f'{quoted(c.name)} {c.sql}' for c in columns)})")
    before.take_wide(experiment.name, columns, table)
    connection.execute(f"INSERT INTO {table} SELECT {select} FROM {staging.source(experiment.table, staged)}")
    staging.discard(experiment.table)
    connection.execute(
        f"CREATE VIEW {quoted(schema)}.trials AS SELECT * FROM {table} "
        "ANTI JOIN main.copies USING (run, trial, replicate) WHERE valid"
    )
    _tidy(connection, table, experiment.name, [c.name for c in columns if c.role is Role.METRIC])
    for position, column in enumerate(columns, 1):
        staging.add("columns", _catalogued(experiment.name, schema, position, column))


def _tidy(connection: duckdb.DuckDBPyConnection, table: str, experiment: str, metrics: Sequence[str]) -> None:
    if not metrics:
        return
    # Codes, so that no metric's name can clash with that of another column.
    coded = ", ".join(f"{quoted(name)} AS m{n}" for n, name in enumerate(metrics))
    codes = ", ".join(f"m{n} AS {literal(name)}" for n, name in enumerate(metrics))
    connection.execute(
        f"INSERT INTO main.all_metrics SELECT run, {literal(experiment)}, trial, replicate, valid, metric, value "
        f"FROM (SELECT run, trial, replicate, valid, {coded} FROM {table}) UNPIVOT (value FOR metric IN ({codes}))"
    )


def _catalogued(experiment: str, schema: str, position: int, column: Column) -> Row:
    return {
        "experiment": experiment,
        "schema": schema,
        "position": position,
        "name": column.name,
        "role": column.role,
        "type": column.type,
        "unit": column.unit,
        "description": column.description,
        "path": column.path,
        "better": column.better,
        "means": column.means,
        "needs": column.needs,
        "distribution": column.distribution,
    }


def _schemas(experiments: Sequence[StoredExperiment], stem: str) -> dict[str, str]:
    """The schema name of each experiment: its own name, unless that is reserved in SQL."""
    taken = {*_TAKEN_SCHEMAS, stem.lower()}
    schemas = {}
    for experiment in experiments:
        name = experiment.name.replace("\0", "")
        candidates = [name, f"experiment_{name}", *(f"experiment_{name}_{n}" for n in range(2, len(experiments) + 2))]
        schemas[experiment.name] = next(c for c in candidates if c and c.lower() not in taken)
        taken.add(schemas[experiment.name].lower())
    return schemas
