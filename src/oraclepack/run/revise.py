"""Recorded outputs and the files that people changed since: restored, checked again, accepted."""

import os
import stat
from pathlib import Path

import msgspec

from oraclepack.answers.suspicions import INCOMPLETE
from oraclepack.answers.verify_pack import VerifyOptions, verify_step
from oraclepack.calls.answers import is_of_another_run, publishing, replace_unmet
from oraclepack.calls.file_store import answer_caches
from oraclepack.errors import InputError, StepError
from oraclepack.journal import events as j
from oraclepack.journal.blobs import FOLDER as BLOBS
from oraclepack.journal.blobs import keep_blob, read_output
from oraclepack.journal.run_dir import RunDir
from oraclepack.journal.statuses import Status, Verification
from oraclepack.journal.step_state import StepState
from oraclepack.pack.contract import by_suffix
from oraclepack.pack.model import Step
from oraclepack.pack.output_names import output_names
from oraclepack.pack.questions import title_of
from oraclepack.run.files import LockedRun
from oraclepack.run.planning.planner import CheckedOutputs, edited_outputs, edited_ways
from oraclepack.run.recorded_files import present_outputs
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


def restore_outputs(run: LockedRun, step_id: str, *, only_missing: bool = False) -> None:
    """Put back the outputs of a step that are gone, as far as the run has them.

    A visible copy that is gone is made again. What a person or a later step changed stays, and
    with `only_missing` whatever is there. Every change can be made again, so a kill at any point
    loses nothing.
    """
    state = run.state
    replaced, outputs = state.replaced_outputs(), state.step(step_id).outputs
    paths = [one.declared_path for one in outputs if one.declared_path is not None]
    present = present_outputs(run.root, run.dir.run_id, state, () if only_missing else paths)
    for output in outputs:
        path, copy = output.declared_path, plain_place(run.dir.path, output.path)
        # Before anything moves: both ends are places that an output may have.
        if path is None or copy is None or judge_entry(run.root, path) is not None:
            continue
        if (step_id, output.path) in replaced:
            continue
        is_there = os.path.lexists(run.root / path) if only_missing else path in present
        data = read_output(run.dir.path, output)
        if present.get(path) == output.sha256 and data is None:
            data = read_content(run.root / path).data
        if data is None or sha256_bytes(data) != output.sha256:
            continue
        if sha256_bytes(read_content(copy).data or b"") != output.sha256:
            files.make_private(copy.parent)
            files.write_atomic(copy, data, mode=files.PRIVATE_FILE)
            _record_restored(run, output, path, to_run=True)
        if not is_there:
            with publishing(run.root):
                run.write(path, data, output.mode)
                _record_restored(run, output, path)


def record_edits(run: LockedRun, step_id: str) -> None:
    """Write down which outputs of a step a person changed, and which are as recorded again."""
    state = run.state
    step = state.step(step_id)
    known = {one.declared_path: one.sha256 for one in step.edited}
    paths = [output.declared_path for output in step.outputs if output.declared_path is not None]
    present = present_outputs(run.root, run.dir.run_id, state, paths)
    edited = edited_outputs(state, step_id, present)
    for output in step.outputs:
        path = output.declared_path
        now = edited.get(path or "", output.sha256)
        if path is not None and now != known.get(path, output.sha256):
            run.record.append(j.OutputEdited(step=step_id, declared_path=path, sha256=now))


def _record_restored(
    run: LockedRun, output: j.RecordedOutput, path: str, *, to_run: bool = False
) -> None:
    run.record.append(
        j.OutputRestored(
            step=output.step,
            path=output.path,
            declared_path=path,
            sha256=output.sha256,
            to_run=to_run,
        )
    )


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
    recorded = state.declared

    def read(path: str) -> Content:
        now, output = content_at(root, path), recorded.get(path)
        if output is None or (
            now.data is not None and not _is_replaced(root, run, output, now.data)
        ):
            return now
        data = read_output(run.path, output)
        if data is not None:
            return Content(data)
        return now if now.data is None else Content(trouble="another run wrote it")

    verification = verify_step(step, read, options, recorded, state.accepted_at)
    unmet = tuple(one for one in verification.failures if one.missing_sections)
    unreadable = [one for one in verification.failures if one.io_error]
    if not verify:
        return verification, CheckedOutputs(passed=not unreadable, is_whole=not unreadable)
    bad = {one.path for one in unmet}
    cut = any(one.code in INCOMPLETE and one.path in bad for one in verification.doubts)
    lacks = "; ".join(f"{one.path} lacks {', '.join(one.missing_sections)}" for one in unmet)
    whole = bool(unmet) and not unreadable and not cut
    return verification, CheckedOutputs(passed=verification.passed, is_whole=whole, lacks=lacks)


def _is_replaced(root: Path, run: RunDir, output: j.RecordedOutput, data: bytes) -> bool:
    """Whether a file is no longer the output of a step, since another run may have written it."""
    if sha256_bytes(data) == output.sha256:
        return False
    place = place_of(root, output.declared_path or "")
    return is_of_another_run(root, run.run_id, place, data)


def recheck(run: LockedRun, step: Step, options: VerifyOptions, *, verify: bool) -> None:
    """Record a step whose answer meets its contract now as ok."""
    restore_outputs(run, step.id, only_missing=True)
    with publishing(run.root):
        state = run.state.step(step.id)
        verification, now = checked(run.root, run.dir, step, state, options, verify=verify)
        if not now.passed:
            return
        edited = {one.declared_path for one in state.edited}
        for output in state.outputs:
            path = output.declared_path
            there = None if path is None else content_at(run.root, path).data
            if path is None or there is None or _is_replaced(run.root, run.dir, output, there):
                continue
            if path not in edited:
                revise(run, step, path)
            share_revision(run, step, path)
        finish_again(run, step, verification if verify else None)


def hold_failed(run: LockedRun, step: Step, options: VerifyOptions) -> None:
    """Keep a step failed whose answer misses its contract, with what it lacks by now."""
    restore_outputs(run, step.id, only_missing=True)
    with publishing(run.root):
        state = run.state.step(step.id)
        verification, now = checked(run.root, run.dir, step, state, options)
        if verification == state.verification or now.passed:
            return
        lacks = now.lacks or (state.error.message if state.error else "")
        if state.status is Status.OK or state.edited:
            lacks = f"{lacks}, {edited_ways(step.id)}"
        error = state.error or StepError(code="OUTPUT_CONTRACT", message=lacks)
        error = msgspec.structs.replace(error, message=lacks)
        finish_again(run, step, verification, error)


def finish_again(
    run: LockedRun, step: Step, verification: Verification | None, error: StepError | None = None
) -> None:
    """The step is ok by now, or has failed for another reason, though nothing of it ran again."""
    state = run.state.step(step.id)
    run.record.append(
        j.StepFinished(
            step=step.id,
            attempt=state.attempts,
            status=Status.OK if error is None else Status.FAILED,
            exit_code=state.exit_code,
            error=error,
            verification=verification,
            duration_ms=state.duration_ms,
            attached=dict(state.attached),
        )
    )


def revise(
    run: LockedRun,
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
    state = run.state.step(step.id)
    known = {path: output.path for path, output in state.declared.items()}
    recorded = state.declared.get(path)
    name = output_names(step.id, title_of(step), [path], known)[path]
    place, content = run.root / path, content_at(run.root, path)
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
        backup=_kept_copy(run, recorded, digest),
        accepted=accepted,
        adopted=adopted,
        reason=reason,
        missing_sections=missing,
    )
    run.record.append(event)
    files.write_atomic(run.dir.path / name, content.data, mode=files.PRIVATE_FILE)
    return event


def _kept_copy(run: LockedRun, recorded: j.RecordedOutput | None, digest: str) -> str | None:
    """Keep the output that was recorded, as it was paid for; where, relative to the run."""
    if recorded is None or recorded.sha256 == digest:
        return None
    data = read_output(run.dir.path, recorded)
    return None if data is None else f"{BLOBS}/{keep_blob(run.dir.path, data)}"


def share_revision(run: LockedRun, step: Step, path: str, *, accepted: str | None = None) -> None:
    """Let other runs that ask the same question take what a person has made of its answer."""
    place, data = jail(run.root, path), content_at(run.root, path).data
    relative = place.relative if isinstance(place, AllowedPath) else path
    outcomes = [call.outcome for call in run.state.step(step.id).invocations]
    keys = [call.key for call in outcomes if call and call.output_path == relative and call.key]
    if keys and data is not None:
        replace_unmet(answer_caches(run.root, user=True), keys[-1], data, accepted)
