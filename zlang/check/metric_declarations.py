"""The declarations `metric` and `distribution`: from the tree to `Metric`.

In: a declaration of a reader or a kind, or the text `NAME: TYPE in UNIT` of a workload's `metrics`. Out: the
metric, and findings. Rule: the unit of a number is declared or printed beside it, never guessed from a name.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Callable, Collection, Mapping
from fractions import Fraction

from zlang import units
from zlang.check import types
from zlang.check.property_types import FOREIGN
from zlang.check.traits import TRAITS
from zlang.diagnostics import Code, Diagnostic
from zlang.metrics import COMBINED, Metric
from zlang.record import Record
from zlang.suggest import Hint, did_you_mean
from zlang.syntax import tree

Report = Callable[[Diagnostic], None]

BETTER = ("higher", "lower")
MEANINGS = {
    "operations": "operations completed per second",
    "throughput": "bytes moved per second",
    "bytes": "bytes moved",
    "latency": "the whole time of an operation",
    "completion": "the time from submission to completion",
    "submission": "the time until submission",
    "processor": "the share of a processor that the load takes",
    "processor_time": "the time that the load spends on processors",
    "skew": "the time between the first and the last start on several machines",
    "coverage": "the share of the time of the longest stream in which all streams were measured",
    "pressure": "the share of the time in which something waits for a processor",
    "device": "bytes that devices move",
    "observation": "what a collector observes beside the load; all metrics of collectors without another meaning",
}
"""The meaning by which rules about results know a metric; the operations may precede it: `read.operations`."""
HOW = ("regex", "json", "csv")
"""The ways to find a metric of a kind in the output."""
DISTRIBUTION = "hdr"
"""The way to find a distribution of a kind: in an HdrHistogram log, by the tag of its intervals."""
_ATTRIBUTES = ("better", "combine", "doc", "means", "needs")
_DECLARED = r"\s*([^:=,]+?)\s*(?::\s*([A-Za-z]\w*)\s*(?:\bin\s+([^\s,]+)\s*)?)?(?:,\s*([^:=]*?)\s*)?"
_ADDITIONS = {f"{word} is better": ("better", word) for word in BETTER}
_ADDITIONS |= {f"combined by {word}": ("combine", word) for word in COMBINED}
_JSON_PATH = r"(?:\[\d+\]|\[\"[^\"]*\"\]|\.?[^.\[\]]+)+"
"""A path in a JSON document: keys, quoted keys and places in lists."""
_BEGINS_WITH_WORD = r"""[A-Za-z=:"']"""
_DIMENSIONLESS = "1"
"""The unit of a share that is printed as a part of one."""


class KindMetric(Record):
    """A metric of a kind: how and in which file it is found, and the unit in which the tool prints it.

    For a series, `time` is the column of its times, as `NAME` or `NAME in UNIT`.
    """

    metric: Metric
    how: str
    where: tree.Text
    unit: str
    source: str
    time: str = ""


def metric_of(node: tree.MetricDecl, report: Report, kind: tree.KindDef | None = None) -> Metric | None:
    """Return the metric that a reader or a kind declares; None if it has no type."""
    name, type_ = node.name.text, node.type.text
    if type_ not in types.NUMERIC:
        hint = (
            FOREIGN.get(type_)
            or did_you_mean(type_, types.NUMERIC)
            or "the types of metrics are " + ", ".join(types.DIMENSION_OF)
        )
        report(Code.UNKNOWN_NAME.at(node.type.span, name=type_, hint=hint))
        return None
    if node.is_distribution and type_ != "duration":
        report(Code.BAD_KIND.at(node.span, message="a distribution is of type `duration`"))
        return None
    if (kind is not None) != (node.how is not None):
        form = f'`distribution {name}: duration = {DISTRIBUTION} "TAG" in us {{ from = "FILE" }}`'
        message = (
            "a reader finds its metrics itself: write `metric NAME: TYPE`"
            if kind is None
            else f"say where the distribution is found: {form}"
            if node.is_distribution
            else 'say where the metric is found: `metric NAME: TYPE = regex "…"`, `json "…"` or `csv "…"`'
        )
        report(Code.BAD_KIND.at(node.span, message=message))
        return None
    unit = types.NANOSECONDS if node.is_distribution else types.SCALARS[type_].unit
    if node.unit is not None:
        if size_of(node.unit.text, type_) is None:
            report(_wrong_unit(node.unit, type_))
            return None
        unit = unit if node.is_distribution else stored_unit(type_, node.unit.text)
    names = tuple(name for name in _ATTRIBUTES if name != "combine" or not node.is_distribution)
    attributes = _attributes(node, report, (*names, "from", "time") if kind else names)
    return Metric(
        name=name,
        type=type_,
        unit=unit,
        doc=_text(attributes.get("doc"), report),
        better=_word("better", attributes, BETTER, report),
        needs=_needed_trait(attributes, kind, report),
        means=_meaning(attributes.get("means"), report),
        is_distribution=node.is_distribution,
        combine=_word("combine", attributes, COMBINED, report),
    )


def found_in(node: tree.MetricDecl, kind: tree.KindDef, report: Report) -> KindMetric | None:
    """Return a kind's metric with the place where it is found; None if something is wrong with that place."""
    metric = metric_of(node, report, kind)
    if metric is None or node.how is None or node.where is None:
        return None
    ways = (DISTRIBUTION,) if node.is_distribution else HOW
    if node.how.text not in ways:
        hint = did_you_mean(node.how.text, ways) or "write one of " + ", ".join(f"`{word}`" for word in ways)
        if node.how.text == DISTRIBUTION:
            hint = f"it finds a distribution: `distribution {node.name.text}: duration = {DISTRIBUTION} …`"
        report(Code.UNKNOWN_NAME.at(node.how.span, name=node.how.text, hint=hint))
        return None
    if node.is_distribution and node.unit is None:
        hint = "write the unit of the values in the log: `in us`, `in ns`"
        report(Code.BAD_KIND.at(node.span, message="a distribution of a kind has a unit", hint=hint))
        return None
    where = "".join(part for part in node.where.parts if isinstance(part, str))
    if all(isinstance(part, str) for part in node.where.parts) and (wrong := place_problem(node.how.text, where)):
        value = {"regex": "this pattern", "json": "this path"}[node.how.text]
        report(Code.NOT_ALLOWED.at(node.where.span, name=node.how.text, value=value, hint=wrong))
        return None
    source = next((i.value for i in node.attributes if isinstance(i, tree.Field) and i.name.text == "from"), None)
    place = _source(source) if source is not None else "stdout"
    if place is None:
        assert source is not None
        hint = 'it is `stdout`, `stderr` or a file in the directory `OUT`, such as `"results.csv"`'
        report(Code.NOT_ALLOWED.at(source.span, name="from", value="this", hint=hint))
        return None
    time = next((i for i in node.attributes if isinstance(i, tree.Field) and i.name.text == "time"), None)
    column = _text(time.value, report, "time") if time is not None else ""
    if time is not None and column and (wrong := _time_problem(node.how.text, column)):
        report(Code.NOT_ALLOWED.at(time.value.span, name="time", value=f"`{column}`", hint=wrong))
        return None
    unit = node.unit.text if node.unit else ""
    return KindMetric(metric, node.how.text, where=node.where, unit=unit, source=place, time=column)


def column_of_time(text: str) -> tuple[str, Fraction]:
    """Return the column in `NAME` or `NAME in UNIT`, and its unit in seconds. Raises ValueError."""
    name, _, unit = text.partition(" in ")
    size = size_of(unit.strip() or "s", "duration")
    if size is None:
        raise ValueError(f"`{unit}` is not a unit of time")
    return name.strip(), size


def nanoseconds(unit: str) -> int:
    """Return the nanoseconds in a unit of time. Raises ValueError."""
    size = size_of(unit, "duration")
    if size is None:
        raise ValueError(f"`{unit}` is not a unit of time")
    return int(size * types.STORED[types.NANOSECONDS][1])


def _time_problem(how: str, column: str) -> str:
    """Explain why a metric has no series over that time."""
    if how != "csv":
        return 'only a column of a CSV file has a time: `csv "COLUMN"`'
    try:
        column_of_time(column)
    except ValueError as error:
        return str(error)
    return ""


def place_problem(how: str, where: str) -> str:
    """Explain why a place never finds a number; empty if it can."""
    if how == "json" and (path := where.lstrip("$.")) != where:
        return f"write the path from the top, without a sign before it: `{path or 'a.b'}`"
    if how == "json" and not re.fullmatch(_JSON_PATH, where):
        return 'write a path such as `a.b[0]["c.d"]`'
    return _pattern_problem(where) if how == "regex" else ""


def _pattern_problem(pattern: str) -> str:
    """Explain why a pattern never finds a number; empty if it can."""
    try:
        groups = re.compile(pattern, re.MULTILINE).groups
    except re.error as error:
        return f"it is not a regular expression: {error}"
    if not groups and re.match(_BEGINS_WITH_WORD, pattern):
        return "put the number in parentheses, such as `iops=([0-9.]+)`; otherwise all that matches is read as a number"
    return ""


def parse(text: str, metrics: Mapping[str, Metric]) -> tuple[Metric, str]:
    """Return the metric that `NAME`, `NAME: TYPE` or `NAME: TYPE in UNIT` declares, and the unit of bare numbers.

    `, higher is better` or `, lower is better` may follow, and `, combined by max` or another way. A name without a
    type is a metric of the library, or else a number without a unit. Raises ValueError with a sentence.
    """
    matched = re.fullmatch(_DECLARED, text)
    if matched is None:
        raise ValueError(f"`{text}` is not of the form `NAME: TYPE in UNIT, higher is better`")
    name, type_, unit, addition = matched[1], matched[2], matched[3] or "", matched[4]
    additions = [words.strip() for words in addition.split(",")] if addition is not None else []
    if any(words not in _ADDITIONS for words in additions):
        better, ways = (" or ".join(f"`{word}`" for word in words) for words in (BETTER, COMBINED))
        raise ValueError(f"after a comma, write `WAY is better` with {better}, or `combined by WAY` with {ways}")
    given = dict(_ADDITIONS[words] for words in additions)
    if len(given) < len(additions):
        raise ValueError(f"`{addition}` says two things that exclude each other")
    better, combine = given.get("better", ""), given.get("combine", "")
    if type_ is None:
        result = metrics.get(name, Metric(name, "number"))
        return result.replace(better=better or result.better, combine=combine or result.combine), result.unit
    if type_ not in types.NUMERIC:
        raise ValueError(f"`{type_}` is not a metric type; the types are {', '.join(types.DIMENSION_OF)}")
    if unit and size_of(unit, type_) is None:
        raise ValueError(f"`{unit}` is not a unit of {types.SCALARS[type_].phrase}")
    stored = stored_unit(type_, unit)
    return Metric(name, type_, stored, better=better, combine=combine), unit or stored


def size_of(unit: str, type_: str) -> Fraction | None:
    """Return the size of a unit in the language's base unit; None if the type has no such unit."""
    if type_ == "share" and unit == _DIMENSIONLESS:
        return Fraction(1)
    if unit in types.STORED and types.STORED[unit][0] == type_:
        return Fraction(1, types.STORED[unit][1])
    try:
        quantity = units.parse(f"1{unit}")
    except units.UnitError:
        return None
    return quantity.amount if unit and quantity.dimension == types.DIMENSION_OF.get(type_) else None


def name_of(text: str) -> str:
    """Return the name in `NAME: TYPE in UNIT, higher is better, combined by max`."""
    return re.split("[:,]", text, maxsplit=1)[0].strip()


def in_stored_unit(number: str, unit: str, metric: Metric) -> float:
    """Convert a number to the unit in which results store the metric; infinite if it is too large."""
    value = float(number)
    if unit == metric.unit or not math.isfinite(value):
        return value
    size = size_of(unit, metric.type)
    assert size is not None, f"BUG: `{unit}` is not a unit of {metric.name}"
    # Do not convert the text: the digits of `1e999999999` as a fraction would take hours to compute.
    exact = Fraction(repr(value)) * size * types.parts_of(metric.unit)
    return float(exact) if abs(exact) <= sys.float_info.max else math.inf


def stored_unit(type_: str, unit: str) -> str:
    """Return the unit in which results store a metric: nanoseconds if the tool prints them, else the type's unit."""
    return unit if unit == types.NANOSECONDS else types.SCALARS[type_].unit


def _wrong_unit(node: tree.Word, type_: str) -> Diagnostic:
    scalar = types.SCALARS[type_]
    names = ", ".join(f"`{unit}`" for unit in scalar.ladder or (scalar.unit,))
    binary = {unit.lower().replace("ib", "b"): unit for unit in scalar.ladder if "iB" in unit}
    meant = binary.get(node.text.lower(), "")
    if meant:
        decimal = "decimal units begin at `MB`" if meant[0] == "K" else f"`{meant.replace('i', '')}` is decimal"
        hint: str = Hint(f"write `{meant}`; {decimal}", node.text, meant, is_safe=False)
    elif scalar.unit:
        hint = f"write a unit of {scalar.phrase}, such as {names}"
    else:
        hint = f"{scalar.phrase} has no unit: remove `in`"
    return Code.NOT_ALLOWED.at(node.span, name="in", value=f"`{node.text}` for {scalar.phrase}", hint=hint)


def _attributes(node: tree.MetricDecl, report: Report, names: tuple[str, ...]) -> Mapping[str, tree.Expr]:
    expressions: dict[str, tree.Expr] = {}
    for item in node.attributes:
        if not isinstance(item, tree.Field) or item.name.text not in names:
            word = item.name if isinstance(item, tree.Field) else tree.Word(item.span, "this")
            is_source = word.text in {"file", "path", "source", "output"}
            source = Hint("write `from`", word.text, "from", is_safe=False) if is_source else Hint("")
            hint = source or did_you_mean(word.text, names) or "a metric has " + ", ".join(names)
            report(Code.UNKNOWN_PROPERTY.at(word.span, kind="metric", name=word.text, hint=hint))
        elif item.name.text in expressions:
            report(Code.DUPLICATE.at(item.name.span, name=item.name.text))
        else:
            expressions[item.name.text] = item.value
    return expressions


def _word(
    name: str, expressions: Mapping[str, tree.Expr], names: Collection[str], report: Report, in_short: str = ""
) -> str:
    """Return the word of an attribute; a hint lists all of `names`, or says `in_short` if there are too many."""
    value = expressions.get(name)
    if value is None:
        return ""
    words = tuple(names)
    text = str(value) if isinstance(value, tree.Name) else ""
    if text in words:
        return text
    hint = did_you_mean(text, words) or "it is " + (in_short or " or ".join(f"`{word}`" for word in words))
    report(Code.NOT_ALLOWED.at(value.span, name=name, value=f"`{text}`" if text else "this", hint=hint))
    return ""


def _needed_trait(attributes: Mapping[str, tree.Expr], kind: tree.KindDef | None, report: Report) -> str:
    """Return the trait that the metric requires: one of the language's, or one that the kind declares."""
    declared = [item for item in kind.items if isinstance(item, tree.Trait)] if kind else []
    traits = {name: next(iter(trait.type.scalars)) for name, trait in TRAITS.items()}
    traits |= {item.name.text: item.type.text for item in declared if item.type}
    trait = _word("needs", attributes, traits, report, "a trait, such as `reads`; docs/language.md lists them all")
    if not trait or traits[trait] == "bool":
        return trait
    hint = f"`{trait}` is of type `{traits[trait]}`; a metric needs a trait of type `bool`"
    report(Code.NOT_ALLOWED.at(attributes["needs"].span, name="needs", value=f"`{trait}`", hint=hint))
    return ""


def _meaning(value: tree.Expr | None, report: Report) -> str:
    if value is None:
        return ""
    path = value.path if isinstance(value, tree.Name) else ()
    if path and path[-1] in MEANINGS and len(path) <= 2:  # noqa: PLR2004 - of which operations, and what
        return ".".join(path)
    hint = did_you_mean(path[-1] if path else "", MEANINGS) or "it is " + ", ".join(f"`{word}`" for word in MEANINGS)
    written = f"`{value}`" if path else "this"
    report(Code.NOT_ALLOWED.at(value.span, name="means", value=written, hint=hint))
    return ""


def _text(value: tree.Expr | None, report: Report, name: str = "doc") -> str:
    if value is None:
        return ""
    if isinstance(value, tree.Text) and all(isinstance(part, str) for part in value.parts):
        return "".join(part for part in value.parts if isinstance(part, str))
    report(Code.WRONG_TYPE.at(value.span, name=name, expected="a plain text", found="this"))
    return ""


def _source(value: tree.Expr) -> str | None:
    """Return the output that contains a metric: a stream, by name, or a file beneath `OUT`."""
    if isinstance(value, tree.Name):
        return str(value) if str(value) in {"stdout", "stderr"} else None
    if not isinstance(value, tree.Text) or not all(isinstance(part, str) for part in value.parts):
        return None
    path = "".join(part for part in value.parts if isinstance(part, str))
    return f"./{path}" if path and not path.startswith("/") and ".." not in path.split("/") else None
