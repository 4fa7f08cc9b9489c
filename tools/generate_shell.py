"""Writes the man page and the completions of the shells, which the wheel installs.

In: the command line itself, as docs/cli.md has it. Out: `packaging/share`.

    python tools/generate_shell.py            write them
    python tools/generate_shell.py --check    exit with 1 and a diff if they are not what would be written
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tools.generate_cli import help_of  # noqa: E402 - found only by the line above
from tools.generated import write_or_check  # noqa: E402
from zlang import __version__  # noqa: E402
from zlang.cli import app, command_line, commands  # noqa: E402

SHARE = ROOT / "packaging/share"
COMPLETIONS = {
    "bash": "bash-completion/completions/zlang",
    "zsh": "zsh/site-functions/_zlang",
    "fish": "fish/vendor_completions.d/zlang.fish",
}


def roff(text: str) -> str:
    """A text as it stands in a man page: what begins like a macro, and backslashes, are escaped."""
    return re.sub(r"(?m)^([.'])", r"\\&\1", text.replace("\\", "\\e").replace("-", "\\-"))


def man_page() -> str:
    """The page zlang(1)."""
    os.environ["COLUMNS"] = "100"
    parts = [f'.TH ZLANG 1 "" "zlang {__version__}" "User Commands"', ".SH NAME", "zlang \\- storage experiments"]
    parts += [".SH SYNOPSIS", ".B zlang", "COMMAND [OPTIONS] [ARGUMENTS]", ".SH DESCRIPTION", roff(command_line.HELP)]
    parts += [".PP", roff(command_line.EPILOG), ".SH COMMANDS"]
    for command in commands.COMMANDS:
        parts += [f".SS {command.__name__}", ".nf", roff(help_of(command.__name__).rstrip()), ".fi"]
    parts += [".SH EXIT STATUS"]
    for code, meaning in app.EXIT_CODES.items():
        parts += [".TP", f".B {code}", roff(meaning)]
    return "\n".join([*parts, ""])


def completion(shell: str) -> str:
    """The completion of a shell, as the command line prints it."""
    command = [sys.executable, "-m", "zlang.cli.app"]
    environment = {**os.environ, "_ZLANG_COMPLETE": f"source_{shell}"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True, cwd=ROOT)
    text = done.stdout.strip().replace(f"\n{_REGISTERS}", f"\n{_COMPLETES_AT_ONCE}")
    return text.replace(_RETURNS, f"{_QUOTES}{_RETURNS}") + "\n"


_REGISTERS = "compdef _zlang_completion zlang"
_COMPLETES_AT_ONCE = f"""\
if [[ $funcstack[1] == _zlang ]]; then
  _zlang_completion "$@"
else
  {_REGISTERS}
fi"""
"""zsh reads an installed completion when it is first asked for: this has to complete then, too."""
_RETURNS = "\n    return 0"
_QUOTES = """
    [[ "${COMPREPLY[*]}" == *\\ * ]] && compopt -o filenames"""
"""bash quotes only what it takes for the name of a file: names of runs have spaces."""


def main(arguments: list[str]) -> int:
    """The exit code."""
    texts = {f"man/man1/{name}": text for name, text in {"zlang.1": man_page()}.items()}
    texts |= {path: completion(shell) for shell, path in COMPLETIONS.items()}
    codes = []
    for name, text in texts.items():
        (SHARE / name).parent.mkdir(parents=True, exist_ok=True)
        codes.append(write_or_check(SHARE / name, text, arguments))
    return max(codes)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
