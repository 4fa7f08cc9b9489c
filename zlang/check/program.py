"""The checked program: expressions with their types, the choices in them, and kinds.

Rule: an `Expr` is total at every point that its `axes` reach; a name that a point does not reach is `ABSENT`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from fractions import Fraction
from types import MappingProxyType

from zlang.check.types import Type
from zlang.diagnostics import Diagnostic
from zlang.hints import TYPE_CHECKING, Any
from zlang.metrics import Metric
from zlang.record import Record
from zlang.source import Source, Span
from zlang.units import Quantity

if TYPE_CHECKING:
    from zlang.check.questions import Clause, Search, Until
    from zlang.syntax import tree

Point = Mapping[str, int]
"""The level of each factor: the factor's path and the level's index."""


class Effort:
    """The number of steps taken so far to evaluate a program, or its values at some points."""

    def __init__(self) -> None:
        self.steps = 0


class FaultPoint(dict[str, int]):
    """A point that records each failed evaluation in `faults` and uses an absent value, so that all faults are found.

    `made` are the things at it, by their builders; `effort` counts the steps of evaluation.
    """

    def __init__(self, point: Point | Iterable[tuple[str, int]] = (), effort: Effort | None = None) -> None:
        super().__init__(point)
        self.effort = effort or Effort()
        self.faults: list[Diagnostic] = []
        self.named: list[tuple[Instance, Span]] = []
        self.made: dict[int, Instance] = {}


class Reached:
    """A point of the space that records in `named` the declared things that an evaluation names."""

    __slots__ = ("get", "named")

    def __init__(self, point: Point) -> None:
        self.get = point.get
        self.named: list[tuple[Instance, Span]] = []


class Undecided(Exception):
    """A partial point has no level for a factor that an evaluation needs."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.path = path


class PartialPoint(FaultPoint):
    """A point at which only some factors are decided; its things are computed only as far as necessary.

    A `decided` factor without a level does not exist at the point; reading any other raises `Undecided`.
    """

    def __init__(self, point: Point, decided: AbstractSet[str], effort: Effort | None = None) -> None:
        super().__init__(point, effort)
        self.decided = decided

    def get(self, key: str, _default: Any = None) -> Any:
        """Return the level of a factor."""
        if key not in self.decided:
            raise Undecided(key)
        return super().get(key)


class Absent:
    """The value of a name that a point does not reach; any comparison with it is unknown."""

    def __repr__(self) -> str:
        return "absent"


ABSENT = Absent()


class Symbol(Record):
    """A word of an enumeration, with its value: `random`, `compressible(50%)`."""

    name: str
    argument: Value = None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Symbol) and self.name == other.name and self.argument == other.argument

    __hash__ = Record.__hash__


class Variable(Record):
    """A shell variable, whose value only the run knows: `RUN`, `OUT`."""

    name: str


class Joined(Record):
    """A text with shell variables or commands in it, which is rendered part by part."""

    parts: tuple[Value, ...]


class HeldValue(Record):
    """A value that is held for a duration; one with an `end` changes gradually to that."""

    value: Value
    end: Value
    duration: Value


class ChangingValue(Record):
    """The values of a property that changes while a workload runs."""

    periods: tuple[HeldValue, ...]


PLATFORMS = ("linux", "freebsd", "illumos", "ontap")
"""Platforms of a host; the first is the default."""
STATES = ("cold", "hot", "property", "held")
"""States that can be verified; `held` is verified after the measurement."""


class Instance(Record, is_frequent=True):
    """A declaration at a point: its kind, its key, its displayed label, the given values, and its parent.

    `span` is the place of its declaration, `places` those of its values. If it `replays`, it does the same in every
    replicate as in the first. `origin` is the machine from which a workload comes, if the program says.
    `named` are the things whose places occur in its values, and where.
    `property_texts` are the values that decide what is measured, each with its name, as text. `alias` replaces the
    key in commands that are hashed for identities. There are `copies` of it, and the `placed_by` factors decide
    what it is built on. `under` are the wrappers that start a workload, the outermost first.
    Points at which a declaration differs only in the values of some `varying` properties share its `family`.
    A machine with `members` is a group of machines with these names. `parts` are the things in its
    values on which it stands besides its parent. The values of `scheduled` properties may change while a workload runs.
    """

    kind: Kind
    key: str
    label: str
    values: Mapping[str, Value]
    parent: Instance | None
    is_given: bool
    digest: str
    span: Span | None = None
    places: Mapping[str, Span] = MappingProxyType({})
    replays: bool = False
    origin: Instance | None = None
    named: tuple[tuple[Instance, Span], ...] = ()
    property_texts: tuple[str, ...] = ()
    alias: str = ""
    copies: int = 1
    placed_by: frozenset[str] = frozenset()
    under: tuple[Instance, ...] = ()
    members: tuple[str, ...] = ()
    scheduled: tuple[str, ...] = ()
    parts: tuple[Instance, ...] = ()
    family: tuple[object, ...] = ()
    varying: tuple[str, ...] = ()

    @property
    def beneath(self) -> tuple[Instance, ...]:
        """Everything that it is built on directly, its parent last."""
        return (*self.parts, *([self.parent] if self.parent else []))

    __eq__ = object.__eq__
    __hash__ = object.__hash__

    @property
    def name(self) -> str:
        """Its name in commands."""
        return self.alias or self.key

    @property
    def title(self) -> str:
        """Its kind and its name; a thing without its own name is called by its kind, such as `ext4` or `ext42`."""
        kind, number = self.label[: len(self.kind.name)], self.label[len(self.kind.name) :]
        is_anonymous = kind == self.kind.name and (not number or number.isdecimal())
        return self.label if is_anonymous else f"{self.kind.name} {self.label}"


Value = (
    Quantity | str | bool | Symbol | Instance | Variable | Joined | ChangingValue | Absent | tuple["Value", ...] | None
)
"""The value of an expression at a point."""


class Axis(Record):
    """A factor: `size` levels under a path; `branches[i]` are the axes that exist only under level i (None: none do).

    `depth` is the number of nested choices, including itself.
    """

    path: str
    size: int
    branches: tuple[tuple[Axis, ...], ...] | None = None
    depth: int = 1


def axis_of(path: str, branches: tuple[tuple[Axis, ...], ...]) -> Axis:
    """Return the axis of a choice between branches."""
    if not any(branches):
        return Axis(path, len(branches))
    return Axis(path, len(branches), branches, 1 + max(axis.depth for branch in branches for axis in branch))


def every_axis(axes: Iterable[Axis]) -> Iterator[Axis]:
    """Yield all axes, also those in branches. A factor that occurs twice may have different axes under its levels."""
    seen: set[int] = set()
    stack = list(axes)
    while stack:
        axis = stack.pop()
        if id(axis) not in seen:
            seen.add(id(axis))
            yield axis
            stack.extend(inner for branch in axis.branches or () for inner in branch)


def merge_axes(axes: Iterable[Axis]) -> tuple[Axis, ...]:
    """Return each factor once, with everything that exists under each of its levels."""
    by_path: dict[str, Axis] = {}
    for axis in axes:
        first = by_path.setdefault(axis.path, axis)
        if first is axis or axis.branches is None or axis.branches == first.branches:
            continue
        if first.branches is None:
            by_path[axis.path] = axis
        else:
            both = zip(first.branches, axis.branches, strict=True)
            by_path[axis.path] = axis_of(axis.path, tuple(merge_axes((*item, *other)) for item, other in both))
    return tuple(by_path.values())


def reached_axes(axes: Iterable[Axis], levels: Mapping[str, int]) -> tuple[Axis, ...]:
    """Return the axes that remain open when some factors have these levels."""
    result: list[Axis] = []
    for axis in axes:
        if axis.path in levels:
            result += reached_axes(axis.branches[levels[axis.path]] if axis.branches else (), levels)
        elif axis.branches is None:
            result.append(axis)
        else:
            result.append(axis_of(axis.path, tuple(reached_axes(branch, levels) for branch in axis.branches)))
    return merge_axes(result)


Whole = Callable[[Any], int]
"""A whole number or a truth at a point."""


class Expr(Record, is_frequent=True):
    """A resolved expression: its place, its type, its choices, and its value at a point.

    `value` takes a point (in a kind's templates: a frame). `reads` are the paths of the factors that decide it.
    `member` returns a property of a declared thing without evaluating the others. The `alternatives` of a choice are
    its options.
    `depth` and `work` bound the cost of evaluation. `call` of a function takes a context, a call and its arguments.
    `whole` computes a whole number or a truth value faster (see `whole`). The lists of the `pieces`, which may read
    less, are together the list that it is.
    """

    span: Span
    type: Type
    value: Callable[[Any], Value]
    axes: tuple[Axis, ...] = ()
    reads: frozenset[str] = frozenset()
    member: Callable[[str, Span], Expr | None] | None = None
    alternatives: tuple[Expr, ...] = ()
    is_constant: bool = False
    depth: int = 0
    work: int = 1
    call: Callable[..., Expr] | None = None
    whole: Whole | None = None
    pieces: Callable[[Any], Iterable[Expr]] | None = None

    def giving(self, value: Callable[[Any], Value], **changed: Any) -> Expr:
        """Return the same expression with another value."""
        return self.replace(value=value, whole=None, pieces=None, **changed)


COSTS = ("none", "live", "rewrite", "create", "manual")
"""The cost of changing a property, the cheapest first: nothing, because no command and no measurement depends on it; a
command; a command and new data on the resource; a new resource; a person."""


class PropertyDef(Record):
    """A property of a kind, as its declaration says.

    `since` is the fact of a host that states a version, and the first version with the property. `probe` is the
    command that prints the value, if the property is a fact of a machine; `ask` is an instruction for a person, if it
    is `manual`. `lists` are the words that it adds to its kind's lists where it is given.
    A text that `is_line` is a single line and not empty. `role` is that of the things that it can be. `scheduled` is
    its value in a part of a schedule. If its texts are
    names of options, `options` are those of the kind, each with the reason why it is left out; empty if it is not.
    """

    name: str
    type: Type
    span: Span
    default: Expr | None = None
    allow: Expr | None = None
    allow_text: str = ""
    unit: Quantity | None = None
    cost: str = "create"
    since: tuple[str, str] | None = None
    doc: str = ""
    only: str = ""
    lists: tuple[tuple[str, Expr], ...] = ()
    probe: tuple[str | Expr, ...] | None = None
    ask: tuple[str | Expr, ...] | None = None
    is_line: bool = False
    role: str = ""
    scheduled: Expr | None = None
    options: Mapping[str, str] = MappingProxyType({})

    def own_form(self, name: str) -> Expr | None:
        """Return the words that the property itself adds to a list such as `options`; None if it has no such form."""
        return next((expr for belongs, expr in self.lists if belongs == name), None)


class Command(Record):
    """A command of an action: its template, its expected output, its time limit, and its purpose.

    If it is a `request`, it is an instruction for a person.
    """

    text: tuple[str | Expr, ...]
    expect: tuple[str | Expr, ...] | None
    timeout: Expr | None
    why: str
    span: Span
    request: tuple[str | Expr, ...] | None = None


class ReaderDef(Record):
    """The reader of an action's artefact, and its possible metrics; without an artefact it reads the step's output.

    `fill` returns its arguments in a frame. The metrics named in `series` have samples over time.
    """

    reader: str
    artefact: tuple[str | Expr, ...]
    arguments: tuple[tuple[str, Expr], ...]
    fill: Callable[[Any], Mapping[str, object]]
    metrics: tuple[Metric, ...] = ()
    series: frozenset[str] = frozenset()

    @property
    def reads(self) -> frozenset[str]:
        """Return what decides the arguments and the artefact."""
        exprs = (*(expr for _, expr in self.arguments), *(part for part in self.artefact if isinstance(part, Expr)))
        return frozenset[str]().union(*(expr.reads for expr in exprs))


class Assertion(Record):
    """A condition that must not be false, the sentence that states it, the names in it, and their values.

    `bound` is what a condition such as `device <= at.device_count` compares a property with, for hints that omit it.
    """

    condition: Expr
    sentence: str
    span: Span
    names: tuple[str, ...] = ()
    operands: tuple[Expr, ...] = ()
    bound: tuple[str, Expr] | None = None


class KindAction(Record):
    """An action of a kind (`create`, `flush`, `run` …), for a state and a platform if it names them.

    Its `commands` are resolved on demand: a program uses few of the library's kinds. `literals` are
    the texts in the commands between values, which is enough to find the names of tools.
    """

    name: str
    state: str
    platform: str
    resolve_commands: Callable[[], tuple[Command, ...]]
    readers: tuple[ReaderDef, ...]
    literals: tuple[str, ...] = ()

    @property
    def commands(self) -> tuple[Command, ...]:
        """The commands of the action, in the order in which they run."""
        return self.resolve_commands()


class Kind(Record):
    """A kind: its role, properties, offers, needs and actions.

    `template_source` is the text of its actions. If it `is_ambient`, it exists only for the trials that need it.
    If it `is_place`, it is the same when made again. If it is `rebuilt_per_child`, it is made anew for each state of
    the things on it. `phases` are the steps of a protocol: actions of the target's kinds, or its own. A workload that
    `draws` by a seed has the property `seed` from the language. `traits` are those that it declares, `own_traits` the
    names of those that no rule knows. A resource that has to be `armed` does not belong to the run: it is written to
    only after its `guard`. A user's own kind (`is_own`) is not trusted about its writes. If it `is_copied`,
    there can be several: it has the property `copies` from the language. The `scheduled` properties have other values
    in a part of a schedule. The form `section` has the words that one stream adds to the command in which a workload
    carries out several.
    """

    name: str
    role: str
    parents: tuple[str, ...]
    properties: Mapping[str, PropertyDef]
    required: tuple[str, ...]
    scheduled: tuple[str, ...]
    offers: Mapping[str, Expr]
    needs: tuple[tuple[str, ...], str] | None
    requires: tuple[tuple[str, str], ...]
    actions: Mapping[tuple[str, str, str], KindAction]
    forms: Mapping[str, tuple[str | Expr, ...]]
    writes: Expr | None
    doc: str
    module: str
    template_source: str
    rebuilt_per_child: bool = False
    is_ambient: bool = False
    is_place: bool = False
    phases: tuple[str, ...] = ()
    draws: bool = False
    traits: Mapping[str, Expr] = MappingProxyType({})
    own_traits: tuple[str, ...] = ()
    armed: Expr | None = None
    asserts: tuple[Assertion, ...] = ()
    without: Mapping[str, str] = MappingProxyType({})
    is_own: bool = False
    is_copied: bool = False

    __eq__ = object.__eq__
    __hash__ = object.__hash__

    @property
    def asserts_of_target(self) -> tuple[Assertion, ...]:
        """The assertions that name its target, which can hold or fail only in a trial."""
        target = self.needs[1] if self.needs else None
        return tuple(assertion for assertion in self.asserts if target in assertion.names)

    def action(self, name: str, platform: str, state: str = "") -> KindAction | None:
        """Return the action of that name for a state: the one for this platform if there is one."""
        return self.actions.get((name, state, platform)) or self.actions.get((name, state, ""))

    def has(self, name: str) -> bool:
        """Whether there is an action of that name for any platform."""
        return any(action == name for action, _, _ in self.actions)


class FactorDef(Record):
    """A factor of an experiment: its path, the name of its column(s), and its levels as the store keeps them.

    `cost` is the cost of changing its level: the highest among the properties that it decides.
    `places` are those of its levels, if each has one. At each point the level lies `within` the range there.
    """

    path: str
    columns: tuple[str, ...]
    types: tuple[str, ...]
    size: int
    level: Callable[[int], tuple[Value, ...]]
    span: Span
    cost: str = ""
    places: tuple[Span, ...] = ()
    within: Expr | None = None

    def column_path(self, column: int) -> str:
        """Return the full path of one of its columns."""
        if len(self.columns) == 1:
            return self.path
        place = self.path.rpartition(".")[0]
        name = self.columns[column].rpartition(".")[2]
        return f"{place}.{name}" if place else name


class Kept(Record):
    """Data that a target keeps for several passes over the points, and the path of the factor that numbers the passes.

    `span` is the place where the program says so.
    """

    path: str
    passes: int
    span: Span


class Experiment(Record):
    """An experiment: what is measured on what, how often, and at which points.

    `span` is its name; `places` are the places of its fields, by name, and of its clauses, by text.
    `with_` is set on the machine during the trial, `before` is the target's treatment, `during` are the events of the
    measurement, `cache` is the cache protocol: a declared one, or one of `protocols` by name.
    `clauses` are its questions about the results; `design` says which points are measured, `repeat` how often at most,
    `until` when a point is done, `search` which factor is not measured at all its levels. `risks` are the sets of
    factors that decide together whether something has a value at a point. `armed` are the declared things that
    are written to only if they are armed, `metrics` those of its readers. A run may take at most `budget` seconds.
    With `kept`, data stay as the trials before left them, until all passes over the points are made.
    """

    name: str
    title: str
    span: Span
    on: Expr | None
    with_: Expr | None
    before: Expr | None
    run: Expr
    during: Expr | None
    cache: Expr
    protocols: Mapping[str, Kind]
    collect: Expr | None
    repeat: Expr
    design: Expr
    wheres: tuple[Expr, ...]
    factors: Mapping[str, FactorDef]
    axes: tuple[Axis, ...]
    clauses: tuple[Clause, ...] = ()
    risks: tuple[frozenset[str], ...] = ()
    places: Mapping[str, Span] = MappingProxyType({})
    until: Until | None = None
    search: Search | None = None
    armed: tuple[Expr, ...] = ()
    metrics: tuple[Metric, ...] = ()
    asserts: tuple[Assertion, ...] = ()
    budget: Fraction | None = None
    kept: Kept | None = None

    @property
    def added(self) -> str | None:
        """The path of the factor whose levels the schedule puts in order: a searched one, or passes over kept data."""
        if self.search is not None:
            return self.search.path
        return self.kept.path if self.kept is not None else None

    @property
    def conditions(self) -> tuple[Expr, ...]:
        """All conditions that drop points: the written ones, and those of ranges whose ends depend on factors."""
        return *self.wheres, *(factor.within for factor in self.factors.values() if factor.within is not None)


class Program(Record):
    """Everything that a file declares, checked. `trees` are the files as written: itself and all its imports."""

    source: Source
    sources: tuple[Source, ...]
    experiments: Mapping[str, Experiment]
    kinds: Mapping[str, Kind]
    params: tuple[str, ...] = ()
    machine: Kind | None = None
    trees: tuple[tree.Tree, ...] = ()
