"""Every kind that is shipped is sound, to its last property: what is wrong with one raises an AssertionError."""

from __future__ import annotations

import pytest

from zlang.check import library


@pytest.mark.parametrize("name", list(library.load().names()))
def test_a_kind_of_the_library_is_sound(name: str) -> None:
    kind = library.load().kind(name)
    assert all(definition.doc for definition in kind.properties.values())
    assert kind.doc
    words = {word.name for definition in kind.properties.values() for word in definition.type.words}
    assert not words & {"yes", "no", "true", "false"}, "zlang fmt writes these words as `on` and `off`"
