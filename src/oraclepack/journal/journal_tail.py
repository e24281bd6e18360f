"""A journal that another process writes, read as it grows."""

import os
from pathlib import Path

from oraclepack.journal.line_format import AnyEvent, Damage, Link, read_next
from oraclepack.system import files

_AT_ONCE = 1 << 20
"""Bytes that are read in one go."""
_LONGEST_LINE = 64 << 20


class JournalTail:
    """Reads what was added since the last time; begins again where the file was replaced."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._forget()

    def _forget(self) -> None:
        self._place = 0
        self._file: tuple[int, int] | None = None
        self._rest = b""
        self._end = Link()
        self._count = 0
        self.damage: Damage | None = None
        """Where the journal is damaged; nothing after it is read."""

    def read(self) -> tuple[AnyEvent, ...]:
        """The next events, a piece of the file at a time; none when nothing was added.

        A line that is not whole yet is read once it is.
        """
        try:
            descriptor = files.open_regular(self._path)
        except OSError:
            return ()
        try:
            status = os.fstat(descriptor)
            file = (status.st_dev, status.st_ino)
            if self._file not in {None, file} or status.st_size < self._place:
                self._forget()
            self._file = file
            data = os.pread(descriptor, _AT_ONCE, self._place)
        except OSError:
            return ()
        finally:
            os.close(descriptor)
        self._place += len(data)
        return self._events(self._rest + data)

    def _events(self, data: bytes) -> tuple[AnyEvent, ...]:
        events: list[AnyEvent] = []
        lines = data.split(b"\n")
        self._rest = lines.pop()
        if len(self._rest) > _LONGEST_LINE:
            self.damage = Damage(self._count + 1, "the line is too long")
        for line in lines:
            if self.damage is not None:
                break
            read = read_next(line + b"\n", self._end, self._count + 1)
            if isinstance(read, Damage):
                self.damage = read
                break
            event, self._end = read
            self._count += 1
            events.append(event)
        return tuple(events)
