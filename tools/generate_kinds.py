"""Writes docs/kinds from the declarations in stdlib: a page for each module, and a list of all kinds.

In: `stdlib/*.zexp`, as `zlang kinds` describes it. Out: `docs/kinds/MODULE.md` and `docs/kinds/README.md`.

    python tools/generate_kinds.py            write them
    python tools/generate_kinds.py --check    exit with 1 and a diff if they are not what would be written
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tools.generated import write_or_check_all  # noqa: E402 - found only by the line above
from zlang.check import library  # noqa: E402
from zlang.pipeline import describing  # noqa: E402

FOLDER = ROOT / "docs/kinds"
_HEAD = re.compile(r"(?:#.*\n)+")


def pages() -> dict[str, str]:
    """The text of every page by its name."""
    modules = {
        module: [describing.describe(library.load().kind(name)) for name in names]
        for module, names in library.load().modules.items()
    }
    texts = {f"{module}.md": "\n".join(_module(module, kinds)) for module, kinds in modules.items()}
    return texts | {"README.md": "\n".join(_index(modules))}


def _index(modules: dict[str, list[describing.Described]]) -> Iterator[str]:
    yield "<!-- Generated from stdlib by tools/generate_kinds.py: do not edit. -->\n"
    yield "# The kinds of the standard library\n"
    yield "`zlang kinds NAME` and `zlang kinds NAME.PROPERTY` print what stands here.\n"
    for module, kinds in modules.items():
        how = "needs no import" if module == library.PRELUDE else f"`import {module}`"
        yield f"## [{module}]({module}.md): {how}\n"
        for kind in kinds:
            yield f"- [{kind.name}]({module}.md#{kind.name}), {_role(kind)}: {kind.doc}"
        yield ""


def _module(module: str, kinds: list[describing.Described]) -> Iterator[str]:
    yield f"<!-- Generated from stdlib/{module}.zexp by tools/generate_kinds.py: do not edit. -->\n"
    yield f"# {module}\n"
    head = _HEAD.match(library.load().sources[module].text)
    if head:
        yield re.sub(r"^# ?", "", head.group(), flags=re.MULTILINE)
    if module != library.PRELUDE:
        yield f"`import {module}`; declared in [stdlib/{module}.zexp](../../stdlib/{module}.zexp).\n"
    for kind in kinds:
        yield from _kind(kind)


def _kind(kind: describing.Described) -> Iterator[str]:
    yield f"## {kind.name}\n\n{kind.doc}\n"
    place = f" on {_code(kind.on, ' or ')}" if kind.on else ""
    yield f"- {_role(kind)}{place}"
    if kind.offers:
        yield f"- offers {_code(kind.offers, ', ')}"
    if kind.phases:
        yield f"- does {_code(kind.phases, ', ')}, in this order"
    if kind.needs:
        yield f"- needs {_code(kind.needs, ' or ')}"
    for tool, hint in kind.requires:
        yield f"- requires `{tool}`: {hint}"
    yield ""
    if kind.properties:
        yield "| property | type | what it is | becomes |\n|---|---|---|---|"
        for item in kind.properties:
            place = f'<a id="{kind.name}.{item.name}"></a>'
            yield f"| {place}`{item.name}` | {_cell(item.type)} | {_cell(_about(item))} | {_cell(_becomes(item))} |"
        yield ""
    if kind.metrics:
        yield "| metric | type | what it is |\n|---|---|---|"
        for metric in kind.metrics:
            type_ = f"distribution of {metric.type}" if metric.is_distribution else metric.type
            yield f"| `{metric.name}` | {type_} | {_cell(metric.doc)} |"
        yield ""
    if kind.actions:
        commands = "\n".join(kind.actions)
        yield f"```text\n{commands}\n```\n"


def _role(kind: describing.Described) -> str:
    return f"an {kind.role}" if kind.role[0] in "aeiou" else f"a {kind.role}"


def _code(words: tuple[str, ...], between: str) -> str:
    return between.join(f"`{word}`" for word in words)


def _about(property_: describing.DescribedProperty) -> str:
    facts = "; ".join(describing.facts(property_))
    return f"{property_.doc} ({facts})" if facts else property_.doc


def _becomes(property_: describing.DescribedProperty) -> str:
    """Its options; where it has none, by what it is used."""
    if property_.ask:
        return f"a person: {property_.ask}"
    return "<br>".join(f"`{added}`" for added in property_.adds) or ", ".join(f"`{name}`" for name in property_.used_by)


def _cell(text: str) -> str:
    return " ".join(text.replace("|", "\\|").split())


if __name__ == "__main__":
    sys.exit(write_or_check_all(FOLDER, pages(), sys.argv[1:]))
