"""Names: words of an enumeration, what a scope has, and the members of declared things."""

from __future__ import annotations

from zlang.check import types
from zlang.check.expressions import Expressions, constant, unknown
from zlang.check.program import Expr, Symbol
from zlang.check.types import NOTHING, Type
from zlang.diagnostics import Code
from zlang.suggest import Hint, did_you_mean
from zlang.syntax import tree

EXAMPLES = {"share": "50%", "size": "4KiB", "duration": "60s", "count": "4", "string": '"text"'}


class Names(Expressions):
    """Names and words."""

    def _name(self, node: tree.Name, expected: Type | None) -> Expr:
        first = node.path[0]
        if expected is not None and len(node.path) == 1:
            word = self._as_word(node, first, expected)
            if word is not None:
                return word
        found = self.scope.lookup(first, node.span)
        if found is None and len(node.path) == 1 and first in types.BOOLS:
            return constant(node.span, types.BOOL, types.BOOLS[first])
        if found is None:
            return self._report_unknown(node, first, expected)
        for i, name in enumerate(node.path[1:], start=1):
            if found.type.unknown and found.member is None:
                return unknown(node.span)
            got = found.member(name, node.span) if found.member else None
            if got is None:
                subject = f"`{'.'.join(node.path[:i])}`"
                hint = self._members(found, name)
                self.report(Code.UNKNOWN_FIELD.at(node.span, subject=subject, name=name, hint=hint))
                return unknown(node.span)
            found = got
        return Expr(
            node.span,
            found.type,
            found.value,
            found.axes,
            found.reads,
            found.member,
            (),
            found.is_constant,
            found.depth,
            found.work,
        )

    def _members(self, of: Expr, name: str) -> str:
        """What a declared thing has whose name is near."""
        kinds = [self.scope.kind(tree.Name(of.span, (kind,))) for kind in sorted(of.type.kinds)]
        return did_you_mean(name, [word for kind in kinds if kind for word in (*kind.properties, *kind.offers)])

    def _as_word(self, node: tree.Name, name: str, expected: Type) -> Expr | None:
        if expected.unknown:
            return None
        variant = expected.variant(name)
        if variant is not None:
            if variant.field is not None:
                field, scalar = variant.field
                hint = f"write `{name}({EXAMPLES.get(scalar, '…')})`"
                self.report(
                    Code.WRONG_ARGUMENTS.at(node.span, name=name, expected=f"its {field}", found="nothing", hint=hint)
                )
                return unknown(node.span)
            return constant(node.span, Type(words=(variant,)), Symbol(name))
        if "bool" in expected.scalars and name in types.BOOLS:
            return constant(node.span, types.BOOL, types.BOOLS[name])
        return None

    def _report_unknown(self, node: tree.Name, name: str, expected: Type | None) -> Expr:
        words = [word.name for word in expected.words] if expected else []
        if words and expected == Type(words=expected.words if expected else ()) and self.given_to:
            hint: str = did_you_mean(name, words) or f"it can be {expected}"
            self.report(Code.NOT_ALLOWED.at(node.span, name=self.given_to, value=f"`{name}`", hint=hint))
            return unknown(node.span, ())
        hint = did_you_mean(name, [*words, *self.scope.names()])
        kind = self.scope.kind(node)
        if kind is not None:
            made = f"{name} {{}}" if not kind.required else f"{name} {{ … }}"
            hint = f"`{name}` is a kind: `{made}` makes one here"
            hint = hint if kind.required else Hint(hint, name, made)
        elif name in self.siblings:
            hint = f"no property knows another of the same thing: give what both need a name, `let {name} = …`"
        elif not hint and self.scope.kind_hint(name):
            hint = f"{self.scope.kind_hint(name)}, and make one: `{name} {{ … }}`"
        elif not hint and (owner := self.scope.owner(name)):
            hint = Hint(f"did you mean `{owner}.{name}`?", name, f"{owner}.{name}", is_safe=False)
        elif not hint and expected is not None and not expected.unknown and expected != NOTHING:
            hint = f"expected {expected}"
            if expected.scalars & {"string", "path", "version"}:
                hint = Hint(f'a text is written `"{name}"`', name, f'"{name}"', is_safe=False)
        self.report(Code.UNKNOWN_NAME.at(node.span, name=name, hint=hint))
        return unknown(node.span)
