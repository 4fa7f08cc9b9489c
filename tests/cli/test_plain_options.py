"""Test that command lines are read without Typer as Typer reads them, or left to it."""

from __future__ import annotations

import inspect
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import typer
from hypothesis import given
from hypothesis import strategies as st

from zlang.cli import command_line, commands, plain_options
from zlang.cli.option_table import ARGUMENTS, OPTIONS

WORDS = st.sampled_from(
    ["a.zexp", "12", "", "-", "--", "-x", "--json=1", "0x1", "-5", "\N{SUPERSCRIPT TWO}", "a=b", "."]
)


@cache
def all_commands() -> dict[str, Any]:
    group: Any = typer.main.get_command(command_line.application([]))
    return dict(group.commands)


@st.composite
def command_lines(draw: st.DrawFn) -> list[str]:
    command = draw(st.sampled_from(sorted(OPTIONS)))
    option = st.sampled_from([*OPTIONS[command], "--help"])
    valued = st.builds("{}={}".format, option, WORDS)
    return [command, *draw(st.lists(st.one_of(option, valued, WORDS), max_size=6))]


@given(words=command_lines())
def test_options_mean_the_same_as_to_typer(words: list[str]) -> None:
    plain = plain_options.read(words)
    if plain is None:
        return
    name, arguments = plain
    signature = inspect.signature(commands.named(name)).bind(**arguments)
    signature.apply_defaults()
    params = all_commands()[name].make_context(name, words[1:]).params
    assert {key: value or None for key, value in params.items()} == {
        key: value or None for key, value in signature.arguments.items()
    }


@pytest.mark.parametrize(
    ("words", "arguments"),
    [
        (["check", "a", "b", "--json"], {"files": ["a", "b"], "as_json": True}),
        (
            ["plan", "--trial=3", "-e", "e", "a", "--out", "d"],
            {"file": "a", "trial": 3, "experiment": "e", "out": Path("d")},
        ),
        (["sql", "select -1"], {"query": "select -1"}),
        (["status"], {}),
    ],
)
def test_plain_words_need_no_typer(words: list[str], arguments: dict[str, object]) -> None:
    assert plain_options.read(words) == (words[0], arguments)


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["check"],
        ["chek", "a"],
        ["check", "a", "--help"],
        ["plan", "a", "b"],
        ["plan", "a", "--trial", "x"],
        ["plan", "a", "--seed"],
    ],
)
def test_other_command_lines_go_to_typer(words: list[str]) -> None:
    assert plain_options.read(words) is None


def test_each_command_has_its_arguments_in_the_table() -> None:
    assert list(ARGUMENTS) == [command.__name__ for command in commands.COMMANDS]
