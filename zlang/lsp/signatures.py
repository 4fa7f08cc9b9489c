"""Signature help for the function whose arguments surround a place.

In: a text up to the cursor. The text may be incomplete, so the tokens are read, not the tree.
"""

from __future__ import annotations

from collections.abc import Sequence

from lsprotocol.types import ParameterInformation, SignatureHelp, SignatureInformation

from zlang.check import types
from zlang.check.clause_expressions import PERCENTILE
from zlang.check.functions import FUNCTIONS
from zlang.lsp import contexts, resolving
from zlang.lsp.documents import Documents, ParsedText
from zlang.syntax import tree
from zlang.syntax.lexer import Token

_OPENING = {"LPAR", "LSQB", "LBRACE"}
_CLOSING = {"RPAR", "RSQB", "RBRACE"}


def help_at(documents: Documents, text: ParsedText, offset: int) -> SignatureHelp | None:
    """The signature of the function that is being called, and the argument that is being typed."""
    call = _call(contexts.tokens_before(text.source.text, offset))
    if call is None:
        return None
    name, argument = call
    parameters = _parameters(documents, text, name)
    if not parameters:
        return None
    shown = [ParameterInformation(parameter) for parameter in parameters]
    signature = SignatureInformation(f"{name}({', '.join(parameters)})", parameters=shown)
    return SignatureHelp([signature], 0, min(argument, len(parameters) - 1))


def _call(tokens: Sequence[Token]) -> tuple[str, int] | None:
    """The name before the innermost open parenthesis, and the number of commas after it."""
    depth = commas = 0
    for index in range(len(tokens) - 1, 0, -1):
        kind = tokens[index].type
        depth += (kind in _CLOSING) - (kind in _OPENING)
        commas += kind == "COMMA" and depth == 0
        if depth < 0:
            return (_name_before(tokens[:index]), commas) if kind == "LPAR" else None
    return None


def _name_before(tokens: Sequence[Token]) -> str:
    """The name at the end of tokens: `half` or `lab.half`."""
    start = len(tokens) - 1
    while start > 1 and tokens[start - 1].type == "DOT":
        start -= 2
    return "".join(token.text for token in tokens[start:])


def _parameters(documents: Documents, text: ParsedText, name: str) -> Sequence[str]:
    """The names of a function's parameters, or a description of its arguments."""
    place = resolving.definition_of_path(documents, text, tuple(name.split(".")))
    if place is not None:
        entries = (entry for entry in place.text.symbols.tree.entries if isinstance(entry, tree.FunctionDef))
        own = next((entry for entry in entries if entry.name.text == place.definition.name), None)
        return [parameter.text for parameter in own.parameters] if own else ()
    if name in FUNCTIONS:
        function = FUNCTIONS[name]
        return [*(taken.phrase for taken in function.takes), *(["…"] if function.many else [])]
    return ["a metric"] if name in types.AGGREGATES or PERCENTILE.fullmatch(name) else ()
