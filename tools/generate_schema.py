"""Writes docs/plan.schema.json from the types of which a plan is made.

In: `zlang/plan/plan.py`. Out: the JSON Schema of a line of `zlang plan FILE --json`.

    python tools/generate_schema.py            write it
    python tools/generate_schema.py --check    exit with 1 and a diff if it is not what would be written
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tools.generated import write_or_check  # noqa: E402 - found only by the line above
from zlang.plan import wire  # noqa: E402

DOCUMENT = ROOT / "docs/plan.schema.json"


def document() -> str:
    """The whole schema."""
    return json.dumps(wire.schema(), indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    sys.exit(write_or_check(DOCUMENT, document(), sys.argv[1:]))
