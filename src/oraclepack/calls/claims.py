"""Who asks a question just now, among all processes: one at a time, so that it is paid for once.

A claim is a file that its holder has locked: the kernel frees it when the holder dies. What the
holder wrote into it stays, and names to the next holder the call that may still be running. Each
line is signed with the user's key; other lines are ignored:

    {"mac":"<32 hex>","e":{…canonical JSON of the intent…}}
"""

import os
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import msgspec

from oraclepack.calls.store import Claim, Unclaimed
from oraclepack.errors import MachineError
from oraclepack.journal.events import InvocationIntent
from oraclepack.system import disk, files
from oraclepack.system.digests import canonical_line, keyed_digest, same_digest
from oraclepack.system.locks import hold
from oraclepack.system.ownership import folder_tracks
from oraclepack.system.trust_key import find_key, make_key

ENDING = ".asking"
_SHORTEST, _LONGEST = 0.05, 0.5
"""Seconds between two checks of a claim that another process holds."""
_LINE = b'\n{"mac":"%s","e":%s}\n'
_SIGNED = re.compile(rb'\{"mac":"([0-9a-f]{32})","e":(.*)\}')


class FileClaim:
    """A `Claim`: the right to ask one question. Freed by `release`, or when the process dies."""

    def __init__(self, descriptor: int, path: Path) -> None:
        self._descriptor = descriptor
        self._path = path
        noted = list(_noted(_content(descriptor), path))
        self.open_call = next((one.intent for one in reversed(noted) if one.is_signed), None)
        """The open call of an earlier holder that was interrupted."""
        self.is_unsigned = self.open_call is None and bool(noted)
        """It names calls that are not signed with the user's key."""
        self._is_open = bool(noted)
        self._holds_foreign = any(not one.is_signed for one in noted)

    def note(self, intent: InvocationIntent) -> None:
        """Write down a call that may cost money from here on; the journal has it already.

        On one machine that is enough, so failing to write it down here is not an error.
        """
        self._is_open = True
        with suppress(OSError):
            # A line more, never one in place of another: death in between loses nothing.
            disk.write(self._descriptor, _line(intent, self._path), self._path)

    def identify(self, intent: InvocationIntent) -> None:
        """A line more; the last one that is signed counts."""
        self.note(intent)

    def withdraw(self) -> None:
        """Nothing to do: the process that was noted is dead, so the next holder asks."""

    def settle(self) -> None:
        """Everything that was noted has come to a known end."""
        self._is_open = False

    def release(self) -> None:
        """Let the next one ask; what is not settled stays written down."""
        if not self._is_open and self._holds_foreign:
            _move_foreign(self._path)
        elif not self._is_open:
            files.forget(self._path)
        os.close(self._descriptor)


class FileClaims:
    """`Claims` whose files lie beside the answers of the cache, or of the run alone."""

    spans_machines = False

    def __init__(self, root: Path, folder: Callable[[], Path]) -> None:
        """`folder` is asked for every claim: where the cache is foreign, the run has its own."""
        self._root = root
        self._folder = folder

    def acquire(self, key: str, pause: Callable[[float], bool]) -> Claim | None:
        """The right to ask a question, after waiting for it; None when `pause` says to give up.

        Where no claim can be made, the question is asked without one.
        """
        folder = self._folder()
        if folder_tracks(self._root, folder, f"{key}{ENDING}"):
            return Unclaimed()  # not ours to write to or to remove
        try:
            return wait_for_claim(folder, key, pause)
        except MachineError:
            return Unclaimed()


def wait_for_claim(folder: Path, key: str, pause: Callable[[float], bool]) -> FileClaim | None:
    """A claim, after waiting for it; None when `pause` says to give up. Raises MachineError."""
    wait = _SHORTEST
    while (held := take_claim(folder, key)) is None:
        if not pause(wait):
            return None
        wait = min(wait * 2, _LONGEST)
    return held


def take_claim(folder: Path, key: str) -> FileClaim | None:
    """The right to ask this question; None while another process holds it. Raises MachineError."""
    files.make_private(folder)
    path = folder / f"{key}{ENDING}"
    while (descriptor := hold(path)) is not None:
        if _is_at(path, descriptor):
            return FileClaim(descriptor, path)
        os.close(descriptor)  # its holder removed it before we had the lock
    return None


def _move_foreign(path: Path) -> None:
    """Rename a foreign claim to a name that no command reads or removes."""
    number = 1
    while os.path.lexists(target := path.with_name(f"{path.name}.foreign-{number}")):
        number += 1
    with suppress(OSError):  # then it stays where it is, and the next one asks once more
        disk.rename(path, target)


def _is_at(path: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(path.lstat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False


def foreign_claims(folder: Path) -> tuple[Path, ...]:
    """The claims that name unsigned calls. Changes nothing."""
    claims = (path for path in sorted(folder.glob(f"*{ENDING}")) if not path.is_symlink())
    return tuple(
        path
        for path in claims
        if any(not one.is_signed for one in _noted(files.read(path) or b"", path))
    )


def take_over(path: Path) -> int:
    """Sign the calls that a claim names, because the user trusts them; returns how many."""
    descriptor = hold(path)
    if descriptor is None:
        return 0  # another process is asking now, and has signed
    try:
        noted = [one for one in _noted(_content(descriptor), path) if not one.is_signed]
        for one in noted:
            disk.write(descriptor, _line(one.intent, path), path)
    except OSError as trouble:
        raise files.cannot("sign", path, trouble) from trouble
    finally:
        os.close(descriptor)
    return len(noted)


class _ClaimNote(msgspec.Struct, frozen=True):
    intent: InvocationIntent
    is_signed: bool


def _noted(data: bytes, path: Path) -> Iterator[_ClaimNote]:
    """The calls that a claim names, in order; unreadable lines are ignored."""
    key = find_key()
    for line in data.splitlines():
        mac, payload = _payload(line)
        try:
            intent = msgspec.json.decode(payload, type=InvocationIntent)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            continue
        fits = key is not None and same_digest(mac, _mac(key, path, payload))
        yield _ClaimNote(intent, is_signed=fits)


def _content(descriptor: int) -> bytes:
    return os.pread(descriptor, os.fstat(descriptor).st_size, 0)


def _line(intent: InvocationIntent, path: Path) -> bytes:
    """It begins with a line end: the line before may have been cut short by its writer's death."""
    payload = canonical_line(intent)
    return _LINE % (_mac(make_key(), path, payload).encode(), payload)


def _payload(line: bytes) -> tuple[str, bytes]:
    """The signature and the event of a line; those of oraclepack 0.1.0 have no signature."""
    match = _SIGNED.fullmatch(line)
    return ("", line) if match is None else (match[1].decode(), match[2])


def _mac(key: bytes, path: Path, payload: bytes) -> str:
    """For this question only: a claim must not pass for that of another."""
    return keyed_digest(key, "claim", path.name.encode(), payload)
