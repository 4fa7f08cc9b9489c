"""Slips in experiments: their clauses, their fields, and words that are neither."""

from __future__ import annotations

import re
from fractions import Fraction

from zlang import units
from zlang.suggest import nearest
from zlang.syntax import tree
from zlang.syntax.foreign_words import EXPERIMENT_WORDS, FIELD_WORDS
from zlang.syntax.lexer import CLAUSES
from zlang.syntax.stop_place import Correction, StopPlace


def clause(stop: StopPlace) -> Correction | None:
    """A slip in a `plot` or `table`: its axis or its percentiles."""
    token = stop.token
    if token.type == "FIELD" and stop.last == "PLOT":
        return "write `plot METRIC over FACTOR`", None
    if token.type == "FIELD" and stop.last == "LSQB" and stop.is_condition:
        return "write the condition after the metric: `median(METRIC where FACTOR == LEVEL)`", None
    within = any(symbol in {"PLOT", "TABLE"} for symbol, _ in stop.read)
    if token.text == "where" and (within or isinstance(stop.read[-1][1], tree.PlotClause | tree.TableClause)):
        return "write the condition after the metric: `median(METRIC where FACTOR == LEVEL)`", None
    is_plot = any(symbol == "PLOT" for symbol, _ in stop.read)
    if is_plot and token.text in {"color", "colour", "hue", "group", "series", "lines"}:
        return "`by` draws a line for each level: `plot METRIC over FACTOR by FACTOR, log`", None
    if is_plot and token.text == "(" and stop.text.endswith("log", 0, stop.end):
        return "write `log` at the end: `plot METRIC over FACTOR, log`", None
    if token.text == "by" and stop.expected.startswith("`over`"):
        hint = "`over` comes before `by`: `plot METRIC over FACTOR by FACTOR`"
        return hint, stop.fix(token.start, token.end, "over", is_safe=False)
    if stop.expected.startswith("`over`") and token.type in {"RBRACE", "NEWLINE", "$END"}:
        return "add the factor: `plot METRIC over FACTOR`", None
    if token.text == "over" and any(symbol == "TABLE" for symbol, _ in stop.read):
        return "a table has `by` before its factors, not `over`", stop.fix(token.start, token.end, "by")
    if token.text == "by" and stop.last == "COMMA":
        return "remove the comma before `by`", stop.fix(stop.end - 1, stop.end, "")
    percentile = _PERCENTILE_BEFORE.search(stop.text, 0, token.start) if token.type == "NUMBER" else None
    if token.type == "NUMBER" and (prefix := _P_BEFORE.search(stop.text, 0, token.start)) and token.text.isdecimal():
        written = f"{prefix[1]}{token.text}"
        return f"write the percentile without a point: `{written}`", stop.fix(prefix.start(), token.end, written)
    if percentile is not None and token.text.isdecimal():
        hint = f"any percentile is computed from the histogram: `p{percentile[2]}{token.text}({percentile[1]})`"
        return hint, stop.fix(percentile.start(), token.end, f"p{percentile[2]}{token.text}({percentile[1]})")
    return None


def measures(stop: StopPlace) -> Correction | None:
    """A slip in the list of measures or factors of a `plot` or `table`."""
    token = stop.token
    if not any(symbol in {"PLOT", "TABLE"} for symbol, _ in stop.read):
        return None
    if token.text == "-" and stop.follows("+"):
        return "separate measures by commas: `table mean(METRIC), stddev(METRIC)`; an interval is shown anyway", None
    if stop.last == "COMMA" and token.type in {"RBRACE", "NEWLINE", "$END"}:
        return "remove the comma at the end", stop.fix(stop.end - 1, stop.end, "")
    if comma := _COMMA_BY.search(stop.text, 0, token.start):
        return "remove the comma before `by`", stop.fix(comma.start(), comma.start() + 1, "")
    if stop.expected.startswith("`facet`") and stop.last == "COMMA" and token.type == "NAME" and token.text != "by":
        fix = stop.fix(stop.end - 1, stop.end, " by", is_safe=False)
        return "other factors follow `by`: `plot METRIC over FACTOR by FACTOR`", fix
    return None


def condition_after(stop: StopPlace) -> Correction | None:
    """A condition after an aggregate in an expectation: `expect median(METRIC) where … > …`."""
    line = stop.text[stop.text.rfind("\n", 0, stop.token.start) + 1 : stop.token.start]
    if stop.token.text[:1] in "<>=!+-*/" and _WHERE_AFTER.search(line):
        return "write the condition after the metric: `median(METRIC where …) > …`", None
    return None


def answer(stop: StopPlace) -> Correction | None:
    """Words of other languages in an `expect`, a `table` or a `plot`."""
    token, text = stop.token, stop.text
    line = text[text.rfind("\n", 0, token.start) + 1 : token.start]
    clause = next(reversed(re.findall(r"\b(expect|table|plot|where|find|repeat)\b", line)), "")
    if clause == "expect" and token.text in {"for", "when", "if"} and stop.expected.startswith("`name"):
        return "write the condition after the metric: `median(METRIC where FACTOR == LEVEL)`", None
    if clause == "expect" and token.type == "NAME" and text[: stop.end].endswith(" overall"):
        return "put the condition into brackets: `overall(CONDITION)`", None
    if clause == "expect" and token.text == "by" and stop.expected.startswith("`name"):
        return "remove `by` and what follows: each combination of the factors that it does not name is judged", None
    if clause in {"expect", "where"} and token.text in _COMPARATIVES and stop.expected.startswith("`name"):
        return "compare with a sign, such as `a > b` or `a <= b`", None
    if clause == "expect" and token.text == ":" and stop.last == "STRING":
        return "remove the `:`", stop.fix(token.start, token.end, "")
    if clause in {"table", "plot"} and token.text == "and" and _BY.search(line):
        return "separate factors by commas", stop.fix(stop.end, token.end, ",")
    if clause == "table" and token.text == "group" and (grouped := _GROUP_BY.match(text, token.start)):
        return "write `by` alone", stop.fix(*grouped.span(), "by")
    if clause == "table" and token.text == "*" and stop.last == "TABLE":
        return "name what it shows: `table METRIC, … by FACTOR`", None
    if clause == "plot" and token.text in {"per", "grouped", "split", "for", "colored", "coloured"}:
        return "write `by`: `plot METRIC over FACTOR by FACTOR`", None
    if (
        clause == "plot"
        and token.type == "NAME"
        and token.text not in {"by", "over", "vs"}
        and (form := _FORM_BEFORE.search(line))
    ):
        begin = token.start - len(form[1])
        hint = f"remove `{form[1].strip()}`: the factors decide whether a plot has lines or points"
        return hint, stop.fix(begin, token.start, "", is_safe=False)
    return None


def field_by_level(stop: StopPlace) -> Correction | None:
    """A number of replicates for each level in the syntax of a mapping, or fields that vary together with commas."""
    token, text = stop.token, stop.text
    if token.text in {"{", ":"} and _REPEAT_BEFORE.search(text, 0, token.start):
        return "write a condition: `repeat = if cache == cold then 5 else 3`", None
    if token.type == "COMMA" and _PAIRS_BEFORE.search(text, 0, token.start):
        hint = "write a choice with `|`: `(a, b) = (1, 2) | (3, 4)`"
        return hint, stop.fix(token.start, token.end, " |", is_safe=False)
    if token.type == "NUMBER" and (begun := _DURATION_BEFORE.search(text, 0, token.start)):
        if (parts := _DURATIONS.match(text, begun.start(1))) is None:
            return "write their sum with one unit, such as `90min`", None
        amount = sum(units.parse(part).amount for part in parts[0].split())
        written = units.show(units.Quantity(Fraction(amount), units.DURATION))
        return f"write their sum with one unit: `{written}`", stop.fix(*parts.span(), written, is_safe=False)
    if article := _ARTICLE_BEFORE.search(text, 0, token.start):
        return f"write `{article[1]} {token.text}`", stop.fix(article.start(2), token.start, "", is_safe=False)
    return None


def block(stop: StopPlace) -> Correction | None:
    """A block of properties within an experiment."""
    is_in_experiment = stop.expected.startswith("`name") and any(symbol == "EXPERIMENT" for symbol, _ in stop.read)
    first = _FIRST_OF_BLOCK.match(stop.text, stop.token.end) if is_in_experiment else None
    if first is None or stop.token.type != "NAME" or stop.token.text in CLAUSES or first[1] in _FIELDS:
        return None
    return f"write a choice where its value belongs: `{first[1]} = … | …` in the thing that has `{first[1]}`", None


def property_after(stop: StopPlace) -> Correction | None:
    """A property of a thing without braces: `during = hog at 30s`."""
    token, text = stop.token, stop.text
    before = _THING_BEFORE.search(text, 0, token.start)
    value = _WORD_AFTER.match(text, token.end)
    if token.text not in {"at", "for", "every", "after"} or before is None or value is None:
        return None
    name = "at" if token.text == "after" else token.text
    written = f"{before[1]} {{ {name} = {value[1]} }}"
    return f"write properties in braces: `{written}`", stop.fix(before.start(1), value.end(), written, is_safe=False)


def copy_of_experiment(stop: StopPlace) -> Correction | None:
    """A copy of an experiment without braces, with another sign, or with a change of what it measures."""
    token, text = stop.token, stop.text
    line = text[text.rfind("\n", 0, token.start) + 1 : token.start]
    if _COPY_BEFORE.search(line) and (stop.expected == "`{`" or token.text in {"|", "+", "&"}):
        return "write `experiment NAME = BASE with { … }`", None
    if token.text == "on" and (changed := _PART_OF_FIELD.match(text, token.start)):
        return f"declare what it is on, `let NAME = TARGET with {{ {changed[1]} = … }}`, and write `on = NAME`", None
    return None


def search(stop: StopPlace) -> Correction | None:
    """A `find` with a missing part, or with another word for its goal."""
    if stop.token.text in _GOALS and any(symbol == "FIND" for symbol, _ in stop.read):
        written = _GOALS[stop.token.text]
        return f"write `{written} METRIC`", stop.fix(stop.token.start, stop.token.end, written)
    within = [symbol for symbol, _ in stop.read]
    within = within[max((i for i, symbol in enumerate(within) if symbol == "items"), default=0) :]
    if "FIND" not in within:
        return None
    if "WHERE" in within and stop.expected == "a name":
        return "add the goal at the end: `maximising METRIC`, or `minimising …`", None
    if "IN" not in within and stop.token.text == "where":
        return "write its levels: `find NAME in 1..64 where median(METRIC) < VALUE maximising METRIC`", None
    if "WHERE" not in within and "IN" in within:
        return "add the condition after the levels: `where median(METRIC) < VALUE maximising METRIC`", None
    if "IN" not in within:
        return "write `find NAME in 1..64 where median(METRIC) < VALUE maximising METRIC`", None
    return None


def clause_word(stop: StopPlace) -> Correction | None:
    """A word in an experiment that is neither a clause nor a field, or a field without its sign."""
    token, text = stop.token, stop.text
    if not stop.expected.startswith("`name") or not any(symbol == "EXPERIMENT" for symbol, _ in stop.read):
        return None
    if token.text in {*_FIELDS, "on"} and _VALUE.match(text, token.end):
        return f"write a field as `{token.text} = …`", stop.fix(token.end, token.end, " =")
    if token.text in {*_FIELDS, "on"} and text.startswith(":", token.end):
        return f"write a field as `{token.text} = …`", stop.fix(token.end, token.end + 1, " =")
    if token.text in {"facet", "log"} and _PLOT.search(text, 0, token.start):
        return f"put a comma before `{token.text}`", stop.fix(stop.end, stop.end, ",")
    if token.type == "NAME" and text[: stop.end].endswith(" distinct"):
        return "a table has each level once: remove `distinct`", None
    if token.text == "as" and _MEASURES.search(text, 0, token.start):
        return "a column has the name of its measure: remove `as …`", None
    if token.type == "NAME" and _MEASURES.search(text, 0, token.start):
        return "separate measures by commas, and put `by` or `over` before factors", None
    if token.type == "NAME" and _VALUE.match(text, token.end) and (near := nearest(token.text, _FIELDS)):
        return f"write a field as `{near[0]} = …`", stop.fix(token.start, token.end, f"{near[0]} =", is_safe=False)
    if token.type == "NAME" and (near := nearest(token.text, CLAUSES)):
        return f"did you mean `{near[0]}`?", stop.fix(token.start, token.end, near[0])
    if token.text == "if":
        with_value = "choose a value instead: `NAME = if CONDITION then A else B`"
        is_block = any(sign in text[token.end : text.find("\n", token.end)] for sign in ":{")
        fix = stop.fix(token.start, token.end, "where")
        return (with_value, None) if is_block else ("use `where` to choose points", fix)
    return None


def clause_part(stop: StopPlace) -> Correction | None:
    """A `repeat … until` without a number, or a `plot` with a format for its pictures."""
    token, text = stop.token, stop.text
    if not stop.expected.startswith("`name") or token.type not in {"NAME", "AS"}:
        return None
    if token.text == "to" and (low := _OFTEN_BEFORE.search(text, 0, token.start)):
        return f"write a range as `{low[1]}..20`", stop.fix(stop.end, token.end + 1, "..", is_safe=False)
    if token.text == "while" and (often := _OFTEN_BEFORE.search(text, 0, token.start)):
        return f"write when it stops: `repeat = {often[1]} until ci(METRIC) < 5%`", None
    if until := _UNTIL.search(text, 0, token.start) or _UNTIL_AT_ONCE.match(text, token.start):
        hint = "give the least and the most replicates: `repeat = 3..20 until ci(METRIC) < 5%`"
        return hint, stop.fix(*until.span(), "repeat = 3..20 until ", is_safe=False)
    if token.text == "as" and _PLOT.search(text, 0, token.start):
        form = _FORM.match(text, token.end)
        fix = stop.fix(stop.end, form.end() if form else token.end, "", is_safe=False)
        return "remove it: the factors decide whether a plot has lines or points", fix
    return None


def foreign_word(stop: StopPlace) -> Correction | None:
    """A keyword of another language at the beginning of a clause or a field."""
    token, text = stop.token, stop.text
    symbols = [symbol for symbol, _ in stop.read]
    if not stop.expected.startswith("`name") or "LBRACE" not in symbols:
        return None
    words = EXPERIMENT_WORDS if "EXPERIMENT" in symbols else FIELD_WORDS
    if token.text.lower() in words:  # SQL is often written in capitals
        return words[token.text.lower()], None
    line = text[text.rfind("\n", 0, token.start) + 1 : token.start].split()
    is_two_words = "EXPERIMENT" not in symbols and line[-2:-1] == ["="] and line[-1].isidentifier()
    is_two_words = is_two_words and text[stop.end : token.start] == " "
    if is_two_words and token.type == "NAME" and _ALONE.match(text, token.end):
        return f"a value is one word, such as `{line[-1]}_{token.text}`, or a choice `{line[-1]} | {token.text}`", None
    within = "EXPERIMENT" in symbols and line[-2:-1] == ["="] and token.text not in {*_FIELDS, *CLAUSES}
    if within and token.type == "NAME" and _ALONE.match(text, token.end):
        fix = stop.fix(stop.end, token.start, " | ", is_safe=False)
        return f"write a choice with `|`: `{line[-1]} | {token.text}`", fix
    return None


def bare_word(stop: StopPlace) -> Correction | None:
    """A single word in an experiment, or words without a sign between them."""
    token, text = stop.token, stop.text
    is_in_experiment = stop.expected.startswith("`name") and any(symbol == "EXPERIMENT" for symbol, _ in stop.read)
    if not is_in_experiment or token.type != "NAME":
        return None
    if own := _PROPERTY.match(text, token.end):
        path = f"{token.text}.{own[1]}"
        with_value = f"`{token.text} with {{ {own[1]} = … }}`"
        return f"to choose points, write `where {path} == …`; to change it, run {with_value}", None
    if pair := _TWO_WORDS.match(text, token.end):
        return f"write a choice where the value belongs: `{pair[1]} = … | …` in the thing that has `{pair[1]}`", None
    if _ALONE.match(text, token.end):
        return f"write which field it is: `on = {token.text}`, or `run = {token.text}`", None
    return None


def word(stop: StopPlace) -> Correction | None:
    """A word of another language or a misspelling in place of a clause, a name or a parent."""
    token, expected = stop.token, stop.expected
    if token.text in _LOOPS and expected.startswith("`name") and token.type == "NAME":
        return (
            "there are no loops: `NAME = 4KiB | 8KiB` measures both, combined with the levels of all other factors",
            None,
        )
    if token.text in {"elif", "elsif", "elseif"} and expected == "`else`":
        return "write `else if`", stop.fix(token.start, token.end, "else if")
    if expected == "a declaration" and token.text == "-" and _KEY.match(stop.text, token.end):
        return "there are no lists of declarations: write each as `KIND NAME { PROPERTY = VALUE }`", None
    if expected == "a declaration" and token.text in {"/", "-", "*"}:
        return "begin a comment with `#`", None
    if token.type == "STRING" and stop.last == "EXPERIMENT":
        return 'the name comes first: `experiment NAME "title" { … }`', None
    if token.text == "on" and expected == "the end of the line":
        return "`on` comes before the braces: `KIND NAME on PARENT { … }`", None
    if token.text == "on" and expected == "`{`":
        return "write it inside the braces: `{ on = … }`", None
    if (token.type == "STRING" or token.text in {"/", "."}) and stop.last == "ON":
        return "declare it, `dir here { path = … }`, and write `on here`", None
    return None


_REPEAT_BEFORE = re.compile(r"\brepeat[ \t]*=[ \t]*\w*[ \t]*\Z")
_PAIRS_BEFORE = re.compile(r"\([\w, \t]+\)[ \t]*=[ \t]*\([^()\n]*\)[ \t]*\Z")
_DURATION_BEFORE = re.compile(r"=[ \t]*(\d+(?:ns|us|ms|s|min|m|h|d))[ \t]+\Z")
_DURATIONS = re.compile(r"\d+(?:ns|us|ms|s|min|m|h|d)(?:[ \t]+\d+(?:ns|us|ms|s|min|m|h|d))+\b")
_COMMA_BY = re.compile(r",[ \t]*by[ \t]+\Z")
_FIRST_OF_BLOCK = re.compile(r"[ \t]*\{\s*([a-z]\w*)[ \t]*=(?!=)")
_ARTICLE_BEFORE = re.compile(r"\b(is(?:[ \t]+not)?)[ \t]+(an?[ \t]+)\Z")
_COPY_BEFORE = re.compile(r'\bexperiment[ \t]+\w+[ \t]*=[ \t]*\w+(?:[ \t]+with[ \t]+"[^"\n]*")?[ \t]*\Z')
_PART_OF_FIELD = re.compile(r"on\.(\w+)[ \t]*=(?!=)")
_COMPARATIVES = {
    *("faster", "slower", "higher", "lower", "greater", "less", "more", "larger", "smaller", "better", "worse"),
    *("exceeds", "above", "below", "over", "under", "equals", "at", "within"),
}
_GOALS = {
    **dict.fromkeys(("maximize", "maximise", "maximizing", "max", "maximum"), "maximising"),
    **dict.fromkeys(("minimize", "minimise", "minimizing", "min", "minimum"), "minimising"),
}
_BY = re.compile(r"\bby\b")
_GROUP_BY = re.compile(r"group[ \t]+by\b")
_FORM_BEFORE = re.compile(r"\bplot[ \t]+((?:[a-z]+[ \t]+)+)\Z")
_THING_BEFORE = re.compile(
    r"\b(?:during|before|with|collect|cache)[ \t]*=[ \t]*(?:[^\n{}=]*[|\[,][ \t]*)?([a-z]\w*)[ \t]+\Z"
)
_WORD_AFTER = re.compile(r"[ \t]+([\w.%/]+)")
_OFTEN_BEFORE = re.compile(r"\brepeat[ \t]*=[ \t]*(\d[\w.]*)[ \t]+\Z")
_TWO_WORDS = re.compile(r"[ \t]+([A-Za-z_]\w*)[ \t]+(?:over|in|from|across|with|to|as|between)\b")
_PROPERTY = re.compile(r"\.([A-Za-z_]\w*)[ \t]*=(?!=)")
_ALONE = re.compile(r"[ \t]*(?:[\n}#]|\Z|[A-Za-z_][\w-]*[ \t]*=)")
_FORM = re.compile(r"[ \t]+[A-Za-z_]\w*")
_UNTIL = re.compile(r"\brepeat[ \t]*=?[ \t]*until[ \t]*=?[ \t]*\Z")
_UNTIL_AT_ONCE = re.compile(r"repeat[ \t]+until[ \t]+")
_FIELDS = {"with", "before", "run", "during", "cache", "repeat", "design", "layout", "collect", "budget"}
_KEY = re.compile(r"[ \t]+[\w-]+:")
_VALUE = re.compile(r"[ \t]+[\w\[]")
_MEASURES = re.compile(r"\btable[ \t]+[^\n\"]*[\w)][ \t]+\Z")
_PLOT = re.compile(r"\bplot[ \t]+[^\n]+\Z")
_LOOPS = {"for", "foreach", "while", "loop", "repeat"}
_P_BEFORE = re.compile(r"(?<![\w.])(p\d\d)\.\Z")
_PERCENTILE_BEFORE = re.compile(r"(\w+)_p(\d\d)\.\Z")
_WHERE_AFTER = re.compile(r"\bexpect\b[^\n]*\)\s+where\b")
