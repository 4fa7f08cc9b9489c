"""Check that the tree-sitter grammar and the parser agree on whether a program is well formed."""

from __future__ import annotations

import ctypes
import hashlib
import random
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tree_sitter import Language, Node, Parser, Query, QueryCursor
from wild_programs import WAYS

from zlang.source import Source
from zlang.syntax import tables
from zlang.syntax.lexer import lex
from zlang.syntax.parse import SOFT

ROOT = Path(__file__).parents[2]
GRAMMAR = ROOT / "editors/tree-sitter-zexp"
RANDOM_PROGRAMS = 1000


@pytest.fixture(scope="module")
def language(tmp_path_factory: pytest.TempPathFactory) -> Language:
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler")
    library = tmp_path_factory.mktemp("grammar") / "zexp.so"
    sources = [str(GRAMMAR / "src" / name) for name in ("parser.c", "scanner.c")]
    subprocess.run([compiler, "-shared", "-fPIC", "-I", str(GRAMMAR / "src"), "-o", str(library), *sources], check=True)
    make = ctypes.CDLL(str(library)).tree_sitter_zexp
    make.restype = ctypes.c_void_p
    capsule = ctypes.pythonapi.PyCapsule_New
    capsule.restype, capsule.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    return Language(capsule(make(), b"tree_sitter.Language", None))


def has_the_form(text: str) -> bool:
    """Check that the parser's tables accept a text, ignoring checks made after parsing."""
    made = tables.load()
    lexed = lex(Source("program.zexp", text), made)
    if lexed.findings:
        return False
    stack = [made.starts["file"]]
    for token in lexed.tokens:
        while True:
            kind = token.type
            if kind in SOFT and kind not in made.actions[stack[-1]]:
                kind = token.type = "NAME"
            action = made.actions[stack[-1]].get(kind)
            if action is None or action >= 0:
                break
            origin, length, _, _ = made.rules[-1 - action]
            del stack[len(stack) - length :]
            stack.append(made.gotos[stack[-1]][origin])
        if action is None:
            return token.type == "$END" and stack[-1] == made.ends["file"]
        stack.append(action)
    return True


def errors(node: Node) -> Iterator[str]:
    """Return the places where a tree has syntax that is not in the language."""
    if node.is_error or node.is_missing:
        yield f"{node.start_point.row + 1}: {node.type} {(node.text or b'')[:60]!r}"
    for child in node.children:
        if child.has_error:
            yield from errors(child)


def test_programs_of_the_repository_are_parsed_without_an_error(language: Language) -> None:
    parser = Parser(language)
    files = [*ROOT.glob("examples/**/*.zexp"), *ROOT.glob("stdlib/*.zexp"), *ROOT.glob("bench/*.zexp")]
    assert len(files) > 50
    wrong = {}
    for path in files:
        tree = parser.parse(path.read_bytes())
        if tree.root_node.has_error:
            wrong[path.name] = list(errors(tree.root_node))[:3]
    assert wrong == {}


@pytest.mark.parametrize("way", WAYS)
def test_random_programs_are_right_for_both_parsers_or_for_neither(language: Language, way: str) -> None:
    parser, chance = Parser(language), random.Random(18)
    wrong = []
    for _ in range(RANDOM_PROGRAMS // len(WAYS)):
        text = WAYS[way](chance)
        if parser.parse(text.encode("utf-8", "replace")).root_node.has_error == has_the_form(text):
            wrong.append(text)
    assert wrong == []


def test_an_edit_gives_the_tree_of_the_new_text(language: Language) -> None:
    parser = Parser(language)
    old, new = b"let a = 1\nlet b = a\n  | 2\n", b"let a = 12\nlet b = a\n  | 2\n"
    tree = parser.parse(old)
    tree.edit(
        start_byte=9, old_end_byte=9, new_end_byte=10, start_point=(0, 9), old_end_point=(0, 9), new_end_point=(0, 10)
    )
    assert str(parser.parse(new, tree).root_node) == str(parser.parse(new).root_node)


def test_every_query_names_nodes_of_the_grammar(language: Language) -> None:
    text = b"experiment e {\n  run = fio { rw = read }  # c\n  where bs < 4KiB and x not in [on]\n}\n"
    query = Query(language, (GRAMMAR / "queries/highlights.scm").read_text())
    captures = QueryCursor(query).captures(Parser(language).parse(text).root_node)
    shown = {name: {(node.text or b"").decode() for node in nodes} for name, nodes in captures.items()}
    assert {"run", "rw"} <= shown["property"]
    assert shown["number"] == {"4KiB"}
    assert shown["comment"] == {"# c"}
    assert {"experiment", "where"} <= shown["keyword"]


def test_the_parser_in_c_was_made_of_the_grammar() -> None:
    subprocess.run([sys.executable, ROOT / "tools/generate_tree_sitter.py", "--check"], check=True)
    digest = (GRAMMAR / "src/parser.sha256").read_text()
    parts = [(GRAMMAR / name).read_bytes() for name in ("grammar.js", "src/parser.c")]
    assert digest == "".join(hashlib.sha256(part).hexdigest() + "\n" for part in parts), "run `make tree-sitter`"
