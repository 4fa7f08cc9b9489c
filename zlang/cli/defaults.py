"""The places that commands use if a command line names no others."""

from __future__ import annotations

from pathlib import Path

RUNS = Path("runs")
"""The directory for run folders."""
DATABASE = Path("results.duckdb")
"""The file for their results."""
