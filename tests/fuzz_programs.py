"""Fuzz `check`, `plan` and `fmt`, guided by coverage: bytes that reach new code are mutated further (atheris).

Arguments are libFuzzer's options, such as `-max_total_time=60`, and directories of a corpus. Fuzzing starts from every
valid program of the repository. A text that breaks something is written to a file `crash-…`, `timeout-…` or `oom-…`,
and the exit code is then not 0.

    python tests/fuzz_programs.py -max_total_time=60
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import atheris

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]
with atheris.instrument_imports(include=["zlang"]):
    import wild_programs

    from zlang.check import check  # noqa: F401 - what is not imported here is not instrumented
    from zlang.lint import lint  # noqa: F401
    from zlang.plan import build  # noqa: F401
    from zlang.space import faults  # noqa: F401
    from zlang.syntax import format as formatting  # noqa: F401

LONGEST = 64 << 10
"""Bytes of a program."""
LIMITS = ["-timeout=60", "-rss_limit_mb=500"]
"""Seconds by the clock for one program, and MiB for all. Instrumented code is some ten times slower, and what a `where`
ties together is listed, up to a million combinations."""


def check_one(data: bytes) -> None:
    """Try one program; any exception is a failure to report."""
    text = data.decode("utf-8", "replace")
    wild_programs.findings(text)
    wild_programs.formatted(text)


def main() -> None:
    """Fuzz until the time is up; does not return."""
    with tempfile.TemporaryDirectory(prefix="zlang-fuzz-") as corpus:
        for number, text in enumerate(wild_programs.parents()):
            (Path(corpus) / f"{number:04d}").write_text(text, "utf-8")
        given = [*LIMITS, f"-max_len={LONGEST}", *sys.argv[1:], corpus]
        atheris.Setup([sys.argv[0], *given], check_one)
        atheris.Fuzz()


if __name__ == "__main__":
    main()
