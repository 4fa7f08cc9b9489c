"""Check that every kind in the standard library is sound, down to its last property."""

from __future__ import annotations

import marshal
import re
from pathlib import Path

import pytest

from zlang.check import library
from zlang.check.check import Overrides
from zlang.check.traits import TRAITS
from zlang.errors import RunError
from zlang.pipeline import programs
from zlang.source import Source
from zlang.syntax import tables, tree

LIKE_ANOTHER = {"arc_min": "arc_max"}
"""Kinds that extend one that tests use, and have its commands."""


@pytest.mark.parametrize("name", list(library.load().names()))
def test_a_kind_of_the_library_is_sound(name: str) -> None:
    kind = library.load().kind(name)
    assert all(definition.doc for definition in kind.properties.values())
    assert kind.doc
    words = {word.name for definition in kind.properties.values() for word in definition.type.words}
    assert not words & {"yes", "no", "true", "false"}, "zlang fmt writes these words as `on` and `off`"


def test_commands_of_the_library_have_no_comments() -> None:
    """Then the words of a comment are in no identity."""
    loaded, commands = library.load(), dict[str, str]()
    for name in loaded.names():
        for action in loaded.kind(name).actions.values():
            texts = (
                "".join(part if isinstance(part, str) else "value" for part in each.text) for each in action.commands
            )
            commands[f"{name}.{action.name}"] = "\n".join(texts)
    assert commands["dir.destroy"]
    assert not [name for name, text in commands.items() if re.search(r"(?m)^\s*#", text)]
    assert "# A crash" in (library.SOURCES / "core.zexp").read_text("utf-8")


def test_a_users_own_comments_are_carried_out_as_written() -> None:
    text = 'kind noted: workload {\n doc = "x"\n run {\n sh """\n  # note\n  true\n """\n }\n}\n'
    checked = programs.check(Source("program.zexp", text), Overrides())
    assert not checked.findings
    (command,) = checked.program.kinds["noted"].actions["run", "", ""].commands
    assert str(command.text[0]).splitlines()[:2] == ["# note", "true"]


def test_every_trait_is_stated_by_a_kind() -> None:
    loaded = library.load()
    stated = {trait for name in loaded.names() for trait in loaded.kind(name).traits}
    assert TRAITS.keys() - stated == set(), "write `trait NAME = …` in the kinds of stdlib that have it"


@pytest.mark.parametrize(
    ("correct", "wrong", "message"),
    [
        ("metric throttles: count", "metric throttles: cuont", "unknown name `cuont`"),
        ("metric throttles: count", "metric throttles", "expected `:`, found `{`"),
        ("  reads throttling", "  reads throtling", "unknown name `throtling`"),
        ("kind throttling:", "kind mpstat:", "`mpstat` is defined twice"),
    ],
)
def test_a_mistake_in_the_library_is_shown_with_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, correct: str, wrong: str, message: str
) -> None:
    changed = tmp_path / "linux.zexp"
    for path in library.SOURCES.glob("*.zexp"):
        (tmp_path / path.name).write_text(path.read_text("utf-8"), "utf-8")
    text = changed.read_text("utf-8")
    changed.write_text(text.replace(correct, wrong), "utf-8")
    line = 1 + text[: text.index(correct)].count("\n")
    monkeypatch.setattr(library, "SOURCES", tmp_path)
    monkeypatch.setattr(library, "SAVED", tmp_path / "library.bin")
    with pytest.raises(RunError) as caught:
        library.load.__wrapped__()
    assert caught.value.message == f"stdlib/linux.zexp:{line}: {message}"


def test_every_kind_is_part_of_a_tested_program() -> None:
    tests = Path(__file__).parents[1]
    files = [*tests.rglob("*.py"), *tests.rglob("*.txt"), *(tests.parent / "examples").rglob("*.zexp")]
    text = "".join(path.read_text("utf-8") for path in files)
    use = r"^{0} \w+|\b{0}(?: \w+)? \{{|[=\[,|(] ?{0}\b(?! *=)"
    unused = {name for name in library.load().names() if not re.search(use.format(name), text, re.MULTILINE)}
    assert unused - LIKE_ANOTHER.keys() == set(), "run a program that uses it, in tests/endtoend or tests/filesystems"


@pytest.mark.parametrize(("name", "tested"), LIKE_ANOTHER.items())
def test_a_kind_does_as_the_one_that_is_tested(name: str, tested: str) -> None:
    commands, others = (
        [item.span.text for item in library.load().node(kind).items if isinstance(item, tree.ActionDef)]
        for kind in (name, tested)
    )
    assert commands == others != []


def stored(kept: bytes) -> tuple[library._Saved, bytes]:
    """Return a stored library, and its index as bytes."""
    length = int.from_bytes(kept[:4], "big")
    return library._Saved(lambda length, offset: kept[offset : offset + length]), kept[4 : 4 + length]


def test_the_library_cache_has_the_same_bytes_in_every_python_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Python versions differ in which equal strings share an object, and a reloaded library shares others."""
    monkeypatch.setattr(library, "SAVED", tmp_path / "library.bin")
    library.save()
    kept = library.SAVED.read_bytes()
    saved, index = stored(kept)
    assert tables.marshalled(marshal.loads(index)) == index
    for entry in saved.entries.values():
        assert tables.marshalled(marshal.loads(entry)) == entry
        *_, properties, traits, items = marshal.loads(entry)
        for packed in (*properties.values(), *traits.values(), items):
            assert tables.marshalled(marshal.loads(packed)) == packed
    assert all(tables.marshalled(marshal.loads(packed)) == packed for packed in saved.readers.values())


def test_a_library_cache_with_other_record_fields_is_built_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(library, "SAVED", tmp_path / "library.bin")
    library.save()
    kept = library.SAVED.read_bytes()
    fields, *places = marshal.loads(stored(kept)[1])
    index = marshal.dumps(({**fields, "Dimension": ("size",)}, *places))
    library.SAVED.write_bytes(len(index).to_bytes(4, "big") + index + kept[4 + int.from_bytes(kept[:4], "big") :])
    library.load.__wrapped__()
    assert library.SAVED.read_bytes() == kept


@pytest.mark.parametrize("content", [b"", b"\0\0\0\0", b"\0\0\0\xff" + b"x" * 9, marshal.dumps(({}, 1, 2, 3, 4))])
def test_a_damaged_library_cache_is_built_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes
) -> None:
    kept = library.SAVED.read_bytes()
    monkeypatch.setattr(library, "SAVED", tmp_path / "library.bin")
    monkeypatch.setattr(library, "save", lambda *, must: b"" if must else kept)
    library.SAVED.write_bytes(content)
    assert library.load.__wrapped__().kind("fio").name == "fio"


def test_each_directory_of_a_run_is_removed_by_the_same_commands() -> None:
    """Kinds cannot share commands, so a bug fixed in one of them must be fixed in all."""
    removal = re.compile(r"test -e \{dir\} \|\| test -L \{dir\} \|\| exit 0\n.*?(?=\"\"\")", re.DOTALL)
    removals = [
        [line.strip() for line in match[0].splitlines()]
        for source in library.load().sources.values()
        for match in removal.finditer(source.text)
    ]
    assert len(removals) == len(("dir", "corpus", "export", "nfs"))
    common = min(removals, key=len)
    at_once = 'if ! test -s {out}/kept.txt; then rmdir -- "$at"; exit; fi'  # an export may have to wait for its server
    for lines in removals:
        assert {line for line in common if line not in lines} <= {at_once}
