"""The answer of the results to the question of an experiment, in sentences.

In: the trials of a run in a database. Out: verdicts, comparisons and sources of variance, each computed once, and
sentences about them. Rule: a sentence has the interval and n of its figure.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from zlang.errors import RunError
from zlang.report import clauses, compare, design, drawing, effects, interactions, judging, ratios, stopping, summary
from zlang.report.formulas import Trials
from zlang.report.summary import TableColumn
from zlang.text import visible

_WIDEST = 10_000
"""The largest ratio of the ends of an interval that is worth a sentence."""
MOST_ANSWERS = 3
"""The number of factors that the answer names, and of levels of each."""


@dataclass(frozen=True, slots=True)
class Answered:
    """The parts of the answer, each computed once; `why` is the reason if there are no comparisons.

    `named_factors` are the columns of the factors that the clauses of the experiment name.
    """

    judged: Sequence[judging.Judged]
    read: design.Design
    compared: Sequence[compare.Comparison] = ()
    sources: Sequence[effects.Effect] = ()
    why: str = ""
    sentences: Sequence[str] = ()
    named_factors: Sequence[str] = ()

    @property
    def usual_plot(self) -> str:
        """The default plot of an experiment without one: the metric over the factors of its questions.

        After these come the factors with the largest effect.
        """
        sizes = {item.name: len(levels) for item, levels in zip(self.read.factors, self.read.levels, strict=True)}
        names = [*self.named_factors, *(item.name for item in self.sources)]
        names = [name for name in dict.fromkeys(names) if sizes.get(name, 0) > 1]
        if not names:
            return ""
        lines = [name for name in names if sizes[name] <= len(drawing.COLOURS)][:2]
        over = max(lines or names[:1], key=lambda name: sizes[name])
        by = [name for name in lines if name != over]
        return f"{self.read.metric} over {over}" + "".join(f" by {name}" for name in by)

    @property
    def strongest_factor(self) -> str | None:
        """The factor with the largest share of the variance among those with few enough levels for a plot's colours."""
        names = [
            factor.name
            for factor, levels in zip(self.read.factors, self.read.levels, strict=True)
            if len(levels) <= len(drawing.COLOURS)
        ]
        return next((item.name for item in self.sources if item.name in names), next(iter(names), None))


def answer_of(trials: Trials) -> Answered:
    """Compute everything that the answer needs from the results of an experiment."""
    judged, read = judging.judge(trials), design.read(trials)
    named_factors = clauses.named_factors(trials)
    sentences = [sentence.strip() for sentence in stopping.sentences(trials)]
    try:
        compared, sources = compare.factors(read, None, ()), effects.effects(read)
    except RunError as error:
        return Answered(judged=judged, read=read, why=error.message, sentences=sentences, named_factors=named_factors)
    return Answered(
        judged=judged, read=read, compared=compared, sources=sources, sentences=sentences, named_factors=named_factors
    )


def in_sentences(answered: Answered) -> Iterator[str]:
    """A sentence for the outcome of each expectation and search, and for the largest differences of each factor."""
    yield from map(outcome, answered.judged)
    yield from map(sentence, _of_searches(answered.sentences[:MOST_ANSWERS]))
    yield from _differences(answered)


def sentence(text: str) -> str:
    """Return the text with a capital letter and a full stop; a level such as `way=3` at its beginning is kept."""
    first, *_ = text.split(maxsplit=1)
    return f"{text}." if "=" in first else f"{text[:1].upper()}{text[1:]}."


def outcome(judged: judging.Judged) -> str:
    """Return the verdict, the number of combinations in which it holds, and the margin in the first of these.

    The table of expectations lists the omitted combinations.
    """
    title = visible(judged.expectation.title)
    alike = [item for item in judged.findings if item.verdict == judged.verdict]
    if not alike:
        return f"{title}: {judged.verdict}, {judging.omission(judged) or 'because neither side has a trial'}."
    count = len(judged.findings)
    where = f" in {len(alike):,} of {count:,} combinations" if count > 1 else ""
    item = alike[0]
    at = judging.levels_in_words(judged, item)
    margin = item.margin or item.why
    n = min((side.n for side in item.sides), default=0)
    # The interval, or its absence, does not always show why a verdict is inconclusive.
    why = [item.why] if item.why and item.why not in margin else []
    figures = f"{margin} (n = {n})" if n else margin
    if item.margin.endswith(")"):
        figures = f"{margin[:-1]}, n = {n})"
    figures = figures if margin else judging.sides_in_words(item)
    shown = ": ".join(part for part in (at, figures, *why) if part)
    return f"{title}: {judged.verdict}{where}{'; for example ' if len(alike) > 1 else ', '}{shown}."


def _of_searches(texts: Sequence[str]) -> Iterator[str]:
    """Join the text of each `find` to the first sentence of its answer."""
    search = ""
    for text in texts:
        if text.startswith("find "):
            search = f"`{text}`: "
        else:
            yield search + text
            search = ""


def _differences(answered: Answered) -> Iterator[str]:
    metric = answered.read.metric
    if answered.why:
        whole = summary.estimate([math.exp(row.log) for row in answered.read.rows])
        if whole.value is not None and not answered.read.factors:
            shown = summary.shown(whole, TableColumn(metric, "estimate", answered.read.unit))
            yield f"`{metric}` is {shown} ({_statistic(whole)}n = {whole.n:,})."
        return
    significant: dict[str, list[tuple[compare.Comparison, ratios.Ratio]]] = {}
    for item in answered.compared:
        if item.ratio is not None and item.is_significant:
            significant.setdefault(item.factor, []).append((item, item.ratio))
    for pairs in significant.values():
        pairs.sort(key=_distance, reverse=True)
    largest_first = sorted(significant.items(), key=lambda item: _distance(item[1][0]), reverse=True)
    places = {name: place for place, name in enumerate(answered.named_factors)}
    named_first = sorted(largest_first, key=lambda item: places.get(item[0], len(places)))
    for _, pairs in named_first[:MOST_ANSWERS]:
        yield _sentence_of_factor(metric, pairs[:MOST_ANSWERS])
    dependences = interactions.dependences(answered.read, answered.sources, answered.compared)
    for dependence in itertools.islice(dependences, MOST_ANSWERS):
        yield _sentence_of_dependence(metric, dependence)
    open_ = [item for item in answered.compared if not item.is_significant and item.factor not in significant]
    for verdict, names in _by_verdict(open_).items():
        listed = " and ".join(
            f"`{name}`{_interval_of_pair([item for item in open_ if item.factor == name])}" for name in names
        )
        is_open = verdict.startswith("inconclusive")
        yield (
            f"`{metric}` is inconclusive for {listed}: {verdict.partition(': ')[2] or 'see the comparisons'}."
            if is_open
            else f"`{metric}` by {listed}: {verdict}."
        )


def _distance(pair: tuple[compare.Comparison, ratios.Ratio]) -> float:
    """The distance of a ratio from 1, on a logarithmic scale."""
    return abs(pair[1].log)


def _sentence_of_factor(metric: str, pairs: Sequence[tuple[compare.Comparison, ratios.Ratio]]) -> str:
    """Describe how the levels of a factor differ from its first level."""
    ((against, _), *_) = pairs
    parts = [
        f"{compare.distance(ratio)} with {item.second} ({_interval(ratio, item.comparisons)})" for item, ratio in pairs
    ]
    return f"Compared with `{against.factor}` = {against.first}, `{metric}` is {'; '.join(parts)}."


def _sentence_of_dependence(metric: str, item: interactions.Dependence) -> str:
    """Name the two levels of another factor between which the effect of a factor differs most."""
    parts = [
        f"{compare.distance(ratio)} if `{item.other}` = {level} ({_interval(ratio, item.comparisons)})"
        for level, ratio in (item.least, item.greatest)
    ]
    depends = f"The effect of `{item.factor}` depends on `{item.other}`"
    return f"{depends}: with {item.second}, `{metric}` is {', and '.join(parts)}."


def _interval(ratio: ratios.Ratio, comparisons: int) -> str:
    low, high = ratio.interval(comparisons) or (math.nan, math.nan)
    return f"a ratio of {low:.3g} to {high:.3g} with 95 % confidence, n = {ratio.n:,}"


def _interval_of_pair(compared: Sequence[compare.Comparison]) -> str:
    """The interval of the ratio that is farthest from 1, in parentheses; empty if the interval is very wide."""
    item = max(compared, key=lambda item: abs(item.ratio.log) if item.ratio else -1.0)
    ends = item.ratio.interval(item.comparisons) if item.ratio else None
    if ends is None or not 0 < ends[1] < _WIDEST * ends[0]:
        return ""
    pair = f"{item.second} against {item.first}" + (", the largest difference" if len(compared) > 1 else "")
    return f" ({pair}: a ratio of {ends[0]:.3g} to {ends[1]:.3g} with 95 % confidence)"


def _by_verdict(compared: Sequence[compare.Comparison]) -> dict[str, list[str]]:
    """Group the factors without a significant difference by the sentence about them."""
    result: dict[str, list[str]] = {}
    for name in dict.fromkeys(item.factor for item in compared):
        verdicts = {item.verdict for item in compared if item.factor == name}
        alike = (
            "inconclusive" if any(item.startswith("inconclusive") for item in verdicts) else "no significant difference"
        )
        result.setdefault(verdicts.pop() if len(verdicts) == 1 else alike, []).append(name)
    return result


def _statistic(result: summary.Estimate) -> str:
    return f"{result.statistic} with its 95 % interval, " if result.low is not None else ""
