"""Test document symbols: the names in a text, found from its syntax tree alone."""

from __future__ import annotations

from zlang.lsp.symbols import NameUse, Sort, Symbols
from zlang.source import Source
from zlang.syntax import parse

TEXT = """\
import fio
let (record, block) = (8k, 4k) | (128k, 1M)
let half = 50% of record
fio reads { rw = read  bs = block }
experiment all { run = reads  where (block, record) in [(4k, 8k), (1M, 128k)] }
"""


def test_names_that_vary_together_are_defined_and_used_once_each() -> None:
    symbols = Symbols(parse.program(Source("study.zexp", TEXT)).tree)
    assert {name for name, item in symbols.definitions.items() if item.sort is Sort.LET} == {"record", "block", "half"}
    at = TEXT.index("record,")
    definition = symbols.at(at)
    assert definition == symbols.definitions["record"]
    places = [use.span.start for use in symbols.uses if isinstance(use, NameUse) and use.path == ("block",)]
    assert places == [TEXT.index("block }"), TEXT.index("block, record)")]
