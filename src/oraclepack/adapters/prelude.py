"""The prelude: run once, its state kept in a snapshot that every step restores."""

import fcntl
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from oraclepack.adapters.bash import run_attempt
from oraclepack.adapters.files import cannot
from oraclepack.adapters.shell import write_private
from oraclepack.adapters.snapshot import Snapshot, take_snapshot
from oraclepack.adapters.stop import Stop
from oraclepack.core.attempt import Attempt, Ending, Outcome, Watch
from oraclepack.core.ports import Clock

_LOWEST_FD = 200
"""Scripts use the small numbers for themselves, bash 255."""


def run_prelude(attempt: Attempt, stop: Stop, watch: Watch, clock: Clock) -> Outcome:
    """Run an attempt that has a `capture`, and leave the snapshot there if it succeeds.

    A prelude has succeeded when it reached its end; the status of its last command means
    nothing, as in the middle of any script. One that left by `exit 0` or `exec` has not: the
    steps would run without what they need, or although the author wanted nothing to run.
    Raises WorldError when the snapshot cannot be written.
    """
    with _records() as descriptor:
        outcome = run_attempt(attempt, stop, watch, clock, records_fd=descriptor)
        if not outcome.ok:
            return outcome
        snapshot = take_snapshot(_read_all(descriptor))
    if snapshot is None:
        message = "the prelude left its shell (exit or exec) before its last line"
        return replace(outcome, reason=Ending.INCOMPLETE, message=message)
    _keep(snapshot, Path(attempt.capture or f"{attempt.body}.snapshot"))
    return replace(outcome, warnings=(*outcome.warnings, *snapshot.warnings))


def exit_trap(snapshot: Path) -> Path | None:
    """The script that sets the prelude's EXIT trap, if it has one.

    The trap tidies up after the whole pack: to be run as the body of a last attempt that
    restores the snapshot, when no step needs the prelude any more.
    """
    kept = _exit_place(snapshot)
    return kept if kept.exists() else None


def _keep(snapshot: Snapshot, place: Path) -> None:
    try:
        write_private(place, snapshot.text)
        if snapshot.exit_trap:
            write_private(_exit_place(place), snapshot.exit_trap)
    except OSError as trouble:
        raise cannot("write", place, trouble) from trouble


def _exit_place(snapshot: Path) -> Path:
    return Path(f"{snapshot}.exit")


@contextmanager
def _records() -> Iterator[int]:
    """A file without a name for the shell's records: they hold the environment, secrets too."""
    low = _nameless()
    descriptor = fcntl.fcntl(low, fcntl.F_DUPFD_CLOEXEC, _LOWEST_FD)
    os.close(low)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _nameless() -> int:
    if hasattr(os, "memfd_create"):
        return os.memfd_create("records")
    descriptor, name = tempfile.mkstemp()
    Path(name).unlink()
    return descriptor


def _read_all(descriptor: int) -> bytes:
    with os.fdopen(os.dup(descriptor), "rb") as records:
        records.seek(0)
        return records.read()
