"""The actions of a kind: its commands, and the readers of their output."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache

from zlang.check import remembered, values
from zlang.check.expressions import Context, resolve
from zlang.check.metric_declarations import DISTRIBUTION, HOW, KindMetric, found_in
from zlang.check.program import PLATFORMS, STATES, Absent, Command, Expr, KindAction, ReaderDef, Value
from zlang.check.texts import resolve_parts, resolve_plain_text, resolve_template
from zlang.check.types import DURATION, UNKNOWN
from zlang.diagnostics import Code
from zlang.hints import Any
from zlang.metrics import Metric, in_trials, statistics_of
from zlang.suggest import did_you_mean
from zlang.syntax import tree

Readers = Mapping[str, tuple[Metric, ...]]
"""The metrics of each reader of the library."""
_FINDER = "shell"
"""The reader of the metrics that a kind declares itself."""
_MEASURING = ("run", "together", "watch", "look", "wrap")
"""The actions whose output contains the metrics of a kind."""


def resolve_action(context: Context, readers: Readers, node: tree.ActionDef) -> KindAction:
    """Return an action with its readers; its commands are resolved on demand."""
    definitions: list[ReaderDef] = []
    for item in node.commands:
        if isinstance(item, tree.Reads):
            if item.reader.text not in readers:
                _report_unknown_reader(context, readers, item)
                continue
            arguments = tuple(
                (field.name.text, resolve(context, field.value))
                for field in item.arguments
                if isinstance(field, tree.Field)
            )
            yields = readers[item.reader.text]
            artefact = resolve_parts(context, item.artefact)
            definition = _reader_def(item.reader.text, artefact, arguments, yields)
            is_watching = node.name.text == "watch"
            series = frozenset(metric.name for metric in in_trials(yields)) if is_watching else definition.series
            definitions.append(definition.replace(series=series))

    @cache
    def commands() -> tuple[Command, ...]:
        return tuple([_command(context, item) for item in node.commands if not isinstance(item, tree.Reads)])

    scripts = [item.text for item in node.commands if isinstance(item, tree.Sh) and not item.is_asked]
    literals = tuple([part for script in scripts for part in script.parts if isinstance(part, str)])
    state, platform = _selected(context, node)
    return KindAction(
        name=node.name.text,
        state=state,
        platform=platform,
        resolve_commands=commands,
        readers=tuple(definitions),
        literals=literals,
    )


def _command(context: Context, node: tree.Sh) -> Command:
    attributes = {item.name.text: item for item in node.attributes if isinstance(item, tree.Field)}
    candidates = ("why",) if node.is_asked else ("timeout", "why")
    for name, item in attributes.items():
        if name not in candidates:
            hint = did_you_mean(name, candidates) or f"it has {' and '.join(f'`{each}`' for each in candidates)}"
            word = "ask" if node.is_asked else "sh"
            context.report(Code.UNKNOWN_PROPERTY.at(item.name.span, kind=word, name=name, hint=hint))
    timeout = attributes.get("timeout")
    text = () if node.is_asked else resolve_template(context, node.text)
    return Command(
        text=text,
        expect=resolve_parts(context, node.expect) if node.expect else None,
        timeout=_timeout(context, timeout.value) if timeout else None,
        why=resolve_plain_text(context, attributes["why"].value, "why") if "why" in attributes else "",
        span=node.span,
        request=resolve_parts(context, node.text) if node.is_asked else None,
    )


def _reader_def(
    reader: str, artefact: tuple[str | Expr, ...], arguments: tuple[tuple[str, Expr], ...], metrics: tuple[Metric, ...]
) -> ReaderDef:
    """Return a reader with those of its arguments that have a value."""

    def fill(frame: Any) -> Mapping[str, object]:
        given = [(name, expr.value(frame)) for name, expr in arguments]
        return {name: values.argument(value) for name, value in given if not isinstance(value, Absent)}

    reads = frozenset[str]().union(*(expr.reads for _, expr in arguments))
    return ReaderDef(reader, artefact, arguments, remembered.once(fill, reads), metrics)


def _report_unknown_reader(context: Context, readers: Readers, node: tree.Reads) -> None:
    name = node.reader.text
    hint: str = did_you_mean(name, readers) or "the readers are " + ", ".join(readers)
    if name in {*HOW, DISTRIBUTION}:  # ways to find a metric, which are not readers
        hint = f"say in the kind what is measured: {_as_metrics(node)}"
    context.report(Code.UNKNOWN_NAME.at(node.reader.span, name=name, hint=hint))


def _as_metrics(node: tree.Reads) -> str:
    """Return the metrics that are meant by a file of a known format: one for each name in `samples`."""
    fields = {item.name.text: item.value for item in node.arguments if isinstance(item, tree.Field)}
    listed = fields.get("samples")
    columns = [item.span.text.strip('"') for item in listed.items] if isinstance(listed, tree.ListOf) else []
    time = f"  time = {fields['time'].span.text}" if "time" in fields else ""
    source = f"{{ from = {node.artefact.span.text}{time} }}"
    metrics = [f'metric {name}: number = {node.reader.text} "{name}" {source}' for name in columns or ["NAME"]]
    return ", ".join(f"`{metric}`" for metric in metrics)


def read_metrics(context: Context, node: tree.KindDef, actions: dict[tuple[str, str, str], KindAction]) -> None:
    """Add the metrics that the kind itself declares to the readers of its measuring actions."""
    nodes = [item for item in node.items if isinstance(item, tree.MetricDecl)]
    result = [entry for item in nodes if (entry := found_in(item, node, context.report)) is not None]
    _report_figures_declared_twice(context, nodes, result)
    if not nodes:
        return
    measuring = [key for key in actions if key[0] in _MEASURING]
    if not measuring:
        message = "only a workload, a wrapper and a collector have metrics"
        context.report(Code.BAD_KIND.at(nodes[0].span, message=message))
    wanted = tuple([(entry, resolve(context, entry.where)) for entry in result])
    argument = Expr(
        nodes[0].span,
        UNKNOWN,
        lambda frame: tuple([_wanted(entry, at, frame) for entry, at in wanted]),
        reads=frozenset[str]().union(*(at.reads for _, at in wanted)),
    )
    own = tuple([declared.metric for declared in result])
    for key in measuring:
        action = actions[key]
        reader = action.readers[0] if action.readers else _reader_def(_FINDER, (), (), ())
        if reader.reader != _FINDER:
            message = f"the output is read by `{reader.reader}`: declare a collector of your own for more metrics"
            context.report(Code.BAD_KIND.at(nodes[0].span, message=message))
            return
        arguments = (*reader.arguments, ("found", argument))
        reads = _reader_def(_FINDER, reader.artefact, arguments, reader.metrics + own if reader.arguments else own)
        series = frozenset(entry.metric.name for entry in result if entry.time)
        actions[key] = action.replace(readers=(reads.replace(series=series),))


def _report_figures_declared_twice(
    context: Context, nodes: Sequence[tree.MetricDecl], result: Sequence[KindMetric]
) -> None:
    """Report metrics with the name of a figure of a distribution."""
    owners = {
        figure.name: entry.metric.name
        for entry in result
        if entry.metric.is_distribution
        for figure in statistics_of(entry.metric).values()
    }
    for node in nodes:
        name = node.name.text
        if name in owners and not node.is_distribution:
            message = f"`{name}` is a figure of the distribution `{owners[name]}`"
            context.report(Code.BAD_KIND.at(node.name.span, message=message, hint="choose another name"))


def _timeout(context: Context, node: tree.Expr) -> Expr:
    resolved = resolve(context, node)
    if not DURATION.accepts(resolved.type):
        hint = "add a unit: `5s`, `5min`"
        wrong = Code.WRONG_TYPE.at(node.span, name="timeout", expected=DURATION, found=resolved.type, hint=hint)
        context.report(wrong)
    return remembered.expression(resolved)


def _selected(context: Context, node: tree.ActionDef) -> tuple[str, str]:
    """Return the state and the platform that an action is for."""
    chosen: dict[tuple[str, ...], str] = {}
    for word in node.selectors:
        dimension = next((words for words in (STATES, PLATFORMS) if word.text in words), None)
        if dimension is None:
            every = (*STATES, *PLATFORMS)
            hint = did_you_mean(word.text, every) or "it can be " + ", ".join(f"`{item}`" for item in every)
            context.report(Code.NOT_ALLOWED.at(word.span, name=node.name.text, value=f"for `{word.text}`", hint=hint))
        elif dimension in chosen:
            context.report(Code.DUPLICATE.at(word.span, name=word.text))
        else:
            chosen[dimension] = word.text
    return chosen.get(STATES, ""), chosen.get(PLATFORMS, "")


def _wanted(kind_metric: KindMetric, where: Expr, frame: Any) -> Value:
    """Return a metric of a kind in the form that its reader takes, without what is empty at its end."""
    time, combine = kind_metric.time, kind_metric.metric.combine
    return (
        kind_metric.metric.name,
        kind_metric.metric.type,
        kind_metric.how,
        where.value(frame),
        kind_metric.unit,
        kind_metric.source,
        *((time, combine) if combine else (time,) if time else ()),
    )
