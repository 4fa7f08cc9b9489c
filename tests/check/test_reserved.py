"""Check that the words to be quoted in a query are those that the database rejects as column names."""

from __future__ import annotations

import duckdb

from zlang.check.reserved import RESERVED


def is_taken(connection: duckdb.DuckDBPyConnection, word: str) -> bool:
    connection.execute(f'CREATE OR REPLACE TABLE t AS SELECT 5 AS "{word}"')
    query = f"SELECT {word}, median({word}) FROM t WHERE {word} > 1 GROUP BY {word} ORDER BY {word}"
    try:
        return connection.execute(query).fetchall() == [(5, 5)]
    except duckdb.Error:
        return False


def test_words_of_sql() -> None:
    with duckdb.connect() as connection:
        words = [row[0] for row in connection.execute("SELECT keyword_name FROM duckdb_keywords()").fetchall()]
        assert {word for word in words if not is_taken(connection, word)} == RESERVED
