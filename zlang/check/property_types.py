"""The declared type of a property, and the limits of its values."""

from __future__ import annotations

from zlang.check import types
from zlang.check.expressions import Context, constant, resolve
from zlang.check.program import ABSENT, Expr
from zlang.check.types import UNKNOWN, Type, Variant
from zlang.diagnostics import Code
from zlang.suggest import Hint, did_you_mean
from zlang.syntax import tree
from zlang.units import Quantity

FOREIGN: dict[str, Hint] = {
    word: Hint(f"write `{meant}`", word, meant)
    for words, meant in (
        ("int integer long uint", "count"),
        ("float double real", "number"),
        ("str text", "string"),
        ("boolean", "bool"),
        ("bytes", "size"),
        ("time seconds", "duration"),
        ("percent", "share"),
    )
    for word in words.split()
}
"""The names of types in other languages."""


def type_of(context: Context, node: tree.TypeExpr) -> Type:
    """Return the declared type."""
    whole = Type()
    for atom in node.atoms:
        if atom.element is not None:
            whole = whole | Type(element=type_of(context, atom.element))
        elif atom.schedule is not None:
            whole = whole | Type(schedule=type_of(context, atom.schedule))
        elif atom.name in types.SCALARS and atom.field is None:
            whole = whole | Type(frozenset({atom.name}))
        else:
            if atom.field is not None and atom.field[1] not in types.SCALARS:
                hint = did_you_mean(atom.field[1], types.SCALARS)
                if hint:
                    context.report(Code.UNKNOWN_NAME.at(atom.span, name=atom.field[1], hint=hint))
            limits = _limits(context, atom) if atom.allow else None
            text = atom.allow.span.text if atom.allow else ""
            whole = whole | Type(words=(Variant(atom.name, atom.field, limits, text),))
    if len(node.atoms) == 1 and whole.words and whole.words[0].field is None:
        hint = FOREIGN.get(node.atoms[0].name) or did_you_mean(node.atoms[0].name, types.SCALARS)
        if hint:
            context.report(Code.UNKNOWN_NAME.at(node.span, name=node.atoms[0].name, hint=hint))
    return whole


def _limits(context: Context, atom: tree.TypeAtom) -> tuple[Quantity | None, ...] | None:
    """Return the minimum and maximum of the value that a word carries, and the factor between values, if any."""
    allowed = resolve_allowed(context, atom.allow) if atom.allow else None
    ends = allowed.value(None) if allowed else ()
    if not isinstance(ends, tuple) or atom.field is None:
        return None
    limits = tuple([end if isinstance(end, Quantity) else None for end in ends])
    wanted = Type(frozenset({atom.field[1]}))
    for end in limits[:2]:
        if end is not None and not wanted.accepts(types.of_quantity(end)):
            span, result = atom.allow.span if atom.allow else atom.span, types.of_quantity(end)
            name = f"{atom.name}({atom.field[0]})"
            context.report(Code.WRONG_TYPE.at(span, name=name, expected=wanted, found=result))
            return None
    return limits


def resolve_allowed(context: Context, node: tree.Expr) -> Expr | None:
    """Resolve the limits of a property: its `allow`."""
    if not isinstance(node, tree.Range):
        context.report(Code.BAD_KIND.at(node.span, message="`allow` must be a range, such as `1..64` or `1..`"))
        return None
    written = [resolve(context, end) if end else None for end in (node.low, node.high)]
    if any(end is not None and not end.is_constant and not end.type.unknown for end in written):
        context.report(Code.NOT_CONSTANT.at(node.span, place="`allow`", hint="write constant limits: `allow = 1..64`"))
        return None
    ends = [end.value(None) if end is not None and end.is_constant else ABSENT for end in written]
    if node.step is not None:
        factor, low = resolve(context, node.step).value(None), ends[0]
        is_sound = isinstance(factor, Quantity) and factor.amount > 1 and isinstance(low, Quantity) and low.amount > 0
        if not node.times or not is_sound:
            message = "`allow` has no step, or multiplies a number above 0, such as `512B..1MiB by *2`"
            context.report(Code.BAD_KIND.at(node.span, message=message))
            return None
        ends.append(factor)
    return constant(node.span, UNKNOWN, tuple(ends))
