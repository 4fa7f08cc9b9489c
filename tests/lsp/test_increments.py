"""Check that the server's findings after an edit equal those of a full check, with little work repeated."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from zlang.check.check import Overrides
from zlang.check.experiments import Experiments
from zlang.diagnostics import Diagnostic
from zlang.lsp.documents import Documents, uri_of
from zlang.pipeline import plans, programs
from zlang.record import Record
from zlang.source import Source, Span
from zlang.syntax import parse, tree

EXAMPLES = Path(__file__).parents[2] / "examples"
FILES = [EXAMPLES / name for name in ("zfs.zexp", "hardware.zexp", "first.zexp", "streams/beside_a_command.zexp")]
PIECES = ["{", "}", '"', '"""', "(", "|", "= 4", "\n", "bss", "😀", "# allow x: y\n", "", " 1", "import zfs\n"]
EDITS = 40

BOTH = """\
import fio
dir here { path = "." }
file data on here { size = 64MiB }
let depths = 1 | 8
fio reads { rw = read iodepth = depths }
fio writes { rw = write }
experiment first { on = data run = reads repeat = 3 }
experiment second { on = data run = writes repeat = 3 }
"""


def places(node: object) -> object:
    """Return a value with all its source locations, which are ignored when values are compared."""
    if isinstance(node, Span):
        return node.place
    if isinstance(node, Record):
        return type(node).__name__, *(places(getattr(node, name)) for name in type(node).record_fields)  # type: ignore[attr-defined]
    return tuple(map(places, node)) if isinstance(node, tuple) else str(node)


def as_texts(findings: list[Diagnostic] | tuple[Diagnostic, ...]) -> list[str]:
    return sorted(repr(places(finding)) for finding in findings)


def texts_after_edits(text: str, draw: random.Random) -> Iterator[str]:
    """Generate successive texts of an editor: each is an edit of the previous one, or undoes it."""
    before: list[str] = []
    for _ in range(EDITS):
        if before and draw.random() < 0.4:
            text = before.pop()
        else:
            before.append(text)
            at = draw.randrange(len(text))
            lines, words = text.split("\n"), re.findall(r"\w+", text)
            lines[at % len(lines) : 0] = [draw.choice(lines)] * (draw.random() < 0.5)
            spliced = text[:at] + draw.choice(PIECES) + text[at + draw.choice([0, 0, 1, 20]) :]
            renamed = text.replace(draw.choice(words), draw.choice(words), 1)
            text = draw.choice([spliced, spliced, renamed, "\n".join(lines)])
        yield text


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_incremental_checks_find_the_same_as_a_full_check(file: Path) -> None:
    documents, path = Documents(), str(file)
    documents.open(uri_of(path), file.read_text(), 0)
    for text in texts_after_edits(file.read_text(), random.Random(file.name)):
        opened = documents.open(uri_of(path), text, 0)
        analysis = documents.analysis(path)
        source = Source(path, opened.source.text)
        findings, _, problem = plans.report(programs.check(source, Overrides()))
        assert analysis is not None
        assert as_texts(analysis.findings) == as_texts(findings), text
        assert str(analysis.problem) == str(problem)
        parsed = parse.program(source)
        assert places(opened.parsed.tree.entries) == places(parsed.tree.entries), text
        assert places(opened.parsed.tree.comments) == places(parsed.tree.comments), text
        assert (as_texts(opened.parsed.findings), opened.parsed.broken) == (as_texts(parsed.findings), parsed.broken), (
            text
        )


class Checks:
    """Recorder of the experiments that are checked, and of the checks at their points."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.names: list[str] = []
        check = Experiments.check

        def noted(experiments: Experiments, node: tree.ExperimentDef, *given: Any) -> Any:
            self.names.append(node.name.text)
            return check(experiments, node, *given)

        monkeypatch.setattr(Experiments, "check", noted)
        self.documents = Documents()

    def after(self, text: str) -> list[str]:
        """Return the experiments that are checked for the given text."""
        self.names.clear()
        self.documents.open("file:///study.zexp", text, 0)
        analysis = self.documents.analysis("/study.zexp")
        assert analysis is not None
        self.is_sound = analysis.checked.is_sound
        return list(self.names)


def test_only_experiments_that_an_edit_reaches_are_checked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    checks = Checks(monkeypatch)
    assert checks.after(BOTH) == ["first", "second"]
    assert checks.is_sound
    assert checks.after("# a remark\n" + BOTH) == []
    assert checks.after(BOTH.replace("1 | 8", "1 | 8 | 64")) == ["first"]
    assert checks.after(BOTH.replace("rw = write", "rw = write numjobs = 2")) == ["second"]
    assert checks.after(BOTH) == []
    assert checks.after(BOTH.replace("64MiB", "65MiB")) == ["first", "second"]
    assert checks.after(BOTH.replace("{ rw = write }", "{ rw = }")) == ["second"]
    assert checks.after(BOTH) == []


def test_factors_have_their_new_places_after_an_edit(monkeypatch: pytest.MonkeyPatch) -> None:
    checks = Checks(monkeypatch)
    checks.after(BOTH)
    checks.after("# a remark\n" + BOTH)
    analysis = checks.documents.analysis("/study.zexp")
    assert analysis is not None
    span = analysis.factors["depths"].span
    assert (span.text, span.source.text) == ("1 | 8", "# a remark\n" + BOTH)
