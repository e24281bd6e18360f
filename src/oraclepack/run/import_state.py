"""Taking over what the Go tool has done: its state file, once."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from oraclepack.answers.verification import describe_failure
from oraclepack.answers.verify_pack import VerifyOptions, verify_step
from oraclepack.errors import InputError
from oraclepack.journal import events as j
from oraclepack.journal.statuses import Status
from oraclepack.pack.model import Pack, Step, command_hash
from oraclepack.run.planning.plan import Decision, Plan
from oraclepack.run.revise import revise
from oraclepack.run.step_outputs import StepOutputs, attached_hashes
from oraclepack.system import files
from oraclepack.system.digests import sha256_bytes
from oraclepack.system.ownership import came_with_repository
from oraclepack.system.path_jail import content_at, hashes_of
from oraclepack.view import legacy_files
from oraclepack.view.legacy_files import files_of_go, keep_original

if TYPE_CHECKING:
    from oraclepack.run.run import Run


class ImportedState(msgspec.Struct, frozen=True):
    """A state file of the Go tool."""

    source: str
    sha256: str
    statuses: Mapping[str, Status]
    originals: tuple[str, ...] = ()
    """The files that ours are going to replace, relative to the project root."""
    against: str = ""
    """Why it is not taken over without a request; empty when it is."""
    hashes: Mapping[str, Mapping[str, str]] = {}
    """Outputs of each step with their hashes, where the file is our own."""


def read_state(path: Path) -> ImportedState:
    """Read a state file that the user named. Changes nothing."""
    data = files.read(path)
    if data is None:
        raise InputError(f"--import-state: there is no file {path}", hint="check the path")
    return ImportedState(path.as_posix(), sha256_bytes(data), legacy_files.import_state(data))


def find_state(
    root: Path, pack_path: str, pack_hash: str, *, takes_go: bool = True
) -> ImportedState | None:
    """What the Go tool, or a run of ours that is gone, left of this pack. Changes nothing."""
    originals = files_of_go(root, pack_path) if takes_go else ()
    if not originals:
        return _own_state(root, pack_path, pack_hash)
    name, data = originals[0], files.read(root / originals[0]) or b""
    if name != legacy_files.file_names(pack_path)[0]:  # only the report of a run is left
        return ImportedState(name, sha256_bytes(data), {}, originals)
    against = ""
    its_hash = msgspec.json.decode(data).get("pack_hash")
    if its_hash and its_hash != pack_hash:
        against = "it is of other content of the pack"
    elif came_with_repository(root, name):
        against = "it came with the repository"
    return ImportedState(
        name, sha256_bytes(data), legacy_files.import_state(data), originals, against
    )


def _own_state(root: Path, pack_path: str, pack_hash: str) -> ImportedState | None:
    found = legacy_files.own_state(root, pack_path, pack_hash)
    if found is None or came_with_repository(root, found[0]):
        return None
    name, data = found
    hashes = legacy_files.output_hashes(data)
    return ImportedState(name, sha256_bytes(data), legacy_files.import_state(data), hashes=hashes)


def import_state(run: Run, imported: ImportedState) -> None:
    """Import what a state file says was done; files that ours replace are kept first."""
    originals = [keep_original(run.root, name) for name in imported.originals]
    if originals and not imported.statuses:
        return
    if imported.against:
        message = (
            f"{imported.source} of the Go tool is not taken over: {imported.against}; "
            f"--import-state {originals[0]} does it"
        )
        run.warn(message, "import")
        return
    _import_steps(run, imported)
    if originals:
        kept = f"the original is kept as {originals[0]}"
        run.warn(f"{imported.source} of the Go tool was taken over; {kept}", "import")
    elif imported.hashes:
        gone = "the run that wrote it is gone"
        run.warn(f"{imported.source} was taken over: {gone}", "import")


def _import_steps(run: Run, imported: ImportedState) -> None:
    """Steps that succeeded there, and whose outputs still meet their contract, count as ok."""
    if any(event.sha256 == imported.sha256 for event in run.state.imported):
        return
    steps = tuple(
        step.id
        for step in run.pack.steps
        if imported.statuses.get(step.id) is Status.OK
        and _take(run, step, imported.hashes.get(step.id, {}))
    )
    run.record.append(j.Imported(source=imported.source, sha256=imported.sha256, steps=steps))


def adopt_answers(run: Run, planned: Plan) -> None:
    """Take the answers that were there before the run, as the user says.

    They are taken by their paths: nothing proves which question they answer, so that none of
    them goes to a cache.
    """
    for one in planned.steps:
        step = run.pack.step(one.step_id)
        if step is None or not one.adopts:
            continue
        for path in one.adopts:
            revise(run, step, path, accepted=True, adopted=True, reason="it was there before")
        if one.decision is Decision.ADOPT:
            run.record.append(
                j.StepFinished(
                    step=step.id,
                    attempt=0,
                    status=Status.OK,
                    verification=StepOutputs(run, step, 0).verify(),
                    attached=attached_hashes(run, step),
                    command_hash=one.command_hash,
                )
            )


def _take(run: Run, step: Step, hashes: Mapping[str, str]) -> bool:
    before = run.state.step(step.id)
    if before.status is not Status.PENDING or before.rolled_back:
        return False
    reason = _not_taken(run.root, step, hashes, run.request.verify_options)
    if reason:
        message = f"it succeeded there and runs again: {reason}"
        run.warn(message, "import", step.id)
        return False
    StepOutputs(run, step, before.attempts).record(succeeded=True)
    run.record.append(
        j.StepFinished(
            step=step.id,
            attempt=before.attempts,
            status=Status.OK,
            verification=StepOutputs(run, step, 0).verify(),
            attached=attached_hashes(run, step),
            imported=True,
            command_hash=command_hash(run.pack, step),
        )
    )
    return True


def taken_steps(
    root: Path, pack: Pack, imported: ImportedState | None, options: VerifyOptions
) -> tuple[str, ...]:
    """The steps that a state file would be taken over for. Changes nothing."""
    if imported is None or imported.against:
        return ()
    return tuple(
        step.id
        for step in pack.steps
        if imported.statuses.get(step.id) is Status.OK
        and not _not_taken(root, step, imported.hashes.get(step.id, {}), options)
    )


def _not_taken(root: Path, step: Step, hashes: Mapping[str, str], options: VerifyOptions) -> str:
    """Why a step that succeeded by a state file runs again; empty where it does not."""
    hidden = [one.path.display_text for one in step.outputs if one.path.value is None]
    if hidden:
        return f"only the shell knows the path {', '.join(hidden)}"
    now = hashes_of(root, hashes)
    other = [path for path, sha in hashes.items() if now.get(path) != sha]
    if other:
        return f"{', '.join(other)} is not what was recorded"
    verification = verify_step(step, lambda path: content_at(root, path), options, ())
    lacks = (
        f"{one.path}: {describe_failure(one.io_error, one.missing_sections, one.reason)}"
        for one in verification.failures
    )
    return "" if verification.passed else "; ".join(lacks) or "its output is doubtful"
