"""Writes the generated properties of the kinds of ZFS into `stdlib/zfs.zexp`.

In: `stdlib/data/zfs_properties.json`, what each release knows by its own tables (`zfs_prop.c`, `zpool_prop.c`) and what
zfs-fuse knows by its usage text, and the tables below, which say what those cannot: what is a size, what matters to a
benchmark, which words mean the same. Out: the text between the marker lines, and nothing else of that file.
Rule: every property that can be set is a property of a kind, or is left out for a reason that is printed; a table entry
that decides nothing is an error, so the tables cannot rot.

    python tools/generate_zfs.py            write the regions
    python tools/generate_zfs.py --check    exit with 1 and a diff if a region is not what would be written
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TypedDict

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tools.generated import quoted, replaced, size_literal, write_or_check, written  # noqa: E402 - as above
from zlang.source import Source  # noqa: E402
from zlang.syntax import format as formatting  # noqa: E402

DATA = ROOT / "stdlib/data/zfs_properties.json"
LIBRARY = ROOT / "stdlib/zfs.zexp"
BEGIN = "  # begin generated properties of {kind}: tools/generate_zfs.py"
ZFS_FUSE = "zfs-fuse-0.7.0"

# --- which properties a kind has ---------------------------------------------------------------------------------

KINDS = {
    "pool": ("ashift autotrim dedup_table_quota failmode autoexpand autoreplace delegation listsnapshots multihost "
             "compatibility"),
    "dataset": (
        "recordsize compression checksum dedup copies redundant_metadata special_small_blocks primarycache "
        "secondarycache prefetch direct sync logbias atime relatime xattr dnodesize longname casesensitivity "
        "normalization utf8only quota refquota reservation refreservation"
    ),
    "zvol": (
        "volblocksize compression checksum dedup copies redundant_metadata special_small_blocks primarycache "
        "secondarycache prefetch sync logbias volmode volthreading reservation"
    ),
}  # fmt: skip
"""The properties of each kind, in the order in which they are written."""

_ON_USERS = "omit it: it limits users, and the run is root; `quota` limits the dataset"
LEFT_OUT = (
    (
        "mountpoint canmount overlay altroot cachefile zoned",
        "omit it: zlang decides where the run mounts what it creates",
    ),
    ("sharenfs sharesmb", "export the data with the kind `nfs` (`import nfs`)"),
    ("readonly", "omit it: zlang must be able to write the data"),
    ("volsize", "write `size` of a `zvol`"),
    ("dedupditto", "omit it: it has had no effect since OpenZFS 2.0"),
    (
        "encryption keyformat keylocation pbkdf2iters",
        "create it yourself and declare it `given`: zlang cannot load its key after an export",
    ),
    (
        "version bootfs comment mlslabel context fscontext defcontext rootcontext",
        "omit it: it does not affect the results",
    ),
    (
        "aclinherit aclmode acltype devices exec setuid snapdir snapdev nbmand vscan",
        "omit it: it controls permissions, not performance",
    ),
    (
        "filesystem_limit snapshot_limit filesystem_count snapshot_count",
        "omit it: a run creates only a few datasets and snapshots",
    ),
    (
        (
            "defaultuserquota defaultgroupquota defaultprojectquota defaultuserobjquota defaultgroupobjquota "
            "defaultprojectobjquota"
        ),
        _ON_USERS,
    ),
)
"""Properties that can be set, and what to write instead, because they are not properties of a kind."""

OF_USERS = ("userquota groupquota projectquota userobjquota groupobjquota projectobjquota", _ON_USERS)
"""Properties that ZFS has once for each user, group or project: `userquota@joe`."""

# --- what the tables of ZFS do not tell --------------------------------------------------------------------------

SIZES = {
    "recordsize": "512B..16MiB by *2",
    "volblocksize": "512B..16MiB by *2",
    "special_small_blocks": "0B..16MiB",
    "quota": "64KiB..",
    "refquota": "64KiB..",
    "reservation": "64KiB..",
    "refreservation": "64KiB..",
    "dedup_table_quota": "1KiB..",
}
"""Numbers that are sizes, and the range that some release takes."""

COUNTS = {"ashift": "9..16", "copies": "1..3"}

WORD_SYNONYMS = {
    "checksum": "fletcher4 noparity",  # on, for the inside of ZFS
    "dedup": "sha256 sha256,verify",  # on, verify
    "xattr": "dir",  # on up to 2.2, and read back as `on` there
    "volmode": "geom",  # full
    "dnodesize": "1k 2k 4k 8k 16k",  # numbers; `auto` takes what fits
}
"""Words that mean the same as another one, and would be read back as it."""

CALLED = {"compression": {"gzip-6": "gzip", "zstd-3": "zstd", "zstd-fast-1": "zstd-fast"}}
"""Words by which people go through the levels, and what ZFS calls them: so they are given to it, and read back."""

C_NAMES = {"SPA_AUTOTRIM_OFF": "off", "SPA_AUTOTRIM_DEFAULT": "off", "sa": "on"}
"""Defaults that the table has by their names in the source, or by another name for what `on` is since 2.3 (xattr)."""

EFFECTS = {
    "quota": "immediate", "refquota": "immediate", "reservation": "immediate", "refreservation": "immediate",
    "longname": "immediate", "autotrim": "immediate", "dedup_table_quota": "immediate", "failmode": "immediate",
    "autoexpand": "immediate", "autoreplace": "immediate", "delegation": "immediate", "listsnapshots": "immediate",
    "multihost": "immediate", "ashift": "create_only", "compatibility": "create_only",
}  # fmt: skip
"""The time from which a change applies, if the data do not say so; from zfsprops(7) and zpoolprops(7)."""

COSTS = (
    ("live", "immediate subsequent_reads subsequent_evictions"),
    ("rewrite", "new_files new_blocks new_xattrs"),
    ("create", "create_only on unknown"),
)
"""The cost of a change, by the time from which it applies."""

DOCS = {
    "recordsize": "the largest block of a file, a power of 2; a file keeps what it was written with",
    "compression": "compression of blocks",
    "checksum": "checksum of blocks; dedup uses its own",
    "dedup": "whether blocks are deduplicated, and by which checksum",
    "copies": "number of copies of each block",
    "redundant_metadata": "which metadata have an extra copy",
    "special_small_blocks": "blocks up to this size are stored on the special devices",
    "primarycache": "what the ARC caches",
    "secondarycache": "which of the data in the ARC the L2ARC caches",
    "prefetch": "what is prefetched",
    "direct": "whether O_DIRECT bypasses the ARC",
    "sync": "whether synchronous writes, all writes, or none wait for the intent log",
    "logbias": "whether synchronous writes go through the log devices or directly to the data devices",
    "atime": "whether reading a file updates its access time",
    "relatime": "whether access times are updated only once a day or after a change",
    "xattr": "whether extended attributes exist, and are stored in inodes: sa, which `on` means since 2.3",
    "dnodesize": "size of inodes",
    "longname": "whether file names may have up to 1023 bytes",
    "casesensitivity": "whether file names are case-sensitive",
    "normalization": "how Unicode file names are compared",
    "utf8only": "whether file names must be UTF-8",
    "quota": "most space that the dataset and its children may use",
    "refquota": "most space that the dataset itself may use",
    "reservation": "space that is reserved for the dataset and its children",
    "refreservation": "space that is reserved for the dataset itself",
    "volblocksize": "block size of the volume, a power of 2",
    "volmode": "how the volume appears as a device",
    "volthreading": "whether several threads handle its requests",
    "ashift": "sector size, as a power of 2; the default is what the device reports",
    "autotrim": "whether freed blocks are discarded on the devices",
    "dedup_table_quota": "largest size of the deduplication table",
    "failmode": "what happens when the pool loses its devices",
    "autoexpand": "whether the pool grows with its devices",
    "autoreplace": "whether a new device at the place of an old one is used automatically",
    "delegation": "whether permissions can be delegated to other users than root",
    "listsnapshots": "whether `zfs list` shows snapshots",
    "multihost": "whether the pool is protected against import on two machines at once",
    "compatibility": "set of features with which it is made",
}
"""The description of a property, without its history, which the tables of the releases have."""

WORD = re.compile(r"[a-z]\w*(?:-\w+)*", re.IGNORECASE)


class Entry(TypedDict, total=False):
    """One property as it stands in the data file."""

    type: str
    default: str
    attr: str
    values: list[str]
    editable: bool


@dataclass(frozen=True, slots=True)
class Property:
    """One property as it is written: its type and its attributes, in order."""

    name: str
    type: str
    attributes: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Table:
    """The data file: what each release of OpenZFS knows, oldest first, what zfs-fuse knows, and when changes hold."""

    releases: dict[str, dict[str, Entry]]
    zfs_fuse: dict[str, Entry]
    effects: dict[str, str]

    def history(self, name: str) -> dict[str, Entry]:
        """The releases that have a property, by their short names, and how they have it."""
        return {short(release): properties[name] for release, properties in self.releases.items() if name in properties}

    def newest(self) -> dict[str, Entry]:
        """The properties of the newest release."""
        return list(self.releases.values())[-1]


@cache
def load(path: Path = DATA) -> Table:
    """The properties of ZFS, as the data file has them."""
    data = json.loads(path.read_text("utf-8"))
    releases = {release: {**both["dataset"], **both["pool"]} for release, both in data["releases"].items()}
    zfs_fuse = releases.pop(ZFS_FUSE)
    return Table(releases, zfs_fuse, {name: entry["effect"] for name, entry in data["effects"].items()})


def short(release: str) -> str:
    """`zfs-2.1.16` as `2.1`."""
    return ".".join(release.removeprefix("zfs-").split(".")[:2])


# --- one property ------------------------------------------------------------------------------------------------


def properties(kind: str) -> list[Property]:
    """The properties of a kind, in order."""
    return [make_property(name, kind) for name in KINDS[kind].split()]


def make_property(name: str, of: str) -> Property:
    """The property of a kind that stands for one of ZFS."""
    kind = property_type(name)
    attributes = {
        "default": default_of(name, kind),
        "allow": SIZES.get(name) or COUNTS.get(name),
        "cost": cost_of(name, of),
        "since": None if name in load().zfs_fuse else quoted(f"zfs {next(iter(load().history(name)))}"),
        "settings": setting_of(name, kind),
        "doc": quoted(doc_of(name)),
    }
    return Property(name, kind, tuple((key, text) for key, text in attributes.items() if text is not None))


def property_type(name: str) -> str:
    if name in SIZES:
        return "size"
    if name in COUNTS:
        return "count"
    if load().newest()[name]["type"] == "string":
        return "string"
    words = words_of(name)
    return "bool" if set(words) == {"on", "off"} else " | ".join(map(spelled, words))


def words_of(name: str) -> list[str]:
    """The values that a release takes, but for those that say what another one says."""
    every = dict.fromkeys(word for entry in reversed(load().history(name).values()) for word in entry["values"])
    words = [word for word in every if word not in WORD_SYNONYMS.get(name, "").split()]
    strange = [word for word in words if WORD.fullmatch(spelled(word)) is None]
    if strange:
        message = f"BUG: {name} has values that are no words: {strange}"
        raise AssertionError(message)
    return words


def spelled(word: str) -> str:
    """`sha512,verify` as a word of the language."""
    return word.replace(",", "-")


def setting_of(name: str, kind: str) -> str:
    """The expression for the argument of `zfs set`, which `zfs get -p` has to print again."""
    if kind == "bool":
        return f'if {name} then "{name}=on" else "{name}=off"'
    called = {word: word for word in words_of(name) if "," in word} if " | " in kind else {}
    called |= CALLED.get(name, {})
    plain = f'"{name}={{{name}}}"'
    if not called:
        return plain
    chain = [f'if {name} is {spelled(word)} then "{name}={text}"' for word, text in called.items()]
    return "(" + f"\n{' ' * 16}else ".join([*chain, plain]) + ")"


def default_of(name: str, kind: str) -> str | None:
    """The default, where all releases agree on one that can be written."""
    defaults = set(defaults_of(name).values())
    if len(defaults) > 1 or kind == "string" or name in {"ashift", "dedup_table_quota"}:
        return None
    (default,) = defaults
    if kind == "size":
        return size_literal(int(default)) if default != "0" or name == "special_small_blocks" else None
    return default


def defaults_of(name: str) -> dict[str, str]:
    """The default in each release: the first word, for the table says `on (= fletcher4)`."""
    defaults = {release: entry.get("default", "").split(" ")[0] for release, entry in load().history(name).items()}
    return {release: C_NAMES.get(default, default) for release, default in defaults.items()}


def cost_of(name: str, of: str) -> str:
    """The cost of a change. A volume is written when it is created, so there `rewrite` becomes `create`."""
    effect = EFFECTS.get(name) or load().effects[name]
    cost = next(cost for cost, effects in COSTS if effect.split(" ")[0] in effects.split())
    return "create" if cost == "rewrite" and of == "zvol" else cost


def doc_of(name: str) -> str:
    """The description of a property, and which of its values, and which default, came later."""
    return "; ".join([DOCS[name], *later_words(name), *later_defaults(name)])


def later_words(name: str) -> Iterator[str]:
    """`lz4 since 0.6`: values that zfs-fuse, or the first release that has the property, does not take."""
    if " | " not in property_type(name):
        return
    offered = words_of(name)
    earlier = {word for word in offered if word in in_zfs_fuse(name)}
    for release, entry in load().history(name).items():
        new = [word for word in offered if word in entry["values"] and word not in earlier]
        if new and earlier:
            yield f"{' '.join(dict.fromkeys(stem(word, new) for word in new))} since {release}"
        earlier.update(new)


def stem(word: str, words: list[str]) -> str:
    """A word for all that only add to it, such as `zstd` for `zstd-5`."""
    return next(shorter for shorter in words if word == shorter or re.match(rf"{shorter}[-,]", word))


def in_zfs_fuse(name: str) -> set[str]:
    """The values that zfs-fuse takes, which its usage text abbreviates."""
    usage = load().zfs_fuse.get(name, {}).get("help", "")
    words = set(str(usage).replace("gzip-[1-9]", " | ".join(f"gzip-{n}" for n in range(1, 10))).split(" | "))
    return words | {"sha256", "sha256,verify"} if "sha256[,verify]" in words else words


def later_defaults(name: str) -> Iterator[str]:
    """`off by default, on since 2.2`: what no default can be written for."""
    history = defaults_of(name)
    if len(set(history.values())) == 1:
        return
    phrases: list[str] = []
    before = None
    for release, default in history.items():
        if default != before:
            phrases.append(f"{readable(name, default)} {f'since {release}' if phrases else 'by default'}")
        before = default
    yield ", ".join(phrases)


def readable(name: str, default: str) -> str:
    return size_literal(int(default)) if name in SIZES else default


# --- the text ----------------------------------------------------------------------------------------------------


def region(kind: str) -> str:
    """The lines between the markers of a kind."""
    lines = [line for member in properties(kind) for line in written(member.name, member.type, member.attributes)]
    return "".join(f"{line}\n" for line in lines)


def left_out(kind: str) -> str:
    """The lines that say what a kind leaves out, and why."""
    own = {member.name for member in properties(kind)}
    lines = ["  # Properties of ZFS that are left out, and what to write instead:"]
    for names, reason in (*LEFT_OUT, OF_USERS):
        without = ", ".join(name for name in names.split() if name not in own)
        lines.append(f"  without {quoted(without)} {quoted(reason)}")
    return "".join(f"{line}\n" for line in lines)


def settable() -> set[str]:
    """Every property that some release lets one set."""
    every = [entry for properties in load().releases.values() for entry in properties.items()]
    return {name for name, entry in every if entry["attr"] != "readonly"}


def check_tables() -> None:
    """Every property is dealt with, and every entry of a table decides something."""
    offered = {name for names in KINDS.values() for name in names.split()}
    reasons = [name for names, _ in LEFT_OUT for name in names.split()]
    tables = (SIZES, COUNTS, WORD_SYNONYMS, CALLED, EFFECTS, DOCS)
    wrong = settable() ^ (offered | set(reasons)) | (offered & set(reasons)) | (offered ^ set(DOCS))
    wrong |= {name for table in tables for name in table} - offered | (set(EFFECTS) & set(load().effects))
    wrong |= {word for name, words in WORD_SYNONYMS.items() for word in words.split() if word not in all_words(name)}
    wrong |= {word for name, words in CALLED.items() for word in words if word not in words_of(name)}
    if wrong or len(reasons) != len(set(reasons)):
        message = f"BUG: properties that are not dealt with, or table entries without use: {sorted(wrong)}"
        raise AssertionError(message)


def all_words(name: str) -> set[str]:
    return {word for entry in load().history(name).values() for word in entry["values"]}


def library(text: str) -> str:
    """The file with its regions renewed."""
    check_tables()
    for kind in KINDS:
        text = replaced(text, BEGIN.format(kind=kind), f"{region(kind)}\n{left_out(kind)}")
    return formatting.program(Source(LIBRARY.name, text)).text


if __name__ == "__main__":
    sys.exit(write_or_check(LIBRARY, library(LIBRARY.read_text("utf-8")), sys.argv[1:]))
