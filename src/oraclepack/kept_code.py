"""The compiled code of our modules in one file.

Python looks for each module in its folder, opens its compiled code and checks that it belongs to
the source. A command loads two hundred modules, and for a short one that is a tenth of its time.
So the code is kept together as well, beside what Python keeps (`__pycache__`) and under the same
rules: whoever may write there writes it, a module whose source has another time or size is loaded
as Python loads it, and without the file everything works, only later. Where Python goes by the
content of sources because their times tell nothing, nothing is kept.
"""

import contextlib
import marshal
import os
import sys
import zlib
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, SourceFileLoader
from types import CodeType, ModuleType

from oraclepack import __version__

_Entry = tuple[bool, int, int]
"""Of a module: is it a package, time and size of the source."""
_Place = tuple[int, int, int]
"""Of its code: where it begins behind the table, its length and checksum."""
_HEAD = 8
"""Checksum and length of the table of all modules, with which the file begins."""


class KeptCode:
    """Finds modules of one package. Stands before Python's own finders, which know all others."""

    def __init__(self, package: ModuleType) -> None:
        spec = package.__spec__
        self._prefix = f"{package.__name__}."
        self._folder = os.path.dirname(package.__file__ or "")  # noqa: PTH120 - pathlib costs more
        # Code names its file: after a move it would tell of another one.
        self._made_by = f"{__version__} {sys.version} {self._folder}"
        # Its name tells the version of Python and how much it optimises.
        cached = spec.cached if spec is not None else None
        self._path = f"{cached}.all" if cached and not _goes_by_content(cached) else None
        self._kept = _Kept(self._path, self._made_by)
        self._missed: set[str] = set()

    def find_spec(
        self, name: str, _path: Sequence[str] | None = None, _target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """How to load one of our modules; nothing if its code is not kept or is older."""
        if not name.startswith(self._prefix):
            return None
        if name in self._kept.table:
            (is_package, *stamp), place = self._kept.table[name]
            source = self._source(name, is_package=is_package)
            code = self._kept.code(place) if _stamp(source) == tuple(stamp) else None
            if code is not None:
                loader = _Loader(name, source, code)
                spec = ModuleSpec(name, loader, origin=source, is_package=is_package)
                if is_package:
                    spec.submodule_search_locations = [os.path.dirname(source)]  # noqa: PTH120
                spec.has_location = True
                spec.cached = self._path
                return spec
        self._missed.add(name)
        return None

    def keep(self) -> None:
        """Keep what had to be looked for, for the next command."""
        if not self._missed or self._path is None or sys.dont_write_bytecode:
            return
        # Looked at first: where it cannot be written, no command shall pay for making it.
        folder = os.path.dirname(self._path)  # noqa: PTH120
        if not os.access(folder, os.W_OK) or os.path.isdir(self._path):  # noqa: PTH112
            return
        found = {name: entry for name in sorted(self._missed) if (entry := self._made(name))}
        if found:
            there = {
                name: (entry, code)
                for name, (entry, place) in self._kept.table.items()
                if _stamp(self._source(name, is_package=entry[0])) is not None
                and (code := self._kept.code(place)) is not None
            }
            with contextlib.suppress(OSError):
                _write(self._path, self._made_by, there | found)

    def _source(self, name: str, *, is_package: bool) -> str:
        inside = name.removeprefix(self._prefix).replace(".", "/")
        return f"{self._folder}/{inside}{'/__init__.py' if is_package else '.py'}"

    def _made(self, name: str) -> tuple[_Entry, bytes] | None:
        spec = getattr(sys.modules.get(name), "__spec__", None)
        if spec is None or not isinstance(spec.loader, SourceFileLoader):
            return None
        is_package = spec.submodule_search_locations is not None
        source = self._source(name, is_package=is_package)
        before = _stamp(source)
        try:
            code = spec.loader.get_code(name)
        except (ImportError, OSError, SyntaxError, ValueError):
            return None
        if code is None or before is None or before != _stamp(source) or spec.origin != source:
            return None  # edited while we looked, or not ours
        return (is_package, *before), marshal.dumps(code)


class _Kept:
    """The file: a table of what it holds, then the codes one after another, read when wanted."""

    def __init__(self, path: str | None, made_by: str) -> None:
        self.table: dict[str, tuple[_Entry, _Place]] = {}
        if path is None:
            return
        try:
            # Whatever else stands there, a pipe say, must not be waited for.
            self._file = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
            # No more is read than there is: memory is taken for all that is asked for, and a
            # damaged length asks for gigabytes.
            size = os.fstat(self._file).st_size
            head = os.read(self._file, _HEAD)
            table = os.read(self._file, min(size, int.from_bytes(head[4:], "big")))
            if head[:4] != zlib.crc32(table).to_bytes(4, "big"):
                return
            maker, entries = marshal.loads(table)  # noqa: S302 - as good as Python's own files
        except (OSError, EOFError, ValueError, TypeError):
            return
        self._codes = _HEAD + len(table)
        if maker == made_by:
            self.table = entries

    def code(self, place: _Place) -> bytes | None:
        """The code of a module; nothing if it is damaged."""
        begin, length, checksum = place
        try:
            code = os.pread(self._file, length, self._codes + begin)
        except OSError:
            return None
        return code if zlib.crc32(code) == checksum else None


class _Loader(SourceFileLoader):
    """Knows the code already; all else (source, data files) is as with any module."""

    def __init__(self, name: str, source: str, code: bytes) -> None:
        super().__init__(name, source)
        self._code = code

    def get_code(self, _name: str) -> CodeType:
        code: CodeType = marshal.loads(self._code)  # noqa: S302 - as good as Python's own files
        return code


def _goes_by_content(cached: str) -> bool:
    """Whether a file of Python's own holds the hash of its source instead of the time (PEP 552)."""
    try:
        with open(cached, "rb") as file:  # noqa: PTH123
            return file.read(8)[4:] not in {b"", bytes(4)}
    except OSError:
        return False


def _stamp(source: str) -> tuple[int, int] | None:
    try:
        seen = os.stat(source)  # noqa: PTH116
    except OSError:
        return None
    return seen.st_mtime_ns, seen.st_size


def _write(path: str, made_by: str, modules: dict[str, tuple[_Entry, bytes]]) -> None:
    table, begin = {}, 0
    for name, (entry, code) in modules.items():
        table[name] = entry, (begin, len(code), zlib.crc32(code))
        begin += len(code)
    content = marshal.dumps((made_by, table))
    head = zlib.crc32(content).to_bytes(4, "big") + len(content).to_bytes(4, "big")
    beside = f"{path}.{os.getpid()}"
    try:
        with open(beside, "wb") as file:  # noqa: PTH123
            file.writelines([head, content, *(code for _, code in modules.values())])
        os.replace(beside, path)  # noqa: PTH105
    except OSError:
        with contextlib.suppress(OSError):
            os.unlink(beside)  # noqa: PTH108
        raise
