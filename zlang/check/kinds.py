"""From the declaration of a kind to the kind: typed properties, templates, offers and needs."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Iterable, Mapping
from fractions import Fraction

from zlang.check import remembered
from zlang.check.expressions import constant, resolve, unknown
from zlang.check.kind_actions import Readers, read_metrics, resolve_action
from zlang.check.kind_declarations import COMMANDS, PASSING_ON, Declared, Report, declared_in, is_field, is_on, names_in
from zlang.check.kind_scope import CONTEXT, KindScope
from zlang.check.lazy import LazyMapping
from zlang.check.program import ABSENT, Assertion, Expr, Kind, KindAction, PropertyDef, Symbol
from zlang.check.property_definitions import ATTRIBUTES, define
from zlang.check.texts import resolve_plain_text
from zlang.check.traits import TRAITS
from zlang.check.typed import resolve_condition
from zlang.check.types import ANYTHING_DECLARED, BOOL, COUNT, NUMERIC, UNKNOWN, Type, Variant
from zlang.check.types import DURATION as TIME
from zlang.diagnostics import Code
from zlang.source import Span
from zlang.suggest import Hint, did_you_mean
from zlang.syntax import tree
from zlang.units import DURATION, Quantity

ROLES = ("machine", "resource", "workload", "collector", "treatment", "protocol", "event", "wrapper")


PHASES = ("flush", "warm", "verify_cold", "verify_hot")
"""Phases of a protocol that run for the target; after `verify_` any state can stand that the target verifies."""


_FIELDS = ("armed", "rebuilt_per_child", "is_ambient", "is_place", "lists", "phases", "section")


FORMS = ("option", "job", "job_head", "job_line")


OWN_TRAIT_TYPES = ("bool", *sorted(NUMERIC))
"""Types of traits that a kind declares for itself: the database keeps their values as numbers."""
_BOUNDS = {"<=": "at most", "<": "less than", ">=": "at least", ">": "more than"}
"""The comparisons of a property for which a hint says which values hold."""


_SENT = {
    "workload": "the host that runs the workload, if it is not the host of the target",
    "collector": "the host that the collector observes, if it is not the one that it would observe",
}
"""The roles of kinds with the property `from`, and its description."""
_MOST_COPIES = 1024
"""More are not planned within a second, and are more than one command can start."""
_FORMS_OF_ONE = frozenset({"option", "job_line"})


def kind_of(
    node: tree.KindDef, module: str, readers: Readers, report: Report, declared: Declared | None = None
) -> Kind:
    """Return the kind of a declaration; `declared` has the properties if the declaration comes without them."""
    properties = declared or declared_in(node, report)
    tool = properties.tool or node.name.text
    scope = KindScope(node, properties, lambda scope, property_: define(scope, tool, property_), report)
    kind = _KindBuilder(node, module, readers, scope, is_whole=properties.draws is None).build(properties)
    for item in node.items:
        if isinstance(item, tree.Default):
            message = "only a kind that extends another has a `default`: `kind NAME: KIND { … }`"
            report(Code.BAD_KIND.at(item.span, message=message))
    if properties.draws is not None:
        return kind
    from zlang.check import kind_checks

    for finding in kind_checks.findings(node, kind.phases, scope.read_names):
        report(finding)
    for name in scope.read_names & scope.nodes.keys():
        if scope.properties[name].cost == "none":
            report(kind_checks.decides(scope.nodes[name]))
    for finding in () if declared else kind_checks.of_properties(node):
        report(finding)
    return kind


def _needs(node: tree.Needs) -> tuple[tuple[str, ...], str]:
    return tuple(word.text for word in node.offers), node.name.text


class _KindBuilder:
    """Builds a kind from the items of its declaration; if it `is_whole`, commands and forms are resolved at once."""

    def __init__(self, node: tree.KindDef, module: str, readers: Readers, scope: KindScope, *, is_whole: bool) -> None:
        self.node, self.module, self.readers, self.scope = node, module, readers, scope
        self.context, self.report = scope.context, scope.context.report
        self.phases = names_in(node, "phases")
        self.is_whole = is_whole

    def build(self, declared: Declared) -> Kind:
        """Build the kind with its declared properties."""
        node = self.node
        actions: dict[tuple[str, str, str], KindAction] = {}
        for offer in [item for item in node.items if isinstance(item, tree.Offers)]:
            self.scope.offers[offer.name.text] = resolve(self.context, offer.value)
        for item in [item for item in node.items if isinstance(item, tree.ActionDef)]:
            action = resolve_action(self.context, self.readers, item)
            actions[action.name, action.state, action.platform] = action
            _ = action.commands if self.is_whole else ()
        fields = {item.name.text: item for item in node.items if isinstance(item, tree.Field)}
        self._check_fields(fields.values())
        values = {name: (name, item.value) for name, item in fields.items() if name in (*FORMS, "section")}
        self.scope.forms = forms = LazyMapping(values, lambda named: self._form(*named))
        _ = dict(forms) if self.is_whole else ()
        traits = {item.name.text: item for item in node.items if isinstance(item, tree.Trait)}
        read_metrics(self.context, node, actions)
        return Kind(
            name=node.name.text,
            role=node.role.text,
            parents=tuple(word.text for word in node.parents),
            properties=self.scope.properties,
            required=declared.required,
            scheduled=declared.scheduled,
            offers=self.scope.offers,
            needs=next((_needs(item) for item in node.items if isinstance(item, tree.Needs)), None),
            requires=tuple([(item.tool.text, item.hint) for item in node.items if isinstance(item, tree.Requires)]),
            actions=actions,
            forms=forms,
            writes=self._writes(fields["writes"].value) if "writes" in fields else None,
            doc=resolve_plain_text(self.context, fields["doc"].value, "doc") if "doc" in fields else "",
            module=self.module,
            template_source=self._template_source(),
            rebuilt_per_child=self._is_set("rebuilt_per_child"),
            is_ambient=self._is_set("is_ambient"),
            is_place=self._is_set("is_place"),
            phases=self.phases,
            draws=self._draws(),
            traits=LazyMapping(ChainMap(traits, declared.traits), self._trait),  # type: ignore[arg-type]
            own_traits=tuple(name for name, item in traits.items() if item.type),
            armed=resolve(self.context, fields["armed"].value) if "armed" in fields else None,
            without=self.scope.left_out,
            asserts=tuple([self._assertion(item) for item in node.items if isinstance(item, tree.Assert)]),
            is_copied=self._may_be_copied(actions),
        )

    def _check_fields(self, fields: Iterable[tree.Field]) -> None:
        for item in fields:
            if item.name.text in _FIELDS:
                self._check_names(item)
            elif item.name.text not in {"doc", "writes", *FORMS}:
                self._report_unknown(item.name)

    def _report_unknown(self, field: tree.Word) -> None:
        candidates = ("doc", "writes", *_FIELDS, *FORMS)
        hint: str = did_you_mean(field.text, candidates) or "a kind has " + ", ".join(candidates)
        if field.text in COMMANDS:
            hint = f'write `{COMMANDS[field.text]} {{ sh "…" }}`'
        if field.text in {"option", "options"} and PASSING_ON in self.scope.nodes:
            hint = Hint(f"write `default {PASSING_ON} = …`", field.text, f"default {PASSING_ON}", is_safe=False)
        if field.text in self.scope.nodes:
            hint = Hint(f"write `default {field.text} = …`", field.text, f"default {field.text}", is_safe=False)
        self.report(Code.UNKNOWN_PROPERTY.at(field.span, kind="kind", name=field.text, hint=hint))

    def _assertion(self, node: tree.Assert) -> Assertion:
        condition = remembered.expression(resolve_condition(self.context, node.condition))
        names = [part.path[0] for part in tree.parts(node.condition) if isinstance(part, tree.Name)]
        bound = None
        match node.condition:
            case tree.Binary(_, operator, tree.Name(_, (name,)), right) if operator in _BOUNDS:
                silent = self.context.replace(report=lambda _: None)
                bound = f"give a `{name}` of {_BOUNDS[operator]} ", resolve(silent, right)
        return Assertion(condition, node.title, node.condition.span, tuple(names), bound=bound)

    def _is_set(self, name: str) -> bool:
        """Whether the kind has this field and it is `on`."""
        return any(isinstance(i, tree.Field) and i.name.text == name and is_on(i) for i in self.node.items)

    def _writes(self, node: tree.Expr) -> Expr:
        """Return whether a workload writes; a bare `on` is the switch here, not the parent of the kind."""
        if not isinstance(node, tree.Name):
            return remembered.expression(resolve_condition(self.context, node))
        resolved = resolve(self.context, node, BOOL)
        if not BOOL.accepts(resolved.type):
            self.report(Code.WRONG_TYPE.at(node.span, name="writes", expected=BOOL, found=resolved.type))
        return resolved

    def _trait(self, node: tree.Trait) -> Expr:
        type_ = self._type_of_trait(node)
        if type_ is None:
            return unknown(node.span)
        resolved = resolve(self.context, node.value, type_)
        if not type_.accepts(resolved.type):
            wrong = Code.WRONG_TYPE.at(node.value.span, name=node.name.text, expected=type_, found=resolved.type)
            self.report(wrong)
        return remembered.expression(resolved)

    def _type_of_trait(self, node: tree.Trait) -> Type | None:
        """Return the type of a trait: from the language's table, or from the kind's own declaration."""
        name, shared = node.name.text, TRAITS.get(node.name.text)
        if node.type is None:
            if shared is None:
                hint = did_you_mean(name, TRAITS) or f"a trait of your own has a type: `trait {name}: count = …`"
                self.report(Code.UNKNOWN_NAME.at(node.name.span, name=name, hint=hint))
            return shared.type if shared else None
        if shared is not None:
            label, hint = "the language has a trait of this name", f"write `trait {name} = …`, or choose another name"
            self.report(Code.DUPLICATE.at(node.name.span, name=name, label=label, hint=hint))
            return None
        if node.type.text not in OWN_TRAIT_TYPES:
            hint = did_you_mean(node.type.text, OWN_TRAIT_TYPES) or f"it can be {', '.join(OWN_TRAIT_TYPES)}"
            self.report(Code.UNKNOWN_NAME.at(node.type.span, name=node.type.text, hint=hint))
            return None
        return Type(frozenset({node.type.text}))

    def _form(self, name: str, node: tree.Expr) -> tuple[str | Expr, ...]:
        """Return a form of the kind; its result for a property depends on that property alone."""
        if name == "section":
            return (resolve(self.context, node),)
        if not isinstance(node, tree.Text):
            self.report(Code.BAD_KIND.at(node.span, message=f"`{name}` must be a text in quotes"))
            return ()
        self.scope.is_of_one = name in _FORMS_OF_ONE
        parts = tuple([part if isinstance(part, str) else resolve(self.context, part) for part in node.parts])
        self.scope.is_of_one = False
        return parts

    def _draws(self) -> bool:
        """Whether the kind draws by a seed: a property of a workload; a protocol has one drawn for it."""
        if self.node.role.text == "protocol":
            return self.scope.draws
        if self.node.role.text == "event":
            self.scope.properties.add("at", _at_property(self.node.name.span))
        if "under" not in self.scope.nodes and self._starts_itself():
            self.scope.properties.add("under", _wrapper_property(self.node.name.span))
        if self.node.role.text in _SENT and "from" not in self.scope.nodes:
            self.scope.properties.add("from", _host_property(self.node.name.span, _SENT[self.node.role.text]))
        if self.node.role.text != "workload":
            return False
        if self.scope.draws:
            self.scope.properties.add("seed", _seed_property(self.node.name.span))
        return self.scope.draws

    def _starts_itself(self) -> bool:
        """Whether commands, rather than a person, start the workload or event."""
        name = {"workload": "run", "event": "wait"}.get(self.node.role.text)
        actions = [item for item in self.node.items if isinstance(item, tree.ActionDef) and item.name.text == name]
        return any(isinstance(item, tree.Sh) and not item.is_asked for action in actions for item in action.commands)

    def _may_be_copied(self, actions: Mapping[tuple[str, str, str], KindAction]) -> bool:
        """Whether there can be several copies of a thing; a kind's own property `copies` has its own meaning."""
        is_made = self.node.role.text == "resource" and any(name == "create" for name, _, _ in actions)
        is_single = self._is_set("is_ambient") or any(is_field(item, "armed") for item in self.node.items)
        if "copies" in self.scope.nodes or is_single or not (is_made or self.node.role.text == "workload"):
            return False
        self.scope.properties.add("copies", _copies_property(self.node.name.span, self.node.role.text))
        return True

    def _known_phases(self, item: tree.Field) -> None:
        own = [action.name.text for action in self.node.items if isinstance(action, tree.ActionDef)]
        if self.node.role.text != "protocol":
            hint = "only a protocol has `phases`"
            self.report(Code.UNEXPECTED.at(item.span, expected="a field of a kind", found="`phases`", hint=hint))
        for word in item.value.items if isinstance(item.value, tree.ListOf) else ():
            name = str(word) if isinstance(word, tree.Name) else ""
            if name not in own and name not in PHASES and not name.startswith("verify_"):
                hint = did_you_mean(name, (*PHASES, *own)) or "it can do " + ", ".join((*PHASES, *own))
                self.report(Code.UNKNOWN_NAME.at(word.span, name=name or "this", hint=hint))

    def _check_names(self, item: tree.Field) -> None:
        if item.name.text == "phases":
            self._known_phases(item)
        for name in self.scope.lists:
            if name in self.scope.nodes or name in CONTEXT or name in ATTRIBUTES:
                self.report(Code.DUPLICATE.at(item.span, name=name))

    def _template_source(self) -> str:
        """Return the text of the actions as written, because white space can matter to the shell."""
        return "\n".join(item.span.text for item in self.node.items if not _is_silent(item))


def _seed_property(span: Span) -> PropertyDef:
    """Return the property `seed` of every workload that draws by a seed."""
    words = Type(words=(Variant("fresh"), Variant("replay")))
    doc = "whether each replicate draws new offsets, or repeats those of the first"
    return PropertyDef("seed", words, span, constant(span, words, Symbol("fresh")), doc=doc)


def _copies_property(span: Span, role: str) -> PropertyDef:
    """Return the property `copies` of everything that can have copies."""
    single, most = Quantity(Fraction(1)), Quantity(Fraction(_MOST_COPIES))
    return PropertyDef(
        name="copies",
        type=COUNT,
        span=span,
        default=constant(span, COUNT, single),
        allow=constant(span, UNKNOWN, (single, most)),
        allow_text=f"1..{_MOST_COPIES}",
        doc=f"how many of it {'run' if role == 'workload' else 'are measured'} at the same time",
    )


def _at_property(span: Span) -> PropertyDef:
    """Return the property `at` of every event."""
    doc = "how long after the workloads it begins"
    begin = Quantity(Fraction(0), DURATION)
    limits = constant(span, UNKNOWN, (begin, ABSENT))
    default = constant(span, TIME, begin)
    return PropertyDef(
        name="at",
        type=TIME,
        span=span,
        default=default,
        allow=limits,
        allow_text="0s..",
        unit=Quantity(Fraction(1, 1000), DURATION),
        doc=doc,
    )


def _host_property(span: Span, doc: str) -> PropertyDef:
    """Return the property `from`, which every workload and collector has."""
    return PropertyDef("from", Type(kinds=frozenset({"host"})), span, doc=doc)


def _wrapper_property(span: Span) -> PropertyDef:
    """Return the property `under` of every workload and event."""
    doc = "the wrapper that starts it, or a list, the outermost first"
    type_ = ANYTHING_DECLARED | Type(words=(Variant("none"),), element=ANYTHING_DECLARED)
    return PropertyDef("under", type_, span, doc=doc, role="wrapper")


def _is_silent(item: tree.KindItem) -> bool:
    """Whether an item does not affect the actions of a single thing; commands show what streams do together."""
    if isinstance(item, tree.Requires | tree.Trait | tree.MetricDecl | tree.Assert | tree.Without):
        return True
    is_outside_of_trials = isinstance(item, tree.ActionDef) and item.name.text in {"together", "examine"}
    return is_outside_of_trials or is_field(item, "doc") or is_field(item, "section")
