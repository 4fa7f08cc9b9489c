"""Journal and artefacts of runs in, a DuckDB database out, and answers from it. The only door to DuckDB."""
