"""The use case behind `run`: open the run, recover, plan, execute the steps, report."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Collection, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from oraclepack.calls.shim_dir import is_inside_a_step
from oraclepack.errors import OraclePackError, Refusal, UsageError
from oraclepack.journal import events as j
from oraclepack.journal.run_dir import RunDir
from oraclepack.journal.run_state import RunState
from oraclepack.journal.statuses import RollbackStatus, Status
from oraclepack.pack.questions import short_title
from oraclepack.run import import_state as older_state
from oraclepack.run import revise, tree_guard
from oraclepack.run.open_run import (
    SelectedRun,
    begin,
    described,
    enter,
    find_run,
    opened,
    path_in_project,
)
from oraclepack.run.planning.plan import Decision, Plan, PlannedStep
from oraclepack.run.planning.planner import DiskSnapshot
from oraclepack.run.planning.planner import plan as make_plan
from oraclepack.run.planning.selection import Existing
from oraclepack.run.planning.snapshot import take_snapshot
from oraclepack.run.policy import Completion, RunReply, completion, exit_code, reply
from oraclepack.run.quarantine import failed_folder
from oraclepack.run.recorded_files import existing_text, find_files, with_existing
from oraclepack.run.recorder import Recorder
from oraclepack.run.recover import recover
from oraclepack.run.rehearsing import enter_workplace, plan_workplace
from oraclepack.run.request import FollowUpResult, RunRequest, lanes_with, store_of
from oraclepack.run.rollback import finish_rollback, roll_back
from oraclepack.run.run_display import RunPreview, StepPreview
from oraclepack.run.run_session import RunSession
from oraclepack.run.tree_status import TreeStatus
from oraclepack.run.wait_for_run import run_to_wait_for, wait_for_end
from oraclepack.settings import run_settings as rs
from oraclepack.settings.call_settings import CONFIRM_ABOVE, ENGINE, REHEARSAL
from oraclepack.settings.notify_settings import NOTIFY
from oraclepack.settings.registry import STRICT
from oraclepack.shell.stop import Stop
from oraclepack.system import environment
from oraclepack.system.clock import Clock, SystemClock
from oraclepack.system.terminal import can_ask
from oraclepack.view.legacy_files import refuse_directories

if TYPE_CHECKING:
    from oraclepack.run.known_calls import RunForecast
    from oraclepack.run.project_copy import CopyPlan


class RunResult(msgspec.Struct, frozen=True):
    """The result of the command."""

    selected: SelectedRun
    plan: Plan
    state: RunState
    reply: RunReply
    completion: Completion
    exit_code: int
    root: Path
    """Where the steps ran: the project, or the copy of a rehearsal while that lasts."""


def plan_run(
    request: RunRequest,
    run: RunDir,
    state: RunState,
    snapshot: DiskSnapshot,
    imported: Collection[str] = (),
) -> Plan:
    """The plan against a run in this state; raises why it cannot be carried out.

    The answers of `imported` steps are going to be taken over from a state file.
    """
    planned = make_plan(request.pack, state, request.selection, snapshot)
    if isinstance(planned, Refusal):
        raise planned.error()
    planned = msgspec.structs.replace(planned, warnings=(*request.notes, *planned.warnings))
    in_copy = request.is_rehearsal and not request.arguments.in_place
    if in_copy:
        return planned
    found = find_files(
        request.root, request.pack, run, state, planned, request.verify_options, imported
    )
    if request.is_rehearsal and not found.taken:
        return planned  # its calls replace no real answer
    return with_existing(planned, found, request.arguments.existing, run)


def preview_run(request: RunRequest, clock: Clock | None = None) -> tuple[SelectedRun, Plan]:
    """Which run would be continued and what would be done. Changes nothing.

    A pack whose steps are all done was checked before, unless this command is stricter.
    """
    selected = _find(request, clock or SystemClock())
    check = request.check or (lambda: None)
    selected = described(selected, check if selected.is_new else lambda: None)
    if _has_legacy_files(request):
        refuse_directories(request.root, _pack_path(request, selected))
    found = _go_state(request, selected)
    planned = plan_run(
        request,
        selected.run,
        selected.state,
        _snapshot(request, selected.run, selected.state),
        older_state.taken_steps(request.root, request.pack, found, request.verify_options),
    )
    is_strict: bool = request.settings[STRICT]
    if (planned.to_run or is_strict) and not selected.is_new:
        check()
    if notice := _go_notice(found, selected):
        planned = msgspec.structs.replace(planned, warnings=(*planned.warnings, notice))
    return selected, planned


def _find(request: RunRequest, clock: Clock) -> SelectedRun:
    return find_run(
        request.root, request.pack, request.arguments, clock, rehearsal=request.is_rehearsal
    )


def _go_notice(found: older_state.ImportedState | None, selected: SelectedRun) -> str:
    """What happens to a state file that is there."""
    if found is None or any(event.sha256 == found.sha256 for event in selected.state.imported):
        return ""
    if found.hashes:
        return f"{found.source} is taken over: the run that wrote it is gone"
    if found.against:
        return f"{found.source} of the Go tool is not taken over: {found.against}"
    return f"{found.source} is of the Go tool: what succeeded there and still passes is taken over"


def check_run(request: RunRequest) -> None:
    """Raise why the run cannot begin; changes nothing."""
    selected, planned = preview_run(request)
    if planned.refusal is not None and _imported_state(request, selected) is None:
        raise planned.refusal.error()


def _refuse_nested(request: RunRequest, planned: Plan) -> None:
    """A run in a step would ask through the run of that step, and each would wait for the other."""
    if planned.to_run and not request.is_rehearsal and is_inside_a_step(os.environ):
        raise UsageError(
            "a step of another run started this command; its questions would wait for that run, "
            "and that run for them",
            hint="run the packs one after the other (`oraclepack run ONE.md OTHER.md`), or call "
            "oracle in the step itself; `plan` and --engine rehearsal work in a step too",
        )


def _snapshot(request: RunRequest, run: RunDir, state: RunState) -> DiskSnapshot:
    return take_snapshot(request, run, state)


def run_pack(
    request: RunRequest, clock: Clock | None = None, stop: Stop | None = None
) -> RunResult:
    """Run what is to be run, until `stop` is asked.

    The plan is made before anything is written, so that a mistake changes nothing, and again under
    the lock if the state has changed, because only there it is stable.
    """
    clock = clock or SystemClock()
    request, selected, planned = _decided(request, clock)
    done_before = _done_before(request, selected, planned)
    _refuse_nested(request, planned)
    copied = _plan_workplace(request, planned)
    awaited = _awaited(request, selected)
    expected = _confirmed(request, expected_cost(request, selected, planned))
    if request.display is not None:
        request.display.begin(_preview(request, selected, planned, expected))
    with ExitStack() as stack:
        stop = stop or stack.enter_context(Stop())
        record = stack.enter_context(
            opened(
                selected,
                request.pack,
                clock,
                request.command,
                is_new=request.arguments.new_run,
                legacy_files=request.writes_legacy_files,
                observers=() if request.display is None else (request.display.event,),
            )
        )
        folder = failed_folder(request.root, request.pack.out_dir, selected.run.path)
        untouched = record.state.last_seq == selected.state.last_seq
        begin(request, selected, record)
        untouched &= not _recovered(request, selected, record, folder)
        name = environment.private_name()
        session = RunSession(
            root=request.root,
            pack=request.pack,
            run=selected.run,
            record=record,
            stop=stop,
            clock=clock,
            request=request,
            private=Path(name),
            environment=_environment(request),
            failed=folder,
            began=clock.monotonic_ns(),
            tree_status=TreeStatus(clock),
        )
        if done_before is not None:
            # Before the command begins, so that its rollback leaves what it found.
            done_before(session)
            untouched = False
        _refuse_dirty_rerun(request, selected, record, planned)
        stack.enter_context(_notified(request, selected.run, record))
        enter(request, selected, record, name)
        _record_forecast(record, expected)
        # Only after the journal names it, so that a later command can remove it.
        session.private = stack.enter_context(environment.private_directory(name))
        if planned.to_run or awaited is not None:
            from oraclepack.run.execute_plan import open_control

            stack.enter_context(open_control(session))
        untouched &= not wait_for_end(session, awaited)  # what it did may change the plan
        if request.is_rehearsal:
            enter_workplace(session, copied)
        if not untouched:
            now = _snapshot(request, selected.run, record.state)
            planned = plan_run(request, selected.run, record.state, now)
            if planned.refusal is not None:
                raise planned.refusal.error()
        _record_plan(session, planned)
        if planned.to_run:
            from oraclepack.run.execute_plan import ready_to_execute

            with ready_to_execute(session, request.executor) as execute:
                if execute is not None:
                    execute(planned)
        return _end(request, session, selected, planned)


def _decided(request: RunRequest, clock: Clock) -> tuple[RunRequest, SelectedRun, Plan]:
    """The run and its plan, after asking the person at the terminal; raises why it cannot begin."""
    selected, planned = preview_run(request, clock)
    if planned.existing and request.ask is not None and _is_adopting(request, planned):
        adopting = msgspec.structs.replace(request.arguments, existing=Existing.ADOPT)
        request = msgspec.structs.replace(request, arguments=adopting)
        selected, planned = preview_run(request, clock)
    is_imported = not planned.existing and _imported_state(request, selected) is not None
    if planned.refusal is not None and not is_imported:
        raise planned.refusal.error()
    return request, selected, planned


def _is_adopting(request: RunRequest, planned: Plan) -> bool:
    assert request.ask is not None
    question = (
        f"There are {existing_text(planned.existing)}. Take those, and ask for the others? "
        "(no ends the command: --existing replace asks for all again)"
    )
    return request.ask(question, _wait)


def _done_before(
    request: RunRequest, selected: SelectedRun, planned: Plan
) -> Callable[[RunSession], None] | None:
    """What takes over that which was done before the run: by a state file, or by files alone."""
    imported = _imported_state(request, selected)
    if not any(step.adopts for step in planned.steps):
        return imported

    def act(session: RunSession) -> None:
        if imported is not None:
            imported(session)
        older_state.adopt_answers(session, planned)

    return act


def expected_cost(request: RunRequest, selected: SelectedRun, planned: Plan) -> RunForecast | None:
    """What the command is expected to ask and to cost; None where it asks nothing."""
    steps = [step.step_id for step in planned.to_run]
    return request.forecast(selected.run, selected.state, steps)


def _wait(seconds: float) -> bool:
    threading.Event().wait(seconds)
    return True


def _record_forecast(record: Recorder, expected: RunForecast | None) -> None:
    if expected is not None:
        record.append(expected.event(record.state.cost().cost))
    if expected is not None and expected.above_limit:
        record.append(j.WarningRecorded(code="budget", message=expected.above_limit))


def _confirmed(request: RunRequest, expected: RunForecast | None) -> RunForecast | None:
    """The forecast, after asking the person at the terminal where it is likely to cost much."""
    limit, cost = request.settings[CONFIRM_ABOVE], expected.cost if expected else None
    if expected is None or cost is None or limit is None or request.ask is None:
        return expected
    if cost.likely <= limit or request.ask(f"{expected.text}; begin?", _wait):
        return expected
    raise UsageError(
        "not begun: the forecast is above confirm_above, and the answer was no",
        hint="`oraclepack plan` shows what costs most; --yes asks nothing",
    )


def _preview(
    request: RunRequest, selected: SelectedRun, planned: Plan, expected: RunForecast | None
) -> RunPreview:
    titles = {step.id: short_title(step) for step in request.pack.steps}
    steps = [StepPreview(s.step_id, titles.get(s.step_id, ""), s.decision) for s in planned.steps]
    return RunPreview(
        selected.run.run_id,
        selected.run.path,
        tuple(steps),
        partial(lanes_with, request.settings),
        expected.text if expected is not None else "",
    )


def _plan_workplace(request: RunRequest, planned: Plan) -> CopyPlan | None:
    """What a rehearsal copies to run in; raises why it cannot begin."""
    return plan_workplace(request, planned) if request.is_rehearsal else None


def _imported_state(
    request: RunRequest, selected: SelectedRun
) -> Callable[[RunSession], None] | None:
    """What takes over a state file of the Go tool: the one that is named, or that is there."""
    found = _go_state(request, selected)
    if found is None:
        return None
    named = request.arguments.import_state is not None
    act = older_state.import_state if named else older_state.take_over
    return lambda session: act(session, found)


def _go_state(request: RunRequest, selected: SelectedRun) -> older_state.ImportedState | None:
    if request.arguments.import_state is not None:
        return older_state.read_state(Path(request.arguments.import_state))
    if not _has_legacy_files(request):
        return None
    path, pack_hash = _pack_path(request, selected), request.pack.pack_hash
    return older_state.find_state(request.root, path, pack_hash)


def _has_legacy_files(request: RunRequest) -> bool:
    """Something is where the state and report files of the pack are going to be written."""
    if not request.writes_legacy_files:
        return False
    stem = Path(request.pack.path).stem
    return any((request.root / f"{stem}.{one}.json").exists() for one in ("state", "report"))


def _pack_path(request: RunRequest, selected: SelectedRun) -> str:
    created = selected.state.created
    return created.pack_path if created else path_in_project(request.pack.path, request.root)


def _recovered(request: RunRequest, selected: SelectedRun, record: Recorder, folder: Path) -> bool:
    """Recover from a killed command; returns whether that changed files."""
    changed = False
    if record.state.is_open:
        changed = recover(request.root, selected.run, record, folder)
    elif record.state.sessions:  # it may have been killed on its way out
        environment.forget_private(record.state.sessions[-1].started.private or "")
    last = record.state.rollback
    failed = last is not None and last.status is RollbackStatus.FAILED
    if failed and request.settings[rs.ROLLBACK_ON_FAILURE]:
        changed |= finish_rollback(request.root, selected.run, record, folder)
    return changed


def _refuse_dirty_rerun(
    request: RunRequest, selected: SelectedRun, record: Recorder, plan: Plan
) -> None:
    if not selected.run.has_changes:
        return
    tree_guard.refuse_half_undone(request.pack, selected.run, record.state, request.argv)
    if not request.settings[rs.ALLOW_DIRTY_RERUN]:
        tree_guard.refuse_dirty_rerun(
            request.root, request.pack, selected.run, record, plan, request.argv
        )


def _environment(request: RunRequest) -> dict[str, str]:
    """What the steps inherit: our environment, and the out_dir if one was given."""
    inherited = environment.inherited(with_database=not store_of(request))
    if not can_ask():
        inherited |= environment.WITHOUT_TERMINAL
    if request.is_rehearsal:
        # A step may call oraclepack itself; what that runs is a rehearsal too.
        inherited |= {ENGINE.variable: REHEARSAL}
    return inherited | {"out_dir": request.out_dir} if request.out_dir else inherited


@contextmanager
def _notified(request: RunRequest, run: RunDir, record: Recorder) -> Iterator[None]:
    """People are notified of what happens meanwhile, if they want to be."""
    if not request.settings[NOTIFY]:
        yield
        return
    # With what it needs for requests it would take each run a while to load.
    from oraclepack.run.notify import Notifier, notify_options

    options = notify_options(request.settings)
    if options is None:
        yield
        return
    notifier = Notifier(run, options)
    notifier.begin(record.state)
    record.observe(notifier.event)
    try:
        yield
    finally:
        for failure in notifier.close():
            with suppress(OraclePackError, OSError):
                message = f"a notification was not delivered: {failure}"
                record.append(j.WarningRecorded(code="notify", message=message))


def _awaited(request: RunRequest, selected: SelectedRun) -> RunDir | None:
    """The run that this one waits for."""
    name = request.arguments.wait_for
    return run_to_wait_for(request.root, name, selected.run) if name else None


def _record_plan(session: RunSession, planned: Plan) -> None:
    """Write down what the plan warns of and skips, and take over what was paid for."""
    for warning in planned.warnings:
        session.record.append(j.WarningRecorded(message=warning))
    for step in planned.steps:
        for warning in step.warnings:
            session.record.append(j.WarningRecorded(step=step.step_id, message=warning))
    for step in planned.of(Decision.SKIPPED):
        _skip(session, step)
    _keep_what_was_paid_for(session, planned)


def _keep_what_was_paid_for(session: RunSession, planned: Plan) -> None:
    """Put outputs back, record answers that meet their contracts by now, before anything runs."""
    kinds = (Decision.RESTORE, Decision.RECHECK, Decision.HELD)
    kept = (*kinds, Decision.DONE)
    steps = [
        step
        for step in planned.steps
        if step.decision in kinds or (step.is_edited and step.decision in kept)
    ]
    if not steps:
        return
    where = revise.RunFiles(session.root, session.run, session.record)
    options, verify = session.request.verify_options, session.settings[rs.OUTPUT_VERIFY]
    for one in steps:
        step = session.pack.step(one.step_id)
        assert step is not None
        if one.is_edited:
            revise.record_edits(where, one.step_id)
        if one.decision is Decision.RESTORE:
            revise.restore_outputs(where, one.step_id)
        elif one.decision is Decision.HELD:
            revise.hold_failed(where, step, options)
        elif one.decision is Decision.RECHECK:
            revise.recheck(where, step, options, verify=verify)


def _skip(session: RunSession, step: PlannedStep) -> None:
    before = session.record.state.step(step.step_id)
    if before.status is Status.SKIPPED and before.skip_reason == step.skip_reason:
        return
    session.record.append(
        j.StepFinished(
            step=step.step_id,
            attempt=before.attempts,
            status=Status.SKIPPED,
            skip_reason=step.skip_reason,
            command_hash=step.command_hash,
        )
    )


def _end(
    request: RunRequest, session: RunSession, selected: SelectedRun, planned: Plan
) -> RunResult:
    record = session.record
    before = record.state
    figures = completion(planned, before, request.settings[rs.MIN_COMPLETION])
    run_reply = reply(planned, before)
    code = exit_code(run_reply, figures, ci=request.settings[rs.CI], signal=session.stop.signal)
    after = FollowUpResult(code, failed=run_reply.is_unfinished)
    if request.then is not None:
        after = request.then(
            RunResult(selected, planned, before, run_reply, figures, code, session.root)
        )
    if after.failed and request.settings[rs.ROLLBACK_ON_FAILURE]:
        roll_back(session.root, session.run, record, session.failed, run_reply.unfinished_steps)
        run_reply = reply(planned, before, record.state)
    settled = [record.state.step(step.id).status.is_settled for step in request.pack.steps]
    if all(settled) and record.state.finished_at is None:
        record.append(j.RunFinished(ok=run_reply.failed_step is None))
    code = after.exit_code
    signal = session.stop.signal
    if signal is not None or run_reply.rollback_status is not RollbackStatus.NOT_ATTEMPTED:
        code = exit_code(run_reply, figures, ci=request.settings[rs.CI], signal=signal)
    took = (session.clock.monotonic_ns() - session.began) // 1_000_000
    ended = j.SessionFinished(exit_code=code, rollback=run_reply.rollback_status, duration_ms=took)
    record.append(ended)
    return RunResult(selected, planned, record.state, run_reply, figures, code, session.root)
