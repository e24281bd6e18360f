"""Recorded outputs and the files that people changed since: restored, checked again, accepted."""

import os
import stat
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import msgspec

from oraclepack.answers.suspicions import INCOMPLETE
from oraclepack.answers.verify_pack import VerifyOptions, verify_step
from oraclepack.calls.held_outputs import output_alone
from oraclepack.calls.path_writers import others_wrote
from oraclepack.errors import InputError, LockedError, Refusal
from oraclepack.journal import events as j
from oraclepack.journal.run_dir import RunDir, attempt_name
from oraclepack.journal.statuses import Move, Status, Verification, Wait
from oraclepack.journal.step_state import StepState
from oraclepack.pack.contract import by_suffix
from oraclepack.pack.model import Step
from oraclepack.pack.output_names import output_names
from oraclepack.pack.questions import title_of
from oraclepack.run.planning.planner import CheckedOutputs
from oraclepack.run.quarantine import move_to_quarantine
from oraclepack.run.recorder import Recorder
from oraclepack.system import files
from oraclepack.system.digests import sha256_bytes
from oraclepack.system.files import Content
from oraclepack.system.path_jail import (
    content_at,
    jail,
    judge_entry,
    place_of,
    plain_place,
    read_content,
)

EDITED = "it was changed after it was recorded; the recorded output is back in its place"
"""Why a file is in quarantine that no failed attempt left."""


class RunFiles(msgspec.Struct, frozen=True):
    """A run that is locked, and where its files and those of the project lie."""

    root: Path
    run: RunDir
    record: Recorder
    failed: Path
    """The quarantine."""


def restore_outputs(where: RunFiles, step_id: str) -> tuple[str, ...]:
    """Make the outputs of a step that went well what was recorded, as far as a copy is left.

    What is in place of one now goes to quarantine. Every change is in the journal before it
    is made or can be made again, so a kill at any point loses nothing. The paths put back.
    """
    state = where.record.state.step(step_id)
    return tuple(
        output.declared_path
        for output in state.outputs
        if output.declared_path is not None and _is_restored(where, state, output)
    )


def _is_restored(where: RunFiles, state: StepState, output: j.OutputRecorded) -> bool:
    path = output.declared_path or ""
    copy = plain_place(where.run.path, output.path)
    # Before anything moves: both ends are places that an output may have.
    if copy is None or judge_entry(where.root, path) is not None:
        return False
    there, copied = read_content(where.root / path).data, read_content(copy).data
    if there is not None and sha256_bytes(there) == output.sha256:
        if copied is None or sha256_bytes(copied) != output.sha256:
            files.write_atomic(copy, there, mode=files.PRIVATE_FILE)
            _record_moves(where, output, to_run=True)
        return False
    if copied is None or sha256_bytes(copied) != output.sha256:
        return False
    with output_alone(place_of(where.root, path)) as is_alone:
        if is_alone:
            if there is None or not _is_backed_up(where, output, there):
                _quarantine_edited(where, state, output.step, path)
            put_in_place(where.root, path, copied, output.mode)
            _record_moves(where, output, to_run=False)
    if not is_alone:
        message = f"{path} is not restored: another run writes to it"
        where.record.append(
            j.WarningRecorded(step=output.step, code=Wait.SAME_OUTPUT, message=message)
        )
    return is_alone


def _is_backed_up(where: RunFiles, output: j.OutputRecorded, there: bytes) -> bool:
    """Whether a file can be overwritten: it holds nothing, or what the run has as a backup.

    Both are what a power cut makes of an output that its tool did not sync.
    """
    if not there.strip(b"\0"):
        return True
    backup = plain_place(where.run.path, output.backup) if output.backup else None
    if backup is None or sha256_bytes(there) != output.replaced_sha256:
        return False
    backed_up = read_content(backup).data
    return backed_up is not None and sha256_bytes(backed_up) == output.replaced_sha256


def _record_moves(where: RunFiles, output: j.OutputRecorded, *, to_run: bool) -> None:
    where.record.append(
        j.OutputRestored(
            step=output.step,
            path=output.path,
            declared_path=output.declared_path or "",
            sha256=output.sha256,
            to_run=to_run,
        )
    )


def _quarantine_edited(where: RunFiles, state: StepState, step_id: str, path: str) -> None:
    """Move what a person left at an output's path to quarantine, and say where it is."""

    def record(moves: tuple[Move, ...]) -> None:
        where.record.append(
            j.Quarantined(step=step_id, attempt=state.attempts, moves=moves, reason=EDITED)
        )
        for move in moves:
            message = (
                f"{move.source} was changed after it was recorded: it is kept as {move.target}, "
                f"and the recorded output is back; to keep the changed one, `oraclepack quarantine "
                f"restore --force {move.target}`, then `oraclepack accept`"
            )
            where.record.append(j.WarningRecorded(step=step_id, code="edited", message=message))

    run_id = where.run.run_id
    move_to_quarantine(
        where.root, where.failed, run_id, step_id, state.attempts, [path], before=record
    )


def put_in_place(root: Path, path: str, data: bytes, mode: int | None) -> None:
    """Write an output where the pack wants it."""
    verdict = jail(root, path)
    if isinstance(verdict, Refusal):
        raise InputError(
            f"{path} cannot be put back: {verdict.reason}",
            hint="move away what is there, and run the command again",
        )
    files.make_directories(verdict.path.parent)
    files.write_atomic(verdict.path, data, mode=mode)


def checked(
    root: Path,
    run: RunDir,
    step: Step,
    state: StepState,
    manner: VerifyOptions,
    *,
    verify: bool = True,
) -> tuple[Verification, CheckedOutputs]:
    """The outputs of a step that missed its contract, as they are now.

    Where a file is gone, or another run wrote to it since, the run's copy of it counts.
    """
    copies = {out.declared_path: out for out in state.outputs if out.declared_path}

    def read(path: str) -> Content:
        now = content_at(root, path)
        copy = copies.get(path)
        if copy is None or (now.data is not None and not _is_replaced(root, run, copy, now.data)):
            return now
        content = read_content(run.path / copy.path)
        if content.data is not None and sha256_bytes(content.data) == copy.sha256:
            return content
        return now if now.data is None else Content(trouble="another run wrote it")

    verification = verify_step(step, read, manner, copies, accepted_in(state))
    unmet = tuple(one for one in verification.failures if one.missing_sections)
    unreadable = [one for one in verification.failures if one.io_error]
    if not verify:
        return verification, CheckedOutputs(passed=not unreadable, is_whole=not unreadable)
    bad = {one.path for one in unmet}
    cut = any(one.code in INCOMPLETE and one.path in bad for one in verification.doubts)
    lacks = "; ".join(f"{one.path} lacks {', '.join(one.missing_sections)}" for one in unmet)
    whole = bool(unmet) and not unreadable and not cut
    return verification, CheckedOutputs(passed=verification.passed, is_whole=whole, lacks=lacks)


def _is_replaced(root: Path, run: RunDir, output: j.OutputRecorded, data: bytes) -> bool:
    """Whether a file is no longer the output of a step, since another run may have written it."""
    if sha256_bytes(data) == output.sha256:
        return False
    return others_wrote(root, run.run_id, output.declared_path or "", output.at)


def accepted_in(state: StepState) -> dict[str, j.OutputRevised]:
    """What a person accepted in place of an output, by path."""
    return {one.declared_path: one for one in state.accepted}


def recheck(where: RunFiles, step: Step, manner: VerifyOptions, *, verify: bool) -> bool:
    """Record a step whose answer meets its contract now as ok; whether it does."""
    with _outputs_alone(where, step) as are_alone:
        return are_alone and _is_rechecked(where, step, manner, verify=verify)


def _is_rechecked(where: RunFiles, step: Step, manner: VerifyOptions, *, verify: bool) -> bool:
    restore_copies(where, step)
    state = where.record.state.step(step.id)
    verification, now = checked(where.root, where.run, step, state, manner, verify=verify)
    if not now.passed:
        return False
    for output in state.outputs:
        path = output.declared_path
        there = None if path is None else content_at(where.root, path).data
        if there is not None and not _is_replaced(where.root, where.run, output, there):
            revise(where, step, output.declared_path or "")
    finish(where, step, verification if verify else None)
    return True


def hold_failed(where: RunFiles, step: Step, manner: VerifyOptions) -> None:
    """Keep a step failed whose answer misses its contract, with what it lacks by now."""
    with _outputs_alone(where, step) as are_alone:
        if are_alone:
            _hold_failed(where, step, manner)


def _hold_failed(where: RunFiles, step: Step, manner: VerifyOptions) -> None:
    restore_copies(where, step)
    state = where.record.state.step(step.id)
    verification, now = checked(where.root, where.run, step, state, manner)
    if state.error is None or verification == state.verification:
        return
    where.record.append(
        j.StepFinished(
            step=step.id,
            attempt=state.attempts,
            status=Status.FAILED,
            exit_code=state.exit_code,
            error=msgspec.structs.replace(state.error, message=now.lacks or state.error.message),
            verification=verification,
            duration_ms=state.duration_ms,
            attached=dict(state.attached),
        )
    )


@contextmanager
def _outputs_alone(where: RunFiles, step: Step) -> Iterator[bool]:
    """Lock the outputs of a step; False, with a warning, if another run writes to one."""
    outputs = where.record.state.step(step.id).outputs
    paths = sorted({output.declared_path for output in outputs if output.declared_path})
    # Two spellings of a path are one file, which can be locked only once.
    places = {place_of(where.root, path): path for path in reversed(paths)}
    with ExitStack() as stack:
        used = [
            path
            for place, path in sorted(places.items())
            if not stack.enter_context(output_alone(place))
        ]
        for path in used:
            message = f"{path} stays as it is: another run writes to it"
            warning = j.WarningRecorded(step=step.id, code=Wait.SAME_OUTPUT, message=message)
            where.record.append(warning)
        yield not used


@contextmanager
def output_unused(root: Path, path: str) -> Iterator[None]:
    """Lock a file against other runs. Raises LockedError if one writes to it."""
    with output_alone(place_of(root, path)) as is_alone:
        if not is_alone:
            raise LockedError(
                f"a run writes to {path}",
                hint="wait for the end of its step, or of the tool that a killed command left",
            )
        yield


def restore_copies(where: RunFiles, step: Step) -> None:
    """Put back the answers that a failed step left and that are gone: people are to edit them."""
    for output in where.record.state.step(step.id).outputs:
        path = output.declared_path
        if path is None or os.path.lexists(where.root / path):
            continue
        copied = read_content(where.run.path / output.path).data
        if copied is not None and sha256_bytes(copied) == output.sha256:
            put_in_place(where.root, path, copied, output.mode)
            _record_moves(where, output, to_run=False)


def revise(
    where: RunFiles,
    step: Step,
    path: str,
    *,
    accepted: bool = False,
    reason: str = "",
    missing: tuple[str, ...] = (),
) -> j.OutputRevised | None:
    """Make the file at an output's path the recorded output; None when it is that already.

    First the recorded copy is backed up, then the event is appended, then the run's copy is
    replaced: killed in between, the next run makes that copy again from the file.
    """
    state = where.record.state.step(step.id)
    known = {out.declared_path: out.path for out in state.outputs if out.declared_path}
    recorded = next((out for out in state.outputs if out.declared_path == path), None)
    name = output_names(step.id, title_of(step), [path], known)[path]
    place, content = where.root / path, content_at(where.root, path)
    if content.data is None:
        raise InputError(f"{path}: {content.trouble or 'missing'}", hint="there is nothing to take")
    digest = sha256_bytes(content.data)
    if not accepted and recorded is not None and recorded.sha256 == digest:
        return None
    event = j.OutputRevised(
        step=step.id,
        attempt=state.attempts,
        path=name,
        declared_path=path,
        section=(recorded.section if recorded else None) or by_suffix(path),
        sha256=digest,
        bytes=len(content.data),
        mode=stat.S_IMODE(place.stat().st_mode),
        replaced_sha256=recorded.sha256 if recorded else None,
        backup=_kept_copy(where, state, step.id, recorded, digest),
        accepted=accepted,
        reason=reason,
        missing_sections=missing,
    )
    where.record.append(event)
    files.write_atomic(where.run.path / name, content.data, mode=files.PRIVATE_FILE)
    return event


def _kept_copy(
    where: RunFiles,
    state: StepState,
    step_id: str,
    recorded: j.OutputRecorded | None,
    digest: str,
) -> str | None:
    """Keep the output that was recorded, as it was paid for; where, relative to the run."""
    if recorded is None or recorded.sha256 == digest:
        return None
    data = read_content(where.run.path / recorded.path).data
    if data is None or sha256_bytes(data) != recorded.sha256:
        return None
    folder = where.run.backups / f"{attempt_name(step_id, state.attempts)}.answer"
    target = folder / f"{recorded.sha256[:12]}-{Path(recorded.path).name}"
    files.make_private(folder)
    files.write_atomic(target, data, mode=files.PRIVATE_FILE)
    return target.relative_to(where.run.path).as_posix()


def finish(where: RunFiles, step: Step, verification: Verification | None) -> None:
    """The step is ok, though no further attempt was made."""
    state = where.record.state.step(step.id)
    where.record.append(
        j.StepFinished(
            step=step.id,
            attempt=state.attempts,
            status=Status.OK,
            exit_code=state.exit_code,
            verification=verification,
            duration_ms=state.duration_ms,
            attached=dict(state.attached),
        )
    )
