"""The results database: built from the journals and artefacts of runs, and queried. Only this package uses DuckDB."""
