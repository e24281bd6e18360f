"""The prelude: run once, its state kept in a snapshot that every step restores."""

import os
from contextlib import ExitStack
from pathlib import Path

from msgspec.structs import replace

from oraclepack.adapters.bash import run_attempt
from oraclepack.adapters.nameless import make_nameless
from oraclepack.adapters.snapshot import Snapshot, take_snapshot
from oraclepack.adapters.stop import Stop
from oraclepack.core.attempt import Attempt, Ending, Outcome, Watch
from oraclepack.system import disk
from oraclepack.system.clock import Clock
from oraclepack.system.files import cannot


def run_prelude(attempt: Attempt, stop: Stop, watch: Watch, clock: Clock) -> Outcome:
    """Run an attempt that has a `capture`, and leave the snapshot there if it succeeds.

    A prelude has succeeded when it reached its end; the status of its last command means
    nothing, as in the middle of any script. One that left by `exit 0` or `exec` has not: the
    steps would run without what they need, or although the author wanted nothing to run.
    Raises WorldError when the snapshot cannot be written.
    """
    with ExitStack() as stack:
        # Without a name, because they hold the whole environment, secrets too.
        records = make_nameless(stack)
        outcome = run_attempt(attempt, stop, watch, clock, records=records)
        if not outcome.ok:
            return outcome
        snapshot = take_snapshot(records.read_all())
    if snapshot is None:
        message = "the prelude left its shell (exit or exec) before its last line"
        return replace(outcome, reason=Ending.INCOMPLETE, message=message)
    if attempt.capture:
        _keep(snapshot, Path(attempt.capture))
    return replace(outcome, warnings=(*outcome.warnings, *snapshot.warnings))


def exit_trap(snapshot: Path) -> Path | None:
    """The script that sets the prelude's EXIT trap, if it has one.

    The trap tidies up after the whole pack: to be run as the code of a last attempt that
    restores the snapshot, when no step needs the prelude any more.
    """
    kept = _exit_place(snapshot)
    return kept if kept.exists() else None


def _keep(snapshot: Snapshot, place: Path) -> None:
    try:
        _write_private(place, snapshot.text)
        if snapshot.exit_trap:
            _write_private(_exit_place(place), snapshot.exit_trap)
    except OSError as trouble:
        raise cannot("write", place, trouble) from trouble


def _exit_place(snapshot: Path) -> Path:
    return Path(f"{snapshot}.exit")


def _write_private(path: Path, data: bytes) -> None:
    descriptor = disk.create(path, 0o600)
    try:
        disk.write(descriptor, data, path)
    finally:
        os.close(descriptor)
