"""Expressions checked against their place: values of a type, and conditions; with hints for those that do not fit."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from zlang import units
from zlang.check import types
from zlang.check.expressions import Context, resolve, unknown
from zlang.check.factors import pick
from zlang.check.program import Expr
from zlang.check.scope import Path, Scope
from zlang.check.texts import resolve_command
from zlang.check.types import NOTHING, STRING, Type
from zlang.diagnostics import Code
from zlang.errors import suppress
from zlang.source import TABLE, Span
from zlang.suggest import Hint, did_you_mean
from zlang.syntax import tree
from zlang.units import Quantity

_NAME = r"[^\W\d]\w*"
_NAMES = rf"\[\s*{_NAME}(\s*,\s*{_NAME})*\s*,?\s*\]"
"""A list of names."""


def resolve_typed(context: Context, node: tree.Expr, path: Path, name: str, expected: Type) -> Expr:
    """Resolve an expression that must have a type; `name` is the property or field that it gives a value."""
    if "command" in expected.scalars and isinstance(node, tree.Text):
        return resolve_command(context, node)
    if "command" in expected.scalars and isinstance(node, tree.Choice):
        commands = [option for option in node.options if isinstance(option, tree.Text)]
        if len(commands) == len(node.options):
            return pick(context, node.span, path, [resolve_command(context, command) for command in commands])
    if isinstance(node, tree.Binary) and node.operator in {"or", "and"} and not expected.accepts(types.BOOL):
        choice = _choice_of(context, node, [option.span.text for option in _sides(node)])
        context.report(Code.WRONG_TYPE.at(node.span, name=name, expected=expected, found="a condition", hint=choice))
        return unknown(node.span)
    if isinstance(node, tree.Tuple) and expected.element is None:
        choice = _choice_of(context, node, [item.span.text for item in node.items])
        problem = Code.UNEXPECTED.at(
            node.span, expected="one value", found="several values in parentheses", hint=choice
        )
        context.report(problem)
        return unknown(node.span)
    resolved = resolve(context.replace(property_name=name), node, expected, path)
    for option in resolved.alternatives or (resolved,):
        if not expected.accepts(option.type):
            hint: str = (
                with_unit(option, expected, _unit_of(context, name))
                or _mebibytes(option, expected)
                or _whole_number_hint(option, expected)
                or _as_numbers(option, expected)
                or _as_words_with_number(option, expected)
                or _without_quotes(option, expected, context.scope)
                or _without_quotes_in(context, node, expected)
                or _words_here(context, node, resolved, name, expected)
                or _without_braces(option, expected)
                or _as_thing(context, option, expected)
                or _as_words_of_table(context, node, option, expected)
                or _owner(context, node, expected)
                or _in_word(context, node, option, expected)
                or _as_choice(context, node, option, expected)
                or _as_text(option, expected)
                or _bool_as_word(option, expected)
                or _as_list(option, expected)
                or (_share_of(expected) if option.type == _SHARE else "")
            )
            if "command" in expected.scalars and option.type == STRING:
                hint = "write the command itself here; then zlang can quote the values in it"
            hint = hint or (_meaning(context, name) if expected == types.COUNT else "")
            context.report(Code.WRONG_TYPE.at(option.span, name=name, expected=expected, found=option.type, hint=hint))
            return unknown(resolved.span, resolved.axes or None)
        if "command" in expected.scalars and option.type == STRING:
            hint = "write the command itself here; then zlang can quote the values in it"
            written = "a name"
            if isinstance(node, tree.If):
                hint, written = 'insert a value into one command, such as `"sleep {if … then 1 else 2}"`', "an `if`"
            context.report(Code.WRONG_TYPE.at(option.span, name=name, expected=expected, found=written, hint=hint))
    return resolved


def resolve_condition(context: Context, node: tree.Expr) -> Expr:
    """Resolve an expression that must be true or false."""
    if isinstance(node, tree.Choice) and isinstance(node.options[0], tree.Binary):
        first, others = node.options[0], node.options[1:]
        if first.operator in {"==", "in"} and not any(isinstance(other, tree.Binary) for other in others):
            parts = [item.span.text for item in (first.right, *others)]
            meant = f"{first.left.span.text} in [{', '.join(parts)}]"
            hint = Hint(f"write a list as `{meant}`", node.span.text, meant)
            context.report(Code.CHOICE_HERE.at(node.span, hint=hint))
            return unknown(node.span)
    if isinstance(node, tree.Choice) and all(tree.is_condition(option) for option in node.options):
        meant = " or ".join(option.span.text for option in node.options)
        hint = Hint("write `or` between conditions", node.span.text, meant)
        context.report(Code.CHOICE_HERE.at(node.span, hint=hint))
        return unknown(node.span)
    resolved = resolve(context, node)
    if not types.BOOL.accepts(resolved.type):
        hint = Hint("write a comparison, such as `a >= 64KiB`")
        if resolved.type == STRING and isinstance(node, tree.Text):
            hint = Hint(f"a condition follows the sentence: `{node.span.text} median(METRIC) > VALUE`")
        context.report(Code.BAD_CONDITION.at(resolved.span, found=resolved.type, hint=hint))
        return unknown(node.span)
    return resolved


def _sides(node: tree.Expr) -> Iterator[tree.Expr]:
    """Yield the operands of nested `or` and `and`."""
    if isinstance(node, tree.Binary) and node.operator in {"or", "and"}:
        yield from _sides(node.left)
        yield from _sides(node.right)
    else:
        yield node


_MOST_SHOWN = 8
_SHARE = Type(frozenset({"share"}))
_INSERTED = r'"\$?\{([A-Za-z_][\w.]*)\}"'
_MINUTES = r"[\d_.]+m"
_LEAST_SECTOR = 512
_AMOUNT = r"[\d_.]+[A-Za-z]+"
_THOUSANDS = r"(\d+)[kK](?:/s)?"
_NUMBERS = r"(?a:\s*\d+(\s*(-|\.\.)\s*\d+)?\s*(,\s*\d+(\s*(-|\.\.)\s*\d+)?\s*)*)"
_BARE = r"-?[\d_.]+"
_MOST_TIMES = 4
"""So few percent are rarely meant."""


def _share_of(expected: Type) -> str:
    """Return the hint for a share where another number is expected."""
    is_count = not expected.scalars - {"count", "number"}
    return "write a number: a share of it is not known here" if is_count else "write a share of something as `50% of …`"


def one_for_several(context: Context, kinds: Iterable[str]) -> str:
    """Return the hint to declare one thing instead of a list of things, if the list has things of such a kind."""
    for kind in filter(None, map(context.scope.kind_called, sorted(kinds))):
        if kind.role == "machine":
            return f"for several machines at once, declare a group of them: see `zlang kinds {kind.name}`"
        lists = [name for name in kind.required if kind.properties[name].type.element]
        if lists:
            return f"declare one `{kind.name}` for all of them, with lists: `{' = […]  '.join(lists)} = […]`"
        if "blocks" in kind.offers and "count" in kind.properties:
            return f"declare one `{kind.name}` for all of them, with `count = …`"
    return ""


def _meaning(context: Context, name: str) -> str:
    """Return what a property of the kind means."""
    definition = context.kind.properties.get(name) if context.kind is not None else None
    return f"a number without a unit: {definition.doc}" if definition is not None and definition.doc else ""


def _unit_of(context: Context, name: str) -> Quantity | None:
    """Return the unit in which the tool gets a property of the kind."""
    definition = context.kind.properties.get(name) if context.kind is not None else None
    return definition.unit if definition is not None else None


def with_unit(option: Expr, expected: Type, unit: Quantity | None = None) -> Hint:
    """Return a hint for a bare number where a unit is expected; a tool takes it to be in its own unit."""
    wanted = [scalar for scalar in ("size", "duration", "share", "rate", "iops") if scalar in expected.scalars]
    text = option.span.text
    if expected.accepts(types.RATE) and option.type.scalars == {"size"} and re.fullmatch(_AMOUNT, text):
        return Hint(f"write `{text}/s`", text, f"{text}/s", is_safe=False)
    if wanted == ["iops"] and (each := re.fullmatch(_THOUSANDS, text)):
        return Hint(f"write `{each[1]}000/s`", text, f"{each[1]}000/s", is_safe=False)
    if not wanted or not option.type.scalars & {"count", "number"}:
        return Hint("")
    value = option.value({}) if option.is_constant and re.fullmatch(_BARE, text) else None
    if not isinstance(value, Quantity):
        return Hint("add a unit")
    # In a share written as a number, a decimal point means a part of 1; without one, the number means percent.
    is_percent = wanted[0] == "share" and (value.amount >= 1 or "." not in text)
    amount = value.amount / 100 if is_percent else value.amount
    if unit is not None and unit.dimension == types.DIMENSION_OF[wanted[0]] and not is_percent:
        amount *= unit.amount
    elif wanted[0] == "size" and amount < _LEAST_SECTOR:
        amount *= 1024  # so few bytes are never meant
    written = units.show(Quantity(amount, types.DIMENSION_OF[wanted[0]]))
    if is_percent and 1 <= value.amount <= _MOST_TIMES:
        times = units.show(Quantity(value.amount, units.SHARE))
        return Hint(f"write a share: `{times}` is {text} times the whole, and `{written}` a part of it")
    return Hint(f"add a unit: `{written}`", text, written, is_safe=False)


def _mebibytes(option: Expr, expected: Type) -> Hint:
    """Return a hint for `1m`, which fio reads as a size."""
    text = option.span.text
    if not expected.scalars & {"size", "rate"} or not re.fullmatch(_MINUTES, text):
        return Hint("")
    meant = f"{text[:-1]}MiB{'/s' if 'rate' in expected.scalars else ''}"
    return Hint(f"`{text}` is in minutes: write `{meant}`", text, meant, is_safe=False)


def _whole_number_hint(option: Expr, expected: Type) -> Hint:
    """Return a hint for a fraction where a whole number is expected."""
    if "count" not in expected.scalars or option.type.scalars != {"number"}:
        return Hint("")
    text = option.span.text
    return Hint(f"use a whole number: `floor({text})`", text, f"floor({text})", is_safe=False)


def _as_numbers(option: Expr, expected: Type) -> Hint:
    """Return a hint for a text such as `"0-3,8"`, Linux's notation for numbers, where a list of numbers is expected."""
    numbers = option.value({}) if option.is_constant and option.type == STRING else None
    if not isinstance(numbers, str) or expected.element is None or not expected.element.accepts(types.COUNT):
        return Hint("")
    if not re.fullmatch(_NUMBERS, numbers):
        return Hint("write a list of numbers, such as `[0..3, 8]`")
    parts = [re.split(r"\s*(?:-|\.\.)\s*", part.strip()) for part in numbers.split(",")]
    meant = f"[{', '.join('..'.join(sorted(ends, key=int)) for ends in parts)}]"
    return Hint(f"write a list: `{meant}`", option.span.text, meant, is_safe=False)


def _as_words_with_number(option: Expr, expected: Type) -> str:
    """Return the hint for a number where a word with a number is expected: `2` for `mirror(2)`."""
    scalars = option.type.scalars if types.is_number(option.type) else ()
    words = [word.name for word in expected.words if word.field and word.field[1] in scalars]
    written = [f"`{word}({option.span.text})`" for word in dict.fromkeys(words)]
    return f"write {' or '.join(written)}" if written else ""


def _without_quotes(option: Expr, expected: Type, scope: Scope) -> Hint:
    """Return a hint for a text where a word or a name is expected."""
    word = option.value({}) if option.is_constant and option.type == STRING else None
    text = option.span.text
    if option.type == STRING and (inserted := re.fullmatch(_INSERTED, text)):
        return Hint(f"write the name alone: `{inserted[1]}`", text, inserted[1], is_safe=False)
    if not isinstance(word, str) or not text.startswith('"'):
        return Hint("")
    variant = expected.variant(word)
    is_word = (variant is not None and variant.field is None) or ("bool" in expected.scalars and word in types.BOOLS)
    if expected.kinds and word.isidentifier() and scope.lookup(word, option.span) is not None:
        return Hint(f"write names without quotes: `{word}`", text, word)
    if "bool" in expected.scalars and word in {"0", "1"}:
        switch = "on" if word == "1" else "off"
        return Hint(f"write `{switch}`", text, switch)
    if is_word:
        return Hint(f"write words without quotes: `{word}`", text, word)
    if expected.kinds and word.isidentifier() and scope.kind_called(word) is not None:
        return Hint(f"`{word}` is a kind: declare one here, `{word} {{}}`", text, f"{word} {{}}", is_safe=False)
    if expected.kinds and word.startswith(("/", ".")):
        return Hint("declare it, such as `dir here { path = … }`, and write its name")
    with suppress(units.UnitError):
        if expected.accepts(types.of_quantity(units.parse(word))):
            return Hint(f"write numbers without quotes: `{word}`", text, word)
    parts = [part.strip() for part in re.split(r"[|,;]", word)]
    with suppress(units.UnitError):
        if len(parts) > 1 and all(expected.accepts(types.of_quantity(units.parse(part))) for part in parts):
            written = " | ".join(parts)
            return Hint(f"write a choice without quotes: `{written}`", text, written)
    near = did_you_mean(word, [choice.name for choice in expected.words])
    if near:
        return Hint(f"write words without quotes: `{near.instead[0]}`", text, *near.instead, is_safe=False)
    with_text = [
        f"`{choice.name}({text})`"
        for choice in expected.words
        if choice.field and choice.field[1] in {"string", "path"}
    ]
    return Hint(f"write {' or '.join(with_text)}" if with_text else "")


def _without_quotes_in(context: Context, node: tree.Expr, expected: Type) -> Hint:
    """Return the same hint for the first text in a list of words."""
    items = node.items if isinstance(node, tree.ListOf) and expected.element is not None else ()
    each = (resolve(context, item) for item in items if isinstance(item, tree.Text))
    hints = (_without_quotes(item, expected.element or NOTHING, context.scope) for item in each)
    return next((hint for hint in hints if hint), Hint(""))


def _words_here(context: Context, node: tree.Expr, resolved: Expr, name: str, expected: Type) -> Hint:
    """Return a hint for a name whose texts should be words of the expected type: a word belongs to its property."""
    factors = [context.factors[axis.path] for axis in resolved.axes if axis.path in context.factors]
    if not isinstance(node, tree.Name) or len(factors) != 1 or factors[0].size > _MOST_SHOWN:
        return Hint("")
    levels = [level for i in range(factors[0].size) for level in factors[0].level(i)]
    if not all(isinstance(level, str) and expected.variant(level) is not None for level in levels):
        return Hint("")
    meant = " | ".join(map(str, levels))
    return Hint(f"write the words here, without quotes: `{name} = {meant}`", node.span.text, meant, is_safe=False)


def _owner(context: Context, node: tree.Expr, expected: Type) -> Hint:
    """Return a hint for a property of a thing where the thing is expected."""
    if not isinstance(node, tree.Name) or len(node.path) == 1 or not expected.kinds:
        return Hint("")
    owner = context.scope.lookup(node.path[0], node.span)
    if owner is None or not expected.accepts(owner.type):
        return Hint("")
    return Hint(f"write `{node.path[0]}`", str(node), node.path[0], is_safe=False)


def _without_braces(option: Expr, expected: Type) -> Hint:
    """Return a hint for a thing declared in place where a word of the same name is expected."""
    text = option.span.text
    name = next((kind for kind in option.type.kinds if expected.variant(kind) is not None), "")
    if not name or not text.endswith("}"):
        return Hint("")
    return Hint(f"`{name}` has no properties: write `{name}`", text, name, is_safe=text.rstrip("} \n").endswith("{"))


def _as_thing(context: Context, option: Expr, expected: Type) -> str:
    """Return the hint for a text in place of a declared thing."""
    if option.type != STRING:
        return ""
    words = list(dict.fromkeys(word.name for word in expected.words if word.has_thing))
    if words:
        return f"declare it as a thing with a name, and write {' or '.join(f'`{word}(NAME)`' for word in words)}"
    kind, *_ = option.span.text.strip('"').split() or [""]
    if (expected | (expected.element or NOTHING)).kinds and kind in context.scope.kind_names():
        return f"write `{kind} {{ … }}`, with its options as properties: `zlang kinds {kind}`"
    return ""


def _as_words_of_table(context: Context, node: tree.Expr, option: Expr, expected: Type) -> str:
    """Return the hint for a column of texts where a word is expected."""
    if not expected.words or option.type != STRING or not isinstance(node, tree.Name):
        return ""
    tables = [place.source.name for path in option.reads for place in _places_of(context, path)]
    if not any(table.endswith(TABLE) for table in tables):
        return ""
    return f"say in the first line of `{tables[0]}` that this column has words: `{node}: word`"


def _places_of(context: Context, path: str) -> tuple[Span, ...]:
    return context.factors[path].places[:1] if path in context.factors else ()


def _as_text(option: Expr, expected: Type) -> Hint:
    """Return a hint for a value without quotes where a text is expected."""
    text = option.span.text
    if (
        expected.scalars & {"string", "path", "version"}
        and not option.type.kinds
        and '"' not in text
        and "\n" not in text
    ):
        return Hint(f'write it as a text: `"{text}"`', text, f'"{text}"', is_safe=False)
    return Hint("")


def _bool_as_word(option: Expr, expected: Type) -> Hint:
    """Return a hint for `off` or `true` where a word has that meaning."""
    text = option.span.text
    if option.type != types.BOOL or text not in types.BOOLS:
        return Hint("")
    names = ("on", "enabled", "always") if types.BOOLS[text] else ("off", "none", "disabled", "never")
    words = [word for word in names if expected.variant(word) is not None]
    if not words:
        untouched = "as_is" if expected.variant("as_is") is not None else ""
        return Hint(f"write `{untouched}`", text, untouched, is_safe=False) if untouched else Hint("")
    return Hint(f"write `{words[0]}`", text, words[0], is_safe=False)


def _as_list(option: Expr, expected: Type) -> Hint:
    """Return a hint for one value where a list is expected."""
    text = re.sub(r"\A(\d+)-(\d+)\Z", r"\1..\2", option.span.text)
    if expected.element is None or not expected.element.accepts(option.type) or "\n" in text:
        return Hint("")
    return Hint(f"write a list: `[{text}]`", text, f"[{text}]", is_safe=False)


def _in_word(context: Context, node: tree.Expr, option: Expr, expected: Type) -> str:
    """Return a hint for a thing, or a list of one, where a word takes the thing."""
    is_list = option.type.element is not None
    items = [item.span.text for item in node.items] if is_list and isinstance(node, tree.ListOf) else [option.span.text]
    kinds = [context.scope.kind_called(name) for name in (option.type.element or option.type).kinds]
    inner = items[0] if len(items) == 1 else "NAME"
    words = [
        f"`{word.name}({inner})`"
        for word in expected.words
        if word.has_thing and word.field and kinds and all(kind and word.field[1] in kind.offers for kind in kinds)
    ]
    if not words or not all(re.fullmatch(_NAME, item) for item in items):
        return ""
    declared = "" if len(items) == 1 else "one declaration can have several devices: "
    return f"{declared}write {' or '.join(words)}"


def _as_choice(context: Context, node: tree.Expr, option: Expr, expected: Type) -> Hint:
    """Return a hint for a list or a schedule in place of one value, and for 1 and 0 in place of `on` and `off`."""
    text = option.span.text
    if "bool" in expected.scalars and text in {"0", "1"}:
        word = "on" if text == "1" else "off"
        return Hint(f"write `{word}`", text, word, is_safe=False)
    if expected == types.COUNT and text in types.BOOLS:
        word = "1" if types.BOOLS[text] else "0"
        return Hint(f"write `{word}`", text, word, is_safe=False)
    if isinstance(node, tree.ScheduleOf):
        meant = " | ".join(dict.fromkeys(period.value.span.text for period in node.periods))
        return Hint(
            f"this cannot change during a trial; write a choice, for a trial each: `{meant}`",
            text,
            meant,
            is_safe=False,
        )
    if isinstance(node, tree.ListOf) and node.items and option.type.element is not None and expected.element is None:
        parts = [item.span.text for item in node.items]
        if "command" in expected.scalars:
            line = f'"{" ".join(part.strip(chr(34)) for part in parts)}"'
            return Hint(f"write one text: `{line}`", text, line, is_safe=False)
        if not expected.accepts(option.type.element):
            parts = [part.strip('"') for part in parts]
        are_counts = types.COUNT.accepts(option.type.element) or all(part.strip('"').isdecimal() for part in parts)
        if expected == types.COUNT and not are_counts:
            return Hint(f"write how many: `{len(parts)}`", text, str(len(parts)), is_safe=False)
        if option.type.element.kinds != {"host"}:
            return _choice_of(context, node, parts)
    if option.type.element is not None and option.type.element.kinds == {"host"} and re.fullmatch(_NAMES, text):
        parts = re.findall(_NAME, text)
        names = ", ".join(f'"{part}"' for part in parts)
        group = f"for all at once, declare `host machines {{ members = [{names}] }}` and write `machines`"
        return Hint(f"{group}; for one after the other, write `{' | '.join(parts)}`")
    return Hint("")


def _choice_of(context: Context, node: tree.Expr, values: list[str]) -> Hint:
    """Return a hint to write several values as a choice, or only one of them."""
    if len(values) > 1 and not context.is_same_everywhere:
        choice = " | ".join(values)
        return Hint(f"write a choice as `{choice}`", node.span.text, choice, is_safe=False)
    why = (
        "write the value without brackets:" if len(values) == 1 else "it is the same in every trial: write one, such as"
    )
    return Hint(f"{why} `{values[0]}`", node.span.text, values[0], is_safe=False)
