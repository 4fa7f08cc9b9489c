"""`zlang init` and `zlang kinds`: a first program, and the kinds of the library."""

from __future__ import annotations

import json
from pathlib import Path

from zlang import documentation
from zlang.check import library
from zlang.cli import render, words
from zlang.errors import RunError, unwritable
from zlang.pipeline import describing

_HERE = Path(__file__).resolve()
EXAMPLES = next((up / "examples" for up in (_HERE.parents[1], _HERE.parents[2]) if (up / "examples").is_dir()), _HERE)
"""Inside the wheel, or beside the package in a checkout."""


def init(file: Path) -> int:
    """Write the first program; an existing file is left alone."""
    try:
        with file.open("x", encoding="utf-8") as out:
            out.write((EXAMPLES / "first.zexp").read_text("utf-8"))
    except FileExistsError:
        raise RunError(f"{file} already exists", "choose another name: zlang init FILE") from None
    except (OSError, ValueError) as error:
        raise unwritable(file, error) from None
    name = words.file(str(file))
    print(f"written: {render.visible(str(file))}\n\n  zlang plan {name}                    the plan")
    print(f"  zlang run {name} --profile smoke     a short run\n  zlang run {name}                     the experiment")
    return 0


# -- kinds


def address(module: str, name: str) -> str:
    """The address of a kind, or of `KIND.PROPERTY`, relative to the documentation."""
    return f"kinds/{module}.html#{name}"


def kinds(name: str | None, *, as_json: bool) -> int:
    """List the kinds, or show the declaration of a kind or of one of its properties."""
    if name is not None:
        described = describing.find(name)
        if as_json:
            print(json.dumps(describing.as_data(described)))
            return 0
        print("\n".join(describing.screen(described)))
        print(f"\npage of the documentation: {documentation.address(address(described.module, name))}")
        return 0
    shipped = library.load()
    for module, names in shipped.modules.items():
        for kind in (shipped.kind(n) for n in names):
            if as_json:
                print(json.dumps({"kind": kind.name, "role": kind.role, "module": kind.module, "doc": kind.doc}))
            else:
                need = "" if module == library.PRELUDE else f"  (import {module})"
                print(f"{kind.name:14} {kind.role:9} {kind.doc}{need}")
    if not as_json:
        print(
            "\nzlang kinds NAME shows the properties and commands of a kind, and zlang kinds NAME.PROPERTY one property"
        )
    return 0
