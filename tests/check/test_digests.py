"""Check that every implementation of a digest computes the same value."""

from __future__ import annotations

import hashlib
import sys

import pytest

from zlang.check import digests


def test_a_digest_is_the_same_without_openssl(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = hashlib.sha256(b"a\0b\xc3\xa9").hexdigest()[:16]
    assert digests.digest("a", "bé") == expected
    monkeypatch.delitem(sys.modules, "hashlib")
    digests._own_sha256.cache_clear()
    assert digests.digest("a", "bé") == expected


def test_a_python_without_its_own_hashes_takes_those_of_openssl(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("_sha2", "_sha256"):
        monkeypatch.setitem(sys.modules, name, None)
    digests._own_sha256.cache_clear()
    assert digests._own_sha256()(b"a").hexdigest() == hashlib.sha256(b"a").hexdigest()
    digests._own_sha256.cache_clear()
