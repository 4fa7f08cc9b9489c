"""Readers: one file for each tool, and a line in `registry.py`; their metrics are declared in `stdlib/*.zexp`."""

from zlang.hints import Final

REPORTS_OF: Final = "fio"
"""The tool whose reports are read where it was run without zlang."""
