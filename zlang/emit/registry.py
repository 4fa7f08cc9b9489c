"""The formats of a plan: the name that people type, the module that emits it, and the default file name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module

from zlang.hints import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from zlang.emit.base import Emitter
    from zlang.plan.plan import Plan


class EmitFormat(NamedTuple):
    """A format: a module of this package, loaded on first use, the name of the file, and the audience.

    A format that is not `of_all_hosts` is for the machine that carries out its steps. `mark` appears near the start of
    every emitted text, so a file without it is not from an earlier emission.
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
