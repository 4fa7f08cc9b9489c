"""From the declaration of a kind to the kind: typed properties, templates, what it offers and needs.

Rule: the names in a template are the kind's own properties and offers, `on` (what it stands on), the name under which
it takes its target, and what every frame knows: `name`, `out`, `run`, `seed`, `options`. Nothing else.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeGuard

from zlang.check import digests, kind_checks, types, values, versions
from zlang.check.expressions import constant, resolve, unknown
from zlang.check.instances import checked_value
from zlang.check.metric_declarations import KindMetric, found_in
from zlang.check.program import (
    ABSENT,
    COSTS,
    PLATFORMS,
    STATES,
    Assertion,
    Command,
    Expr,
    Kind,
    KindAction,
    PropertyDef,
    ReaderDef,
    Symbol,
    Value,
    Variable,
)
from zlang.check.rendering import option_word
from zlang.check.resolve import new_context
from zlang.check.templates import given_in, of_workload, parent_in, target_in, thing_in, word_argument
from zlang.check.texts import resolve_template
from zlang.check.traits import TRAITS
from zlang.check.typed import resolve_condition, resolve_typed
from zlang.check.types import BOOL, DURATION, STRING, UNKNOWN, Type, Variant
from zlang.diagnostics import Code, Diagnostic, ProgramError
from zlang.metrics import Metric
from zlang.record import Record
from zlang.source import Span
from zlang.suggest import did_you_mean
from zlang.syntax import tree
from zlang.units import Quantity

ROLES = ("machine", "resource", "workload", "collector", "treatment", "protocol")


PHASES = ("flush", "warm", "verify_cold", "verify_hot")
"""What a protocol can have done by the kinds of its target; `verify_` may be followed by any state that they verify."""


FORMS = ("option", "job", "job_head", "job_line")


_FORMS_OF_ONE = frozenset({"option", "job_line"})


_OF_ONE = ("key", "value")
"""The names in a form that is filled in for each property."""


MOST_PENDING = 40


_ATTRIBUTES = ("default", "allow", "unit", "cost", "since", "doc", "required", "only", "probe", "ask", "one_line")


_CONTEXT = ("out", "run", "seed", "name", "options", "key", "value")


Report = Callable[[Diagnostic], None]
Readers = Mapping[str, tuple[Metric, ...]]
"""What each reader of the library can measure."""
_FINDER = "shell"
"""The reader of the metrics that a kind declares itself."""
_MEASURING = ("run", "watch", "look")
"""Actions of which the output holds the metrics of a kind."""


class Declared(Record):
    """The properties of a declaration by name, which of them must be given, and the tool whose versions they name."""

    nodes: Mapping[str, tree.Property]
    required: tuple[str, ...]
    tool: str = ""


def kind_of(
    node: tree.KindDef, module: str, readers: Readers, report: Report, declared: Declared | None = None
) -> Kind:
    """The kind that a declaration describes; `declared` stands in where the declaration comes without properties."""
    builder = _KindBuilder(node, module, readers, report, declared or declared_in(node, report))
    kind = builder.build()
    for item in node.items:
        if isinstance(item, tree.Default):
            message = "only a kind that extends another has a `default`: `kind NAME: KIND { … }`"
            report(Code.BAD_KIND.at(item.span, message=message))
    for finding in kind_checks.findings(node, kind.phases, builder.read_names):
        report(finding)
    for name in builder.read_names & builder.nodes.keys():
        if builder.properties[name].cost == "none":
            report(kind_checks.decides(builder.nodes[name]))
    for finding in () if declared else kind_checks.of_properties(node):
        report(finding)
    return kind


def extended(
    node: tree.KindDef, base: tree.KindDef, declared: Declared, report: Report
) -> tuple[tree.KindDef, Declared]:
    """The kind that another one is with some items changed: an item takes the place of the one of its name."""
    own = declared_in(node, report)
    properties = dict(own.nodes)
    for item in node.items:
        if isinstance(item, tree.Default):
            value = declared.nodes.get(item.name.text)
            if value is None:
                hint = did_you_mean(item.name.text, declared.nodes)
                report(Code.UNKNOWN_PROPERTY.at(item.name.span, kind=base.name.text, name=item.name.text, hint=hint))
                continue
            kept = tuple(
                attribute for attribute in value.attributes if not _is_attribute(attribute, "default", "required")
            )
            default = tree.Field(item.span, tree.Word(item.name.span, "default"), item.value)
            properties[item.name.text] = tree.Property(value.span, value.name, value.type, (*kept, default))
    replaced = {_slot(item) for item in node.items}
    items: list[tree.KindItem] = [
        item for item in base.items if not isinstance(item, tree.Property) and _slot(item) not in replaced
    ]
    items += [item for item in node.items if not isinstance(item, tree.Default)]
    merged = tree.KindDef(node.span, node.name, base.role, node.parents or base.parents, tuple(items))
    required = (*(name for name in declared.required if name not in properties), *own.required)
    return merged, Declared(ChainMap(properties, declared.nodes), required, declared.tool or base.name.text)  # type: ignore[arg-type]


def _is_attribute(item: tree.Item, *names: str) -> bool:
    return isinstance(item, tree.Field) and item.name.text in names


def _slot(item: tree.KindItem) -> object:
    """What of a kind an item says; of two that say the same the later one holds."""
    if isinstance(item, tree.Needs | tree.Requires | tree.Assert | tree.Without):
        return tree.Needs if isinstance(item, tree.Needs) else item.span
    selectors = tuple(word.text for word in item.selectors) if isinstance(item, tree.ActionDef) else ()
    return type(item), item.name.text, selectors


def declared_in(node: tree.KindDef, report: Report) -> Declared:
    """The properties that stand in a declaration."""
    nodes: dict[str, tree.Property] = {}
    for item in node.items:
        if isinstance(item, tree.Property):
            if item.name.text in nodes:
                finding = Code.DUPLICATE.at(item.name.span, name=item.name.text)
                report(finding.also(nodes[item.name.text].name.span, "first defined here"))
            nodes[item.name.text] = item
    return Declared(nodes, tuple(name for name, property_ in nodes.items() if _says(property_, "required")))


class _Properties(Mapping[str, PropertyDef]):
    """The properties of a kind, each resolved when it is first asked for: fio has hundreds and a program uses ten."""

    def __init__(self, nodes: Mapping[str, tree.Property], resolve: Callable[[tree.Property], PropertyDef]) -> None:
        self._nodes = nodes
        self._resolve = resolve
        self._cache: dict[str, PropertyDef] = {}

    def add(self, definition: PropertyDef) -> None:
        """A property that the declaration does not have."""
        self._cache[definition.name] = definition

    def __getitem__(self, name: str) -> PropertyDef:
        if name not in self._cache:
            self._cache[name] = self._resolve(self._nodes[name])
        return self._cache[name]

    def __contains__(self, name: object) -> bool:
        return name in self._nodes or name in self._cache

    def __iter__(self) -> Iterator[str]:
        yield from self._nodes
        yield from [name for name in self._cache if name not in self._nodes]

    def __len__(self) -> int:
        return sum(1 for _ in self)


class _Traits(Mapping[str, Expr]):
    """The traits of a kind, each resolved when a rule first asks for it."""

    def __init__(self, nodes: Mapping[str, tree.Trait], resolve: Callable[[tree.Trait], Expr]) -> None:
        self._nodes = nodes
        self._resolve = resolve
        self._cache: dict[str, Expr] = {}

    def __getitem__(self, name: str) -> Expr:
        cached = self._cache.get(name)
        if cached is None:
            cached = self._cache[name] = self._resolve(self._nodes[name])
        return cached

    def __contains__(self, name: object) -> bool:
        return name in self._nodes

    def __iter__(self) -> Iterator[str]:
        return iter(self._nodes)

    def __len__(self) -> int:
        return len(self._nodes)


class _KindBuilder:
    def __init__(self, node: tree.KindDef, module: str, readers: Readers, report: Report, declared: Declared) -> None:
        self.node, self.module, self.readers, self.report = node, module, readers, report
        self.nodes, self.required = declared.nodes, declared.required
        self.tool = declared.tool or node.name.text
        self.properties = _Properties(self.nodes, self._property)
        self.offers: dict[str, Expr] = {}
        self.option: tuple[str | Expr, ...] = ()
        self.pending: list[str] = []
        self.may_name_itself = False
        self.is_of_one = False
        self.draws = False
        self.read_names: set[str] = set()
        self.target = next((item.name.text for item in node.items if isinstance(item, tree.Needs)), "")
        self.lists = _listed(node, "lists")
        self.phases = _listed(node, "phases")
        self.scope = _KindScope(self)
        self.context = new_context(self.scope, report)

    def build(self) -> Kind:
        node = self.node
        if node.role.text not in ROLES:
            hint = did_you_mean(node.role.text, ROLES) or "the roles are " + ", ".join(ROLES)
            self.report(Code.UNKNOWN_NAME.at(node.role.span, name=node.role.text, hint=hint))
        forms: dict[str, tuple[str | Expr, ...]] = {}
        actions: dict[tuple[str, str, str], KindAction] = {}
        needs: tuple[tuple[str, ...], str] | None = None
        requires: list[tuple[str, str]] = []
        writes: Expr | None = None
        doc = ""
        for item in node.items:
            match item:
                case tree.Offers():
                    self.offers[item.name.text] = resolve(self.context, item.value)
                case tree.Needs():
                    needs = (tuple(word.text for word in item.offers), item.name.text)
                case tree.Requires():
                    requires.append((item.tool.text, item.hint))
                case tree.ActionDef():
                    action = self._action(item)
                    actions[action.name, action.state, action.platform] = action
                case tree.Field() if item.name.text == "doc":
                    doc = self._plain(item.value, "doc")
                case tree.Field() if item.name.text == "writes":
                    writes = self._writes(item.value)
                case tree.Field() if item.name.text in {"armed", "rebuilt_per_child", "is_ambient", "lists", "phases"}:
                    self._check_names(item)
                case tree.Field() if item.name.text in FORMS:
                    forms[item.name.text] = self._form(item.name.text, item.value)
                case tree.Field():
                    candidates = (
                        "doc",
                        "writes",
                        "armed",
                        "rebuilt_per_child",
                        "is_ambient",
                        "lists",
                        "phases",
                        *FORMS,
                    )
                    hint = did_you_mean(item.name.text, candidates) or "a kind has " + ", ".join(candidates)
                    self.report(Code.UNKNOWN_PROPERTY.at(item.name.span, kind="kind", name=item.name.text, hint=hint))
                case (
                    tree.Property() | tree.Trait() | tree.MetricDecl() | tree.Assert() | tree.Default() | tree.Without()
                ):
                    pass  # each has its place below
        self.option = forms.get("option", ())
        self._find_metrics(actions)
        return Kind(
            name=node.name.text,
            role=node.role.text,
            parents=tuple(word.text for word in node.parents),
            properties=self.properties,
            required=self.required,
            offers=self.offers,
            needs=needs,
            requires=tuple(requires),
            actions=actions,
            forms=forms,
            writes=writes,
            doc=doc,
            module=self.module,
            template_source=self._template_source(),
            rebuilt_per_child=self._says("rebuilt_per_child"),
            is_ambient=self._says("is_ambient"),
            phases=self.phases,
            draws=self._draws(),
            traits=_Traits({i.name.text: i for i in node.items if isinstance(i, tree.Trait)}, self._trait),
            armed=next((resolve(self.context, i.value) for i in node.items if _is_field(i, "armed")), None),
            without=dict(_left_out(node)),
            asserts=tuple([self._assertion(item) for item in node.items if isinstance(item, tree.Assert)]),
        )

    def _assertion(self, node: tree.Assert) -> Assertion:
        condition = resolve_condition(self.context, node.condition)
        names = [part.path[0] for part in tree.parts(node.condition) if isinstance(part, tree.Name)]
        return Assertion(condition, node.title, node.condition.span, tuple(names))

    def _says(self, name: str) -> bool:
        """Whether the kind has this field, and it is on."""
        return any(isinstance(i, tree.Field) and i.name.text == name and _is_on(i) for i in self.node.items)

    def _writes(self, node: tree.Expr) -> Expr:
        """Whether a workload writes; of a word alone, `on` is not what the kind stands on."""
        if not isinstance(node, tree.Name):
            return resolve_condition(self.context, node)
        resolved = resolve(self.context, node, BOOL)
        if not BOOL.accepts(resolved.type):
            self.report(Code.WRONG_TYPE.at(node.span, name="writes", expected=BOOL, found=resolved.type))
        return resolved

    def _trait(self, node: tree.Trait) -> Expr:
        cached = TRAITS.get(node.name.text)
        if cached is None:
            hint = did_you_mean(node.name.text, TRAITS) or "docs/language.md lists them"
            self.report(Code.UNKNOWN_NAME.at(node.name.span, name=node.name.text, hint=hint))
            return unknown(node.span)
        resolved = resolve(self.context, node.value, cached.type)
        if not cached.type.accepts(resolved.type):
            wrong = Code.WRONG_TYPE.at(node.value.span, name=node.name.text, expected=cached.type, found=resolved.type)
            self.report(wrong)
        return resolved

    def _form(self, name: str, node: tree.Expr) -> tuple[str | Expr, ...]:
        """A form of the kind; what it gives for one property depends on that property alone."""
        if not isinstance(node, tree.Text):
            self.report(Code.BAD_KIND.at(node.span, message=f"`{name}` must be a text in quotes"))
            return ()
        self.is_of_one = name in _FORMS_OF_ONE
        parts = tuple([part if isinstance(part, str) else resolve(self.context, part) for part in node.parts])
        self.is_of_one = False
        return parts

    def _draws(self) -> bool:
        """Whether it draws by a seed, which then is a property of a workload, or is a protocol that has one drawn."""
        if self.node.role.text == "protocol":
            return self.draws
        if self.node.role.text != "workload":
            return False
        if "from" not in self.nodes:
            self.properties.add(_from(self.node.name.span))
        if self.draws:
            self.properties.add(_seed(self.node.name.span))
        return self.draws

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
        for name in self.lists:
            if name in self.nodes or name in _CONTEXT or name in _ATTRIBUTES:
                self.report(Code.DUPLICATE.at(item.span, name=name))

    def _template_source(self) -> str:
        """The text of what is done, as it stands there: white space can matter to the shell."""
        without = (
            tree.Requires | tree.Trait | tree.MetricDecl | tree.Assert | tree.Without
        )  # these decide nothing that is done
        items = [item for item in self.node.items if not isinstance(item, without) and not _is_field(item, "doc")]
        return "\n".join(item.span.text for item in items)

    def _property(self, node: tree.Property) -> PropertyDef:
        attributes = {item.name.text: item for item in node.attributes if isinstance(item, tree.Field)}
        candidates = (*_ATTRIBUTES, *self.lists)
        for name, item in attributes.items():
            if name not in candidates:
                hint = did_you_mean(name, candidates) or "a property has " + ", ".join(candidates)
                self.report(Code.UNKNOWN_PROPERTY.at(item.name.span, kind="property", name=name, hint=hint))
        type_ = self.type_of(node.type)
        unit = attributes.get("unit")
        unit_value = resolve(self.context, unit.value).value(None) if unit else None
        default = attributes.get("default")
        allow = attributes.get("allow")
        only = attributes.get("only")
        cost = self._word(attributes.get("cost"), "create", COSTS)
        definition = PropertyDef(
            name=node.name.text,
            type=type_,
            span=node.span,
            default=resolve_typed(self.context, default.value, (node.name.text,), node.name.text, type_)
            if default
            else None,
            allow=self._allowed(allow.value) if allow else None,
            allow_text=allow.value.span.text if allow else "",
            unit=unit_value if isinstance(unit_value, Quantity) else None,
            cost=cost,
            since=self._since(attributes["since"].value) if "since" in attributes else None,
            doc=self._plain(attributes["doc"].value, "doc") if "doc" in attributes else "",
            only=only.value.span.text if only else "",
            lists=self._added(attributes),
            probe=self._resolve_part(attributes["probe"].value) if "probe" in attributes else None,
            ask=self._ask(node, cost, attributes.get("ask")),
            is_line="one_line" in attributes and _is_on(attributes["one_line"]),
        )
        if definition.default is not None and definition.default.is_constant:
            try:
                checked_value(definition, definition.default.value(None), definition.default.span)
            except ProgramError as error:
                self.report(error.diagnostic)
        return definition

    def _ask(self, node: tree.Property, cost: str, item: tree.Field | None) -> tuple[str | Expr, ...] | None:
        """What a person is asked to do; just what is `manual` says so."""
        if (cost == "manual") != (item is not None and isinstance(item.value, tree.Text)):
            message = 'a property has `ask = "…"` if, and only if, its cost is `manual`'
            self.report(Code.BAD_KIND.at(item.span if item else node.name.span, message=message))
        self.may_name_itself = True
        requested = self._parts(item.value) if item and isinstance(item.value, tree.Text) else None
        self.may_name_itself = False
        return requested

    def _since(self, node: tree.Expr) -> tuple[str, str] | None:
        """Since when a property exists: `kernel 6.1`, or `3.9` of what the kind is named for."""
        fact, _, version = self._plain(node, "since").rpartition(" ")
        if not versions.is_version(version):
            message = (
                "`since` must be a version, such as `3.9`, or a fact of a host with a version, such as `kernel 6.1`"
            )
            self.report(Code.BAD_KIND.at(node.span, message=message))
            return None
        return fact or self.tool, version

    def _resolve_part(self, node: tree.Expr) -> tuple[str | Expr, ...]:
        if isinstance(node, tree.Text):
            return resolve_template(self.context, node)
        self.report(Code.BAD_KIND.at(node.span, message="`probe` must be a command in quotes"))
        return ()

    def _added(self, attributes: Mapping[str, tree.Field]) -> tuple[tuple[str, Expr], ...]:
        """What the property adds to the lists of its kind."""
        self.may_name_itself = True
        given = [name for name in self.lists if name in attributes]
        added = tuple([(name, resolve(self.context, attributes[name].value)) for name in given])
        self.may_name_itself = False
        return added

    def _allowed(self, node: tree.Expr) -> Expr | None:
        if not isinstance(node, tree.Range):
            self.report(Code.BAD_KIND.at(node.span, message="`allow` must be a range, such as `1..64` or `1..`"))
            return None
        written = [resolve(self.context, end) if end else None for end in (node.low, node.high)]
        if any(end is not None and not end.is_constant and not end.type.unknown for end in written):
            self.report(Code.NOT_CONSTANT.at(node.span, place="`allow`", hint="write constant limits: `allow = 1..64`"))
            return None
        ends = [end.value(None) if end is not None and end.is_constant else ABSENT for end in written]
        if node.step is not None:
            factor, low = resolve(self.context, node.step).value(None), ends[0]
            is_sound = (
                isinstance(factor, Quantity) and factor.amount > 1 and isinstance(low, Quantity) and low.amount > 0
            )
            if not node.times or not is_sound:
                message = "`allow` has no step, or multiplies a number above 0, such as `512B..1MiB by *2`"
                self.report(Code.BAD_KIND.at(node.span, message=message))
                return None
            ends.append(factor)
        return constant(node.span, UNKNOWN, tuple(ends))

    def type_of(self, node: tree.TypeExpr) -> Type:
        """The type that a declaration says."""
        whole = Type()
        for atom in node.atoms:
            if atom.element is not None:
                whole = whole | Type(element=self.type_of(atom.element))
            elif atom.name in types.SCALARS and atom.field is None:
                whole = whole | Type(frozenset({atom.name}))
            else:
                if atom.field is not None and atom.field[1] not in types.SCALARS:
                    hint = did_you_mean(atom.field[1], types.SCALARS)
                    self.report(Code.UNKNOWN_NAME.at(atom.span, name=atom.field[1], hint=hint))
                limits = self._limits(atom) if atom.allow else None
                text = atom.allow.span.text if atom.allow else ""
                whole = whole | Type(words=(Variant(atom.name, atom.field, limits, text),))
        if len(node.atoms) == 1 and whole.words and whole.words[0].field is None:
            hint = did_you_mean(node.atoms[0].name, types.SCALARS)
            if hint:
                self.report(Code.UNKNOWN_NAME.at(node.span, name=node.atoms[0].name, hint=hint))
        return whole

    def _limits(self, atom: tree.TypeAtom) -> tuple[Quantity | None, ...] | None:
        """The least and the most that the value of a word may be, and by which factor it goes up, if it does."""
        allowed = self._allowed(atom.allow) if atom.allow else None
        ends = allowed.value(None) if allowed else ()
        if not isinstance(ends, tuple) or atom.field is None:
            return None
        limits = tuple([end if isinstance(end, Quantity) else None for end in ends])
        wanted = Type(frozenset({atom.field[1]}))
        for end in limits[:2]:
            if end is not None and not wanted.accepts(types.of_quantity(end)):
                span, result = atom.allow.span if atom.allow else atom.span, types.of_quantity(end)
                name = f"{atom.name}({atom.field[0]})"
                self.report(Code.WRONG_TYPE.at(span, name=name, expected=wanted, found=result))
                return None
        return limits

    def _action(self, node: tree.ActionDef) -> KindAction:
        commands: list[Command] = []
        readers: list[ReaderDef] = []
        for command in node.commands:
            if isinstance(command, tree.Reads):
                arguments = tuple(
                    (item.name.text, resolve(self.context, item.value))
                    for item in command.arguments
                    if isinstance(item, tree.Field)
                )
                yields = self._known_reader(command.reader)
                readers.append(ReaderDef(command.reader.text, self._parts(command.artefact), arguments, yields))
                continue
            attributes = {item.name.text: item for item in command.attributes if isinstance(item, tree.Field)}
            candidates = ("why",) if command.is_asked else ("timeout", "why")
            for name, item in attributes.items():
                if name not in candidates:
                    hint = did_you_mean(name, candidates)
                    word = "ask" if command.is_asked else "sh"
                    self.report(Code.UNKNOWN_PROPERTY.at(item.name.span, kind=word, name=name, hint=hint))
            timeout = attributes.get("timeout")
            commands.append(
                Command(
                    text=() if command.is_asked else resolve_template(self.context, command.text),
                    expect=self._parts(command.expect) if command.expect else None,
                    timeout=self._timeout(timeout.value) if timeout else None,
                    why=self._plain(attributes["why"].value, "why") if "why" in attributes else "",
                    span=command.span,
                    request=self._parts(command.text) if command.is_asked else None,
                )
            )
        return KindAction(node.name.text, *self._selected(node), tuple(commands), tuple(readers))

    def _known_reader(self, reader: tree.Word) -> tuple[Metric, ...]:
        if reader.text in self.readers:
            return self.readers[reader.text]
        hint = did_you_mean(reader.text, self.readers) or "there are " + ", ".join(self.readers)
        self.report(Code.UNKNOWN_NAME.at(reader.span, name=reader.text, hint=hint))
        return ()

    def _find_metrics(self, actions: dict[tuple[str, str, str], KindAction]) -> None:
        """Have the metrics that the kind declares itself read from the output of what measures."""
        nodes = [item for item in self.node.items if isinstance(item, tree.MetricDecl)]
        result = [entry for node in nodes if (entry := found_in(node, self.report)) is not None]
        if not nodes:
            return
        measuring = [key for key in actions if key[0] in _MEASURING]
        if not measuring:
            message = "only a workload and a collector have metrics"
            self.report(Code.BAD_KIND.at(nodes[0].span, message=message))
        wanted = tuple([(entry, resolve(self.context, entry.where)) for entry in result])
        argument = Expr(
            nodes[0].span, UNKNOWN, lambda frame: tuple([_wanted(entry, at, frame) for entry, at in wanted])
        )
        own = tuple([declared.metric for declared in result])
        for key in measuring:
            action = actions[key]
            reader = action.readers[0] if action.readers else ReaderDef(_FINDER, (), ())
            if reader.reader != _FINDER:
                message = f"the output is read by `{reader.reader}`: declare a collector of your own for more metrics"
                self.report(Code.BAD_KIND.at(nodes[0].span, message=message))
                return
            arguments = (*reader.arguments, ("found", argument))
            reads = ReaderDef(_FINDER, reader.artefact, arguments, reader.metrics + own if reader.arguments else own)
            actions[key] = KindAction(action.name, action.state, action.platform, action.commands, (reads,))

    def _timeout(self, node: tree.Expr) -> Expr:
        resolved = resolve(self.context, node)
        if not DURATION.accepts(resolved.type):
            hint = "add a unit: `5s`, `5min`"
            wrong = Code.WRONG_TYPE.at(node.span, name="timeout", expected=DURATION, found=resolved.type, hint=hint)
            self.report(wrong)
        return resolved

    def _selected(self, node: tree.ActionDef) -> tuple[str, str]:
        """The state and the platform that an action is for."""
        chosen: dict[tuple[str, ...], str] = {}
        for word in node.selectors:
            dimension = next((words for words in (STATES, PLATFORMS) if word.text in words), None)
            if dimension is None:
                every = (*STATES, *PLATFORMS)
                hint = did_you_mean(word.text, every) or "it can be " + ", ".join(f"`{item}`" for item in every)
                self.report(Code.NOT_ALLOWED.at(word.span, name=node.name.text, value=f"for `{word.text}`", hint=hint))
            elif dimension in chosen:
                self.report(Code.DUPLICATE.at(word.span, name=word.text))
            else:
                chosen[dimension] = word.text
        return chosen.get(STATES, ""), chosen.get(PLATFORMS, "")

    def _parts(self, text: tree.Text) -> tuple[str | Expr, ...]:
        return tuple(part if isinstance(part, str) else resolve(self.context, part) for part in text.parts)

    def _plain(self, node: tree.Expr, name: str) -> str:
        resolved = resolve(self.context, node)
        value = resolved.value(None) if resolved.is_constant else None
        if not isinstance(value, str):
            self.report(Code.WRONG_TYPE.at(node.span, name=name, expected="a plain text", found=resolved.type))
            return ""
        return value

    def _word(self, item: tree.Field | None, default: str, names: tuple[str, ...]) -> str:
        if item is None:
            return default
        if not isinstance(item.value, tree.Name) or str(item.value) not in names:
            hint = "it is " + ", ".join(f"`{word}`" for word in names)
            self.report(Code.NOT_ALLOWED.at(item.value.span, name=item.name.text, value="this", hint=hint))
            return default
        return str(item.value)


def _wanted(kind_metric: KindMetric, where: Expr, frame: Any) -> Value:
    """A metric of a kind, as its reader is told of it."""
    return (
        kind_metric.metric.name,
        kind_metric.metric.type,
        kind_metric.how,
        where.value(frame),
        kind_metric.unit,
        kind_metric.source,
    )


def _seed(span: Span) -> PropertyDef:
    """What every workload has that draws by a seed."""
    words = Type(words=(Variant("fresh"), Variant("replay")))
    doc = "whether each replicate draws new offsets, or repeats those of the first"
    return PropertyDef("seed", words, span, constant(span, words, Symbol("fresh")), doc=doc)


def _from(span: Span) -> PropertyDef:
    """What every workload has."""
    doc = "the host that runs the workload, if it is not the host of the target"
    return PropertyDef("from", Type(kinds=frozenset({"host"})), span, doc=doc)


class _KindScope:
    """The names that the templates of a kind may use."""

    def __init__(self, builder: _KindBuilder) -> None:
        self.builder = builder
        self.option = digests.Memory(self._option)

    def lookup(self, name: str, span: Span) -> Expr | None:
        builder = self.builder
        if builder.is_of_one and name not in _OF_ONE:
            return None
        builder.read_names.add(name)
        if name in builder.nodes:
            return self._own(name, span)
        if name in builder.offers:
            return builder.offers[name]
        if name in {"on", builder.target}:
            return thing_in(span, parent_in if name == "on" else target_in)
        if name == "is_given":
            return Expr(span, BOOL, lambda frame: frame.instance.is_given)
        if name in {"out", "run"}:
            return Expr(span, STRING, lambda _: Variable(name.upper()))
        if name == "name":
            return Expr(span, STRING, lambda frame: frame.instance.name)
        if name == "options":
            return Expr(span, Type(element=STRING), self._options)
        if name == "workload" and builder.node.role.text == "protocol":
            builder.draws = True
            return Expr(span, UNKNOWN, lambda _: ABSENT, member=of_workload)
        if name in builder.lists:
            return Expr(span, Type(element=STRING), lambda frame: self._list(name, frame))
        if name in _CONTEXT:
            builder.draws = builder.draws or name == "seed"
            return Expr(span, UNKNOWN, lambda frame: frame.context.get(name, ABSENT))
        return None

    def names(self) -> Iterable[str]:
        if self.builder.is_of_one:
            return _OF_ONE
        return [*self.builder.nodes, *self.builder.offers, "on", self.builder.target, *self.builder.lists, *_CONTEXT]

    def kind(self, _name: tree.Name) -> Kind | None:
        return None

    def kind_called(self, _name: str) -> Kind | None:
        return None

    def kind_names(self) -> Iterable[str]:
        return ()

    def owners(self, _name: str) -> list[str]:
        return []

    def kind_hint(self, _name: str) -> str:
        return ""

    def is_given(self, name: str) -> Callable[[Any], Value] | None:
        thing, _, offer = name.partition(".")
        if offer and thing in {"on", self.builder.target}:
            find = parent_in if thing == "on" else target_in
            return lambda frame: (result := find(frame)) is not None and offer in result.kind.offers
        if name not in self.builder.nodes or self.builder.is_of_one:
            return None
        self.builder.read_names.add(name)
        return lambda frame: name in frame.instance.values

    def _own_later(self, name: str, span: Span) -> Expr:
        """The property whose own attribute this is: what it is declared to be is only known when the frame is."""
        type_ = self.builder.type_of(self.builder.nodes[name].type)

        def value(frame: Any) -> Value:
            return self._own(name, span).value(frame)

        return Expr(span, type_, value, member=word_argument(type_, value))

    def _own(self, name: str, span: Span) -> Expr:
        builder = self.builder
        if name in builder.pending and builder.may_name_itself:
            return self._own_later(name, span)
        if name in builder.pending or len(builder.pending) > MOST_PENDING:
            builder.report(Code.CIRCLE.at(span, name=name).also(builder.nodes[name].name.span, "defined here"))
            return Expr(span, UNKNOWN, lambda _: ABSENT)
        builder.pending.append(name)
        definition = builder.properties[name]
        builder.pending.remove(name)
        default, unit = definition.default, definition.unit
        in_unit = digests.Memory(lambda _, result: values.in_unit(result, unit))

        def value(frame: Any) -> Value:
            result = frame.instance.values.get(name)
            if result is None:
                result = default.value(frame) if default else ABSENT
            return result if unit is None else in_unit(name, result)

        return Expr(span, definition.type, value, member=word_argument(definition.type, value))

    def _options(self, frame: Any) -> Value:
        given = frame.instance.values
        return tuple([self.option(name, given[name]) for name in given_in(frame)])

    def _list(self, list_name: str, frame: Any) -> Value:
        """What the properties at hand add to a list, in the order in which they were given."""
        values: list[Value] = []
        for name in given_in(frame):
            for belongs, expr in self.builder.properties[name].lists:
                if belongs == list_name:
                    value = expr.value(frame)
                    values += value if isinstance(value, tuple) else [value]
        return tuple(values)

    def _option(self, name: str, given: Value) -> Value:
        return option_word(self.builder.option, self.builder.properties[name], given)


def _left_out(node: tree.KindDef) -> Iterator[tuple[str, str]]:
    """What the tool of a kind has and the kind does not, each with what to write instead."""
    for item in node.items:
        if isinstance(item, tree.Without):
            yield from ((name.strip(), item.reason) for name in item.names.split(","))


def _is_field(item: object, name: str) -> TypeGuard[tree.Field]:
    return isinstance(item, tree.Field) and item.name.text == name


def _says(node: tree.Property, attribute: str) -> bool:
    for item in node.attributes:
        if isinstance(item, tree.Field) and item.name.text == attribute:
            return _is_on(item)
    return False


def _is_on(item: tree.Field) -> bool:
    return isinstance(item.value, tree.Name) and str(item.value) in {"on", "yes", "true"}


def _listed(node: tree.KindDef, field: str) -> tuple[str, ...]:
    """The names in a field of a kind: of the lists that its properties add to, of what a protocol does."""
    for item in node.items:
        if isinstance(item, tree.Field) and item.name.text == field and isinstance(item.value, tree.ListOf):
            return tuple(str(name) for name in item.value.items if isinstance(name, tree.Name))
    return ()
