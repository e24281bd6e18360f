"""Recorded outputs and the files that people changed since: restored, checked again, accepted."""

import os
import stat
from pathlib import Path

import msgspec

from oraclepack.answers.suspicions import INCOMPLETE
from oraclepack.answers.verify_pack import VerifyOptions, verify_step
from oraclepack.calls.file_store import answer_caches
from oraclepack.calls.publication import is_of_another_run, publishing
from oraclepack.calls.unmet_answers import replace_unmet
from oraclepack.errors import InputError, Refusal, StepError
from oraclepack.journal import events as j
from oraclepack.journal.blobs import FOLDER as BLOBS
from oraclepack.journal.blobs import keep_blob
from oraclepack.journal.run_dir import RunDir
from oraclepack.journal.statuses import Status, Verification
from oraclepack.journal.step_state import StepState
from oraclepack.pack.contract import by_suffix
from oraclepack.pack.model import Step
from oraclepack.pack.output_names import output_names
from oraclepack.pack.questions import title_of
from oraclepack.run.planning.planner import CheckedOutputs, edited_outputs, edited_ways
from oraclepack.run.recorded_files import present_outputs
from oraclepack.run.recorder import Recorder
from oraclepack.system import files
from oraclepack.system.digests import sha256_bytes
from oraclepack.system.files import Content
from oraclepack.system.path_jail import (
    AllowedPath,
    content_at,
    jail,
    judge_entry,
    place_of,
    plain_place,
    read_content,
)


class RunFiles(msgspec.Struct, frozen=True):
    """A run that is locked, and where its files and those of the project lie."""

    root: Path
    run: RunDir
    record: Recorder


def restore_outputs(where: RunFiles, step_id: str) -> tuple[str, ...]:
    """Put back the outputs of a step that went well and are gone, as far as a copy is left.

    A copy that is gone is made again from the file. What a person or a later step changed stays.
    Every change is in the journal before it is made or can be made again, so a kill at any point
    loses nothing. The paths put back.
    """
    replaced = where.record.state.replaced_outputs()
    return tuple(
        output.declared_path
        for output in where.record.state.step(step_id).outputs
        if output.declared_path is not None
        and (step_id, output.path) not in replaced
        and _is_restored(where, output, output.declared_path)
    )


def _is_restored(where: RunFiles, output: j.OutputRecorded, path: str) -> bool:
    copy = plain_place(where.run.path, output.path)
    # Before anything moves: both ends are places that an output may have.
    if copy is None or judge_entry(where.root, path) is not None:
        return False
    there, copied = _present(where, path), read_content(copy).data
    is_copied = copied is not None and sha256_bytes(copied) == output.sha256
    if there == output.sha256 and not is_copied:
        data = read_content(where.root / path).data
        if data is not None and sha256_bytes(data) == output.sha256:
            files.write_atomic(copy, data, mode=files.PRIVATE_FILE)
            _record_moves(where, output, to_run=True)
    if there is not None or copied is None or not is_copied:
        return False
    with publishing(where.root):
        put_in_place(where.root, path, copied, output.mode)
        _record_moves(where, output, to_run=False)
    return True


def _present(where: RunFiles, path: str) -> str | None:
    """The hash of the file at an output's path; None where it can be overwritten."""
    return present_outputs(where.root, where.run.run_id, where.record.state, [path]).get(path)


def record_edits(where: RunFiles, step_id: str) -> None:
    """Write down which outputs of a step a person changed, and which are as recorded again."""
    state = where.record.state
    step = state.step(step_id)
    known = {one.declared_path: one.sha256 for one in step.edited}
    paths = [output.declared_path for output in step.outputs if output.declared_path is not None]
    present = present_outputs(where.root, where.run.run_id, state, paths)
    edited = edited_outputs(state, step_id, present)
    for output in step.outputs:
        path = output.declared_path
        now = edited.get(path or "", output.sha256)
        if path is not None and now != known.get(path, output.sha256):
            where.record.append(j.OutputEdited(step=step_id, declared_path=path, sha256=now))


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
    options: VerifyOptions,
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

    verification = verify_step(step, read, options, copies, accepted_in(state))
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
    place = place_of(root, output.declared_path or "")
    return is_of_another_run(root, run.run_id, place, data)


def accepted_in(state: StepState) -> dict[str, j.OutputRevised]:
    """What a person accepted in place of an output, by path."""
    return {one.declared_path: one for one in state.accepted}


def recheck(where: RunFiles, step: Step, options: VerifyOptions, *, verify: bool) -> bool:
    """Record a step whose answer meets its contract now as ok; whether it does."""
    with publishing(where.root):
        return _is_rechecked(where, step, options, verify=verify)


def _is_rechecked(where: RunFiles, step: Step, options: VerifyOptions, *, verify: bool) -> bool:
    restore_copies(where, step)
    state = where.record.state.step(step.id)
    verification, now = checked(where.root, where.run, step, state, options, verify=verify)
    if not now.passed:
        return False
    edited = {one.declared_path for one in state.edited}
    for output in state.outputs:
        path = output.declared_path
        there = None if path is None else content_at(where.root, path).data
        if path is None or there is None or _is_replaced(where.root, where.run, output, there):
            continue
        if path not in edited:
            revise(where, step, path)
        share_revision(where, step, path)
    finish(where, step, verification if verify else None)
    return True


def hold_failed(where: RunFiles, step: Step, options: VerifyOptions) -> None:
    """Keep a step failed whose answer misses its contract, with what it lacks by now."""
    with publishing(where.root):
        _hold_failed(where, step, options)


def _hold_failed(where: RunFiles, step: Step, options: VerifyOptions) -> None:
    restore_copies(where, step)
    state = where.record.state.step(step.id)
    verification, now = checked(where.root, where.run, step, state, options)
    if verification == state.verification or now.passed:
        return
    lacks = now.lacks or (state.error.message if state.error else "")
    if state.status is Status.OK or state.edited:
        lacks = f"{lacks}, {edited_ways(step.id)}"
    error = state.error or StepError(code="OUTPUT_CONTRACT", message=lacks)
    where.record.append(
        j.StepFinished(
            step=step.id,
            attempt=state.attempts,
            status=Status.FAILED,
            exit_code=state.exit_code,
            error=msgspec.structs.replace(error, message=lacks),
            verification=verification,
            duration_ms=state.duration_ms,
            attached=dict(state.attached),
        )
    )


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
    adopted: bool = False,
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
        backup=_kept_copy(where, recorded, digest),
        accepted=accepted,
        adopted=adopted,
        reason=reason,
        missing_sections=missing,
    )
    where.record.append(event)
    files.write_atomic(where.run.path / name, content.data, mode=files.PRIVATE_FILE)
    return event


def _kept_copy(where: RunFiles, recorded: j.OutputRecorded | None, digest: str) -> str | None:
    """Keep the output that was recorded, as it was paid for; where, relative to the run."""
    if recorded is None or recorded.sha256 == digest:
        return None
    data = read_content(where.run.path / recorded.path).data
    if data is None or sha256_bytes(data) != recorded.sha256:
        return None
    return f"{BLOBS}/{keep_blob(where.run.path, data)}"


def share_revision(where: RunFiles, step: Step, path: str, *, accepted: str | None = None) -> None:
    """Let other runs that ask the same question take what a person has made of its answer."""
    place, data = jail(where.root, path), content_at(where.root, path).data
    relative = place.relative if isinstance(place, AllowedPath) else path
    outcomes = [call.outcome for call in where.record.state.step(step.id).invocations]
    keys = [call.key for call in outcomes if call and call.output_path == relative and call.key]
    if keys and data is not None:
        replace_unmet(answer_caches(where.root, user=True), keys[-1], data, accepted)


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
