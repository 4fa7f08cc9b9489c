"""The parts that generators share: write a file, or with `--check` say whether it is current; texts of properties."""

from __future__ import annotations

import difflib
import sys
import textwrap
from collections.abc import Iterable, Mapping
from pathlib import Path

END = "  # end generated properties"
WIDTH = 110
SIZES = [(1024**n, f"{prefix}iB") for n, prefix in zip(range(6, 0, -1), "EPTGMK", strict=True)]


def write_or_check(page: Path, new: str, arguments: list[str]) -> int:
    """The exit code: 1, with a diff on standard output, where `--check` finds that the page is not what it would be."""
    old = page.read_text("utf-8") if page.exists() else ""
    if "--check" not in arguments:
        if old != new:
            page.write_text(new, "utf-8")
        return 0
    diff = difflib.unified_diff(old.splitlines(), new.splitlines(), "there", "generated", lineterm="")
    sys.stdout.writelines(f"{line}\n" for line in diff)
    return int(old != new)


def write_or_check_all(folder: Path, pages: Mapping[str, str], arguments: list[str]) -> int:
    """The same for all pages of a folder, by name; a page that is none of them is wrong too."""
    folder.mkdir(exist_ok=True)
    codes = [write_or_check(folder / name, text, arguments) for name, text in pages.items()]
    for path in folder.glob("*.md"):
        if path.name not in pages:
            print(f"{path} is not generated any more: remove it")
            codes.append(1)
    return max(codes)


# --- properties of kinds -----------------------------------------------------------------------------------------


def written(name: str, kind: str, attributes: Iterable[tuple[str, str]]) -> list[str]:
    """A property on one line, or with a line for each attribute if that is too long."""
    lines = [f"{key} = {text}" for key, text in attributes]
    line = f"  property {name}: {kind} {{ {'  '.join(lines)} }}"
    if len(line) < WIDTH:
        return [line]
    head = textwrap.wrap(f"  property {name}: {kind}", WIDTH - 2, subsequent_indent="    ", break_on_hyphens=False)
    head = with_leading_bars(head)
    return [*head[:-1], f"{head[-1]} {{", *(f"    {attribute}" for attribute in lines), "  }"]


def with_leading_bars(lines: list[str]) -> list[str]:
    """Wrapped types with the `|` at the front: only so does the language read on from the line above."""
    moved = [line.removesuffix(" |") for line in lines]
    for number in range(1, len(lines)):
        if lines[number - 1].endswith(" |"):
            moved[number] = f"    | {moved[number].strip()}"
    return moved


def size_literal(amount: int) -> str:
    """A number of bytes as it is written in the language."""
    return next((f"{amount // n}{unit}" for n, unit in SIZES if amount and amount % n == 0), f"{amount}B")


def quoted(text: str) -> str:
    """A string of the language: braces are doubled, because they hold expressions."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("{", "{{").replace("}", "}}")
    return f'"{escaped}"'


def replaced(text: str, begin: str, new: str) -> str:
    """A text with the region renewed that begins after the line `begin`; all else stays."""
    head, begun, behind = text.partition(f"{begin}\n")
    _, end, tail = behind.partition(f"{END}\n")
    if not begun or not end:
        message = f"there is no line `{begin.strip()}`, or no `{END.strip()}` after it"
        raise SystemExit(message)
    return f"{head}{begun}{new}{end}{tail}"
