"""The formats of a plan: the word that people type, the emitter, and the file that it writes."""

from __future__ import annotations

from collections.abc import Mapping

from zlang.emit import dot, json_lines, markdown, mermaid, shell
from zlang.emit.base import EmitFormat

EMITTERS: Mapping[str, EmitFormat] = {
    "sh": EmitFormat(shell.emit, "plan.sh"),
    "json": EmitFormat(json_lines.emit, "plan.jsonl"),
    "markdown": EmitFormat(markdown.emit, "plan.md"),
    "dot": EmitFormat(dot.emit, "plan.dot"),
    "mermaid": EmitFormat(mermaid.emit, "plan.mmd"),
}
