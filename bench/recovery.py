"""Measure the parser's recovery from mistakes: programs with one token deleted, doubled, replaced or inserted.

In: examples/*.zexp. Out: of the mutations at which the parser stops, how many `zlang check` answers with exactly one
error, and how many of the first errors point to the line of the mistake, with their place or with their second one.
What the parser takes (another number, another name) is drawn again: it is no matter of recovery.
Usage: python bench/recovery.py [HOW_MANY [SEED]] [--show]     --show prints what is answered in another way
"""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from dataclasses import dataclass

import measure

from zlang.check import check
from zlang.cli import render
from zlang.diagnostics import Diagnostic
from zlang.source import Source
from zlang.syntax import lexer, parse, tables

HOW_MANY = 500
SEED = 1
ONE_ERROR, RIGHT_LINE = 0.85, 0.95
"""The targets: shares of the mutations."""


@dataclass(frozen=True, slots=True)
class Mutation:
    """A program with one token amiss: what was done, in which line (from 1), and what came of it."""

    done: str
    line: int
    text: str
    findings: tuple[Diagnostic, ...]

    @property
    def is_one_error(self) -> bool:
        """Whether there is one finding."""
        return len(self.findings) == 1

    @property
    def is_at_the_line(self) -> bool:
        """Whether the first finding points to the line."""
        first = self.findings[0]
        places = (first.span, *(note.span for note in first.notes))
        return self.line in {place.source.position(place.start)[0] for place in places}


def mutations(how_many: int = HOW_MANY, seed: int = SEED) -> Iterator[Mutation]:
    """Mutations of the examples at which the parser stops, the same ones for the same seed."""
    drawn = random.Random(seed)
    texts = [path.read_text("utf-8") for path in sorted(measure.ROOT.glob("examples/*.zexp"))]
    tokens = [_tokens(text) for text in texts]
    words = sorted({text[token.start : token.end] for text, own in zip(texts, tokens, strict=True) for token in own})
    while how_many:
        which = drawn.randrange(len(texts))
        text, token = texts[which], drawn.choice(tokens[which])
        before, word, after = text[: token.start], text[token.start : token.end], text[token.end :]
        how, other = drawn.choice(("delete", "duplicate", "replace", "insert")), drawn.choice(words)
        instead = {"delete": "", "duplicate": f"{word} {word}", "replace": other, "insert": f"{other} {word}"}[how]
        mutated = Source("program.zexp", before + instead + after)
        if parse.program(mutated).findings:
            how_many -= 1
            done = f"{how} `{word}`" + (f" with `{other}`" if how in {"replace", "insert"} else "")
            yield Mutation(done, before.count("\n") + 1, mutated.text, check.program(mutated, _nothing).findings)


def _tokens(text: str) -> list[lexer.Token]:
    """The tokens that have a text; line ends are no mistakes of one token."""
    every = lexer.lex(Source("example", text), tables.load()).tokens
    return [token for token in every if token.type not in {"NEWLINE", lexer.END}]


def _nothing(path: str) -> str:
    raise FileNotFoundError(2, "No such file or directory", path)


def main() -> int:
    """Mutate, count, print."""
    numbers = [int(word) for word in sys.argv[1:] if word != "--show"]
    every = list(mutations(*numbers))
    if "--show" in sys.argv:
        for mutation in every:
            if not (mutation.is_one_error and mutation.is_at_the_line):
                print(f"== {mutation.done} in line {mutation.line}: {mutation.text.splitlines()[mutation.line - 1]}")
                print("\n".join(render.diagnostic(finding, colour=False) for finding in mutation.findings))
    several = sum(not mutation.is_one_error for mutation in every)
    elsewhere = sum(not mutation.is_at_the_line for mutation in every)
    return measure.verdict(
        [
            measure.Check("more than one error", 100 * several / len(every), "%", "at most", 100 * (1 - ONE_ERROR)),
            measure.Check("another line", 100 * elsewhere / len(every), "%", "at most", 100 * (1 - RIGHT_LINE)),
        ]
    )


if __name__ == "__main__":
    measure.show_help(__doc__)
    sys.exit(main())
