"""The code of the modules that commands load, in one file beside the `.pyc` files that Python keeps.

Python finds, opens and checks a file for each of a hundred modules, which takes a tenth of the time of `zlang check`
(bench/README.md). So an installed zlang keeps the code of what its commands have loaded in one file.

Rules: it is as safe as `.pyc` files: in their directory, with their permissions, and written only where and when Python
writes them. It is for one build of Python and one place of the package. A module whose source has another time or size
than before is loaded from its source. If the file cannot be read, modules are loaded as ever. A checkout has no
such file, because its sources change.
"""

from __future__ import annotations

import marshal
import os
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import CodeType

from zlang.errors import suppress

_PACKAGE = Path(__file__).parents[1]
_MADE_FOR = sys.version, str(_PACKAGE)
_NUMBER = 4
"""Bytes of the length of the index, at the start of the file. Offsets are counted from the end of the index."""
_UNREADABLE = (OSError, ValueError, EOFError, TypeError)
"""The errors of a file that is not there, or not what was written."""
_Stamp = tuple[int, int]
"""The time of a source in nanoseconds, and its size."""
_Entry = tuple[str, _Stamp, int, int]
"""The source of a module, its stamp, and the length and the offset of its code."""


class KeptCode:
    """A finder of the modules of zlang that keeps their code in a file."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._entries: dict[str, _Entry] = {}
        self._new: dict[str, tuple[str, _Stamp, CodeType]] = {}
        with suppress(*_UNREADABLE):
            self._file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
            length = int.from_bytes(os.pread(self._file, _NUMBER, 0), "big")
            made_for, entries = marshal.loads(os.pread(self._file, length, _NUMBER))  # noqa: S302 - as .pyc files are
            self._start = _NUMBER + length
            if made_for == _MADE_FOR:
                self._entries = entries

    def find_spec(self, name: str, path: Sequence[str] | None = None, _target: object = None) -> ModuleSpec | None:
        """Find a module of zlang: by its entry, or as Python does."""
        if not name.startswith("zlang."):
            return None
        if name in self._entries:
            file, stamp, *_ = self._entries[name]
            if _stamp_of(file) == stamp:
                return self._spec(name, file)
            del self._entries[name]
        spec = PathFinder.find_spec(name, path)
        if spec is not None and type(spec.loader) is SourceFileLoader:
            spec.loader = _Loader(name, spec.loader.path, self)
        return spec

    def _spec(self, name: str, file: str) -> ModuleSpec:
        directory, _, base = file.rpartition("/")
        spec = ModuleSpec(name, _Loader(name, file, self), origin=file, is_package=base == "__init__.py")
        spec.has_location = True
        spec.cached = self._path  # Python would compute the path of a `.pyc` file, and not use it
        if spec.submodule_search_locations is not None:
            spec.submodule_search_locations.append(directory)
        return spec

    def read(self, name: str) -> CodeType | None:
        """Return the kept code of a module; None if there is none."""
        if name not in self._entries:
            return None
        try:
            code = marshal.loads(self._bytes_of(name))  # noqa: S302 - as .pyc files are
        except _UNREADABLE:
            code = None
        if isinstance(code, CodeType):
            return code
        del self._entries[name]
        return None

    def add(self, name: str, file: str, stamp: _Stamp, code: CodeType) -> None:
        """Keep the code of a module whose source had this stamp before it was read."""
        self._new[name] = file, stamp, code

    def save(self) -> None:
        """Write the file again if modules were loaded in another way, where and if Python may write beside them."""
        path = Path(self._path)
        if not self._new or sys.dont_write_bytecode or not os.access(path.parent, os.W_OK):
            return
        from zlang.files import replace_file

        with suppress(*_UNREADABLE):
            parts = {
                name: (file, stamp, self._bytes_of(name))
                for name, (file, stamp, *_) in self._entries.items()
                if _stamp_of(file) == stamp
            }
            parts |= {name: (file, stamp, marshal.dumps(code)) for name, (file, stamp, code) in self._new.items()}
            replace_file(path, _content(parts), Path(__file__).stat().st_mode & 0o666 | 0o200)  # as of a `.pyc` file

    def _bytes_of(self, name: str) -> bytes:
        *_, length, offset = self._entries[name]
        return os.pread(self._file, length, self._start + offset)


class _Loader(SourceFileLoader):
    """A loader that takes the kept code of a module, and has the code that Python loads kept."""

    def __init__(self, name: str, file: str, kept: KeptCode) -> None:
        super().__init__(name, file)
        self._kept = kept

    def get_code(self, fullname: str) -> CodeType | None:
        """Return the code of the module."""
        if (code := self._kept.read(fullname)) is None:
            stamp = _stamp_of(self.path)
            code = super().get_code(fullname)
            if code is not None and stamp is not None:
                self._kept.add(fullname, self.path, stamp, code)
        return code


def use() -> KeptCode | None:
    """Find modules by the file from now on, and return its finder; None in a checkout or without `.pyc` files."""
    cached = __spec__.cached
    if cached is None or not _PACKAGE.joinpath("stdlib").is_dir():
        return None
    kept = KeptCode(cached.removesuffix(".pyc") + ".bin")
    sys.meta_path.insert(0, kept)
    return kept


def _stamp_of(file: str) -> _Stamp | None:
    """The stamp of a source; None if it does not exist."""
    try:
        status = os.stat(file)  # noqa: PTH116 - a Path would take longer than the call
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size


def _content(parts: dict[str, tuple[str, _Stamp, bytes]]) -> list[bytes]:
    """Lay out the file: the length of the index, the index, and the code of each module."""
    entries: dict[str, _Entry] = {}
    offset = 0
    for name, (file, stamp, code) in parts.items():
        entries[name] = file, stamp, len(code), offset
        offset += len(code)
    index = marshal.dumps((_MADE_FOR, entries))
    return [len(index).to_bytes(_NUMBER, "big"), index, *(code for *_, code in parts.values())]
