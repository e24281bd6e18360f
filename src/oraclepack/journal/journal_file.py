"""The journal file: append-only, checksummed, synced."""

import os
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from threading import Lock
from typing import Self

import msgspec

from oraclepack.errors import InputError
from oraclepack.journal import events as j
from oraclepack.journal.events import KnownEvent
from oraclepack.journal.line_format import (
    JournalContent,
    Signature,
    Signer,
    encode_line,
    read_lines,
)
from oraclepack.journal.run_state import Fold, RunState
from oraclepack.system import disk, files
from oraclepack.system.clock import Clock, SystemClock, rfc3339
from oraclepack.system.ownership import Foreign, ForeignReason, foreign_run
from oraclepack.system.printable import readable_record
from oraclepack.system.secrets import NOTHING_SECRET, Redactor
from oraclepack.system.trust_key import find_key, make_key

NAME = "journal.jsonl"

Observer = Callable[[KnownEvent, RunState], None]
"""An observer of every event once it is recorded: a display, a log, the manifests."""

_SOON = (
    j.RunCreated,
    j.SessionStarted,
    j.ForecastRecorded,
    j.HeadRecorded,
    j.PreludeStarted,
    j.PreludeFinished,
    j.StepStarted,
    j.StepSpawned,
    j.TryStarted,
    j.TryFinished,
    j.WaitStarted,
    j.WaitFinished,
    j.ControlOpened,
    j.DecisionNeeded,
    j.OutputRecorded,
    j.StepFinished,
    j.WarningRecorded,
    j.SessionFinished,
    j.RunFinished,
)
"""Synced together, by `sync`, while the shell of the next step starts. Until then a power cut may
forget them, which costs a step's time, never a call: those wait for the disk."""


def load(path: Path) -> JournalContent:
    """Read a journal; a missing file is an empty one. Changes nothing.

    The one that was read last is read again only where it has changed: before a command begins it
    looks at its run several times.
    """
    key = find_key()
    signer = None if key is None else Signer(key, path.parent.name)
    try:
        status = os.stat(path)
    except OSError:
        status = None
    if status is None or SystemClock().now().timestamp() - status.st_ctime < _SETTLED:
        return read_lines(files.read(path) or b"", signer)
    return _loaded(path, signer, (status.st_ino, status.st_size, status.st_ctime_ns))


_SETTLED = 2.0
"""Seconds: of a file that changed just now, the next change may have the same time."""


@lru_cache(maxsize=1)
def _loaded(path: Path, signer: Signer | None, _version: tuple[int, int, int]) -> JournalContent:
    return read_lines(files.read(path) or b"", signer)


def foreign_reading(reading: JournalContent) -> Foreign | None:
    """Why a journal is not ours; None for an empty one."""
    if not reading.events or reading.signature is Signature.VALID:
        return None
    absent = reading.signature is Signature.ABSENT
    return Foreign(ForeignReason.UNSIGNED if absent else ForeignReason.OTHER_KEY)


class JournalFile:
    """An open journal and the state folded from it. Safe to use from several threads.

    Only the holder of the run's lock may open one. A foreign one is opened only to take it over:
    the signature of the next line covers all others.
    """

    def __init__(
        self,
        path: Path,
        clock: Clock,
        redactor: Redactor = NOTHING_SECRET,
        *,
        take_over: bool = False,
        observers: Sequence[Observer] = (),
    ) -> None:
        # The key first: without one nothing could be written, and nothing must be begun.
        self._signer = Signer(make_key(), path.parent.name)
        reading = load(path)
        if reading.damage is not None:
            raise damaged(path, reading)
        foreign = foreign_reading(reading)
        if foreign is not None and not take_over:
            raise foreign_run(path.parent.name, foreign)
        self._path = path
        self._clock = clock
        self._redactor = redactor
        self._observers = list(observers)
        self._lock = Lock()
        self._syncing = Lock()
        self._end = reading.end
        self._size = self._synced = reading.good_bytes
        self._torn = reading.torn
        self._fold = Fold()
        for event in reading.events:
            self._fold.add(event)
        self._state = self._fold.state
        _loaded.cache_clear()  # a run lasts long, and its events take much memory
        self._descriptor = self._open()

    @property
    def state(self) -> RunState:
        return self._state

    @property
    def path(self) -> Path:
        return self._path

    def observe(self, observer: Observer) -> None:
        """Notify one more observer, before the others, of every event from now on."""
        self._observers.insert(0, observer)

    def append(self, event: KnownEvent) -> KnownEvent:
        """Number, date and append an event, and notify the observers.

        When this returns the event survives a kill, and a power cut unless it is one of `_SOON`.
        """
        # Of a call whose intent is repeated the process is known; a power cut ends that too.
        is_repeated = isinstance(event, j.InvocationIntent) and event.process is not None
        stamped = self._append(event, sync=not is_repeated and not isinstance(event, _SOON))
        for observer in self._observers:
            observer(stamped, self._state)
        return stamped

    def _append(self, event: KnownEvent, *, sync: bool) -> KnownEvent:
        with self._lock:
            clean = self._redactor.clean_record(event)
            stamped = msgspec.structs.replace(
                clean,
                seq=self._state.last_seq + 1,
                at=event.at or rfc3339(self._clock.now()),
            )
            try:
                line, end = encode_line(stamped, self._end, self._signer)
            except UnicodeEncodeError:  # a file's name, or a word of the command line
                stamped = readable_record(stamped)
                line, end = encode_line(stamped, self._end, self._signer)
            self._write(line, sync=sync)
            self._end = end
            self._size += len(line)
            if sync:
                self._synced = self._size
            self._fold.add(stamped)
            self._state = self._fold.state
            return stamped

    def sync(self) -> None:
        """Make everything appended so far survive a power cut; others may append meanwhile."""
        with self._syncing:
            reached = self._size
            if reached == self._synced or self._descriptor < 0:
                return
            try:
                disk.sync_data(self._descriptor, self._path)
            except OSError as trouble:
                raise files.cannot("write to the journal", self._path, trouble) from trouble
            self._synced = max(self._synced, reached)

    def close(self) -> None:
        with self._lock:
            if self._descriptor >= 0:
                os.close(self._descriptor)
                self._descriptor = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _open(self) -> int:
        is_new = not self._path.exists()
        try:
            descriptor = disk.open_append(self._path, files.PRIVATE_FILE)
            if is_new:
                disk.sync_directory(self._path.parent)
        except OSError as trouble:
            raise files.cannot("open the journal", self._path, trouble) from trouble
        return descriptor

    def _write(self, line: bytes, *, sync: bool) -> None:
        try:
            self._cut_tail()
            disk.write(self._descriptor, line, self._path)
            if sync:
                disk.sync_data(self._descriptor, self._path)
        except OSError as trouble:
            self._take_back()
            raise files.cannot("write to the journal", self._path, trouble) from trouble

    def _cut_tail(self) -> None:
        """Remove what follows the last good line, after keeping a copy of what a crash left."""
        if self._torn:
            keep_torn(self._path, self._torn)
            self._torn = b""
        size = os.fstat(self._descriptor).st_size
        if size < self._size:
            raise InputError(
                f"{self._path} became shorter while the command ran",
                hint="something else writes to the run directory; start another with --new-run",
            )
        if size > self._size:
            disk.truncate(self._descriptor, self._size, self._path)
            disk.sync(self._descriptor, self._path)

    def _take_back(self) -> None:
        try:
            disk.truncate(self._descriptor, self._size, self._path)
        except OSError:
            return  # the next append cuts it off, and a reader drops it as torn


def keep_torn(journal: Path, torn: bytes) -> Path:
    """Keep the bytes of a torn line beside the journal, under a name of their own."""
    number = 1
    while (side := journal.with_name(f"{journal.name}.torn-{number}")).exists():
        number += 1
    files.write_atomic(side, torn, mode=files.PRIVATE_FILE)
    return side


def damaged(path: Path, reading: JournalContent) -> InputError:
    """The error for a journal that cannot be continued: where it broke, what is still known."""
    damage = reading.damage
    assert damage is not None
    if damage.newer_schema is not None:
        return InputError(
            f"{path}: {damage.reason}",
            hint="use a newer oraclepack for this run, or start another with --new-run",
        )
    known = len(reading.events)
    return InputError(
        f"{path}: line {damage.line} is damaged: {damage.reason}",
        hint="nothing was changed; `oraclepack runs repair` shows what is intact, "
        "`--new-run` starts afresh (answers in the cache stay free)",
        detail=f"the {known} events before it are intact",
    )
