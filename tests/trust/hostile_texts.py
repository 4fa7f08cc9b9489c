# ruff: noqa: E501 - programs of one line
"""Put hostile texts wherever text can occur, and inspect the output of every command.

A case is a text, a place and an output. In each room (a directory) several texts, joined, are put in all places; then
every command of `OUTPUTS` is run, in random order. No text may be executed (an executed text creates a file `pwned`),
no control, bidirectional or invisible character may be printed unescaped, and output with a syntax (HTML, Markdown,
CSV, JSON) must have the same structure as that of a room with a harmless text.

    python tests/trust/hostile_texts.py [--seed N] [--rooms N] [--seconds N]
"""

from __future__ import annotations

import argparse
import csv
import importlib
import io
import itertools
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from html.parser import HTMLParser
from pathlib import Path

import aftermath
from aftermath import Score, Share
from command_line import Ended
from markdown_it import MarkdownIt

from zlang.text import LAYOUT, is_visible

MARK = "pwned"
TEXTS: Mapping[str, str] = {
    "harmless": "harmless",
    "substitution": "$(touch pwned)",
    "backticks": "`touch pwned`",
    "single quote": "'; touch pwned; '",
    "double quote": '"; touch pwned; "',
    "line of a shell": "x\ntouch pwned\n",
    "end of a here-document": "\nEND_OF_PLAN\ntouch pwned\n",
    "comment": "x # touch pwned\\",
    "words of a shell": "fi; }; done; esac; touch pwned",
    "option": "--help",
    "printf": "%s%n%d \\033[2J \\x1b[2J $'\\x1b'",
    "variable": "${IFS}touch${IFS}pwned $PATH",
    "escape": "\x1b[2J\x1b]0;title\x07",
    "carriage return": "harmless\rrm -rf",
    "backspaces": "rm -rf /\b\b\b\b\b\b\b\b",
    "C1": "\u009b2J\u009d0;title\u009c",
    "delete": "a\x7f\x7fb",
    "bidirectional override": "abc\u202etxt.exe\u202c",
    "bidirectional isolate": "\u2066abc\u2067def\u2069",
    "zero width": "pass\u200bword\u200d\ufeff",
    "fillers and selectors": "a\u3164\uffa0\u115fb\u034f\ufe00c\U000e0100",
    "tags": "a\U000e0041\U000e0042b",
    "line separators": "a\u2028b\u2029c\x85d\x0be\x0cf",
    "script": "<script>document.title='pwned'</script>",
    "end of a script": "</script><script>document.title='pwned'</script>",
    "comment of HTML": "<!-- <script> --> ]]>",
    "attribute": "\" onmouseover=\"document.title='pwned'\" x='",
    "image": "<img src=x onerror=alert(1)>",
    "link": "[a](javascript:alert(1)) ![b](http://x/y)",
    "fence": "\n```\n<script>x</script>\n````\n",
    "table of Markdown": "a | b\n---|---\n| c |",
    "formula": '=HYPERLINK("http://x","y")',
    "formula of plus": "+cmd|' /C calc'!A0",
    "formula of at": "@SUM(1+1)",
    "formula after a tab": "\t=1+1",
    "SQL": "'; drop table trials; --",
    "SQL name": '"; drop schema main cascade; --',
    "JSON": '","x":1}],"\\u0022',
    "Vega": "datum['x'] + [constructor]",
    "markup of rich": "[bold red]x[/bold red] [link=http://x]y[/link]",
    "template": "{{ 7 * 7 }} {% raw %} ${7*7}",
    "LaTeX": "\\input{/etc/passwd} $x$ & % # _ ~ ^",
    "graph": 'a"] ; b [label="x" URL="http://x"',
    "mermaid": 'a"]; click a "javascript:alert(1)"',
    "surrogates in a path": "a\udcffb",
    "long": "x" * 5000,
}
_IN_A_ROOM = 4
_IN_A_NAME = 50
"""So many characters of each text are in the name of a file, which has at most 255 bytes."""
_ROOMS_FOR_ALL = -(-(len(TEXTS) - 1) // _IN_A_ROOM)
_LEAST_SECONDS = 15
"""So long a room is tried, though the time for all of them be over."""
FORMATS = ("text", "short", "json", "sarif", "github")
_BIDIRECTIONAL = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")

PROGRAM = """
import "./figures.csv"
param word: string = {text}
param other: string = "plain"
profile odd {{ other = {text} }}

host machine {{ doc = {text} }}
kind own: resource on dir {{
  doc = {text}
  property p: string {{ required = on  doc = {text} }}
  offers dir = "{{on.dir}}"
  create {{ sh "printf %s {{p}}" {{ why = {text} }} }}
  destroy {{ sh "true" }}
}}
kind around: wrapper {{
  doc = {text}
  property p: string {{ required = on  doc = {text} }}
  wrap {{ sh "env WRAPPED={{p}} {{command}}" }}
}}
kind meanwhile: event {{
  doc    = {text}
  writes = off
  property p: string {{ required = on  doc = {text} }}
  wait {{ sh "printf %s {{p}}" {{ why = {text} }} }}
}}
dir here on machine {{ path = {place} }}
own thing on here {{ p = {text} }}
let n = word | "plain"
shell io {{
  command = "cat input >&2; cat input; printf %s {{n}} {{other}} >$OUT/answer; echo; echo speed=3; test {{n}} != plain || test -z \\"$FAIL\\""
  metrics = [time, regex("speed: count=speed=([0-9]+)")]
  label   = word
  under   = around {{ p = {text} }}
}}
experiment e {text} {{
  on = thing  run = io  during = meanwhile {{ p = {text} }}  repeat = 3
  expect median(speed) > 0
  table median(speed) by n
  plot speed over position by n
}}
"""
WRONG = (
    "experiment e {text} {{ on = {text}  run = {text} }}",
    "shell io {{ command = {text}  nonsense = {text} }}",
    "disk d {{ id = {text}  serial = {text}  size = 1MiB }}",
    'dir here {{ path = "." }}\nshell io {{ command = "true"  metrics = [regex({text})] }}\nexperiment e {{ on = here  run = io }}',
    'dir here {{ path = "." }}\nexternal t {{ ask = {text}  metrics = [{text}] }}\nexperiment e {{ on = here  run = t }}',
    'dir here {{ path = "." }}\nexternal t {{ ask = "x"  metrics = ["m: count in " + {text}] }}\nexperiment e {{ on = here  run = t }}',
    "import {text}",
    "let {raw} = 1",
    "{raw}",
    "host h {{ ram = {text} }}",
    "kind {raw}: resource on dir {{}}",
    "host h {{ members = [{text}] }}",
    'host h {{ members = ["a", "b"] }}\nlet x = first({text}, 1)',
    'dir here {{ path = "." }}\nshell io {{ command = "true"  under = {text} }}\nexperiment e {{ on = here  run = io }}',
    'dir here {{ path = "." }}\nshell io {{ command = "true" }}\nexperiment e {{ on = here  run = io  budget = {text}  during = {text} }}',
)
"""Programs that are wrong at a text; what is said of them names it."""

Check = Callable[[str], list[str]]


@dataclass(frozen=True, slots=True)
class Output:
    """A command, its acceptable exit codes, and the check of its output."""

    name: str
    arguments: tuple[str, ...]
    check: Check = lambda _: []
    codes: frozenset[int] = frozenset({0})
    files: str = ""
    shape: Callable[[str], object] | None = None
    """What has to be as it is of a harmless text."""


# -- checks of output


def hidden(text: str) -> list[str]:
    """List invisible characters that are printed unescaped."""
    return sorted({f"raw U+{ord(char):04X}" for char in text if not is_visible(char) and char not in LAYOUT})


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.elements: set[tuple[str, tuple[str, ...]]] = set()
        self.scripts = 0

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        names = tuple(sorted(name for name, _ in attributes if name not in {"class", "tabindex", "open"}))
        self.elements.add((tag, names))
        self.scripts += tag == "script"


def tags(text: str) -> object:
    """Return the elements of a page, with the names of their attributes, and the number of scripts."""
    parser = _Tags()
    parser.feed(text)
    return sorted(parser.elements), parser.scripts


def is_json(text: str) -> list[str]:
    """Explain why a text is not JSON."""
    try:
        for line in [text] if text.lstrip().startswith(("[", "{\n")) else text.splitlines():
            json.loads(line)
    except ValueError as error:
        return [f"not JSON: {error}"]
    return []


def is_plain_csv(text: str) -> list[str]:
    """List the cells that a spreadsheet would evaluate."""
    cells = [cell for row in csv.reader(io.StringIO(text)) for cell in row]
    begun = [cell for cell in cells if cell.startswith(("=", "+", "-", "@", "\t", "\r"))]
    return [f"a formula: {cell!r}" for cell in begun if not re.fullmatch(r"[-+]?[0-9.e+-]+|-Infinity", cell)]


def is_plain_markdown(text: str) -> list[str]:
    """List markup in a Markdown text that zlang did not write."""
    tokens = [
        token
        for block in MarkdownIt("commonmark").enable("table").parse(text)
        for token in [block, *(block.children or [])]
    ]
    bad = [
        token
        for token in tokens
        if token.type in {"html_block", "html_inline", "image"} and token.content not in {"<br>", ""}
    ]
    links = [str(token.attrs.get("href")) for token in tokens if token.type == "link_open"]
    return [f"{token.type}: {token.content[:99]!r}" for token in bad] + [
        f"a link to {link}" for link in links if not link.startswith(("runs/", "#", ".", "/"))
    ]


OUTPUTS: tuple[Output, ...] = (
    Output("plan", ("plan", "{program}")),
    Output("plan --steps", ("plan", "{program}", "--steps")),
    Output("plan --trials", ("plan", "{program}", "--trials")),
    Output("plan --trial", ("plan", "{program}", "--trial", "1")),
    Output("plan --json", ("plan", "{program}", "--json"), is_json),
    Output("plan --set", ("plan", "{program}", "--steps", "--set", "other={literal}")),
    Output("plan --profile", ("plan", "{program}", "--steps", "--profile", "odd")),
    Output("runbook", ("plan", "{program}", "--emit", "markdown"), is_plain_markdown),
    Output("script", ("plan", "{program}", "--emit", "sh")),
    Output("plan as JSON", ("plan", "{program}", "--emit", "json"), is_json),
    Output("plan as dot", ("plan", "{program}", "--emit", "dot")),
    Output("plan as mermaid", ("plan", "{program}", "--emit", "mermaid")),
    Output("explain", ("explain", "{program}"), codes=frozenset({0, 1, 2})),
    Output("check", ("check", "{program}")),
    Output("fmt --diff", ("fmt", "--diff", "{program}"), codes=frozenset({0, 1})),
    Output("status", ("status",)),
    Output("status RUN", ("status", "{run}")),
    Output("status --json", ("status", "--json"), is_json),
    Output("table", ("table",)),
    Output("table as CSV", ("table", "--format", "csv"), is_plain_csv),
    Output("table as Markdown", ("table", "--format", "markdown"), is_plain_markdown),
    Output("table as JSON", ("table", "--format", "json"), is_json),
    Output("expect", ("expect",), codes=frozenset({0, 4, 5})),
    Output("findings", ("findings",), codes=frozenset({0, 1})),
    Output("findings --json", ("findings", "--json"), is_json, codes=frozenset({0, 1})),
    Output("compare", ("compare",), codes=frozenset({0, 1})),
    Output("effects", ("effects",), codes=frozenset({0, 1})),
    Output("plot", ("plot",), codes=frozenset({0, 1})),
    Output("sql", ("sql", "from all_trials")),
    Output("sql as CSV", ("sql", "from all_trials", "--format", "csv"), is_plain_csv),
    Output("sql as Markdown", ("sql", "from all_trials", "--format", "markdown"), is_plain_markdown),
    Output("sql as JSON", ("sql", "from all_trials", "--format", "json"), is_json),
    Output("sql as lines of JSON", ("sql", "from all_trials", "--format", "ndjson"), is_json),
    Output("sql as LaTeX", ("sql", "from all_trials", "--format", "latex")),
    Output("sql of problems", ("sql", "from problems")),
    Output("sql of columns", ("sql", "from columns")),
    Output("sql of runs", ("sql", "from runs", "--format", "csv"), is_plain_csv),
    Output("sql of facts", ("sql", "from facts", "--format", "markdown"), is_plain_markdown),
    Output("sql of clauses", ("sql", "from clauses")),
    Output("sql of an import", ("sql", "from imported.figures")),
    Output("sql of an import as CSV", ("sql", "from imported.figures", "--format", "csv"), is_plain_csv),
    Output("sql with a name", ("sql", "select 1 as {name}"), codes=frozenset({0, 1})),
    Output("sql that is wrong", ("sql", "select {name} from nothing"), codes=frozenset({1})),
    Output("report as HTML", ("report", "--out", "r.html"), files="r.html", shape=tags),
    Output("report as Markdown", ("report", "--format", "markdown", "--out", "r.md"), is_plain_markdown, files="r.md"),
    Output("report as CSV", ("report", "--format", "csv", "--out", "r"), is_plain_csv, files="r/*.csv"),
    Output("a plot's specification", ("plot", "--out", "p.json"), is_json, frozenset({0, 1}), "p.json"),
    Output("no such run", ("status", "{text}"), codes=frozenset({0, 1, 2})),
    Output("no such file", ("check", "{text}"), codes=frozenset({0, 1, 2})),
    Output("no such option", ("--{text}",), codes=frozenset({0, 1, 2})),
    Output("no such database", ("sql", "select 1", "--db", "{text}"), codes=frozenset({0, 1, 2})),
    Output("no such runs", ("ingest", "{text}"), codes=frozenset({0, 1, 2})),
    Output("no such kind", ("kinds", "{text}"), codes=frozenset({0, 1, 2})),
    Output("no such experiment", ("plan", "{program}", "--experiment", "{text}"), codes=frozenset({0, 1, 2})),
    Output("no such parameter", ("plan", "{program}", "--set", "{text}=1"), codes=frozenset({1, 2})),
    Output("clean", ("clean",)),
)
PLACES = (
    *("title", "label", "default", "profile", "--set", "doc", "why", "property", "host", "level", "word of a command"),
    *("wrapper", "event"),
    *("path", "program's name", "cell", "standard output", "standard error", "fact", "environment", "comment"),
)
"""Where the text stands in a room."""
SHELLS = {"dash": ("dash",), "bash": ("bash",), "busybox": ("busybox", "sh")}


# -- a room


def literal(text: str) -> str:
    """Write a text of the language; characters that a program cannot have are left out."""
    kept = _writable(text).replace("\\", "\\\\").replace('"', '\\"').replace("{", "{{").replace("}", "}}")
    return '"' + kept.replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t") + '"'


def _writable(text: str) -> str:
    return _BIDIRECTIONAL.sub("", text).encode("utf-8", "ignore").decode()


def file_name(texts: Sequence[str]) -> str:
    """Build a file name from the beginnings of some texts."""
    return " ".join(text.replace("/", "_")[:_IN_A_NAME] for text in texts).lstrip("-") or "x"


@dataclass
class Room:
    """A directory with a run, in which some texts are everywhere."""

    at: Path
    texts: Sequence[str]
    text: str = ""
    program: str = ""

    def __post_init__(self) -> None:
        """Write the program and its files."""
        self.text = " ".join(self.texts)
        self.at.mkdir(parents=True)
        raw = self.text.encode("utf-8", "surrogateescape")
        self.program = f"{file_name(self.texts)}.zexp"
        # A path with a line end is an error.
        place = file_name([_writable(text).replace("\n", " ") for text in self.texts])
        (self.at / place).mkdir()
        program = PROGRAM.format(text=literal(self.text), place=literal(place))
        (self.at / self.program).write_text(f"# {literal(self.text)[1:-1]}\n{program}", "utf-8")
        (self.at / "input").write_bytes(raw + b"\n")
        cells = io.StringIO()
        csv.writer(cells).writerows([["bs", "what"], [1, self.text]])
        (self.at / "figures.csv").write_text(cells.getvalue(), "utf-8", "replace")
        tools = self.at.parent / f"{self.at.name}-bin"
        tools.mkdir()
        (tools / "uname").write_text(f'#!/bin/sh\ncat "{self.at}/input"\n')
        (tools / "uname").chmod(0o755)
        printable = self.text.replace("\0", "")
        self.environment = {
            "PATH": f"{tools}:{os.environ['PATH']}",
            **dict.fromkeys(("ZLANG_ODD", "USER", "LOGNAME", "EDITOR", "PAGER", "LANG"), printable),
        }

    def run(self) -> list[str]:
        """Measure: some trials fail, so that their tools' messages are shown."""
        ended = self.call("run", "--", self.program, environment={"FAIL": "1"})
        problems = aftermath.said_wrong("run", ended)
        return [*problems, *self._seen("run", ended.out + ended.err)]

    def look(self, output: Output, shapes: Shapes) -> list[str]:
        """Run a command, and list the faults in its output."""
        ended, texts = self.show(output)
        problems = [] if ended.code in output.codes else [f"ended with {ended.code}: {ended.err[-300:]!r}"]
        problems += aftermath.said_wrong(output.name, Ended(0, ended.out, ended.err))
        for text in texts if ended.code == 0 else []:
            problems += output.check(text)
            if output.shape is not None and output.shape(text) != shapes.harmless(output):
                problems.append(f"its elements are {output.shape(text)}")
        return [*problems, *self._seen(output.name, *texts, ended.out, ended.err)]

    def show(self, output: Output) -> tuple[Ended, list[str]]:
        """Run a command; return how it ended, and its printed or written output."""
        name = self.text.replace("\0", "").replace('"', '""')
        run = next((plan.parent.name for plan in self.at.glob("runs/*/plan.jsonl")), "none")
        words = {
            "{program}": self.program,
            "{run}": run,
            "{literal}": literal(self.text),
            "{name}": f'"{name}"' if name else "x",
            "{text}": self.text.replace("\0", ""),
        }
        arguments = [re.sub(r"\{\w+\}", lambda word: words[word[0]], argument) for argument in output.arguments]
        ended = self.call(*arguments)
        written = sorted(self.at.glob(output.files)) if output.files else []
        return ended, [path.read_text("utf-8") for path in written] if output.files else [ended.out]

    def carry_out(self, shell: str) -> list[str]:
        """Carry out the script of the plan."""
        script = self.at / "plan.sh"
        script.write_text(self.call("plan", self.program, "--emit", "sh").out, "utf-8")
        done = subprocess.run(
            [*SHELLS[shell], "./plan.sh", f"runs-of-{shell}"],
            cwd=self.at,
            env={**os.environ, **self.environment},
            capture_output=True,
            check=False,
            stdin=subprocess.DEVNULL,
        )
        printed = (done.stdout + done.stderr).decode("utf-8", "replace")
        problems = [] if done.returncode == 0 else [f"{shell} ended with {done.returncode}: {printed[-300:]!r}"]
        return [*problems, *self._seen(shell, printed)]

    def refuse(self, wrong: str) -> list[str]:
        """Check a program with an error at the text."""
        program = wrong.format(text=literal(self.text), raw=self.text.replace("\0", ""))
        (self.at / "wrong.zexp").write_text(program, "utf-8", "replace")
        problems = []
        for form in FORMATS:
            ended = self.call("check", "wrong.zexp", "--format", form)
            problems += aftermath.said_wrong(f"check --format {form}", ended)
            problems += self._seen(f"check --format {form} of {wrong!r}", ended.out + ended.err)
        return problems

    def call(self, *arguments: str, environment: Mapping[str, str] | None = None) -> Ended:
        """Carry out a command of zlang."""
        variables = {**self.environment, **(environment or {})}
        return aftermath.call(self.at, *arguments, is_whole=True, environment=variables)

    def _seen(self, command: str, *texts: str) -> list[str]:
        problems = [f"{command} prints {character}" for text in texts for character in hidden(text)]
        pwned = [path for top in (self.at, self.at.parent) for path in top.glob(f"**/{MARK}")]
        for path in pwned:
            path.unlink()
        return sorted({*problems, *(f"{command} carried it out: {path}" for path in pwned)})


@dataclass(frozen=True, slots=True)
class Shapes:
    """Structures of the outputs of a room with a harmless text, computed on demand."""

    place: Path
    by_output: dict[str, object] = field(default_factory=dict)

    def harmless(self, output: Output) -> object:
        """Return the structure of an output."""
        if output.name not in self.by_output and output.shape is not None:
            room = Room(Path(tempfile.mkdtemp(dir=self.place), "room"), [TEXTS["harmless"]])
            room.run()
            ((_, (text,)),) = [room.show(output)]
            self.by_output[output.name] = output.shape(text)
        return self.by_output[output.name]


def try_room(names: Sequence[str], shapes: Shapes, chance: random.Random, late: float) -> Score:
    """Try some texts, joined, in all places, with as many outputs as time allows."""
    score = Score(len(PLACES))
    room = Room(Path(tempfile.mkdtemp(dir=shapes.place), "room"), [TEXTS[name] for name in names])
    cases: list[tuple[str, Callable[[], list[str]]]] = [
        *((output.name, partial(room.look, output, shapes)) for output in OUTPUTS),
        *((f"script in {shell}", partial(room.carry_out, shell)) for shell in SHELLS),
        *((f"wrong program {number}", partial(room.refuse, wrong)) for number, wrong in enumerate(WRONG)),
    ]
    chance.shuffle(cases)
    score.add(f"{', '.join(names)}: run", room.run())
    for case_name, case in cases:
        score.add(f"{', '.join(names)}: {case_name}", case())
        score.ended["looked at"] += 1
        if time.monotonic() > late:
            break
    score.tried.update(dict.fromkeys(names, len(PLACES)))
    return score


def try_texts(seed: int, rooms: int, seconds: float = 1e9, place: Path | None = None, share: Share = (0, 1)) -> Score:
    """Try all texts in rooms of several, in random order; further rooms draw texts again."""
    for module in ("duckdb", "jinja2", "scipy.stats", "zlang.pipeline.reports", "zlang.report.compose"):
        importlib.import_module(module)  # once, not in each fork
    score = Score()
    with tempfile.TemporaryDirectory(prefix="texts-", dir=place) as at:
        shapes, late = Shapes(Path(at)), time.monotonic() + seconds
        a_room = max(_LEAST_SECONDS, seconds * share[1] / _ROOMS_FOR_ALL)
        for number, names in itertools.islice(enumerate(_rooms(seed, rooms)), share[0], None, share[1]):
            score.merge(try_room(names, shapes, random.Random(f"{seed} {number}"), time.monotonic() + a_room))
            if time.monotonic() > late:
                break
    return score


def _rooms(seed: int, count: int) -> Iterator[list[str]]:
    chance = random.Random(seed)
    remaining: list[str] = []
    for _ in range(count):
        if not remaining:
            remaining = sorted(TEXTS.keys() - {"harmless"})
            chance.shuffle(remaining)
        yield remaining[:_IN_A_ROOM]
        remaining = remaining[_IN_A_ROOM:]


def main(arguments: Sequence[str] | None = None) -> int:
    """Try hostile texts and print the score."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rooms", type=int, default=_ROOMS_FOR_ALL)
    parser.add_argument("--seconds", type=float, default=3600)
    options = parser.parse_args(arguments)
    score = try_texts(options.seed, options.rooms, options.seconds)
    looked = score.ended["looked at"]
    lines = [
        f"{len(score.tried):,} texts in {score.places} places, {looked:,} outputs, seed {options.seed}; {score.cases_wrong:,} wrong",
        *(f"WRONG: {line}" for line in score.wrong),
    ]
    sys.stdout.write("\n".join(lines) + "\n")
    return 1 if score.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
