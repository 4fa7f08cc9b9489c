"""Findings of the rules about an experiment on the machine that runs it, saved in the run folder as `findings.json`.

The plan has the findings that hold on any machine. Rule: a folder without the file (from an earlier release, a shell
script or an import) has the findings of its plan.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import orjson

from zlang.errors import RunError, reason_of
from zlang.files import read_regular, replace_file
from zlang.hints import TYPE_CHECKING
from zlang.plan.plan import Finding
from zlang.run.places import FINDINGS

if TYPE_CHECKING:
    from pydantic import TypeAdapter

_LONGEST = 1 << 24


def save(folder: Path, findings: tuple[Finding, ...]) -> None:
    """Save the findings. Raises OSError."""
    replace_file(folder / FINDINGS, orjson.dumps(findings, option=orjson.OPT_APPEND_NEWLINE))


def load(folder: Path) -> tuple[Finding, ...] | None:
    """Load the findings; None if the folder has no such file. Raises RunError."""
    try:
        return _adapter().validate_json(read_regular(folder / FINDINGS, _LONGEST), strict=True)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise RunError(f"cannot read {FINDINGS}: {reason_of(error)}") from error
    except ValueError as error:
        raise RunError(f"{FINDINGS} is damaged") from error


@cache
def _adapter() -> TypeAdapter[tuple[Finding, ...]]:
    from pydantic import TypeAdapter

    return TypeAdapter(tuple[Finding, ...])
