"""The names in the templates of a kind.

They are the kind's own properties and offers, `on` (its parent), the name that it gives its target, and the names of
every frame: `name`, `out`, `run`, `seed`, `options`. There are no others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from functools import cache

from zlang import units
from zlang.check import digests, values
from zlang.check.kind_declarations import Declared, Report, left_out, names_in
from zlang.check.lazy import LazyMapping
from zlang.check.program import ABSENT, Absent, Expr, Instance, PropertyDef, Value, Variable
from zlang.check.property_types import type_of
from zlang.check.remembered import FRAME, GATE, NAME, PARENT, SEED, TARGET, once
from zlang.check.rendering import option_word
from zlang.check.resolve import new_context
from zlang.check.scope import NoScope
from zlang.check.templates import given_in, of_workload, parent_in, target_in, thing_in, word_argument
from zlang.check.types import BOOL, DURATION, STRING, UNKNOWN, Type
from zlang.diagnostics import Code
from zlang.hints import Any
from zlang.source import Span
from zlang.syntax import tree
from zlang.units import Quantity

_OF_ONE = ("key", "value")
"""The names in a form that is filled in for each property."""


MOST_PENDING = 40


_LISTS_OF_FORMS = {"option": "options", "job_line": "job_lines"}
"""The lists to which a property can add words or lines of its own, instead of what its kind's form makes of it."""
CONTEXT = (
    *("out", "run", "seed", "name", "options", "key", "value", "command"),
    *("stream", "sections", "gate", "begins", "lasts"),
)
_CONTEXT_TYPES: dict[str, tuple[Type, Value]] = {
    "gate": (Type(element=STRING), ()),
    "begins": (DURATION, Quantity(Fraction(0), units.DURATION)),
    "lasts": (DURATION, ABSENT),
}
"""The types of names that have the same type everywhere, and their values where nothing sets them."""


Define = Callable[["KindScope", tree.Property], PropertyDef]
"""Makes the definition of a property of its declaration."""


class KindScope(NoScope):
    """The names that the templates of a kind may use."""

    def __init__(self, node: tree.KindDef, declared: Declared, define: Define, report: Report) -> None:
        self.nodes, self.role = declared.nodes, node.role.text
        self.target = next((item.name.text for item in node.items if isinstance(item, tree.Needs)), "")
        self.lists = names_in(node, "lists")
        self.left_out = dict(left_out(node))
        fields = {item.name.text for item in node.items if isinstance(item, tree.Field)}
        self.own_forms = tuple(name for form, name in _LISTS_OF_FORMS.items() if form in fields)
        self.context = new_context(self, report)
        self.properties = LazyMapping(self.nodes, lambda property_: define(self, property_))
        self.offers: dict[str, Expr] = {}
        self.forms: Mapping[str, tuple[str | Expr, ...]] = {}
        self.is_of_one = False
        self.may_name_itself = False
        self.draws = bool(declared.draws)
        self.read_names: set[str] = set()
        self._pending: list[str] = []
        self._option = cache(self._option_of)

    def options_of_tool(self) -> dict[str, str]:
        """Return the options of the kind's tool, each with the reason why it is left out; empty for a property."""
        return dict.fromkeys(self.nodes, "") | self.left_out

    def lookup(self, name: str, span: Span) -> Expr | None:
        """Return the value of a name in a template; None if there is none."""
        if self.is_of_one and name not in _OF_ONE:
            return None
        self.read_names.add(name)
        if name in self.nodes:
            return self._own_property(name, span)
        if name in self.offers:
            return self.offers[name]
        if name in {"on", self.target}:
            return thing_in(span, *self._place(name))
        if name == "is_given":
            return Expr(span, BOOL, lambda frame: frame.instance.is_given, reads=FRAME)
        if name in {"out", "run"}:
            return Expr(span, STRING, lambda _: Variable(name.upper()))
        if name == "name":
            return Expr(span, STRING, lambda frame: frame.name, reads=NAME)
        if name == "options":
            return _joined_lists(span, self._option_words)
        if name == "workload" and self.role == "protocol":
            self.draws = True
            return Expr(span, UNKNOWN, lambda _: ABSENT, reads=FRAME, member=of_workload)
        if name in self.lists:
            return _joined_lists(span, lambda frame: self._additions(name, frame))
        if name in CONTEXT:
            self.draws = self.draws or name == "seed"
            type_, without = _CONTEXT_TYPES.get(name, (UNKNOWN, ABSENT))
            reads = {"gate": GATE, "seed": SEED}.get(name, FRAME)
            return Expr(span, type_, lambda frame: frame.context.get(name, without), reads=reads)
        return None

    def names(self) -> Iterable[str]:
        """Return all names, for suggestions."""
        if self.is_of_one:
            return _OF_ONE
        return [*self.nodes, *self.offers, "on", self.target, *self.lists, *CONTEXT]

    def _place(self, name: str) -> tuple[Callable[[Any], Instance | None], frozenset[str]]:
        """Return a function that finds the parent or the target in a frame, and the names that it reads."""
        return (parent_in, PARENT) if name == "on" else (target_in, TARGET)

    def is_given(self, name: str, span: Span) -> Expr | None:
        """Return whether a property was given, here or in another thing, or is offered there: the value of `has(…)`."""
        thing, _, offer = name.partition(".")
        if offer and thing in {"on", self.target}:
            find, reads = self._place(thing)

            def is_there(frame: Any) -> Value:
                result = find(frame)
                return result is not None and (offer in result.kind.offers or offer in result.values)

            return Expr(span, BOOL, is_there, reads=reads)
        if offer and thing in self.nodes and not self.is_of_one:
            self.read_names.add(thing)
            return self._has_argument(span, thing, *offer.split("."))
        if name not in self.nodes or self.is_of_one:
            return None
        self.read_names.add(name)
        return Expr(span, BOOL, lambda frame: name in frame.instance.values, reads=frozenset({name}))

    def _has_argument(self, span: Span, name: str, argument: str, offer: str = "", *_others: str) -> Expr | None:
        """Return whether the value of a property is a word with this argument, and whether that has a given offer."""
        word = self._own_property(name, self.nodes[name].name.span)
        carried = word.member(argument, word.span) if word.member else None
        if carried is None:
            return None

        def value(frame: Any) -> Value:
            result = carried.value(frame)
            has_offer = not offer or (isinstance(result, Instance) and offer in result.kind.offers)
            return has_offer and not isinstance(result, Absent)

        return Expr(span, BOOL, value, reads=carried.reads)

    def _own_property_later(self, name: str, span: Span) -> Expr:
        """Return the property whose own attribute is being resolved; its value is known only in a frame.

        The attribute is evaluated only where the property is given, so the default decides nothing.
        """
        type_, reads = type_of(self.context, self.nodes[name].type), frozenset({name})
        resolved = cache(lambda: self._own_property(name, span))

        def value(frame: Any) -> Value:
            return resolved().value(frame)

        return Expr(span, type_, value, reads=reads, member=word_argument(type_, value, reads))

    def _own_property(self, name: str, span: Span) -> Expr:
        if name in self._pending and self.may_name_itself:
            return self._own_property_later(name, span)
        if name in self._pending or len(self._pending) > MOST_PENDING:
            self.context.report(Code.CIRCLE.at(span, name=name).also(self.nodes[name].name.span, "defined here"))
            return Expr(span, UNKNOWN, lambda _: ABSENT)
        self._pending.append(name)
        definition = self.properties[name]
        self._pending.remove(name)
        default, unit = definition.default, definition.unit
        in_unit = digests.Memory(values.in_unit)
        reads = frozenset({name}) | (default.reads if default else frozenset())

        def value(frame: Any) -> Value:
            result = frame.instance.values.get(name)
            if result is None:
                result = default.value(frame) if default else ABSENT
            return result if unit is None else in_unit(result, unit)

        return Expr(span, definition.type, value, reads=reads, member=word_argument(definition.type, value, reads))

    def _option_words(self, frame: Any) -> Iterable[Expr]:
        """Yield the options of each given property."""
        return map(self._option, given_in(frame))

    def _option_of(self, name: str) -> Expr:
        """Return the options of a property: its own form, or the kind's form of an option."""
        definition = self.properties[name]
        own = definition.own_form("options")
        if own is not None:
            return own.giving(once(own.value, own.reads))

        def words(frame: Any) -> Value:
            return (option_word(self.forms.get("option", ()), definition, frame.instance.values[name]),)

        reads = frozenset({name})
        return Expr(definition.span, Type(element=STRING), once(words, reads), reads=reads)

    def _additions(self, list_name: str, frame: Any) -> Iterable[Expr]:
        """Yield what the given properties add to a list, in the order in which they were given."""
        for name in given_in(frame):
            for belongs, expr in self.properties[name].lists:
                if belongs == list_name:
                    yield expr


def _joined_lists(span: Span, pieces: Callable[[Any], Iterable[Expr]]) -> Expr:
    """Return an expression whose value is the lists of its pieces, one after the other."""

    def value(frame: Any) -> Value:
        return tuple([word for piece in pieces(frame) for word in values.listed(piece.value(frame))])

    return Expr(span, Type(element=STRING), value, reads=FRAME, pieces=pieces)
