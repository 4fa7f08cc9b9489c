"""`zlang import`: programs from files of other tools, and from resources of this machine."""

from __future__ import annotations

import sys
from pathlib import Path

from zlang.cli import checking, render, words
from zlang.errors import RunError, UsageError, unwritable
from zlang.importing import POOL_OPTION
from zlang.pipeline import importing


def import_into(
    file: str | None, form: str | None, out: Path | None, pool: str | None, *, mounts: bool, host: bool
) -> int:
    """Print or write the program for another tool's file or this machine's resources; no file is overwritten."""
    if (file is not None) + (pool is not None) + mounts + host != 1:
        raise UsageError(f"give one file, or one of {POOL_OPTION}, --mounts and --host", option="FILE")
    if pool is not None:
        text = importing.import_pool(pool)
    elif file is not None:
        source = checking.read(file)
        text = importing.import_file(source.text, source.name, form)
    else:
        text = importing.import_mounts() if mounts else importing.import_host()
    if out is None:
        words.write(text)
        return 0
    write_new(out, text)
    print(
        f"written: {render.visible(str(out))}; to check it: zlang check {words.file(str(out))}",
        file=sys.stderr,
    )
    return 0


def write_new(file: Path, text: str) -> None:
    """Write a new file. Raises RunError if it exists."""
    try:
        with file.open("x", encoding="utf-8") as out:
            out.write(text)
    except FileExistsError:
        raise RunError(f"{file} already exists", "choose another name") from None
    except (OSError, ValueError) as error:
        raise unwritable(file, error) from None
