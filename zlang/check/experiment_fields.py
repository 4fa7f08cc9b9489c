"""The fields of an experiment: their names, their types, and the words of other tools for them.

In: the items of an experiment. Out: the value of each field. Rule: the report of an unknown field says what to
write instead.
"""

from __future__ import annotations

from collections.abc import Mapping

from zlang.check import types
from zlang.check.choices import resolve_zip
from zlang.check.expressions import Context, failed, unknown
from zlang.check.program import Absent, Expr, FaultPoint, Kind, Value
from zlang.check.program_names import ProgramNames
from zlang.check.typed import resolve_typed
from zlang.check.types import COUNT, DURATION, NOTHING, Type, Variant
from zlang.diagnostics import Code
from zlang.hints import Any
from zlang.source import Span
from zlang.suggest import Hint, did_you_mean, nearest, with_article
from zlang.syntax import tree
from zlang.syntax.lexer import SAME_EVERYWHERE

DESIGNS = (Variant("full"), Variant("pairwise"), Variant("triples"), Variant("sample", ("points", "count")))
"""All points; points with all pairs, or triples, of levels; as many as are drawn."""
LAYOUTS = (Variant("fresh"), Variant("keep", ("passes", "count")))
"""Data are written again after a workload has written to them, or are kept for so many passes over the points."""
FIELDS = ("on", "with", "before", "run", "during", "cache", "repeat", "design", "layout", "collect", "budget")
_OTHER_WORDS = {
    **dict.fromkeys(("target", "targets", "subject", "device", "devices", "disks"), "on"),
    **dict.fromkeys(("workload", "workloads", "load", "job", "jobs", "benchmark"), "run"),
    **dict.fromkeys(
        (
            "runs",
            "repeats",
            "repetitions",
            "replicates",
            "iterations",
            "loops",
            "times",
            "count",
            "n",
            "reps",
            "trials",
        ),
        "repeat",
    ),
    **dict.fromkeys(("precondition", "prepare", "setup", "treatment"), "before"),
    **dict.fromkeys(("events", "meanwhile", "background"), "during"),
    **dict.fromkeys(("protocol", "flush"), "cache"),
    **dict.fromkeys(("monitor", "monitors", "counters"), "collect"),
    **dict.fromkeys(("settings", "tunables"), "with"),
    **dict.fromkeys(
        ("time_budget", "max_time", "deadline", "time_limit", "timeout", "max_runtime", "max_duration"), "budget"
    ),
}
"""The names of fields in other languages."""
BASES = ("base", "extends", "inherits", "parent", "include", "template")
"""Words of other languages for an experiment that another one amends."""
_ELSEWHERE = {
    **dict.fromkeys(
        ("for_each", "foreach", "matrix", "sweep", "with_items", "params"),
        "write the choice where the value is used: `NAME = 4KiB | 8KiB`",
    ),
    **dict.fromkeys(
        ("order", "random", "randomize", "randomise", "randomized", "shuffle"),
        "the order is an option of `zlang run`: `--order`",
    ),
    **dict.fromkeys(("drop_caches", "dropcaches", "clear_cache"), "write `cache = cold`"),
    **dict.fromkeys(BASES, "write `experiment NAME = BASE with { … }`"),
    "seed": "it is an option of `zlang run`: `--seed`",
    **dict.fromkeys(
        ("keep", "kept", "passes", "drift", "history", "keep_data", "persist"),
        "write `layout = keep(20)`: 20 passes over the points on the same data",
    ),
    **dict.fromkeys(
        ("host", "hosts", "machine", "node", "server"), "what is measured is on it: `dir NAME on HOST { … }`"
    ),
    **dict.fromkeys(
        ("output", "outfile", "results", "save", "log"),
        "all results are kept: `zlang sql` and `zlang report` show them",
    ),
    **dict.fromkeys(("name", "id"), "write the name before the braces: `experiment NAME { … }`"),
    **dict.fromkeys(
        ("description", "title", "question", "comment", "doc", "desc"),
        'write it before the braces: `experiment NAME "QUESTION" { … }`',
    ),
    **dict.fromkeys(
        ("parallel", "concurrent", "concurrency"), "a list of workloads runs at the same time: `run = [FIRST, SECOND]`"
    ),
    **dict.fromkeys(
        ("copies", "instances"),
        "write `copies = 2` where the workload, or what it runs on, is declared: it makes several",
    ),
    **dict.fromkeys(
        ("warmup", "warm_up", "ramp"),
        "`cache = hot` reads the data first; time left out of a figure is a property of the workload",
    ),
    **dict.fromkeys(
        ("duration", "runtime", "time", "length", "for", "under", "wrapper"),
        "it is a property of the workload: write it there, or run `NAME with { … }`",
    ),
    **dict.fromkeys(("table", "metrics", "measure", "show"), "write `table METRIC, … by FACTOR`, without `=`"),
    "plot": "write `plot METRIC over FACTOR`, without `=`",
    "expect": 'write `expect "SENTENCE" CONDITION`, without `=`',
    **dict.fromkeys(("where", "filter"), "write `where CONDITION`, without `=`"),
    **dict.fromkeys(("sudo", "root", "user"), "remove it: a run has the rights of the user who starts it"),
}
"""Words that are not fields of an experiment, and what to write instead."""
_ROLES = {
    "on": ("resource",),
    "with": ("resource",),
    "before": ("treatment", "workload"),
    "during": ("event", "workload"),
    "run": ("workload",),
    "collect": ("collector",),
}
_FIELD_OF_ROLE = {
    "collector": "`collect = …`",
    "event": "`during = …`",
    "protocol": "`cache = …`",
    "treatment": "`before = …`",
    "wrapper": "`under = …`, a property of the workload",
}
_OR_NONE = Type(words=(Variant("none"),), kinds=frozenset({"*"}))


def read_fields(
    names: ProgramNames, node: tree.ExperimentDef, context: Context, protocols: Mapping[str, Kind]
) -> tuple[dict[str, Expr], tree.Field | tree.UntilClause | None]:
    """Return the fields by name, and the item that says how often each point is measured."""
    fields: dict[str, Expr] = {}
    places: dict[str, Span] = {}
    repeated: tree.Field | tree.UntilClause | None = None
    for item in node.items:
        if isinstance(item, tree.Zip):
            for word in item.names:
                _is_field(names, word)
                _note_place(names, word, places)
            wanted = {word.text: field_type(word.text, protocols) for word in item.names}
            fields |= resolve_zip(context, item, (node.name.text,), wanted)
        elif isinstance(item, tree.Field | tree.UntilClause):
            name = item.name.text
            if isinstance(item, tree.UntilClause):
                if name != "repeat":
                    hint = "only `repeat` has an `until`: `repeat = 3..20 until …`"
                    finding = Code.UNEXPECTED.at(item.name.span, expected="`repeat`", found=f"`{name}`", hint=hint)
                    names.report(finding)
                    continue
            _note_place(names, item.name, places)
            if name == "repeat":
                repeated = item
            elif isinstance(item, tree.Field) and _is_field(names, item.name):
                fields[name] = _field(names, context, node, item, field_type(name, protocols))
    return fields, repeated


def _note_place(names: ProgramNames, name: tree.Word, places: dict[str, Span]) -> None:
    """Record where a field is defined; report a second definition."""
    if name.text in places:
        is_choice = name.text in _ROLES or name.text == "cache"
        hint = f"measure both as a choice: `{name.text} = … | …`" if is_choice else ""
        finding = Code.DUPLICATE.at(name.span, name=name.text, hint=hint)
        names.report(finding.also(places[name.text], "first defined here"))
    places[name.text] = name.span


def _is_field(names: ProgramNames, word: tree.Word) -> bool:
    if word.text in FIELDS:
        return True
    meant = _OTHER_WORDS.get(word.text, "")
    near = (
        Hint(f"did you mean `{meant}`?", word.text, meant, is_safe=False) if meant else did_you_mean(word.text, FIELDS)
    )
    hint = _ELSEWHERE.get(word.text) or near or "remove it; an experiment has " + ", ".join(f"`{f}`" for f in FIELDS)
    names.report(Code.UNKNOWN_PROPERTY.at(word.span, kind="experiment", name=word.text, hint=hint))
    return False


def _field(names: ProgramNames, context: Context, node: tree.ExperimentDef, item: tree.Field, wanted: Type) -> Expr:
    name = item.name.text
    context = context.replace(is_same_everywhere=name in SAME_EVERYWHERE)
    resolved = resolve_typed(context, item.value, (node.name.text, name), name, wanted)
    if name in _ROLES and not resolved.type.unknown:
        kinds = resolved.type.kinds | (resolved.type.element or NOTHING).kinds
        for kind_name in sorted(kinds):
            kind = names.modules.kind_by_name(kind_name)
            if kind is not None and kind.role not in _ROLES[name]:
                result = f"{with_article(f'`{kind_name}`')}, which is {with_article(kind.role)}"
                place = f"`{name}`"
                expected = " or ".join(map(with_article, _ROLES[name]))
                field = _FIELD_OF_ROLE.get(kind.role, "")
                hint = f"write it as {field}" if field else ""
                finding = Code.WRONG_ROLE.at(resolved.span, place=place, expected=expected, found=result, hint=hint)
                names.report(finding)
                return unknown(resolved.span)
    if name == "collect" and not resolved.type.unknown and resolved.type.kinds:
        resolved = _as_list(resolved)
    return resolved if resolved.is_constant else _required_field(resolved)


def has_foreign_field(node: tree.ExperimentDef, field: str) -> bool:
    """Whether a field may be present under a foreign name."""
    given = [word.text for item in node.items for word in tree.words(item)]
    return any(_OTHER_WORDS.get(word) == field or word in BASES or nearest(word, [field]) for word in given)


def field_type(name: str, protocols: Mapping[str, Kind]) -> Type:
    """Return the type of a field. A protocol can be given by name alone if it needs no properties."""
    if name == "cache":
        words = tuple(Variant(word) for word, kind in protocols.items() if not kind.required)
        return Type(words=words, kinds=frozenset(word for word, kind in protocols.items() if kind.properties))
    if name == "repeat":
        return COUNT
    if name == "budget":
        return DURATION
    if name == "design":
        return Type(words=DESIGNS)
    if name == "layout":
        return Type(words=LAYOUTS)
    if name == "collect":
        return types.ANYTHING_DECLARED | Type(element=types.ANYTHING_DECLARED)
    if name in {"with", "during"}:
        return _OR_NONE | Type(element=_OR_NONE)
    if name in {"on", "run"}:
        return types.ANYTHING_DECLARED | Type(element=types.ANYTHING_DECLARED)
    return _OR_NONE if name == "before" else types.ANYTHING_DECLARED


def _as_list(field: Expr) -> Expr:
    """Return a list; a single declared thing becomes a list of one."""

    def value(at: Any) -> Value:
        result = field.value(at)
        return result if isinstance(result, tuple | Absent) else (result,)

    own = field.type
    element = Type(kinds=own.kinds, beneath=own.beneath, used=own.used) | (own.element or NOTHING)
    return field.giving(value, type=Type(element=element, is_partial=field.type.is_partial), alternatives=())


def _required_field(field: Expr) -> Expr:
    """Return a field that must have a value wherever it is used."""

    def value(at: Any) -> Value:
        result = field.value(at)
        if not isinstance(result, Absent) or (isinstance(at, FaultPoint) and at.faults):
            return result
        return failed(at, Code.NO_VALUE.at(field.span, message="this value is absent here"))

    return field.giving(value)
