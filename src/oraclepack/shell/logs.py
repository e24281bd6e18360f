"""Logs: their ends and what is added to them, without holding them in memory."""

import os
import re
from collections.abc import Callable
from pathlib import Path

import msgspec

from oraclepack.system.environment import environment
from oraclepack.system.files import open_regular, read_beginning
from oraclepack.system.secrets import Redactor

_SKIP = re.compile(rb"^(?:SKIP|(?i:skip(?:ped|ping)?)[ \t]*:).*", re.MULTILINE)
_WINDOW = 1 << 16
_SEARCHED = 1 << 22
_LAST = 4096
"""Bytes at the end of a log in which its last line is looked for."""
_AT_ONCE = 1 << 20


def _part(path: Path, most: int, start: Callable[[int], int]) -> tuple[int, bytes] | None:
    """The size of a log, and so many bytes from where `start` of the size says; None without it."""
    try:
        descriptor = open_regular(path)
    except OSError:
        return None
    try:
        size = os.fstat(descriptor).st_size
        return size, os.pread(descriptor, most, start(size))
    except OSError:
        return None
    finally:
        os.close(descriptor)


def _end(path: Path, most: int) -> tuple[int, list[str]]:
    """The size of a log, and the lines of its end."""
    size, data = _part(path, most, lambda size: max(0, size - most)) or (0, b"")
    return size, data.decode("utf-8", "replace").splitlines()


def last_lines(path: Path, count: int) -> tuple[str, ...]:
    """The last lines of a log, as far as its last 64 KiB hold them.

    Logs are raw and stay where they are; what is shown of them must not contain secrets.
    """
    lines = "\n".join(_end(path, _WINDOW)[1][-count:])
    return tuple(Redactor.of(environment()).clean(lines).split("\n")) if lines else ()


class LogEnd(msgspec.Struct, frozen=True):
    """How long a log is, and the last line in it that says something."""

    size: int = 0
    last_line: str = ""


def log_end(path: Path) -> LogEnd:
    """The end of a log, in a few kilobytes of memory whatever its size."""
    size, lines = _end(path, _LAST)
    return LogEnd(size, next((line.strip() for line in reversed(lines) if line.strip()), ""))


def skip_line(path: str) -> str | None:
    """The first line by which a step says that it skips itself, in the first 4 MiB of a log.

    It begins with `SKIP`, or in any case with `Skip:`, `Skipped:` or `Skipping:`.
    """
    try:
        # For every step, and most say nothing: asking for the size is all that they cost.
        if os.stat(path).st_size == 0:  # by its name
            return None
        head = read_beginning(path, _SEARCHED)
    except OSError:
        return None
    # Most logs hold no such word, and a plain search says so in a quarter of the time.
    match = _SKIP.search(head) if b"skip" in head.lower() else None
    if match is None:
        return None
    line = match[0][:_WINDOW].decode("utf-8", "replace")
    # Redacted before it is cut: a part of a secret would not be recognised.
    return Redactor.of(environment()).clean(line)[:500].strip()


class LogTail:
    """Reads a log piece by piece; begins again where it was made shorter."""

    def __init__(self, path: Path, place: int = 0) -> None:
        self.path = path
        self._place = place

    def read(self) -> bytes:
        """What comes next, at most a megabyte; nothing at its end."""
        part = _part(self.path, _AT_ONCE, lambda size: self._place if self._place <= size else 0)
        if part is None:
            return b""
        size, data = part
        self._place = (self._place if self._place <= size else 0) + len(data)
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

        def start(size: int) -> int:
            self._place = self._place if self._place <= size else 0
            return max(self._place, size - self._most)

        part = _part(self._path, self._most, start)
        if part is None:
            return LogPart()
        size, data = part
        skipped = start(size) - self._place
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
