"""Permissions to overwrite things that the run did not make: from the command line, saved for `resume`.

In: names, the plan's hash, the boot id. Out: `Armed`, saved in the run folder as `armed`, and the environment that
passes it to commands. Rule: a permission applies to this exact plan until the machine restarts. The serial number and
the size of a device are part of the plan, and its guard compares them.
"""

from __future__ import annotations

import json
from pathlib import Path

from zlang.errors import RunError, reason_of
from zlang.files import read_regular, replace_file
from zlang.frozen import frozen

_FILE = "armed"
_LONGEST = 1 << 20


@frozen
class Armed:
    """The names of devices that may be overwritten, and of those that may be wiped first."""

    names: tuple[str, ...] = ()
    wipe: tuple[str, ...] = ()

    def environment(self, plan: str, boot: str) -> dict[str, str]:
        """The environment variables that tell commands what is armed; they override variables of the caller."""
        text = " ".join((plan, boot, *self.names)) if self.names else ""
        return {"ZLANG_ARM": text, "ZLANG_WIPE": " ".join(self.wipe), "ZLANG_LOOK": ""}


def save(folder: Path, armed: Armed, plan: str, boot: str) -> None:
    """Save what was armed, for which plan and boot. Raises RunError."""
    content = {"plan": plan, "boot": boot, "names": armed.names, "wipe": armed.wipe}
    try:
        replace_file(folder / _FILE, json.dumps(content).encode())
    except OSError as error:
        raise RunError(f"cannot write {folder / _FILE}: {reason_of(error)}") from None


def load(folder: Path, plan: str, boot: str) -> Armed:
    """Load what was armed for this plan since the machine started; nothing if that is unknown."""
    try:
        content = json.loads(read_regular(folder / _FILE, _LONGEST))
        if not boot or (content["plan"], content["boot"]) != (plan, boot):
            return Armed()
        return Armed(tuple(map(str, content["names"])), tuple(map(str, content["wipe"])))
    except (OSError, ValueError, KeyError, TypeError):
        return Armed()
