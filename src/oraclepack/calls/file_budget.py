"""The ledger of days and months in a file, shared by all processes of the user on this machine.

A process changes it while it holds a lock of the kernel, and puts a whole file in place:

    {"sha256":"<64 hex>","ledger":{"version":1,"sums":[…],"reservations":{…}}}

The file is in the user's own state directory, like the slots of providers.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path

import msgspec

from oraclepack.calls.budget import (
    BudgetLedger,
    BudgetRequest,
    BudgetScope,
    Ceiling,
    Reservation,
    Shortfall,
    Spending,
    UnknownPricePolicy,
    by_day,
    open_reservation,
    recover,
    release,
    reserve,
    settle,
)
from oraclepack.errors import MachineError, OraclePackError
from oraclepack.shell import processes
from oraclepack.system import files
from oraclepack.system.clock import Clock
from oraclepack.system.digests import canonical_line, sha256_bytes
from oraclepack.system.environment import process_id, state_directory
from oraclepack.system.locks import turn
from oraclepack.system.machine import this_machine

VERSION = 1
_NAME, _LOCK = "ledger.json", "ledger.lock"
_DAYS = 1000
"""Days whose sums are remembered."""
_PATIENCE = 30.0
"""Seconds for which another process may hold the lock; a change takes milliseconds."""
_SWEEP_PATIENCE = 1.0
_LONGEST_UNOPENED = timedelta(minutes=10)
"""A reservation is opened within a second. One of another machine is dropped after this time."""


class BudgetLedgerError(MachineError):
    """The ledger of budgets cannot be read or written."""

    code = "BUDGET_LEDGER"


class _Version(msgspec.Struct, frozen=True):
    version: int


class _File(msgspec.Struct, frozen=True):
    sha256: str
    ledger: msgspec.Raw


class LedgerBudget(ABC):
    """A `Budget` on a ledger that one process changes at a time, wherever the ledger is."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    @abstractmethod
    def _change(self, change: Callable[[BudgetLedger], BudgetLedger]) -> None:
        """Replace the ledger by what `change` makes of it, while other processes wait."""

    @abstractmethod
    def ledger(self) -> BudgetLedger:
        """What is spent and reserved now."""

    def _recovered(self, ledger: BudgetLedger) -> BudgetLedger:
        """Without what ended commands reserved and never opened."""
        return recover(ledger, self._is_gone)

    def _changed(
        self, ledger: BudgetLedger, change: Callable[[BudgetLedger], BudgetLedger]
    ) -> BudgetLedger:
        return by_day(change(self._recovered(ledger)), _DAYS)

    def reserve(
        self,
        request: BudgetRequest,
        ceilings: Mapping[BudgetScope, Ceiling],
        unknown_price: UnknownPricePolicy,
    ) -> Shortfall | None:
        """Reserve the worst case of a call, or return why it does not fit."""
        short: Shortfall | None = None

        def change(ledger: BudgetLedger) -> BudgetLedger:
            nonlocal short
            result = reserve(ledger, request, ceilings, unknown_price)
            short = result if isinstance(result, Shortfall) else None
            return ledger if isinstance(result, Shortfall) else result

        self._change(change)
        return short

    def open(self, reservation: str) -> bool:
        """The tool may start now; False where the reservation is gone, so that it must not."""
        is_there = False

        def change(ledger: BudgetLedger) -> BudgetLedger:
            nonlocal is_there
            is_there = reservation in ledger.reservations
            return open_reservation(ledger, reservation)

        self._change(change)
        return is_there

    def settle(self, reservation: str, spent: Spending | None) -> None:
        """The outcome is known: what the call came to, or None for its worst case."""
        self._change(lambda ledger: settle(ledger, reservation, spent))

    def release(self, reservation: str) -> None:
        """The call was not made; one that was opened stays."""
        self._change(lambda ledger: release(ledger, reservation))

    def _is_gone(self, one: Reservation) -> bool:
        """Whether the command of a reservation has ended; its name contains machine and process."""
        match one.command.split():
            case [machine, boot, pid, started] if pid.isdecimal():
                pass
            case _:
                return True
        if machine != _machine():
            return self._is_old(one)
        if boot != _boot():
            return True
        if not processes.has_proc():
            return not processes.exists(int(pid))
        info = processes.process_info(int(pid))
        return info is None or info.is_dead or info.start_time != started

    def _is_old(self, one: Reservation) -> bool:
        """Unknown here; dropping too early is safe, because `open` notices it."""
        try:
            age = abs(self._clock.now() - datetime.fromisoformat(one.at))
        except (ValueError, TypeError):
            return True
        return not one.is_open and age > _LONGEST_UNOPENED


class FileBudget(LedgerBudget):
    """`Budget` in a directory of the user. Safe in several threads and processes."""

    def __init__(self, directory: Path, clock: Clock) -> None:
        super().__init__(clock)
        self._directory = directory

    @property
    def path(self) -> Path:
        return self._directory / _NAME

    def ledger(self) -> BudgetLedger:
        """What is spent and reserved now."""
        files.make_private(self._directory)
        with turn(self._directory / _LOCK, _PATIENCE):
            return self._recovered(self._read())

    def _change(self, change: Callable[[BudgetLedger], BudgetLedger]) -> None:
        files.make_private(self._directory)
        with turn(self._directory / _LOCK, _PATIENCE):
            before = self._read()
            after = self._changed(before, change)
            if after != before:
                files.sweep(self._directory)
                files.write_atomic(self.path, encoded(after), mode=files.PRIVATE_FILE)

    def sweep(self) -> None:
        """Remove what a killed command left half written.

        Waits for its turn, because a process of another container may be writing the ledger, but
        not for long: the next change removes it too.
        """
        with suppress(OraclePackError, OSError):
            if self._directory.is_dir():
                with turn(self._directory / _LOCK, _SWEEP_PATIENCE):
                    files.sweep(self._directory)

    def _read(self) -> BudgetLedger:
        try:
            data = files.read(self.path)
        except OraclePackError as trouble:
            raise BudgetLedgerError(trouble.message, hint=self._way_out) from trouble
        if data is None:
            return BudgetLedger()
        try:
            return decoded(data)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as trouble:
            raise BudgetLedgerError(
                f"the ledger of budgets {self.path} is damaged: {trouble}", hint=self._way_out
            ) from trouble

    @property
    def _way_out(self) -> str:
        return (
            f"move {self.path} away to begin a new one; what was spent before does not count "
            "there, so lower your limits until the day or the month is over"
        )


def command_name() -> str:
    """The name of this process, which no later one has."""
    pid = process_id()
    return f"{_machine()} {_boot()} {pid} {processes.start_time(pid) or '-'}"


def _machine() -> str:
    """Where process numbers are valid; a container is a machine of its own."""
    here = this_machine()
    return "".join(f"{here.id or here.host}{here.namespace}".split()) or "-"


def _boot() -> str:
    return this_machine().boot or "-"


def budget_directory() -> Path:
    """Where the ledger of this user is."""
    return state_directory() / "budget"


def encoded(ledger: BudgetLedger) -> bytes:
    payload = canonical_line(
        {"version": VERSION, "sums": ledger.sums, "reservations": ledger.reservations}
    )
    return b'{"sha256":"%s","ledger":%s}\n' % (sha256_bytes(payload).encode(), payload)


def decoded(data: bytes) -> BudgetLedger:
    """Raises MsgspecError where the bytes are not what was written."""
    file = msgspec.json.decode(data, type=_File)
    payload = bytes(file.ledger)
    if sha256_bytes(payload) != file.sha256:
        raise msgspec.ValidationError("its checksum does not fit")
    version = msgspec.json.decode(payload, type=_Version).version
    if version != VERSION:
        raise msgspec.ValidationError(f"version {version} is of another oraclepack")
    return msgspec.json.decode(payload, type=BudgetLedger)
