"""What a build adds to the sources: the tables of the grammar, the places in the library, and the .zexp files.

An editable install gets the first two, in the source tree; it finds the library and the examples where they are.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class ZlangHook(BuildHookInterface):  # type: ignore[type-arg]
    """Run by hatchling before a wheel is made."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Make what is made from sources, and say what goes into the wheel besides the package."""
        root = Path(self.root)
        sys.path.insert(0, self.root)
        try:
            from zlang.check import library
            from zlang.syntax import tables

            tables.save()
            library.save()
        finally:
            sys.path.remove(self.root)
        if version == "editable":
            return
        for folder in ("stdlib", "examples"):
            for path in sorted(root.glob(f"{folder}/*.zexp")):
                build_data["force_include"][str(path)] = f"zlang/{folder}/{path.name}"
