"""The formats of a plan: the word that people type, the module that emits it, and the file that it is written to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from zlang.emit.base import Emitter
    from zlang.plan.plan import Plan


class EmitFormat(NamedTuple):
    """A module of this package, which is loaded when it is used, the name of a file, and for whom it is.

    What is not `of_all_hosts` is for the machine that carries out its steps. `mark` is near the start of all that is
    emitted, so a file without it is not an earlier one.
    """

    module: str
    file: str
    mark: str
    of_all_hosts: bool = True

    def emit(self, plan: Plan) -> Iterator[str]:
        """The text of a plan, piece by piece. Raises RunError."""
        emitter: Emitter = import_module(f"zlang.emit.{self.module}").emit
        return emitter(plan)


EMITTERS: Mapping[str, EmitFormat] = {
    "sh": EmitFormat("shell", "plan.sh", "# shellcheck disable=SC2016,SC2034,SC2154,SC2317\n", of_all_hosts=False),
    "json": EmitFormat("json_lines", "plan.jsonl", '{"header":{"experiment":'),
    "markdown": EmitFormat("markdown", "plan.md", ". Plan `"),
    "dot": EmitFormat("dot", "plan.dot", '  node [fontname="sans-serif"]\n'),
    "mermaid": EmitFormat("mermaid", "plan.mmd", "flowchart TD\n"),
}
