"""What oraclepack 0.1 and 0.2 kept in files, and the store reads once.

A claim was a file beside the answers, locked by its holder: `<key>.asking`. Each line names a call
that may have been paid for, signed with the user's key:

    {"mac":"<32 hex>","e":{…canonical JSON of the intent…}}

The ledger of days and months was one file in the state directory, read when the store is made.
"""

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import msgspec
from msgspec.structs import astuple

from oraclepack.errors import MachineError
from oraclepack.journal.events import InvocationIntent
from oraclepack.store.budget import add_spending
from oraclepack.store.database import Cursor, StoreError
from oraclepack.store.history import AnswerFigures
from oraclepack.store.spending import BudgetLedger
from oraclepack.system import disk, files
from oraclepack.system.digests import canonical_line, keyed_digest, same_digest, sha256_bytes
from oraclepack.system.locks import hold, is_free
from oraclepack.system.trust_key import find_key, make_key

ENDING = ".asking"
_LINE = b'\n{"mac":"%s","e":%s}\n'
_SIGNED = re.compile(rb'\{"mac":"([0-9a-f]{32})","e":(.*)\}')
_LEDGER, _HISTORY, _USED = "budget/ledger.json", "history/answers.jsonl", "used-plans"


class _ClaimNote(msgspec.Struct, frozen=True):
    intent: InvocationIntent
    is_signed: bool


class ClaimFile:
    """The claim of a question in a file. Nobody writes such files any more."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.is_locked = not is_free(path)
        """A command of 0.2 asks now."""
        notes = [] if self.is_locked else list(_noted(files.read(path) or b"", path))
        self.open_call = next((one.intent for one in reversed(notes) if one.is_signed), None)
        self.is_unsigned = any(not one.is_signed for one in notes)

    def remove(self) -> None:
        """The store has it."""
        files.forget(self.path)


def find_claim(folder: Path, key: str) -> ClaimFile | None:
    """The file that claims a question; None where there is none."""
    path = folder / f"{key}{ENDING}"
    try:
        return ClaimFile(path) if path.exists() and not path.is_symlink() else None
    except MachineError:
        return None


def move_foreign(path: Path) -> None:
    """Rename a foreign claim to a name that no command reads or removes."""
    number = 1
    while os.path.lexists(target := path.with_name(f"{path.name}.foreign-{number}")):
        number += 1
    with suppress(OSError):  # then it stays where it is, and the next one asks once more
        disk.rename(path, target)


def foreign_claims(folder: Path) -> tuple[Path, ...]:
    """The claims that name unsigned calls. Changes nothing."""
    claims = (path for path in sorted(folder.glob(f"*{ENDING}")) if not path.is_symlink())
    return tuple(path for path in claims if ClaimFile(path).is_unsigned)


def trust_claim(path: Path) -> int:
    """Sign the calls that a claim names, because the user trusts them; returns how many."""
    descriptor = hold(path)
    if descriptor is None:
        return 0  # another process is asking now, and has signed
    try:
        unsigned = [one for one in _noted(files.read(path) or b"", path) if not one.is_signed]
        for one in unsigned:
            payload = canonical_line(one.intent)
            line = _LINE % (_mac(make_key(), path, payload).encode(), payload)
            disk.write(descriptor, line, path)
    except OSError as trouble:
        raise files.cannot("sign", path, trouble) from trouble
    finally:
        os.close(descriptor)
    return len(unsigned)


def _noted(data: bytes, path: Path) -> Iterator[_ClaimNote]:
    """The calls that a claim names, in order; unreadable lines are ignored."""
    key = find_key()
    for line in data.splitlines():
        match = _SIGNED.fullmatch(line)  # those of oraclepack 0.1.0 have no signature
        mac, payload = ("", line) if match is None else (match[1].decode(), match[2])
        try:
            intent = msgspec.json.decode(payload, type=InvocationIntent)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            continue
        fits = key is not None and same_digest(mac, _mac(key, path, payload))
        yield _ClaimNote(intent, is_signed=fits)


def _mac(key: bytes, path: Path, payload: bytes) -> str:
    """For this question only: a claim must not pass for that of another."""
    return keyed_digest(key, "claim", path.name.encode(), payload)


class _LedgerFile(msgspec.Struct, frozen=True):
    sha256: str
    ledger: msgspec.Raw


def take_over_files(cursor: Cursor, folder: Path) -> None:
    """Enter what the files of 0.2 in the state directory say into a new store."""
    for name in os.listdir(folder / _USED) if (folder / _USED).is_dir() else ():
        expires, _, nonce = name.partition(".")
        if expires.isdecimal():
            cursor.execute("insert into used_plan values (%s, %s)", (nonce, int(expires)))
    for line in (files.read(folder / _HISTORY) or b"").splitlines():
        with suppress(msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            figures = astuple(msgspec.json.decode(line, type=AnswerFigures))
            cursor.execute("insert into answer_figures values (%s, %s, %s, %s, %s)", figures)
    data = files.read(folder / _LEDGER)
    if data is not None:
        _take_over_ledger(cursor, folder / _LEDGER, data)


def _take_over_ledger(cursor: Cursor, path: Path, data: bytes) -> None:
    try:
        file = msgspec.json.decode(data, type=_LedgerFile)
        if sha256_bytes(bytes(file.ledger)) != file.sha256:
            raise msgspec.ValidationError("its checksum does not fit")
        ledger = msgspec.json.decode(file.ledger, type=BudgetLedger)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as trouble:
        raise StoreError(
            f"the ledger of budgets {path} is damaged: {trouble}",
            hint=f"move {path} away to begin a new one; what was spent before does not count"
            " there, so lower your limits until the day or the month is over",
            retryable=False,
        ) from trouble
    for one in ledger.sums:
        add_spending(cursor, one.day, one.fleet, one.spent)
    for name, kept in ledger.reservations.items():
        if kept.is_open:
            cursor.execute(
                "insert into reservation values (%s, '', %s, %s, %s, %s, %s, %s, %s, true)",
                (
                    *(name, kept.run, kept.fleet, kept.day, kept.at),
                    *(str(kept.worst.cost), kept.worst.calls, kept.worst.tokens),
                ),
            )
