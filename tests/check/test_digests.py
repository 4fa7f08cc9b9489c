"""Digests are the same whichever code computes them."""

from __future__ import annotations

import hashlib
import sys

import pytest

from zlang.check import digests


def test_a_digest_is_the_same_without_openssl(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = hashlib.sha256(b"a\0b\xc3\xa9").hexdigest()[:16]
    assert digests.digest("a", "bé") == expected
    monkeypatch.delitem(sys.modules, "hashlib")
    assert digests.digest("a", "bé") == expected
