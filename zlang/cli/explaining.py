"""`zlang explain`: the meaning of a finding, with a program that has it and the corrected program.

In: `zlang/explanations/CODE.md`, a page for each code: a title, prose, the wrong program, the command that finds it
(by default `zlang check`), the corrected program. A finding about results has data instead of programs. Out: the page
with the message as it is printed. The message is not stored: the wrong program is checked whenever a page is shown, so
that no page can be stale.

A pitfall that zlang excludes has a page in the same format, in which `by` is the code of the error in its wrong
program; or one without a wrong program, with lines that occur, in this order, in the plan of the right program or in
the output of a command about results.
"""

from __future__ import annotations

import re
import shlex
import sys
import textwrap
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from zlang import documentation
from zlang.check import library
from zlang.check.program import ReaderDef
from zlang.check.traits import TRAITS
from zlang.cli import checking, render, teaching
from zlang.diagnostics import Code, Diagnostic, Lint, ProgramError
from zlang.errors import RunError
from zlang.lint.rules import EXCLUDED, RULES
from zlang.lint.rules.excluded import Excluded
from zlang.metrics import ELAPSED, Metric, in_trials, statistics_of
from zlang.pipeline import describing, plans, programs
from zlang.record import Record
from zlang.report import findings as findings_after
from zlang.report.findings import examples
from zlang.source import Source
from zlang.suggest import did_you_mean, did_you_mean_part

PAGES = Path(__file__).parents[1] / "explanations"
PROGRAM = "program.zexp"
_OF_ALLOWANCES = {Code.UNKNOWN_RULE, Code.NO_REASON, Code.UNUSED_ALLOWANCE}
_LOOK_LIKE_DIGITS = str.maketrans("OIL", "011")
_PAGE = re.compile(
    r"# (?P<title>[^\n]+)\n\n(?P<prose>.+?)\n\n"
    r"(?:```zexp wrong(?: also=(?P<also>\w+))?(?: by=(?P<by>\w+))?(?: times=(?P<times>\d+))?\n(?P<wrong>.+?\n)```\n\n)?"
    r"(?:```sh\n(?P<command>.+)\n```\n\n)?"
    r"```zexp\n(?P<right>.+?\n)```\n"
    r"(?:\n```csv\n(?P<data>.+?\n)```\n)?"
    r"(?:\n```text\n(?P<planned>.+?\n)```\n)?",
    re.DOTALL,
)

_PAGE_OF_DATA = re.compile(
    r"# (?P<title>[^\n]+)\n\n(?P<prose>.+?)\n\n```csv found\n(?P<found>.+?\n)```\n\n```csv\n(?P<clean>.+?\n)```\n",
    re.DOTALL,
)


Explained = Code | Lint | Excluded


class Page(Record):
    """The explanation of a code.

    `wrong` is a program with the finding `by`, and `also` is an earlier finding in it. Its last line occurs `times`
    times. If `right` has a plan, `planned` has lines of it. If there are `data`, they are imported as its results, and
    `planned` has lines of what the command then prints.
    """

    code: Explained
    title: str
    prose: str
    wrong: str
    command: str
    right: str
    by: str
    times: int = 1
    also: str = ""
    planned: str = ""
    data: str = ""


class PageOfData(Record):
    """The explanation of a rule about results: data with the finding, and data without."""

    code: Lint
    title: str
    prose: str
    observed: str
    clean: str


def explain(word: str | None) -> int:
    """Print the page of a code, what a metric, a kind or a property of the library is, or what codes there are."""
    if word is not None and library.load().module_of(word.strip().partition(".")[0]):
        return teaching.kinds(word.strip(), as_json=False)
    metric = _metrics().get(word.strip().rpartition(".")[2]) if word is not None else None  # also a metric of a stream
    if metric is not None:
        print("\n".join(_shown_metric(*metric)))
        return 0
    titles = {code.id: page(code).title for code in every()} | {
        lint.id: page_of_data(lint).title for lint in after_a_run()
    }
    if word is None:
        width = max(map(len, titles))
        for id_, title in sorted(titles.items()):
            print(f"{id_:{width}}  {title}")
        print("\nzlang explain CODE shows a wrong program, its message, and the corrected program")
        return 0
    named = {item.name: item.id for item in (*every(), *after_a_run()) if not isinstance(item, Code)}
    wanted = named.get(word.strip(), word.strip().upper())
    if wanted not in titles:
        column = _shown_column(word)
        if column:
            print("\n".join(filter(None, (column, describing.where(word)))))
            return 0
        names = [*named, *_metrics(), *library.load().names()]
        hint = describing.where(word) or _hint_for(wanted, titles) or did_you_mean_part(word, names)
        raise RunError(
            f"`{word}` is not a code, a rule, a metric, a kind or a column", hint or "`zlang explain` lists the codes"
        )
    colour = render.is_coloured(sys.stdout)
    of_results = next((lint for lint in after_a_run() if lint.id == wanted), None)
    if of_results is not None:
        print("\n".join(_shown_data(page_of_data(of_results), colour=colour)))
    else:
        print("\n".join(_rendered_page(page(next(code for code in every() if code.id == wanted)), colour=colour)))
    print(f"\npage of the documentation: {documentation.address(address(wanted))}")
    return 0


def _shown_column(word: str) -> str:
    """Describe a column that every trial has, or that of a factor with the same name; empty for any other word."""
    from zlang.store.columns import TRIAL_COLUMNS

    meanings = {column: meaning for column, *_, meaning in TRIAL_COLUMNS}
    if word in meanings:
        return f"{word}: a column of `trials`: {meanings[word]}"
    factor = next((column for column in meanings.keys() - {ELAPSED.name} if word.endswith(f"_{column}")), "")
    owner = word.removesuffix(f"_{factor}")
    other = f"the column `{factor}` is another one ({meanings[factor]})" if factor else ""
    return f"{word}: a column of `trials` for the factor `{factor}` of `{owner}`; {other}" if factor and owner else ""


def address(code: str) -> str:
    """The address of the page of a code, relative to the documentation."""
    if code in {lint.id for lint in after_a_run()}:
        return f"findings/{code}.html"
    return documentation.page_of_finding(code)


def _metrics() -> dict[str, tuple[Metric, str]]:
    """The metrics and distributions of the library by name, each with its source."""
    loaded = library.load()
    kinds = {kind: list(_readers_of(kind)) for kind in sorted(loaded.names())}
    own = [(f"the kind `{kind}`", reader.metrics) for kind, readers in kinds.items() for reader in readers]
    of_readers = [
        (_source(name, [kind for kind, readers in kinds.items() if name in {item.reader for item in readers}]), metrics)
        for name, metrics in loaded.readers.items()
    ]
    return {
        metric.name: (metric, source)
        for source, metrics in (*own, *of_readers)
        for metric in (*metrics, *in_trials(metrics))
    }


def _shown_metric(metric: Metric, source: str) -> Iterator[str]:
    yield f"{metric.name}: {metric.type}"
    yield textwrap.fill(metric.doc, 100) + "\n"
    if metric.unit:
        yield f"unit in the database: {metric.unit}"
    if metric.better:
        yield f"better: {metric.better}"
    if metric.combined_by and not metric.distribution:
        yield f"several streams or machines: the {metric.combined_by} of their values"
    if metric.needs:
        yield f"needs: a workload with the trait `{metric.needs}` ({TRAITS[metric.needs].doc})"
    if metric.is_distribution:
        text = ", ".join(f"`{item.name}`" for item in statistics_of(metric).values())
        yield f"each trial has {text}; for several trials together write, for example, `p99({metric.name})`"
    yield f"source: {source}"


def _source(reader: str, kinds: Sequence[str]) -> str:
    return f"the reader `{reader}`" + (
        f", which these kinds use: {', '.join(map('`{}`'.format, kinds))}" if kinds else ""
    )


def _readers_of(kind: str) -> Iterator[ReaderDef]:
    for action in library.load().kind(kind).actions.values():
        yield from action.readers


def _hint_for(wanted: str, names: Collection[str]) -> str:
    digits = wanted[:1] + wanted[1:].translate(_LOOK_LIKE_DIGITS)
    meant = [digits] if digits in names else names
    return did_you_mean(digits, meant)


def after_a_run() -> list[Lint]:
    """All rules about results, by id."""
    return [rule.lint for rule in findings_after.RULES]


def page_of_data(lint: Lint) -> PageOfData:
    """The page of a rule about results."""
    find = next(rule.find for rule in findings_after.RULES if rule.lint == lint)
    match = _PAGE_OF_DATA.fullmatch(_docstring(find))
    assert match, (
        f"BUG: the docstring of {lint.name} is not a title, prose, and data after ```csv found and ```csv, "
        "with an empty line between them"
    )
    return PageOfData(lint, match["title"], match["prose"], match["found"], match["clean"])


def message_of_data(page: PageOfData, *, colour: bool) -> str:
    """The part of the output for data with the finding that is about this rule."""
    instance = findings_after.find(examples.results(page.observed))
    return "\n".join(
        render.heading(finding.lint, finding.message, colour=colour)
        for finding in instance
        if finding.lint == page.code
    )


def every() -> list[Explained]:
    """All findings and excluded pitfalls, by id."""
    return sorted([*Code, *(rule.lint for rule in RULES), *EXCLUDED], key=lambda code: code.id)


def _text(code: Explained) -> str:
    """The source text of a code's page; a rule has it in its docstring."""
    if not isinstance(code, Lint):
        return (PAGES / f"{code.id}.md").read_text("utf-8")
    return _docstring(next(rule.find for rule in RULES if rule.lint.id == code.id))


def _docstring(find: object) -> str:
    title, _, remaining = (find.__doc__ or "").partition("\n")
    return f"# {title.rstrip('.')}\n{textwrap.dedent(remaining).rstrip()}\n"


def page(code: Explained) -> Page:
    """The page of a code."""
    text = _text(code)
    match = _PAGE.fullmatch(text)
    assert match, f"BUG: {code.id}.md is not a page"
    return Page(
        code=code,
        title=match["title"],
        prose=match["prose"],
        wrong=match["wrong"] or "",
        command=match["command"] or (f"zlang plan {PROGRAM} --steps" if match["planned"] else f"zlang check {PROGRAM}"),
        right=match["right"],
        by=match["by"] or code.id,
        times=int(match["times"] or 1),
        also=match["also"] or "",
        planned=match["planned"] or "",
        data=match["data"] or "",
    )


def wrong_program(page: Page) -> str:
    """The wrong program, with its last line repeated as often as the page says."""
    *before, last = page.wrong.splitlines(keepends=True)
    return "".join([*before, last * page.times])


def repeated(page: Page) -> str:
    """A comment that says how often the last line is repeated; empty if it is not."""
    return f"# … and so on, {page.times:,} times\n" if page.times > 1 else ""


def findings(page: Page, text: str) -> list[Diagnostic]:
    """The findings that the page's command gives for a program."""
    verb, *options = shlex.split(page.command)[1:]
    given = dict(zip(options[1::2], options[2::2], strict=False))  # `--steps` has no value
    overrides = checking.overrides([given["--set"]] if "--set" in given else [], given.get("--profile"))
    checked = programs.check(Source(PROGRAM, text), overrides)
    result, _ = plans.all_findings(checked)
    if not isinstance(page.code, Code) or page.code in _OF_ALLOWANCES:
        result += programs.lint(checked)
    if result or verb != "plan":
        return result
    try:
        planned = plans.plan(checked, programs.choose(checked, None), plans.DEFAULT_SEED, overrides)
        if "--emit" in given:
            for _ in plans.job_files(planned):
                pass
        if "--steps" in options:
            for _ in planned.plan.items():
                pass
    except ProgramError as error:
        return [error.diagnostic]
    return []


def message(page: Page, *, colour: bool) -> str:
    """The part of the output for the wrong program that is about this code; without one, the needs of the plan."""
    if page.planned:
        return page.planned
    result = findings(page, wrong_program(page))
    return "\n".join(render.diagnostic(finding, colour=colour) for finding in result if finding.code.id == page.by)


def _rendered_page(page: Page, *, colour: bool) -> Iterator[str]:
    yield f"{page.code.id}: {page.title}\n"
    yield textwrap.fill(" ".join(page.prose.split()), 100) + "\n"
    if page.planned:
        yield textwrap.indent(page.right, "    ")
        if page.data:
            yield "with these results:\n"
            yield textwrap.indent(page.data, "    ")
        yield f"{page.command} has:\n"
        yield textwrap.indent(page.planned, "    ").rstrip("\n")
        return
    yield "wrong:\n"
    yield textwrap.indent(page.wrong + repeated(page), "    ")
    yield f"{page.command} says:\n"
    yield textwrap.indent(message(page, colour=colour), "    ")
    yield "corrected:\n"
    yield textwrap.indent(page.right, "    ").rstrip("\n")


def _shown_data(page: PageOfData, *, colour: bool) -> Iterator[str]:
    yield f"{page.code.id} {page.code.name}: {page.title}\n"
    yield textwrap.fill(" ".join(page.prose.split()), 100) + "\n"
    yield "found in these data (each line is a point, with the values of its trials in order):\n"
    yield textwrap.indent(page.observed, "    ")
    yield "`zlang findings` says:\n"
    yield textwrap.indent(message_of_data(page, colour=colour), "    ") + "\n"
    yield "no finding in these data:\n"
    yield textwrap.indent(page.clean, "    ").rstrip("\n")
