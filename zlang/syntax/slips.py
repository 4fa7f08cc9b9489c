"""Slips of people who come from other languages: the probable meaning, and the fix.

In: the place where the parser stopped. Out: a sentence that says what to type, and a fix if there is one. Rule: a slip
is a function in `SLIPS`; the first one that recognizes the meaning answers.
"""

from __future__ import annotations

from zlang.hints import Any
from zlang.source import Source
from zlang.syntax import slips_in_declarations as declarations
from zlang.syntax import slips_in_experiments as experiments
from zlang.syntax import slips_in_kinds as kinds
from zlang.syntax import slips_in_values as values
from zlang.syntax.lexer import Token
from zlang.syntax.stop_place import Correction, StopPlace


def meant(
    source: Source, read: tuple[tuple[str, Any], ...], end: int, token: Token, expected: str
) -> Correction | None:
    """Return the zlang syntax that was probably meant; `StopPlace` describes the arguments."""
    stop = StopPlace(source, read, end, token, expected)
    return next((result for slip in SLIPS if (result := slip(stop)) is not None), None)


SLIPS = (
    declarations.comment,
    kinds.property_type,
    kinds.part_of_kind,
    declarations.parameter,
    declarations.function_kind_or_import,
    values.place,
    declarations.other_languages_form,
    values.copied,
    declarations.like_another,
    values.turned_if,
    values.within_brackets,
    experiments.condition_after,
    experiments.answer,
    experiments.field_by_level,
    experiments.copy_of_experiment,
    experiments.property_after,
    experiments.search,
    values.schedule,
    values.comparison,
    values.named_in_place,
    experiments.block,
    values.sign,
    values.choice,
    values.braces,
    values.operation,
    values.reference,
    values.number,
    declarations.given,
    declarations.joined_fields,
    declarations.made,
    experiments.measures,
    experiments.clause,
    declarations.several_devices,
    declarations.foreign,
    experiments.clause_part,
    experiments.foreign_word,
    values.foreign_value,
    experiments.clause_word,
    experiments.bare_word,
    experiments.word,
    values.call,
)
