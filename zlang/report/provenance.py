"""The origin of the results in a report: program, machines, commands, and how to carry out the plan again.

In: the trials in a database, and the plan of their run, if its folder exists. Out: blocks of the report.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from zlang import __version__
from zlang.check.values import quote as quote_word
from zlang.plan.order import Order
from zlang.plan.plan import Plan, Trial
from zlang.report import blocks, document
from zlang.report.document import Block, Cell, Link, Listing, Paragraph
from zlang.report.formulas import Trials
from zlang.text import visible

_LONG = 200
"""A longer fact is a listing."""


@dataclass(frozen=True, slots=True)
class RecordedRun:
    """The plan of a run, and the path from the report to the run folders.

    `packed` has the attempts, as `RUN/DIRECTORY`, whose files are in the file of small outputs.
    """

    run: str
    plan: Plan
    folders: str
    packed: frozenset[str] = frozenset()


def opening_comment(recorded: RecordedRun | None) -> Iterator[Block]:
    """The comment at the head of the program."""
    for text in list(recorded.plan.header.sources.values())[:1] if recorded else ():
        yield from map(Paragraph, _head(text))


def program(trials: Trials, recorded: RecordedRun | None) -> Iterator[Block]:
    """The text of the program and of the files that it imports."""
    if trials.title:
        yield from opening_comment(recorded)
    if recorded is None:
        yield Paragraph("The run folder is missing, so this report has neither the program nor the plan.")
        return
    for name, text in recorded.plan.header.sources.items():
        yield Listing(name, visible(text, keep="\n\t"))


def _head(text: str) -> list[str]:
    """The paragraphs of the comment at the head of a program, without allowances."""
    lines = itertools.takewhile(lambda line: line.startswith("#"), text.splitlines())
    shown = [line.lstrip("#").strip() for line in lines]
    kept = "\n".join(line for line in shown if not line.startswith("allow "))
    return [visible(" ".join(item.split())) for item in kept.split("\n\n") if item.strip()]


def method(trials: Trials, recorded: RecordedRun | None) -> Iterator[Block]:
    """The order of the trials, the machines, the time by purpose, and the commands of a trial."""
    if recorded:
        header = recorded.plan.header
        hosts = f" on {', '.join(header.hosts)}" if any(header.hosts) else ""
        yield Paragraph(
            f"{header.counts}{hosts}, order `{header.order}` with seed {header.seed}. Plan `{header.plan}`."
        )
    facts = blocks.query_runs(trials, "run, name, trim(value, chr(10)) FROM facts WHERE", "ORDER BY ALL")
    names = {*recorded.plan.header.hosts, *recorded.plan.header.machines} if recorded else set[str]()
    # The facts about a tool say where to get it.
    own = [fact for fact in facts if not str(fact[1]).startswith("tool ")]
    yield from map(Paragraph, _machines([(str(run), str(name), str(value)) for run, name, value in own], names))
    short = [fact for fact in own if len(str(fact[2])) <= _LONG and "\n" not in str(fact[2])]
    if short:
        start = 0 if trials.others else 1
        rows = [(run, name, " ".join(str(value).split()))[start:] for run, name, value in short]
        yield blocks.table("Machine and software versions", ("run", "fact", "value")[start:], rows)
    for run, name, value in own:
        if (run, name, value) not in short:
            yield Listing(f"{name} of {run}" if trials.others else str(name), visible(str(value), keep="\n\t"))
    spent = blocks.query_runs(
        trials, f"{_PURPOSE}, count(*), sum(elapsed) FROM steps WHERE", "GROUP BY ALL ORDER BY 3 DESC"
    )
    if spent:
        heads = ("purpose", "commands", "seconds")
        yield blocks.table("Time by purpose", heads, spent, frozenset({1, 2}))
    first = next((item for item in recorded.plan.items() if isinstance(item, Trial)), None) if recorded else None
    if first:
        steps = [f"# {step.name} ({step.action}): {step.why}\n{step.command}" for step in first.steps]
        yield Listing("Commands of the first trial", visible("\n\n".join(steps), keep="\n\t"), is_open=True)


_PURPOSE = "coalesce(action, split_part(step, '-', 1))"
"""SQL: the action of a command; if it has none, the first part of its name: `change-volume-compression`."""
_OF_MACHINES = {"cpu", "disks", "kernel", "memory", "mounts", "os", "user"}
"""Facts that are not the version of a tool."""


def _machines(facts: Sequence[tuple[str, str, str]], hosts: Container[str]) -> Iterator[str]:
    """Describe each machine in a sentence, or those that are alike; the facts of one of several begin with its name."""
    machines: dict[tuple[str, str], dict[str, str]] = {}
    for run, name, value in facts:
        host, dot, own = name.partition(".")
        is_of_host = bool(dot) and host in hosts
        machines.setdefault((run, host if is_of_host else ""), {})[own if is_of_host else name] = value
    alike: dict[str, dict[str, None]] = {}
    for (_, host), existing in machines.items():
        alike.setdefault(_description(existing), {})[host] = None
    for text, names in alike.items():
        named = ", ".join(filter(None, names))
        yield visible(f"Measured on {named}{': ' if named else ''}{text}.")


def _description(facts: Mapping[str, str]) -> str:
    """The processors, memory, system and versions of a machine."""
    models = re.findall(r"(?m)^model name\s*:\s*(.+)$", facts.get("cpu", ""))
    memory = re.search(r"(?m)^MemTotal:\s*(\d+) kB", facts.get("memory", ""))
    system = re.search(r'(?m)^PRETTY_NAME="?([^"\n]+)', facts.get("os", ""))
    parts = (
        *([f"{len(models)} × {models[0]}"] if models else []),
        *([f"{int(memory[1]) / (1 << 20):.3g} GiB of memory"] if memory else []),
        *([system[1]] if system else []),
        *([" ".join(facts["kernel"].split()[:2])] if "kernel" in facts else []),
        *(
            " ".join(text.split())
            for name, text in sorted(facts.items())
            if name not in _OF_MACHINES and "\n" not in text and len(text) <= _LONG
        ),
        f"zlang {__version__}",
    )
    return ", ".join(parts)


def reproduction(recorded: RecordedRun | None) -> Iterator[Block]:
    """The commands that carry out the same plan again, and the files of the run."""
    if recorded is None:
        return
    header = recorded.plan.header
    program = next(iter(header.sources), "program.zexp")
    settings = dict(header.settings)
    profile = settings.pop("--profile", None)
    parts = [Path(program).name, *(f"--set {quote_word(f'{name}={text}')}" for name, text in settings.items())]
    parts += [f"--profile {quote_word(profile)}"] if profile else []
    parts += [f"--experiment {quote_word(header.experiment)}", f"--seed {header.seed}"]
    parts += [f"--order {quote_word(header.order)}"] if header.order != Order.PLANNED else []
    yield Paragraph(
        "Save the program above and the files that it imports in one directory. These commands then carry out the "
        f"same plan with zlang {__version__}. Without zlang, the script `plan.sh` does the same."
    )
    yield Listing("Commands", visible(f"zlang run {' '.join(parts)}\nzlang report", keep="\n"), is_open=True)
    folder = f"{recorded.folders}/{recorded.run}"
    files = (
        ("plan.sh", "the plan as a shell script"),
        ("plan.jsonl", "the plan"),
        ("journal.jsonl", "what the run did, and when"),
    )
    rows = tuple((Cell("", "", (Link(name, quote(f"{folder}/{name}")),)), Cell(file)) for name, file in files)
    yield document.DocumentTable("Files of the run", ("file", "contents"), rows, ("file", "contents"), files)
