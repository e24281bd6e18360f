"""Tickets on disk: which files there are, and their text."""

import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from oraclepack.errors import InputError
from oraclepack.system import files
from oraclepack.system.digests import sha256_bytes
from oraclepack.system.text_limits import TICKET

LARGEST = 1024 * 1024
"""Bytes. A ticket is prose; anything larger is a mistake."""

LONGEST_ANSWER = 4 * 1024 * 1024

USUAL_PLACES = (".tickets", "tickets")
_PASSED_OVER = frozenset({".git", "node_modules", "__pycache__", "_failed"})


@dataclass(frozen=True, slots=True)
class TicketFile:
    """A ticket as it lies on disk."""

    path: str
    """POSIX, relative to the tickets directory."""
    text: str
    sha256: str


def find_tickets_dir(root: Path, named: str) -> str:
    """The tickets directory relative to the project root: the one named, else a usual one."""
    if named:
        place = root / named
        if not place.is_dir():
            raise InputError(f"--tickets-dir {named}: no such directory", hint="check the path")
        return _inside(root, place, named)
    for name in USUAL_PLACES:
        if (root / name).is_dir():
            return _inside(root, root / name, name)
    places = " nor ".join(f"{name}/" for name in USUAL_PLACES)
    raise InputError(
        f"no tickets: neither {places} is a directory in {root}",
        hint="make .tickets/ with one Markdown file per ticket, or name another --tickets-dir",
    )


def list_files(root: Path, tickets_dir: str) -> tuple[str, ...]:
    """Every file below the tickets directory, sorted; linked directories are not entered."""
    try:
        found = sorted(_below(root / tickets_dir))
    except OSError as trouble:
        raise _unreadable(tickets_dir, trouble.strerror or str(trouble)) from trouble
    for path in found:
        try:
            path.encode()
        except UnicodeEncodeError:
            raise _unreadable(
                f"{tickets_dir}/{path}", "its name is not UTF-8", "rename it"
            ) from None
    return tuple(found)


def read_ticket(root: Path, tickets_dir: str, path: str) -> TicketFile:
    """The text of a ticket, or an error that says why it cannot be read."""
    place = f"{tickets_dir}/{path}"
    content = _content(root, place)
    if len(content) > LARGEST:
        raise _unreadable(place, f"larger than {LARGEST} bytes", "split it, or link to the rest")
    if b"\0" in content:
        raise _unreadable(place, "it holds a NUL byte, so it is no text", "save it as UTF-8")
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise _unreadable(place, f"line {line} is not UTF-8", "save it as UTF-8") from None
    too_much = TICKET.excess(text)
    if too_much is not None:
        raise _unreadable(place, too_much, "split it, or link to the rest")
    return TicketFile(path, text, sha256_bytes(content))


def _inside(root: Path, place: Path, named: str) -> str:
    home = Path(os.path.realpath(root))
    real = Path(os.path.realpath(place))
    if not real.is_relative_to(home):
        raise InputError(
            f"{named} leads out of the project root {root}",
            hint="copy the tickets into the project, or name its root with --cwd",
        )
    return Path(os.path.relpath(os.path.abspath(place), root)).as_posix()  # noqa: PTH100 - keeps links


def _below(folder: Path) -> Iterator[str]:
    for parent, folders, names in files.walk(folder, strict=True):
        folders[:] = [name for name in folders if name not in _PASSED_OVER]
        for name in names:
            yield os.path.relpath(f"{parent}/{name}", folder)


def _content(root: Path, place: str) -> bytes:
    try:
        real = Path(os.path.realpath(root / place, strict=True))
        if not real.is_relative_to(os.path.realpath(root)):
            raise _unreadable(place, "it is a link that leads out of the project", "copy it")
        return files.read_beginning(real, LARGEST + 1)
    except OSError as trouble:
        raise _unreadable(place, trouble.strerror or str(trouble)) from trouble


def _unreadable(place: str, reason: str, hint: str = "") -> InputError:
    told = hint or "mend it, or leave it out with --exclude"
    return InputError(f"{place}: cannot be read: {reason}", hint=told)


def read_answer() -> str:
    """What an agent said, handed to us on stdin; cut where no answer is that long."""
    if sys.stdin is None or sys.stdin.isatty():
        return ""
    return sys.stdin.buffer.read(LONGEST_ANSWER).decode("utf-8", "replace")
