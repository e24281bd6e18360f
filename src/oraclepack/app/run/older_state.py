"""Taking over what the older tool has done: its state file, once."""

from collections.abc import Mapping
from pathlib import Path

import msgspec

from oraclepack.adapters import files
from oraclepack.app.run.outputs import (
    attached_hashes,
    declared_paths,
    record_outputs,
    verify_outputs,
)
from oraclepack.app.run.session import Session
from oraclepack.core import journal as j
from oraclepack.core import legacy
from oraclepack.core.digest import sha256_bytes
from oraclepack.core.errors import InputError
from oraclepack.core.plan import command_hash
from oraclepack.core.result import Status
from oraclepack.core.step import Step


class OlderState(msgspec.Struct, frozen=True):
    """A state file of the older tool."""

    source: str
    sha256: str
    statuses: Mapping[str, Status]


def read_state(path: Path) -> OlderState:
    """Read a state file. Changes nothing."""
    data = files.read(path)
    if data is None:
        raise InputError(f"--import-state: there is no file {path}", hint="check the path")
    return OlderState(path.as_posix(), sha256_bytes(data), legacy.import_state(data))


def import_state(session: Session, older: OlderState) -> None:
    """Steps that succeeded there, and whose outputs exist and meet their contract, count as ok."""
    if any(event.sha256 == older.sha256 for event in session.record.state.imported):
        return
    taken = tuple(
        step.id
        for step in session.pack.steps
        if older.statuses.get(step.id) is Status.OK and _take(session, step)
    )
    session.record.append(j.Imported(source=older.source, sha256=older.sha256, steps=taken))


def _take(session: Session, step: Step) -> bool:
    before = session.record.state.step(step.id)
    if before.status is not Status.PENDING or not declared_paths(step):
        return False
    verification = verify_outputs(session, step)
    if not verification.passed:
        return False
    record_outputs(session, step, before.attempts, succeeded=True)
    session.record.append(
        j.StepFinished(
            step=step.id,
            attempt=before.attempts,
            status=Status.OK,
            verification=verification,
            attached=attached_hashes(session, step),
            imported=True,
            command_hash=command_hash(session.pack, step),
        )
    )
    return True
