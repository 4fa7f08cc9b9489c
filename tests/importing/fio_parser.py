"""Read fio's own interpretation of a job file: the effective options of each job, printed by `--debug=parse`."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path

_SECTION = re.compile(r"Parsing section \[(.*)\]$")
_OPTION = re.compile(r" handle_option=([^,]*), ptr=(.*)$")
_TYPE = re.compile(r"__handle_option=([^,]*), type=(\w+)")
_NUMBER = re.compile(r"  ret=0, out=(-?\d+)$")
_NUMERIC = ("OPT_ULL", "OPT_INT", "OPT_BOOL", "OPT_STR_VAL", "OPT_STR_VAL_TIME", "OPT_STR_VAL_ZONE")


def effective(file: Path, environment: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """Return the options of each job with their values: numbers as fio reads them, everything else as written."""
    done = subprocess.run(
        ["fio", "--debug=parse", "--parse-only", file.name],
        cwd=file.parent,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        errors="replace",
        timeout=60,
    )
    shared: dict[str, str] = {}
    jobs: dict[str, dict[str, str]] = {}
    current, name, kind = shared, "", ""
    for line in done.stdout.splitlines():
        if matched := _SECTION.search(line):
            current = shared if matched[1].startswith("global") else jobs.setdefault(matched[1], dict(shared))
        elif matched := _OPTION.search(line):
            name = matched[1]
            current[name] = "1" if matched[2] == "(null)" else matched[2]
        elif matched := _TYPE.search(line):
            kind = matched[2]
        elif (matched := _NUMBER.search(line)) and kind in _NUMERIC:
            current[name] = matched[1]
    return jobs
