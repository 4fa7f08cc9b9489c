"""Writes the syntax definition for Kate from the language's own words.

In: the keywords of the grammar, the types, the units and the roles of kinds. Out: `editors/kate/zexp.xml`, for all
programs that colour text with KSyntaxHighlighting.

    python tools/generate_kate.py            write it
    python tools/generate_kate.py --check    exit with 1 and a diff if it is not what would be written
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from pathlib import Path
from xml.etree.ElementTree import Element, SubElement, indent, tostring

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tools.generated import write_or_check  # noqa: E402 - found only by the line above
from zlang import units  # noqa: E402
from zlang.check import functions, kinds, types  # noqa: E402
from zlang.syntax import tables  # noqa: E402

DEFINITION = ROOT / "editors/kate/zexp.xml"
NAME = r"[A-Za-z_][\w-]*"
STYLES = {
    "Text": "dsNormal",
    "Keyword": "dsKeyword",
    "Type": "dsDataType",
    "Function": "dsFunction",
    "Property": "dsAttribute",
    "Switch": "dsConstant",
    "Number": "dsDecVal",
    "String": "dsString",
    "Escape": "dsSpecialChar",
    "Operator": "dsOperator",
    "Comment": "dsComment",
}


def any_of(candidates: Iterable[str]) -> str:
    """A pattern for any of some words, the longest first."""
    return "|".join(re.escape(word) for word in sorted(candidates, key=lambda word: (-len(word), word)))


def definition() -> Element:
    """The whole definition."""
    language = Element(
        "language",
        name="zexp",
        section="Configuration",
        extensions="*.zexp",
        version="1",
        kateversion="5.62",
        author="the authors of zlang",
        license="Apache-2.0",
    )
    highlighting = SubElement(language, "highlighting")
    words = {
        "keywords": ("Keyword", tables.load().keywords),
        "types": ("Type", {*types.SCALARS, *kinds.ROLES}),
        "switches": ("Switch", types.BOOLS),
    }
    for title, (_, members) in words.items():
        listed = SubElement(highlighting, "list", name=title)
        for word in sorted(members):
            SubElement(listed, "item").text = word
    contexts = SubElement(highlighting, "contexts")
    program = SubElement(contexts, "context", name="program", attribute="Text", lineEndContext="#stay")
    SubElement(program, "DetectSpaces")
    SubElement(program, "DetectChar", attribute="Comment", context="comment", char="#")
    SubElement(program, "StringDetect", attribute="String", context="block", String='"""')
    SubElement(program, "DetectChar", attribute="String", context="text", char='"')
    suffix = any_of({*units.UNITS, "k", "K", "M", "G", "T"})
    number = rf"(?<![\w.-])-?[0-9][0-9_]*(\.[0-9]+)?(({suffix})(/s)?|/s)?(?!\w)"
    SubElement(program, "RegExpr", attribute="Number", context="#stay", String=number)
    SubElement(program, "RegExpr", attribute="Property", context="#stay", String=rf"{NAME}(?=\s*=(?!=))")
    called = rf"({any_of(functions.FUNCTIONS)})(?=\()"
    SubElement(program, "RegExpr", attribute="Function", context="#stay", String=called)
    for title, (style, _) in words.items():
        SubElement(program, "keyword", attribute=style, context="#stay", String=title)
    SubElement(
        program,
        "RegExpr",
        attribute="Type",
        context="#stay",
        String=rf"^\s*{NAME}(\.{NAME})?(?=\s+{NAME}\s*(\{{|on\b|$))",
    )
    SubElement(program, "DetectIdentifier")
    SubElement(program, "AnyChar", attribute="Operator", context="#stay", String="|=<>!+*/%")
    SubElement(program, "DetectChar", attribute="Text", context="#stay", char="{", beginRegion="braces")
    SubElement(program, "DetectChar", attribute="Text", context="#stay", char="}", endRegion="braces")
    comment = SubElement(contexts, "context", name="comment", attribute="Comment", lineEndContext="#pop")
    SubElement(comment, "IncludeRules", context="##Comments")
    for title, end in (("text", '"'), ("block", '"""')):
        quoted = SubElement(contexts, "context", name=title, attribute="String", lineEndContext="#stay")
        SubElement(quoted, "RegExpr", attribute="Escape", context="#stay", String=r"\\.|\{\{|\}\}")
        if len(end) == 1:
            SubElement(quoted, "DetectChar", attribute="String", context="#pop", char=end)
        else:
            SubElement(quoted, "StringDetect", attribute="String", context="#pop", String=end)
    styles = SubElement(highlighting, "itemDatas")
    for title, style in STYLES.items():
        SubElement(styles, "itemData", name=title, defStyleNum=style)
    general = SubElement(language, "general")
    comments = SubElement(general, "comments")
    SubElement(comments, "comment", name="singleLine", start="#", position="afterwhitespace")
    SubElement(general, "keywords", casesensitive="1", weakDeliminator="-")
    indent(language)
    return language


def document() -> str:
    """The definition as XML."""
    return (
        f'<?xml version="1.0" encoding="UTF-8"?>\n<!DOCTYPE language>\n{tostring(definition(), encoding="unicode")}\n'
    )


if __name__ == "__main__":
    sys.exit(write_or_check(DEFINITION, document(), sys.argv[1:]))
