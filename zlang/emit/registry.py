"""The formats in which a plan can be had: the word that people say -> the emitter."""

from __future__ import annotations

from collections.abc import Mapping

from zlang.emit import dot, json_lines, markdown, mermaid, shell
from zlang.emit.base import Emitter

EMITTERS: Mapping[str, Emitter] = {
    "sh": shell.emit,
    "json": json_lines.emit,
    "markdown": markdown.emit,
    "dot": dot.emit,
    "mermaid": mermaid.emit,
}
