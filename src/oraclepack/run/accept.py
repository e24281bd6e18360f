"""The use case behind `accept`: a person takes an answer as it is."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from oraclepack.answers.output_check import is_blank
from oraclepack.answers.verification import AcceptedOutput, FailedOutput
from oraclepack.answers.verify_pack import VerifyOptions, verify_step
from oraclepack.calls.answers import publishing
from oraclepack.errors import InputError, UsageError
from oraclepack.journal import events as j
from oraclepack.journal.run_dir import is_rehearsal
from oraclepack.journal.run_state import RunState
from oraclepack.journal.statuses import Status
from oraclepack.journal.step_state import StepState
from oraclepack.pack.answer_sections import is_rehearsed
from oraclepack.pack.model import Pack, Step
from oraclepack.pack.pack_files import read_pack
from oraclepack.run.files import LockedRun
from oraclepack.run.open_run import SelectedRun, find_run, opened, refuse_new, step_of
from oraclepack.run.planning.planner import is_complete
from oraclepack.run.planning.selection import RunArguments
from oraclepack.run.revise import (
    checked,
    finish_again,
    revise,
    share_revision,
)
from oraclepack.run.rollback import is_unfinished
from oraclepack.run.step_outputs import declared_paths
from oraclepack.run.verify_outputs import verify_options
from oraclepack.settings.registry import Settings
from oraclepack.system.clock import SystemClock
from oraclepack.system.digests import sha256_bytes
from oraclepack.system.path_jail import content_at


class AcceptReport(msgspec.Struct, frozen=True, kw_only=True):
    """Outputs of a step that were accepted as they are, and the status of the step now."""

    step_id: str
    run_id: str
    outputs: tuple[AcceptedOutput, ...]
    status: str
    """`accepted` when the step is done; else its status until the next `run`."""
    failures: tuple[FailedOutput, ...] = ()
    """Other outputs of the step that are missing, or still miss their contracts."""


_NOTHING = "its outputs are as recorded and meet their contracts"


class _Candidate(msgspec.Struct, frozen=True):
    """An output of the step that could be accepted."""

    path: str
    data: bytes | None
    trouble: str | None
    missing: tuple[str, ...]
    edited: bool
    """It is not what was recorded last."""
    known: bool
    """It was accepted before, with this content."""

    @property
    def is_open(self) -> bool:
        return self.data is not None and not self.known and (bool(self.missing) or self.edited)


def accept_outputs(
    pack_path: str,
    step: str,
    settings: Settings,
    *,
    reason: str = "",
    outputs: Sequence[str] = (),
    run_id: str | None = None,
) -> AcceptReport:
    """Record outputs of a step as they are now, whatever their contracts say."""
    pack = read_pack(Path(pack_path))
    root = Path(settings.root)
    known = step_of(pack, step)
    selected = _run_of(root, pack, run_id)
    legacy = selected.state.has_legacy_files
    with opened(selected, pack, SystemClock(), "accept", legacy_files=legacy) as run:
        _refuse_unready(run.state, known)
        options = verify_options(settings)
        chosen = _chosen(list(_candidates(run, known, options)), outputs, pack_path, known)
        for one in chosen:
            with publishing(root):
                revise(run, known, one.path, accepted=True, reason=reason, missing=one.missing)
            share_revision(run, known, one.path, accepted=reason)
        return _report(run, pack, known, options, [one.path for one in chosen])


def _run_of(root: Path, pack: Pack, run_id: str | None) -> SelectedRun:
    selected = find_run(root, pack, RunArguments(run_id=run_id), SystemClock())
    if selected.state.created is not None and is_rehearsal(selected.state.created.engine):
        if run_id is None:
            selected = find_run(root, pack, RunArguments(), SystemClock(), rehearsal=False)
        else:
            raise UsageError(
                f"run {run_id} is a rehearsal: nothing in it is an answer",
                hint="run the pack without --engine rehearsal",
            )
    refuse_new(selected, "accept an answer of")
    return selected


def _refuse_unready(run: RunState, step: Step) -> None:
    state = run.step(step.id)
    if is_unfinished(run):
        raise InputError("a rollback of this run was cut off", hint="`oraclepack run` finishes it")
    if state.status in {Status.RUNNING, Status.SKIPPED} or not state.attempts:
        words = {Status.RUNNING: "was cut off", Status.SKIPPED: "was skipped"}
        raise UsageError(
            f"step {step.id} {words.get(state.status, 'has not run yet')}: there is no answer",
            hint="`oraclepack run` runs it",
        )


def _candidates(run: LockedRun, step: Step, options: VerifyOptions) -> Iterator[_Candidate]:
    state = run.state.step(step.id)
    recorded = {path: output.sha256 for path, output in state.declared.items()}
    paths = tuple(dict.fromkeys((*declared_paths(step), *recorded, *_called(state))))
    checked = verify_step(step, lambda path: content_at(run.root, path), options, paths)
    missing = {one.path: one.missing_sections for one in checked.failures}
    for path in paths:
        content = content_at(run.root, path)
        digest = sha256_bytes(content.data) if content.data is not None else None
        acceptance = state.accepted_at.get(path)
        yield _Candidate(
            path,
            content.data,
            content.trouble,
            missing.get(path, ()),
            edited=recorded.get(path) not in {None, digest},
            known=acceptance is not None and acceptance.sha256 == digest,
        )


def _called(state: StepState) -> Iterator[str]:
    """Paths that only the running shell could name."""
    for invocation in state.last_invocations():
        if invocation.outcome is not None and invocation.outcome.output_path is not None:
            yield invocation.outcome.output_path


def _chosen(
    candidates: Sequence[_Candidate], named: Sequence[str], pack: str, step: Step
) -> list[_Candidate]:
    known = {one.path: one for one in candidates}
    unknown = [path for path in named if path not in known]
    if unknown:
        raise UsageError(
            f"--file: {unknown[0]} is no output of step {step.id}",
            hint=f"its outputs are {', '.join(known) or 'none'}",
        )
    chosen = [known[path] for path in dict.fromkeys(named)]
    if not named:
        chosen = [one for one in candidates if one.is_open]
        if len(chosen) > 1:
            raise UsageError(
                f"step {step.id} has {len(chosen)} outputs to accept: "
                f"{', '.join(one.path for one in chosen)}",
                hint="name those you mean with --file",
            )
        if not chosen:
            chosen = [one for one in candidates if one.data is None]
    for one in chosen:
        _refuse_no_answer(one, pack)
    done = [one for one in chosen if not one.is_open]
    if done or not chosen:
        which = f"{done[0].path} of step {step.id}" if done else f"step {step.id}"
        raise UsageError(f"there is nothing to accept of {which}", hint=_NOTHING)
    return chosen


def _refuse_no_answer(one: _Candidate, pack: str) -> None:
    if one.data is None:
        raise InputError(
            f"{one.path} cannot be accepted: {one.trouble or 'missing'}",
            hint=f"`oraclepack run {pack}` puts back what the run has of it, or asks",
        )
    text = one.data.decode("utf-8", "replace")
    if is_blank(text):
        raise InputError(f"{one.path} cannot be accepted: it is empty")
    if is_rehearsed(text):
        raise InputError(
            f"{one.path} cannot be accepted: it is a rehearsal, and no answer",
            hint="run the pack without --engine rehearsal",
        )


def _report(
    run: LockedRun, pack: Pack, step: Step, options: VerifyOptions, paths: Sequence[str]
) -> AcceptReport:
    """Finish the step if nothing else of it is left to do, and report its status."""
    state = run.state.step(step.id)
    verification, now = checked(run.root, run.dir, step, state, options)
    if now.passed and is_complete(step, state):
        finish_again(run, step, verification)
        settled = all(run.state.step(one.id).status.is_settled for one in pack.steps)
        if settled and run.state.finished_at is None:
            run.record.append(j.RunFinished(ok=True))
    state = run.state.step(step.id)
    return AcceptReport(
        step_id=step.id,
        run_id=run.dir.run_id,
        outputs=tuple(_accepted(one) for one in state.accepted if one.declared_path in paths),
        status=state.word,
        failures=tuple(
            FailedOutput(
                step_id=step.id,
                path=one.path,
                contract=one.contract,
                missing_sections=one.missing_sections,
                io_error=one.io_error,
                reason=one.reason,
            )
            for one in verification.failures
        ),
    )


def _accepted(one: j.OutputRevised) -> AcceptedOutput:
    return AcceptedOutput(
        step_id=one.step,
        path=one.declared_path,
        sha256=one.sha256,
        reason=one.reason,
        missing_sections=one.missing_sections,
        accepted_at=one.at,
    )
