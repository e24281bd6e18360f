"""Logs that another process writes: their size, their last line, and what was added."""

import os
from pathlib import Path

import msgspec

from oraclepack.system import files

_LAST = 4096
"""Bytes at the end of a log in which its last line is looked for."""
_AT_ONCE = 1 << 20


class LogEnd(msgspec.Struct, frozen=True):
    """How long a log is, and the last line in it that says something."""

    size: int = 0
    last_line: str = ""


def log_end(path: Path) -> LogEnd:
    """The end of a log, in a few kilobytes of memory whatever its size."""
    try:
        descriptor = files.open_regular(path)
    except OSError:
        return LogEnd()
    try:
        size = os.fstat(descriptor).st_size
        data = os.pread(descriptor, _LAST, max(0, size - _LAST))
    except OSError:
        return LogEnd()
    finally:
        os.close(descriptor)
    lines = (line.strip() for line in reversed(data.decode("utf-8", "replace").splitlines()))
    return LogEnd(size, next(filter(None, lines), ""))


class LogTail:
    """Reads a log piece by piece; begins again where it was made shorter."""

    def __init__(self, path: Path, place: int = 0) -> None:
        self.path = path
        self._place = place

    def read(self) -> bytes:
        """What comes next, at most a megabyte; nothing at its end."""
        try:
            descriptor = files.open_regular(self.path)
        except OSError:
            return b""
        try:
            if os.fstat(descriptor).st_size < self._place:
                self._place = 0
            data = os.pread(descriptor, _AT_ONCE, self._place)
        except OSError:
            return b""
        finally:
            os.close(descriptor)
        self._place += len(data)
        return data


class LogPart(msgspec.Struct, frozen=True):
    """New lines of a log, and how many bytes before them were left out."""

    data: bytes = b""
    skipped: int = 0


class LogWindow:
    """Follows the end of a log in bounded memory.

    Where the log is longer, or grows faster than it is read, the bytes in between are skipped.
    """

    def __init__(self, path: Path, most: int = 1 << 17) -> None:
        self._path = path
        self._most = most
        self._place = 0

    def read(self) -> LogPart:
        """The next whole lines; the last line only once it is ended, or very long."""
        try:
            descriptor = files.open_regular(self._path)
        except OSError:
            return LogPart()
        try:
            size = os.fstat(descriptor).st_size
            if size < self._place:
                self._place = 0
            start = max(self._place, size - self._most)
            data = os.pread(descriptor, self._most, start)
        except OSError:
            return LogPart()
        finally:
            os.close(descriptor)
        skipped = start - self._place
        if skipped:  # begin with a whole line
            rest = data.partition(b"\n")[2]
            skipped += len(data) - len(rest) if rest else 0
            data = rest or data
        whole = data.rpartition(b"\n")[0] + b"\n" if b"\n" in data else b""
        if not whole and len(data) == self._most:
            whole = data
        self._place += skipped + len(whole)
        return LogPart(whole, skipped)

    def rest(self) -> bytes:
        """What is after the last whole line."""
        return LogTail(self._path, self._place).read()
