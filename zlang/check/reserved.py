"""Names with another meaning in queries: DuckDB's SQL keywords, and columns that every trial has.

Source: `duckdb_keywords()` of DuckDB 1.5.5, each tried as a column: the category `reserved`, and most of
`type_function` (`left`, `full`, `join`).
"""

from __future__ import annotations

RESERVED = frozenset(
    """
    all analyse analyze and anti any array as asc asof asymmetric at authorization binary both by case cast check
    collate collation column concurrently constraint create cross default deferrable desc describe distinct do
    else end except false fetch for foreign freeze from full glob group having ilike in initially inner intersect
    into is isnull join lambda lateral leading left like limit natural not notnull null offset on only or order
    outer overlaps pivot pivot_longer pivot_wider placing positional primary qualify references returning right
    select semi show similar some summarize symmetric table tablesample then to trailing true union unique unpack
    unpivot using variadic verbose when where window with
    """.split()  # noqa: SIM905 - a list of words is read as words
)

OF_TRIALS = frozenset(
    """
    run trial replicate number position block whole_plot cache_state cache_evidence outside valid why_not started
    elapsed
    """.split()  # noqa: SIM905
)
"""The columns that every trial has, but for `cache` and `host`, which say the same as a factor of that name."""
