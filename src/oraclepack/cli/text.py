"""Durations, sizes and sets of files as people say them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from itertools import zip_longest
from pathlib import Path
from shlex import quote
from textwrap import wrap
from typing import TYPE_CHECKING

from oraclepack.system.printable import quantity
from oraclepack.system.terminal import screen_size, stdout_is_terminal

if TYPE_CHECKING:
    from oraclepack.calls.cache import CallExplanation

SHORT = 12
"""How much of a key is shown."""


def from_here(path: str) -> str:
    """A path as it is named from the current directory: relative where it lies in that."""
    here, place = Path.cwd(), Path(path)
    return place.relative_to(here).as_posix() if place.is_relative_to(here) else path


def call_line(call: CallExplanation) -> str:
    name = call.key[:SHORT] if call.key else "no key"
    how = f"{call.how}; " if call.how else ""
    reason = f"  {call.reason}\n" if call.reason else ""
    now = "the cache has its answer" if call.cached else "the cache has no answer to it"
    return f"call {call.call}: {name}, {how}{now}\n{reason}"


def differing(call: CallExplanation) -> str:
    """In which parts the question differs from the one that is most like it."""
    if call.nearest is None:
        return ""
    changes = "".join(f"  {change}\n" for change in call.changes)
    which = "the question asked before it" if call.cached else "the nearest that is cached"
    return f"from {which}, {call.nearest[:SHORT]}, it differs in:\n{changes}"


def columns(head: Sequence[str], rows: Iterable[Sequence[str]], room: int | None = None) -> str:
    """A table of plain text. On a terminal cells are wrapped at spaces until the table fits."""
    table = [tuple(head), *(tuple(" ".join(cell.split()) for cell in row) for row in rows)]
    cells = list(zip(*table, strict=True))
    widths = [max(map(len, column)) for column in cells]
    least = [max(len(word) for cell in column for word in cell.split(" ")) for column in cells]
    room = room or (screen_size()[0] if stdout_is_terminal() else sum(widths) + 2 * len(widths))
    while sum(widths) + 2 * (len(widths) - 1) > room and widths != least:
        widest = max(range(len(widths)), key=lambda at: (widths[at] > least[at], widths[at]))
        widths[widest] -= 1
    lines: list[str] = []
    for row in table:
        wrapped = (
            wrap(cell, width, break_long_words=False, break_on_hyphens=False) or [""]
            for cell, width in zip(row, map(partial(max, 1), widths), strict=True)
        )
        lines += (
            "  ".join(part.ljust(width) for part, width in zip(parts, widths, strict=True)).rstrip()
            for parts in zip_longest(*wrapped, fillvalue="")
        )
    return "\n".join(lines) + "\n"


_NAMED = 8


def seconds(milliseconds: int) -> str:
    """A duration that is over: `0.4s`, `41s`, `7:12`, `1:02:03`."""
    total = milliseconds / 1000
    if total < 9.95:  # 9.95 would round to 10.0
        return f"{total:.1f}s"
    if total < 59.5:
        return f"{total:.0f}s"
    return clock(milliseconds)


def clock(milliseconds: int) -> str:
    """A duration that still grows, so that its width does not jump: `0:07`, `7:12`, `1:02:03`."""
    minutes, rest = divmod(round(milliseconds / 1000), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def size(count: int) -> str:
    """Bytes: `312 B`, `4.1 kB`, `87 MB`."""
    if count < 1000:
        return f"{count} B"
    amount = float(count)
    for unit in ("kB", "MB", "GB"):
        amount /= 1000
        if amount < 999.5 or unit == "GB":
            break
    return f"{amount:.1f} {unit}" if amount < 9.95 else f"{amount:.0f} {unit}"


def before_rerun(pack: str, step_id: str) -> str:
    """What comes first where a failed step has changed the project."""
    ways = f"oraclepack step undo {quote(pack)} {step_id}, or --allow-dirty-rerun"
    return f"before it runs again: {ways}"


def some_of(files: Sequence[str]) -> str:
    """How many files, and the first of them by name: `2 files: a.txt, b.txt`."""
    named = ", ".join(files[:_NAMED]) + (", …" if len(files) > _NAMED else "")
    return f"{quantity(len(files), 'file')}: {named}"
