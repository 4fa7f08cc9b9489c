"""The seal of a run folder: this user's key on this machine + the folder's content -> whether the folder is theirs.

The seal is a keyed BLAKE2b (RFC 7693) over the run's name, the files that decide which commands are run and where
(`plan.jsonl`, `directory`, `armed` and `machines`), and the findings about the machine. The lines of the journal are
signed with the same key, so changes are detected. Rules: a folder without a valid seal can be read, but nothing in it
is run; only its owner can read the key, and a key that others could know is not used.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import pwd
import stat
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from zlang.errors import RunError, reason_of
from zlang.files import open_regular, read_regular, remove_abandoned_files, replace_file, sync_directory
from zlang.run.places import FINDINGS

FILE = "seal"
_SEALED = ("plan.jsonl", "directory", "armed", "machines", FINDINGS)
FILES = (*_SEALED, FILE)
"""The seal of a folder, and the files that it covers."""
_NEWER = _SEALED[3:]
"""Files that folders of earlier releases do not have; the seal does not cover absent ones."""
_KEY_BYTES = 32
_LONGEST_SEAL = 4096
_MAC_DIGITS = 32
_BLOCK = 1 << 20
_FOREIGN = "it was sealed by another user or on another machine"


def key_file() -> Path:
    """The file with this user's key: $XDG_STATE_HOME/zlang/key, by default ~/.local/state/zlang/key."""
    given = os.environ.get("XDG_STATE_HOME", "")
    state = Path(given) if Path(given).is_absolute() else _home_directory() / ".local" / "state"
    return state / "zlang" / "key"


def load_key() -> bytes:
    """Read the key; create it on first use. Raises RunError."""
    path = key_file()
    try:
        with suppress(FileExistsError):
            if not path.exists():
                _make_key(path)
        return _read_key(path)
    except OSError as error:
        message = f"cannot use the key {path}: {reason_of(error)}"
        raise RunError(message, "set XDG_STATE_HOME to a directory that you can write in") from error


def _read_key(path: Path) -> bytes:
    """Read a key that nobody else can know. Raises RunError and OSError."""
    with open_regular(path) as file:
        status = os.fstat(file.fileno())
        key = file.read(_KEY_BYTES + 1)
    if status.st_uid != os.geteuid() or stat.S_IMODE(status.st_mode) & 0o077:
        message = f"the key {path} can be read by others, or belongs to another user"
        raise RunError(message, f"delete it; folders that it sealed then need --trust: rm {path}")
    if len(key) != _KEY_BYTES:
        message = f"the key {path} is damaged: it has to have {_KEY_BYTES} bytes"
        raise RunError(message, f"delete it; folders that it sealed then need --trust: rm {path}")
    return key


def key_name() -> str:
    """Identify this user's key without revealing it; empty if there is no key that can be used."""
    try:
        return _name_of(_read_key(key_file()))
    except (RunError, OSError):
        return ""


def authenticate(key: bytes, parts: Iterable[bytes]) -> str:
    """Return the keyed hash of an ordered list of parts, in hexadecimal; the boundaries between parts matter."""
    return _extended(hashlib.blake2b(key=key, digest_size=32), parts).hexdigest()


def _extended(digest: hashlib.blake2b, parts: Iterable[bytes]) -> hashlib.blake2b:
    """Add parts to a keyed hash, each after its length."""
    for part in parts:
        digest.update(len(part).to_bytes(8, "big"))
        digest.update(part)
    return digest


def signer(run: str) -> Callable[[bytes], str] | None:
    """Return the function that signs the lines of a run's journal; None if there is no key, and none can be made."""
    try:
        return _signer(load_key(), run)
    except RunError:
        return None


def verifier(folder: Path) -> Callable[[bytes], str] | None:
    """Return the function that signed a folder's journal if the folder is sealed with this user's key; else None."""
    members = _read(folder)
    try:
        key = _read_key(key_file()) if members else b""
    except (RunError, OSError):
        return None
    return _signer(key, members["run"]) if members and members["key"] == _name_of(key) else None


def _signer(key: bytes, run: str) -> Callable[[bytes], str]:
    """The function that signs a line as `authenticate` does; what all lines begin with is hashed once."""
    begun = _extended(hashlib.blake2b(key=key, digest_size=32), (b"journal", run.encode()))

    def sign(line: bytes) -> str:
        digest = begun.copy()
        digest.update(len(line).to_bytes(8, "big") + line)  # as `_extended` does, in half of the time
        return digest.hexdigest()[:_MAC_DIGITS]

    return sign


def write(folder: Path, run: str) -> None:
    """Seal a run folder as it is now. Raises RunError."""
    key = load_key()
    remove_abandoned_files(folder)
    try:
        content = {"run": run, "key": _name_of(key), "seal": authenticate(key, _parts(folder, run))}
        content["owner"] = _owner_seal(key, folder, run)
        replace_file(folder / FILE, json.dumps(content, separators=(",", ":")).encode() + b"\n")
    except OSError as error:
        raise RunError(f"cannot seal {folder}: {reason_of(error)}") from error


def sealed_name(folder: Path) -> str | None:
    """Read the name under which a run was sealed, without verifying the seal."""
    members = _read(folder)
    return members["run"] if members else None


def reason_not_own(folder: Path) -> str:
    """Return why a folder is not this user's own and unchanged; empty if its seal is valid."""
    members = _read(folder)
    if members is None:
        return "it has no seal, or a damaged one"
    try:
        key = _read_key(key_file())
    except FileNotFoundError:
        return _FOREIGN
    except (RunError, OSError) as error:
        return f"its seal cannot be verified: {reason_of(error)}"
    if members["key"] != _name_of(key):
        return _FOREIGN
    try:
        expected = authenticate(key, _parts(folder, members["run"]))
    except OSError as error:
        return f"its seal cannot be verified: {reason_of(error)}"
    if not hmac.compare_digest(expected.encode(), members["seal"].encode()):
        return f"its {', '.join(_SEALED[:-1])} or {_SEALED[-1]} was changed after it was sealed"
    return ""


def why_not_executed(folder: Path) -> str:
    """Return why no command of a folder may be executed; empty if its seal is valid and its owner is unchanged.

    Another user could make a copy with links in it, and commands would write through these.
    """
    if why := reason_not_own(folder):
        return why
    try:
        members = json.loads(read_regular(folder / FILE, _LONGEST_SEAL))
        expected = _owner_seal(_read_key(key_file()), folder, members["run"])
    except (RunError, OSError, ValueError) as error:
        return f"its owner cannot be verified: {reason_of(error)}"
    is_same = hmac.compare_digest(expected.encode(), str(members.get("owner")).encode())
    return "" if is_same else "another user owned it when it was sealed"


def _owner_seal(key: bytes, folder: Path, run: str) -> str:
    return authenticate(key, (b"owner", run.encode(), b"%d" % folder.stat().st_uid))


def _read(folder: Path) -> dict[str, str] | None:
    try:
        members = json.loads(read_regular(folder / FILE, _LONGEST_SEAL))
    except (OSError, ValueError, RecursionError):
        return None
    if not isinstance(members, dict) or not all(isinstance(members.get(name), str) for name in ("run", "key", "seal")):
        return None
    return members


def _parts(folder: Path, run: str) -> Iterator[bytes]:
    yield run.encode()
    for name in _SEALED:
        digest = _digest(folder / name)
        if digest or name not in _NEWER:
            yield name.encode()
            yield digest


def _digest(path: Path) -> bytes:
    """Hash a file; an absent file differs from an empty one."""
    digest = hashlib.blake2b()
    try:
        with open_regular(path) as file:
            while block := file.read(_BLOCK):
                digest.update(block)
    except FileNotFoundError:
        return b""
    return digest.digest()


def _name_of(key: bytes) -> str:
    """Identify a key without revealing it."""
    return hashlib.blake2b(b"name of a key", key=key, digest_size=8).hexdigest()


def _make_key(path: Path) -> None:
    """Make the key, on the disk before it is used; if two are made at once, the first becomes the key."""
    import tempfile

    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".key.")  # readable by its owner only
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(os.urandom(_KEY_BYTES))
            file.flush()
            os.fsync(file.fileno())
        Path(path).hardlink_to(temporary)
        sync_directory(path.parent)
    finally:
        Path(temporary).unlink(missing_ok=True)


def _home_directory() -> Path:
    """The user's home: $HOME unless it is unset or another user's (as with sudo), else the system's entry."""
    given = Path(os.environ.get("HOME", ""))
    try:
        if given.is_absolute() and given.stat().st_uid == os.geteuid():
            return given
        return Path(pwd.getpwuid(os.geteuid()).pw_dir)
    except (OSError, KeyError) as error:
        message = "there is no home directory for the key"
        raise RunError(message, "set XDG_STATE_HOME to a directory that you can write in") from error
