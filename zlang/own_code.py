"""Hash zlang's own code: data that another version of the code saved may have another meaning."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path

_HERE = Path(__file__).parents[1]


def hash_of(packages: Iterable[str]) -> str:
    """A hash of the modules and the SQL of some packages, such as `zlang.run` or `zlang.store`."""
    digest = hashlib.sha256()
    for package in packages:
        for file in sorted(_HERE.joinpath(*package.split(".")).iterdir()):
            if file.name.endswith((".py", ".sql")):
                digest.update(file.read_bytes())
    return digest.hexdigest()[:16]
