"""Ways to reach each host: the project file and the command line -> `Reach`.

```toml
# zlang.toml, beside the programs or above them
[hosts.san1]
ssh       = "root@san1.lab"      # any name that ssh knows: ~/.ssh/config holds
directory = "/var/tmp/zlang"     # where run folders lie on it while they are carried out
wait      = 300                  # seconds for which a lost connection is tried again
sudo      = true                 # everything there is done by root, through `sudo -n`
[hosts.here]
local = true
[hosts]
engine = "slurm"                 # the other hosts are the nodes of the allocation in which zlang is started
```

Rule: how a host is reached is not part of the program: it changes no plan, no identity and no result.
"""

from __future__ import annotations

import re
import socket
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from zlang import project
from zlang.errors import RunError, reason_of, suppress
from zlang.files import read_regular, replace_file
from zlang.frozen import frozen, replace
from zlang.plan.plan import LOCAL
from zlang.suggest import did_you_mean

DIRECTORY = "/var/tmp/zlang"  # noqa: S108 - the agent makes it, and refuses one that another user owns
WAIT = 300
KEPT = "machines"
_LONGEST = 1 << 20
_KEYS = ("ssh", "directory", "local", "wait", "sudo")
_LOCAL = "local"
_LOOPBACK, _SSH_PORT = "localhost", 22
_ENGINE = "engine"
SLURM = "slurm"
NODES = "the nodes of this job of Slurm"
"""The source of the hosts that Slurm assigns."""
_MOST_SECONDS = 86_400
_ADDRESS = (
    r"(?:(?P<user>[A-Za-z0-9_][A-Za-z0-9._+-]*)@)?"
    r"(?:\[(?P<ipv6>[0-9A-Fa-f:.]+(?:%[A-Za-z0-9._-]+)?)\]|(?P<host>[A-Za-z0-9_][A-Za-z0-9._-]*))"
    r"(?::(?P<port>[1-9][0-9]{0,4}))?"
)
"""`USER@HOST:PORT`. A name may reach the command of a jump host, so it has letters, digits, `.`, `_` and `-` only."""
_PLACE = r"/[^\0\n\r]*"


@frozen
class Address:
    """The address of an ssh server; ~/.ssh/config supplies the empty fields."""

    host: str
    user: str = ""
    port: int = 0

    def __str__(self) -> str:
        """The text that it was read from."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return (f"{self.user}@" if self.user else "") + host + (f":{self.port}" if self.port else "")


@frozen
class Reach:
    """A way to reach a host: over ssh; without an address, it is this machine."""

    name: str
    address: Address | None
    directory: str = DIRECTORY
    wait: int = WAIT
    source: str = ""
    """The source of this setting: the project file or the command line."""
    sudo: bool = False
    """Whether root does everything there, through `sudo`."""

    @property
    def is_local(self) -> bool:
        """Whether the host is this machine."""
        return self.address is None


def read(directory: Path, options: Iterable[str] = ()) -> dict[str, Reach]:
    """Read how hosts are reached from a directory; `options`, `NAME=ADDRESS`, take precedence. Raises RunError."""
    path = project.find(directory)
    entries = project.table(path, "hosts").items() if path else ()
    tables = {
        name: _of_table(f"{path}: [hosts.{name}]", name, entry)
        for name, entry in entries
        if name != _ENGINE or not isinstance(entry, str)
    }
    return changed(tables, options)


def engine(directory: Path) -> str:
    """The engine that assigns machines to hosts without an entry: `slurm`, or nothing. Raises RunError."""
    path = project.find(directory)
    name = project.table(path, "hosts").get(_ENGINE, "") if path else ""
    if not isinstance(name, str):  # a host with that name
        return ""
    if name not in {"", SLURM}:
        raise RunError(f"{path}: [hosts] has the unknown {_ENGINE} `{name}`", f'write {_ENGINE} = "{SLURM}"')
    return name


def with_nodes(reached: Mapping[str, Reach], names: Iterable[str], nodes: Sequence[str], here: str) -> dict[str, Reach]:
    """Add the nodes of an allocation for hosts without an entry, in order, until there are no more nodes."""
    result = dict(reached)
    for name, node in zip((name for name in names if name not in reached), nodes, strict=False):
        address = None if node == here else parse(node, f"the node of `{name}`")
        result[name] = Reach(name, address, source=NODES)
    return result


def changed(reached: Mapping[str, Reach], options: Iterable[str]) -> dict[str, Reach]:
    """Apply the command-line options. Raises RunError."""
    result = dict(reached)
    for option in options:
        name, equals, text = option.partition("=")
        if not (name and equals and text):
            raise RunError(f"--reach {option}: not of the form NAME=ADDRESS", "for example: --reach san1=root@san1.lab")
        before = result.get(name)
        address = None if text == _LOCAL else parse(text, f"--reach {name}")
        entry = replace(before or Reach(name, address), address=address, source="--reach")
        result[name] = replace(entry, sudo=entry.sudo and not entry.is_local)
    return result


def save(folder: Path, reached: Iterable[Reach]) -> None:
    """Save how the machines of a run are reached, in its folder. Raises OSError."""
    import json
    from dataclasses import asdict

    replace_file(folder / KEPT, json.dumps([asdict(reach) for reach in reached]).encode())


def load(folder: Path) -> list[Reach]:
    """Load how the machines of a run are reached. Raises RunError."""
    import json

    path = folder / KEPT
    try:
        rows = json.loads(read_regular(path, _LONGEST))
        return [Reach(**{**row, "address": Address(**row["address"]) if row["address"] else None}) for row in rows]
    except FileNotFoundError:
        return []
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise RunError(f"cannot read {path}: {reason_of(error)}", "add --reach NAME=ADDRESS for each machine") from None


def parse(text: str, where: str) -> Address:
    """Read an address. Raises RunError."""
    match = re.fullmatch(_ADDRESS, text)
    if match is None or int(match["port"] or 0) > 65_535:  # noqa: PLR2004 - the last port
        raise RunError(f"{where}: `{text}` is not an ssh address", _address_hint(text))
    return Address(match["ipv6"] or match["host"], match["user"] or "", int(match["port"] or 0))


def _address_hint(text: str) -> str:
    """Return what to write in place of a text that is not an address; an IPv6 address needs brackets."""
    user, at, host = text.rpartition("@")
    in_brackets = f"{user}{at}[{host.strip('[]')}]"
    if ":" in host and re.fullmatch(_ADDRESS, in_brackets):
        import ipaddress

        with suppress(ValueError):
            ipaddress.IPv6Address(host.strip("[]"))
            return f"write `{in_brackets}`, or `{in_brackets}:PORT`"
    return "write USER@HOST, USER@HOST:PORT, HOST, or [IPV6-ADDRESS]:PORT"


def require_different_machines(reached: Iterable[Reach]) -> None:
    """Raise RunError if two hosts have the address of one machine, or another host has the name of this one."""
    seen: dict[Address, Reach] = {}
    for reach in reached:
        if reach.name == LOCAL and not reach.is_local:
            message = f"`{LOCAL}` is this machine, and {reach.source} says that it is at {reach.address}"
            raise RunError(message, "give the host another name in the program")
        other = seen.setdefault(_server(reach.address), reach)
        if other is not reach:
            message = f"`{other.name}` and `{reach.name}` are both {_common_place(other, reach)}"
            raise RunError(message, f"{reach.source}: each host of a program must be a different machine")


def _server(address: Address | None) -> Address:
    """The ssh server of an address, in one of the ways to write it; without an address, that of this machine."""
    if address is None:
        return Address(_LOOPBACK, port=_SSH_PORT)
    name, port = address.host.casefold().rstrip("."), address.port or _SSH_PORT
    import ipaddress

    with suppress(OSError):
        name = socket.inet_ntoa(socket.inet_aton(name))  # `127.1` is 127.0.0.1, as ssh reads it
    with suppress(ValueError):
        ip = ipaddress.ip_address(name)
        name = _LOOPBACK if ip.is_loopback else str(ip)
    return Address(name, port=port)


def _common_place(first: Reach, second: Reach) -> str:
    """The machine that two hosts have in common, in words."""
    addresses = dict.fromkeys(str(reach.address) for reach in (first, second) if reach.address)
    if _server(first.address) == _server(None):
        return "this machine" + (f" ({' and '.join(addresses)})" if addresses else "")
    return f"at {' and '.join(addresses)}" + (", which is one server" if len(addresses) > 1 else "")


def _of_table(where: str, name: str, entry: object) -> Reach:
    if not isinstance(entry, dict):
        raise RunError(f"{where} must be a table", f'write [hosts.{name}] and, below it, ssh = "USER@HOST"')
    for key in entry:
        if key not in _KEYS:
            possible = 'it can have ssh = "USER@HOST:PORT", ' + ", ".join(_KEYS[1:])
            raise RunError(f"{where} has no `{key}`", did_you_mean(key, _KEYS) or possible)
    ssh, is_local = entry.get("ssh"), entry.get("local", False)
    directory, wait, sudo = entry.get("directory", DIRECTORY), entry.get("wait", WAIT), entry.get("sudo", False)
    if not isinstance(is_local, bool) or is_local == (ssh is not None):
        raise RunError(f"{where} does not say how to reach the host", 'write ssh = "USER@HOST", or local = true')
    if ssh is not None and not isinstance(ssh, str):
        raise RunError(f"{where}: `ssh` must be a string", 'write ssh = "USER@HOST"')
    if not isinstance(directory, str) or not re.fullmatch(_PLACE, directory):
        raise RunError(f"{where}: `directory` must be an absolute path in one line", f'write directory = "{DIRECTORY}"')
    if isinstance(wait, bool) or not isinstance(wait, int) or not 0 <= wait <= _MOST_SECONDS:
        raise RunError(f"{where}: `wait` must be a whole number of seconds", f"write wait = {WAIT}")
    if not isinstance(sudo, bool) or (sudo and is_local):
        raise RunError(f"{where}: `sudo` must be true or false, and only with `ssh`", "write sudo = true")
    address = None if ssh is None else parse(ssh, where)
    return Reach(name=name, address=address, directory=directory, wait=wait, source=where, sudo=sudo)
