"""`zlang init` and `zlang kinds`: how to begin, and what there is."""

from __future__ import annotations

import json
import textwrap
from pathlib import Path

from zlang.check import library
from zlang.check.program import Kind, PropertyDef
from zlang.check.values import show
from zlang.cli import render, words
from zlang.errors import RunError
from zlang.suggest import did_you_mean

_HERE = Path(__file__).resolve()
EXAMPLES = next((up / "examples" for up in (_HERE.parents[1], _HERE.parents[2]) if (up / "examples").is_dir()), _HERE)
"""Inside the wheel, or beside the package in a checkout."""


def init(file: Path) -> int:
    """Write the first program; an existing file is left alone."""
    try:
        with file.open("x", encoding="utf-8") as out:
            out.write((EXAMPLES / "first.zexp").read_text("utf-8"))
    except FileExistsError:
        raise RunError(f"{file} is there already", "give another name: zlang init FILE") from None
    except (OSError, ValueError) as error:
        raise RunError(f"cannot write {file}: {getattr(error, 'strerror', None) or error}") from None
    name = words.file(str(file))
    print(f"written: {render.visible(str(file))}\n\n  zlang plan {name}                    what it would do")
    print(f"  zlang run {name} --profile smoke     a short try\n  zlang run {name}                     the experiment")
    return 0


# -- kinds


def kinds(name: str | None, *, as_json: bool) -> int:
    """List the kinds, or show one as its declaration says."""
    shipped = library.load()
    if name is None:
        for module, names in shipped.modules.items():
            for kind in (shipped.kind(n) for n in names):
                if as_json:
                    print(json.dumps(_kind_json(kind, full=False)))
                else:
                    need = "" if module == library.PRELUDE else f"  (import {module})"
                    print(f"{kind.name:12} {kind.role:10} {kind.doc}{need}")
        if not as_json:
            print("\nzlang kinds NAME shows the properties and commands of one")
        return 0
    if not shipped.module_of(name):
        raise RunError(f"there is no kind `{name}`", did_you_mean(name, shipped.names()) or "`zlang kinds` lists them")
    kind = shipped.kind(name)
    if as_json:
        print(json.dumps(_kind_json(kind, full=True)))
    else:
        _show(kind)
    return 0


def _show(kind: Kind) -> None:
    print(f"{kind.name}: {kind.role}" + (f" on {' | '.join(kind.parents)}" if kind.parents else ""))
    print(textwrap.fill(kind.doc, 100, initial_indent="  ", subsequent_indent="  "))
    if kind.module != library.PRELUDE:
        print(f"  import {kind.module}")
    if kind.needs:
        print(f"  needs a {' or a '.join(kind.needs[0])}")
    if kind.offers:
        print(f"  offers a {' and a '.join(kind.offers)}")
    print("\nproperties:")
    for definition in kind.properties.values():
        _property(kind, definition)
    print("\ncommands:")
    for node in library.load().node(kind.name).items:
        if type(node).__name__ == "ActionDef":
            source = node.span.source.text[node.span.start : node.span.end]
            print(textwrap.indent(textwrap.dedent("  " + source), "  "))
    for tool, hint in kind.requires:
        print(f"  requires {tool} ({hint})")


def _property(kind: Kind, definition: PropertyDef) -> None:
    facts = []
    if definition.name in kind.required:
        facts.append("required")
    if definition.default is not None:
        facts.append(f"default {show(definition.default.value(None))}")
    if definition.allow_text:
        facts.append(f"allowed {definition.allow_text}")
    if definition.since:
        facts.append("since " + " ".join(definition.since))
    if definition.only:
        facts.append(f"only where {definition.only}")
    if kind.role == "resource":
        facts.append(f"cost of change: {definition.cost}")
    print(f"  {definition.name}: {definition.type}" + (f"  ({'; '.join(facts)})" if facts else ""))
    if definition.doc:
        print(textwrap.fill(definition.doc, 100, initial_indent="      ", subsequent_indent="      "))


def _kind_json(kind: Kind, *, full: bool) -> dict[str, object]:
    found: dict[str, object] = {"kind": kind.name, "role": kind.role, "module": kind.module, "doc": kind.doc}
    if full:
        found["on"] = list(kind.parents)
        found["properties"] = [
            {
                "name": one.name,
                "type": str(one.type),
                "required": one.name in kind.required,
                "default": show(one.default.value(None)) if one.default else None,
                "allow": one.allow_text or None,
                "since": " ".join(one.since) if one.since else None,
                "cost": one.cost,
                "doc": one.doc,
            }
            for one in kind.properties.values()
        ]
    return found
