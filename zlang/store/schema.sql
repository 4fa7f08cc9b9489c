-- The tables of a results database. It is derived: `zlang ingest` builds it again from the run folders at any time.
-- Beside these, every experiment has a schema of its own with `all_trials` (a wide typed table) and `trials`
-- (its valid rows). `main.trials` and `main.all_trials` show those of the plan that ran last: another plan, be it the same
-- file with another `--set`, measured something else.

CREATE TABLE about (key VARCHAR, value VARCHAR);

-- One row a run; `skipped` trials of the plan need not be measured, by what came of others; `part` is the host whose trials of the plan it carried out, where there are several.
CREATE TABLE runs (
    run VARCHAR, experiment VARCHAR, title VARCHAR, plan VARCHAR, part VARCHAR, seed HUGEINT,
    points HUGEINT, repeat HUGEINT, planned HUGEINT,
    done BIGINT, valid BIGINT, invalid BIGINT, skipped BIGINT,
    started TIMESTAMP, last_session TIMESTAMP, last_event TIMESTAMP, finished BOOLEAN, sessions BIGINT, damaged_lines BIGINT
);

-- What the database was built from. A run folder that has the same mark is not read again: what it holds, and what it
-- brings to its experiment's columns, is taken from here.
CREATE TABLE sources (run VARCHAR, experiment VARCHAR, mark VARCHAR, run_columns VARCHAR);

-- The runs of the plan that ran last, which `main.trials` shows.
CREATE MACRO runs_shown() AS (
    SELECT list(run) FROM runs
    WHERE plan IS NOT DISTINCT FROM (SELECT plan FROM runs ORDER BY last_session DESC NULLS LAST, run DESC LIMIT 1)
);

-- The trials that a run did not measure, because an earlier one had. Of all runs that have a measurement one shows it:
-- one of the plan that ran last, so that what is joined to `main.trials` is whole; else that which made it, if it is
-- there. In the others it is a copy.
CREATE TABLE reused (run VARCHAR, trial VARCHAR, replicate BIGINT, measured_in VARCHAR);
CREATE VIEW copies AS
    SELECT run, trial, replicate FROM (
        SELECT *, row_number() OVER (
            PARTITION BY measured_in, trial, replicate ORDER BY is_shown DESC, run <> measured_in, run
        ) AS nth
        FROM (
            SELECT *, list_contains(runs_shown(), run) AS is_shown FROM (
                FROM reused
                UNION SELECT measured_in, trial, replicate, measured_in FROM reused
                WHERE measured_in IN (SELECT runs.run FROM runs)
            )
        )
    ) WHERE nth > 1;

-- What each run's experiment asks of its results: its clauses `expect`, `table`, `plot`, `until` and `find`, as written and, in
-- `definition`, as the plan's header has them.
CREATE TABLE clauses (
    run VARCHAR, experiment VARCHAR, clause VARCHAR, position BIGINT, title VARCHAR, text VARCHAR, definition VARCHAR
);

-- Of an experiment that repeats `until`: why each point was not measured any more (`precise`, or `bound`: as often as
-- the program allows), of how many trials that count, and how far the 95 % interval reaches from its middle (0.05 = 5 %).
CREATE TABLE stops (run VARCHAR, experiment VARCHAR, trial VARCHAR, why VARCHAR, n BIGINT, reach DOUBLE);

-- The course of each search (`find`): the points that it looked at, whether the condition holds there, the objective in
-- base units, and which of them is the answer.
CREATE TABLE searches (
    run VARCHAR, experiment VARCHAR, search BIGINT, step BIGINT, trial VARCHAR,
    holds BOOLEAN, objective DOUBLE, best BOOLEAN
);

-- What was found about each run: at the stage `before`, what the rules about measurements say of its experiment, with
-- its place and, where it is allowed, the reason; at the stage `after`, what makes its figures doubtful, in this metric.
CREATE TABLE findings (
    run VARCHAR, experiment VARCHAR, stage VARCHAR, position BIGINT, code VARCHAR, name VARCHAR, severity VARCHAR,
    message VARCHAR, hint VARCHAR, place VARCHAR, allowed VARCHAR, metric VARCHAR
);

-- The tables that programs import, as text: `imported.NAME` is that of the run that was worked on last.
CREATE TABLE imports (run VARCHAR, experiment VARCHAR, name VARCHAR, text VARCHAR);

-- The columns of each experiment's trials: what they are called, what they are and in what unit. Of metrics also in which
-- direction they are better (`higher`, `lower`), as what rules know them (`read.operations`), and of which distribution
-- they are a statistic.
CREATE TABLE columns (
    experiment VARCHAR, "schema" VARCHAR, position BIGINT, name VARCHAR, role VARCHAR,
    type VARCHAR, unit VARCHAR, description VARCHAR, path VARCHAR, better VARCHAR, means VARCHAR, needs VARCHAR,
    distribution VARCHAR
);

-- The factors of `main.trials` that have a level there.
CREATE TABLE factors (position BIGINT, name VARCHAR, type VARCHAR, unit VARCHAR, levels BIGINT);

-- One row a trial, replicate and metric, also of trials that do not count; `metrics` holds those that do.
CREATE TABLE all_metrics (
    run VARCHAR, experiment VARCHAR, trial VARCHAR, replicate BIGINT, valid BOOLEAN, metric VARCHAR, value DOUBLE
);

-- The same of each stream, where a trial has several. In `metrics` a row without a `stream` is of the whole trial.
CREATE TABLE stream_metrics (
    run VARCHAR, experiment VARCHAR, trial VARCHAR, replicate BIGINT, valid BOOLEAN, stream VARCHAR, "group" VARCHAR,
    host VARCHAR, metric VARCHAR, value DOUBLE
);
CREATE VIEW metrics AS
    SELECT run, experiment, trial, replicate, metric, value, stream, host FROM (
        SELECT *, NULL::VARCHAR AS stream, NULL::VARCHAR AS host FROM all_metrics
        UNION ALL BY NAME SELECT * EXCLUDE ("group") FROM stream_metrics
    ) ANTI JOIN copies USING (run, trial, replicate) WHERE valid;

-- One row a histogram: the bins of the distribution that `metric` names. `latency` has a row for every bin. Operations in
-- bins above `tail` took at most 1 % of the time of all operations together.
CREATE TABLE histograms (
    run VARCHAR, experiment VARCHAR, trial VARCHAR, replicate BIGINT, valid BOOLEAN,
    metric VARCHAR, total HUGEINT, ns BIGINT[], counts BIGINT[], tail BIGINT
);

-- The same of each stream, where a trial has several. In `latency` a row without a `stream` is of the whole trial.
CREATE TABLE stream_histograms (
    run VARCHAR, experiment VARCHAR, trial VARCHAR, replicate BIGINT, valid BOOLEAN, stream VARCHAR, host VARCHAR,
    metric VARCHAR, total HUGEINT, ns BIGINT[], counts BIGINT[], tail BIGINT
);
CREATE VIEW latency AS
    SELECT run, experiment, trial, replicate, metric, unnest(ns) AS ns, unnest(counts) AS count, stream, host
    FROM (
        SELECT *, NULL::VARCHAR AS stream, NULL::VARCHAR AS host FROM histograms
        UNION ALL BY NAME SELECT * FROM stream_histograms
    ) ANTI JOIN copies USING (run, trial, replicate) WHERE valid;

-- The percentile of bins of latency, of one trial or of many together: the least bin below which at least `percent` of
-- all operations lie, the nearest-rank rule. Counts go beyond 64 bits because a percent has four decimals.
CREATE MACRO latency_percentile(ns, "count", percent) AS list_reduce(
    list_prepend(
        {'ns': NULL::BIGINT, 'n': -greatest(1, sum("count") * (percent * 10000)::BIGINT)::HUGEINT},
        list({'ns': ns, 'n': "count"::HUGEINT * 1000000} ORDER BY ns)
    ),
    lambda below, bin: CASE WHEN below.n >= 0 THEN below ELSE {'ns': bin.ns, 'n': below.n + bin.n} END
).ns;

-- Time series of collectors, and of each stream where trials have several or something happens meanwhile; `t` is when the
-- interval of a sample of a collector ended, the middle of that of a stream; `phase` is `quiet`, the name of the event, or `after`.
CREATE TABLE samples (
    run VARCHAR, experiment VARCHAR, trial VARCHAR, replicate BIGINT,
    t TIMESTAMP, second DOUBLE, source VARCHAR, metric VARCHAR, value DOUBLE, stream VARCHAR, host VARCHAR, phase VARCHAR
);

-- The logs that a workload writes into `$OUT`: a row for each operation, or interval. In `logs` they have the trial that
-- they are of: `value` is in ns, bytes/s or 1/s, by their `kind`; `second` counts from when the tool began, `block` is in
-- bytes. Ten million lines are soon there, so `log_lines` is narrow.
CREATE TYPE log_direction AS ENUM ('read', 'write', 'trim');
CREATE TABLE log_files (
    run VARCHAR, experiment VARCHAR, trial VARCHAR, replicate BIGINT, kind VARCHAR, job BIGINT, file UBIGINT
);
CREATE TABLE log_lines (file UBIGINT, ms BIGINT, value BIGINT, direction log_direction, block BIGINT, "offset" BIGINT);
CREATE VIEW logs AS
    SELECT run, experiment, trial, replicate, kind, job, ms / 1000 AS second, direction::VARCHAR AS direction,
        value, block, "offset"
    FROM log_lines JOIN log_files USING (file);

-- Every command that was carried out, attempts that do not count included; `written` is what the making of its state
-- writes, as the plan says.
CREATE TABLE steps (
    run VARCHAR, experiment VARCHAR, position BIGINT, trial VARCHAR, replicate BIGINT, "out" VARCHAR, step VARCHAR,
    "action" VARCHAR, why VARCHAR, started TIMESTAMP, elapsed DOUBLE, rc BIGINT, counted BOOLEAN,
    written HUGEINT
);

-- What was found out about the machine and the tools.
CREATE TABLE facts (run VARCHAR, experiment VARCHAR, name VARCHAR, value VARCHAR);

-- What each point's workload and machine say of their traits (docs/language.md), in base units, `on` as 1 and `off` as 0.
CREATE TABLE traits (run VARCHAR, experiment VARCHAR, trial VARCHAR, trait VARCHAR, value DOUBLE);

-- One row per trial and setup that the run made for it, from the bottom (`depth` 1) upwards. Trials with the same `making`
-- used the same setup; the same signature with another `making` was set up again.
CREATE TABLE trial_setups (
    run VARCHAR, experiment VARCHAR, trial VARCHAR, replicate BIGINT, depth BIGINT, signature VARCHAR, making BIGINT
);

-- Everything that kept something from counting: a trial's reasons, damaged lines, folders that cannot be read.
CREATE TABLE problems (run VARCHAR, experiment VARCHAR, trial VARCHAR, replicate BIGINT, problem VARCHAR);
