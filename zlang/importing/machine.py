"""Declarations of a machine's resources: a pool with its datasets, and mounted file systems.

In: the output of `zpool get` and `zfs get`, and /proc/self/mountinfo. Out: text of a program. A pool is `given`; a
dataset is declared with the properties that were set, so that a run creates one like it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction

from zlang import units
from zlang.check import library
from zlang.check.program import Kind, PropertyDef, Symbol, Value
from zlang.errors import RunError
from zlang.importing import writing
from zlang.units import Quantity

POOL_PROPERTIES = "zpool get all {pool}"  # zfs-fuse does not support -H
DATASET_PROPERTIES = "zfs get -H -p -r -o name,property,value,source all {dataset}"
MOUNTS = "cat /proc/self/mountinfo"
_SET = ("local", "received")
"""Sources of a property that was set for this dataset, and is not a default or inherited."""
_FIELDS = 4
_PLACE = 4
_OF_THE_SYSTEM = ("/boot", "/dev", "/proc", "/run", "/snap", "/sys")


def pool(name: str, pool_text: str, dataset_text: str) -> str:
    """Turn a pool, or a dataset in one, into a program. Raises RunError."""
    settings = [line.split() for line in pool_text.splitlines()]
    datasets: dict[str, dict[str, tuple[str, str]]] = {}
    for line in dataset_text.splitlines():
        fields = line.split("\t")
        if len(fields) == _FIELDS and "@" not in fields[0]:
            datasets.setdefault(fields[0], {})[fields[1]] = fields[2], fields[3]
    root = name.partition("/")[0]
    if root not in datasets:
        raise RunError(f"there is no pool `{root}`", "`zpool list` lists the pools")
    if name not in datasets:
        raise RunError(f"there is no dataset `{name}`", f"`zfs list -r {root}` lists them")
    names = writing.FreeNames()
    here = names.free("here", "here")
    kind = library.load().kind("pool")
    set_ones = [(fields[1], " ".join(fields[2:-1])) for fields in settings if fields[-1:] and fields[-1] in _SET]
    pool_name = names.free(root, "pool")
    mountpoint = datasets[root].get("mountpoint", ("", ""))[0]
    lines = [
        "import zfs",
        "",
        f'dir {here} {{ path = "." }}',
        f"given pool {pool_name} on {here} {{",
        f"called = {writing.quoted(root)}",
    ]
    lines += [f"at = {writing.quoted(mountpoint)}"] if mountpoint.startswith("/") else []
    lines += [*_properties(kind, set_ones), "}", ""]
    of_type = {dataset: settings.get("type", ("filesystem", ""))[0] for dataset, settings in datasets.items()}
    within = (dataset for dataset in datasets if dataset != root and f"{dataset}/".startswith(f"{name}/"))
    chosen = [dataset for dataset in within if of_type[dataset] == "filesystem"]
    if chosen:
        lines += writing.comment(
            "A run creates datasets of its own with these properties, and leaves those of the machine alone."
        )
    for dataset in chosen:
        given = [(key, value) for key, (value, source) in datasets[dataset].items() if source in _SET]
        head = f"dataset {names.free(dataset.rpartition('/')[2], 'dataset')} on {pool_name} {{"
        lines += writing.comment(dataset)
        lines += writing.block(head, tuple(_properties(library.load().kind("dataset"), given)))
    return writing.program(lines)


def _properties(kind: Kind, settings: Iterable[tuple[str, str]]) -> Iterator[str]:
    """The properties that the kind has, and for each other property a comment that says why it is missing."""
    reasons = {**library.load().kind("pool").without, **kind.without}
    for name, text in settings:
        definition = kind.properties.get(name)
        value = _value(definition, text) if definition else None
        if definition is not None and value is not None and writing.takes(definition, value):
            yield f"{name} = {writing.literal(value)}"
        elif ":" not in name:  # a user-defined property
            yield from writing.comment(f"{name}={text}: {reasons.get(name, 'no property of the library sets this')}")


def _value(definition: PropertyDef, text: str) -> Value:
    """The value of a property in this text; None if it is not of the property's type."""
    word = text.replace(",", "-")
    if definition.type.variant(word):
        return Symbol(word)
    if "bool" in definition.type.scalars and text in {"on", "off"}:
        return text == "on"
    if text.isdigit():
        dimension = units.SIZE if "size" in definition.type.scalars else units.NUMBER
        return Quantity(Fraction(int(text)), dimension)
    return text if "string" in definition.type.scalars else None


def mounts(text: str) -> str:
    """Declare a directory for each mounted file system that is on a device."""
    names = writing.FreeNames()
    lines: list[str] = []
    for fields, place in _mounted(text):
        kind, device, options = fields[-3], fields[-2], fields[-1]
        lines += writing.comment(f"{kind} on {device} ({options})")
        lines.append(
            f"dir {names.free(place.rpartition('/')[2] or 'root', 'mount')} {{ path = {writing.quoted(place)} }}"
        )
    if not lines:
        raise RunError("no file system of a device is mounted")
    return writing.program(lines)


def _mounted(text: str) -> Iterator[tuple[list[str], str]]:
    """The mounts of devices: the fields of proc(5), and the unescaped mount point."""
    seen: set[str] = set()
    for line in text.splitlines():
        fields = line.split(" ")
        if len(fields) <= _PLACE:
            continue
        place = fields[_PLACE]
        for code, char in (("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")):
            place = place.replace(code, char)
        is_device = fields[-2].startswith("/dev/") or fields[-3] in {"zfs", "nfs", "nfs4", "fuse"}
        if place and is_device and place not in seen and not place.startswith(_OF_THE_SYSTEM):
            seen.add(place)
            yield fields, place
