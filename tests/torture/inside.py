"""What a child of the zygote does to itself before it becomes the program."""

import os
import sys
from datetime import UTC, datetime, timedelta

from oraclepack.system.clock import SystemClock


def set_clock(start: str, jumps: dict[str, float] | None = None) -> None:
    """The clock shows another time, and at some looks at it jumps by so many seconds more.

    Looks are counted from 1; JSON makes their numbers words. The steady clock stays steady.
    """
    offset = datetime.fromisoformat(start) - datetime.now(UTC)
    left = {int(look): timedelta(seconds=by) for look, by in (jumps or {}).items()}
    looks = 0

    def now(self: SystemClock) -> datetime:  # a method of the clock
        nonlocal looks, offset
        looks += 1
        offset += left.pop(looks, timedelta())
        return datetime.now(UTC) + offset

    SystemClock.now = now  # type: ignore[method-assign]


def count_reads(notes: str) -> None:
    """Write a letter to a file for every file opened to be read, every folder listed."""
    kinds = {"os.listdir": b"l", "os.scandir": b"l"}
    descriptor = os.open(notes, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)

    def note(event: str, given: tuple[object, ...]) -> None:
        if event == "open":
            path, _, flags = given
            # A descriptor in place of a path was opened before, and counted then.
            if isinstance(path, int) or not isinstance(flags, int):
                return
            if flags & os.O_ACCMODE == os.O_RDONLY:
                os.write(descriptor, b"r")
        elif event in kinds:
            os.write(descriptor, kinds[event])

    sys.addaudithook(note)
