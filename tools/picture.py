"""Runs examples/quickstart.zexp and draws the pictures of README.md and docs/plots.md.

In: the commands in docs/plots.md, each with its picture below it. Out: in `docs/pictures/`, `session.txt`, what was
typed and printed; `session.svg`, a picture of it; and a picture for each command.

    python tools/picture.py           carry it out on the disk of /var/tmp, and draw it
    python tools/picture.py draw      draw `session.txt` again
"""

from __future__ import annotations

import io
import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import DEFAULT_TERMINAL_THEME
from rich.text import Text

ROOT = Path(__file__).resolve().parent.parent
PICTURES = ROOT / "docs/pictures"
SESSION = PICTURES / "session.txt"
COMMANDS = ("zlang check quickstart.zexp", "zlang run quickstart.zexp --yes", "zlang compare --by bs")
GALLERY = ROOT / "docs/plots.md"
PROMPT = "$ "
WIDTH = 110
_DRAWN = re.compile(r"```sh\n(zlang plot .*)\n```\n\n!\[[^\]]*\]\(pictures/(\S+)\)")
_WEB_FONT = re.compile(r"@font-face \{.*?\}\s*", re.DOTALL)
_PAINTED = (
    (re.compile(r"(?m)^\$ .*$"), "bold"),
    (re.compile(r"(?m)^(?:warning|note)\[[^\]]*\]"), "bold yellow"),
    (re.compile(r"(?m)^error\[[^\]]*\]"), "bold red"),
)


def main(words: list[str]) -> None:
    """Measure, unless only the picture has to be drawn, and draw."""
    PICTURES.mkdir(exist_ok=True, parents=True)
    if words != ["draw"]:
        with tempfile.TemporaryDirectory(dir="/var/tmp", prefix="zlang-picture-") as place:
            SESSION.write_text(_session(Path(place)), "utf-8")
    (PICTURES / "session.svg").write_text(picture(SESSION.read_text("utf-8")), "utf-8")


def plots() -> list[tuple[str, Path]]:
    """The commands of the gallery, and the picture that each of them draws."""
    return [(command, PICTURES / name) for command, name in _DRAWN.findall(GALLERY.read_text("utf-8"))]


def _session(place: Path) -> str:
    """The commands and their output, with the plots."""
    (place / "quickstart.zexp").write_bytes((ROOT / "examples/quickstart.zexp").read_bytes())
    parts = [f"{PROMPT}{command}\n{_printed(command.split(), place)}" for command in COMMANDS]
    for command, drawn in plots():
        _printed([*shlex.split(command), "--out", str(drawn)], place)
    return "\n".join(parts)


def _printed(command: list[str], place: Path) -> str:
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = {**os.environ, "PATH": path}
    done = subprocess.run(command, cwd=place, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(done.stderr)
    return done.stdout


def picture(session: str) -> str:
    """A terminal with a session, as SVG, that needs no network."""
    console = Console(record=True, width=WIDTH, file=io.StringIO(), force_terminal=True)
    text = Text(session.rstrip())
    for pattern, style in _PAINTED:
        text.highlight_regex(pattern, style)
    console.print(text)
    drawn = console.export_svg(title="zlang", theme=DEFAULT_TERMINAL_THEME, unique_id="session")
    return _WEB_FONT.sub("", drawn).replace("Fira Code", "DejaVu Sans Mono")


if __name__ == "__main__":
    main(sys.argv[1:])
