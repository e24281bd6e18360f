"""`run`, from top to bottom: find or create the run, recover, plan, execute, conclude."""

from __future__ import annotations

import os
import select
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from oraclepack import __version__
from oraclepack.calls.shim_dir import is_inside_a_step
from oraclepack.errors import OraclePackError, UsageError
from oraclepack.journal import events as j
from oraclepack.journal import run_dir
from oraclepack.journal.run_dir import RunDir, without_suffix
from oraclepack.journal.run_state import RunState
from oraclepack.journal.statuses import RollbackStatus, Status, Wait
from oraclepack.pack.questions import short_title
from oraclepack.pack.tree_policy import mutates
from oraclepack.run import revise
from oraclepack.run.batches import collect_batches, submit_batches
from oraclepack.run.files import LockedRun
from oraclepack.run.import_state import ImportedState, adopt_answers, import_state
from oraclepack.run.open_run import SelectedRun, opened, path_in_project
from oraclepack.run.planning.plan import Decision, Plan, PlannedStep
from oraclepack.run.planning.selection import Existing
from oraclepack.run.policy import CompletionReport, RunReply, completion, exit_code, reply
from oraclepack.run.preview import expected_cost, imported_state, plan_run, preview_run
from oraclepack.run.recorded_files import existing_text
from oraclepack.run.recover import recover
from oraclepack.run.rehearsing import enter_workplace, plan_workplace
from oraclepack.run.request import FollowUpResult, RunRequest, lanes_with, store_of
from oraclepack.run.rollback import roll_back
from oraclepack.run.run_display import RunPreview, StepPreview
from oraclepack.run.tree_guard import TreeStatus, refuse_dirty_rerun, refuse_half_undone
from oraclepack.settings import run_settings as rs
from oraclepack.settings.call_settings import BATCH, CONFIRM_ABOVE, ENGINE, REHEARSAL
from oraclepack.settings.notify_settings import NOTIFY
from oraclepack.shell.attempt import StopLevel
from oraclepack.shell.stop import Stop
from oraclepack.system import environment, locks
from oraclepack.system.clock import Clock, SystemClock
from oraclepack.system.terminal import can_ask
from oraclepack.tools.oracle_config import version_of_oracle
from oraclepack.tools.tool_names import ORACLE
from oraclepack.view.past_runs import named_run, summaries

if TYPE_CHECKING:  # a command with nothing to run does without them
    from oraclepack.calls.handler import CallHandler
    from oraclepack.calls.server import Gateway
    from oraclepack.run.control import RunControl
    from oraclepack.run.known_calls import RunForecast


_POLL_MS = 300
_LONGEST_CHAIN = 100


class RunResult(msgspec.Struct, frozen=True):
    """The result of the command."""

    selected: SelectedRun
    plan: Plan
    state: RunState
    reply: RunReply
    completion: CompletionReport
    exit_code: int
    root: Path
    """Where the steps ran: the project, or the copy of a rehearsal while that lasts."""


def run_pack(
    request: RunRequest, clock: Clock | None = None, stop: Stop | None = None
) -> RunResult:
    """Run what is to be run, until `stop` is asked.

    The plan is made before anything is written, so that a mistake changes nothing, and again under
    the lock if the state has changed, because only there it is stable.
    """
    clock = clock or SystemClock()

    # Find the run and plan; whoever must agree is asked. Nothing is changed.
    request, selected, planned, imported = _agreed(request, clock)
    _refuse_nested(request, planned)
    copied = plan_workplace(request, planned) if request.is_rehearsal else None
    name = request.arguments.wait_for
    awaited = _run_to_wait_for(request.root, name, selected.run) if name else None
    expected = _confirmed(request, expected_cost(request, selected, planned))
    if request.display is not None:
        request.display.begin(_preview(request, selected, planned, expected))

    with ExitStack() as stack:
        # Lock the run, create it, recover from what an earlier command left.
        stop = stop or stack.enter_context(Stop())
        locked = stack.enter_context(
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
        run = Run(request, selected, locked, clock, stop)
        changed = run.state.last_seq != selected.state.last_seq
        run.create()
        again = request.settings[rs.ROLLBACK_ON_FAILURE]
        changed |= recover(run, retry_rollback=again)
        # Before the command begins, so that its rollback leaves what it found.
        changed |= run.take_earlier(planned, imported)
        run.refuse_dirty_rerun(planned)

        # Begin: from here on the journal says that a command works on the run.
        stack.enter_context(run.notified())
        run.begin(expected)
        run.private = stack.enter_context(environment.private_directory(run.private.name))
        if planned.to_run or changed or awaited is not None:
            from oraclepack.run.execute import open_control

            stack.enter_context(open_control(run))
        changed |= _wait_for_end(run, awaited)
        collect_batches(run)
        if request.is_rehearsal:
            enter_workplace(run, copied)

        # Plan again where something has changed, and execute.
        if changed:
            planned = plan_run(request, run.dir, run.state)
            if planned.refusal is not None:
                raise planned.refusal.error()
        run.record_plan(planned)
        if planned.to_run:
            from oraclepack.run.execute import execute

            execute(run, planned)
            done = -1
            # Another round only where the last one has ended a step: a row may fail each time.
            while request.settings[ENGINE] == BATCH and done < (now := run.steps_done):
                done = now
                if not submit_batches(run):
                    break
                planned = plan_run(request, run.dir, run.state)
                execute(run, planned)
        return run.conclude(planned)


class Run(LockedRun):
    """One command at work on one run."""

    control: RunControl
    """Requests of other processes to the command, while it waits or steps run."""
    calls: CallHandler
    gateway: Gateway
    """The call server between the steps and the tools, while steps run."""

    def __init__(
        self,
        request: RunRequest,
        selected: SelectedRun,
        locked: LockedRun,
        clock: Clock,
        stop: Stop,
    ) -> None:
        super().__init__(locked.root, locked.dir, locked.record, locked.failed)
        self.request = request
        self.settings = request.settings
        self.pack = request.pack
        self.selected = selected
        self.clock = clock
        self.stop = stop
        self.environment: Mapping[str, str] = _environment(request)
        self.private = Path(environment.private_name())
        """A directory only we can read, gone at the end: bodies, the prelude's snapshot."""
        self.tree_status = TreeStatus(clock)
        self.attempts_before: frozenset[str] = frozenset()
        """Those that had left files when this command began to run steps."""
        self.snapshot: Path | None = None
        """The state after the prelude, once it has run."""
        self.user_environment: Mapping[str, str] | None = None
        """What a rehearsal's steps would inherit in a real run; None where they do."""
        self.dotenv: Callable[[str], dict[str, str]] = lambda _: {}
        """What the `.env` of the project says for a directory of its copy, which has none."""
        self._began = clock.monotonic_ns()

    def token(self, step: str, attempt: int) -> str:
        """The mark of an attempt's processes, unique on this machine."""
        return f"{step}-{attempt}-{self.private.name}"

    @property
    def steps_done(self) -> int:
        """How many steps have ended well."""
        return sum(step.status is Status.OK for step in self.state.steps.values())

    def create(self) -> None:
        """The first event of a run; a run killed before it gets it now."""
        if self.state.created is not None:
            return
        pack, tree = self.pack, self.selected.tree
        runs = summaries(self.root, pack.pack_hash)
        numbers = (run.number for run in runs if run.foreign is None)
        # Which oracle answers is not asked where none is called, or we answer ourselves.
        called = any(call.tool == ORACLE for step in pack.steps for call in step.calls)
        is_asked = called and not self.request.is_rehearsal
        self.record.append(
            j.RunCreated(
                schema_version=j.SCHEMA_VERSION,
                pack_id=without_suffix(self.dir.run_id),
                pack_path=path_in_project(pack.path, self.root),
                pack_hash=pack.pack_hash,
                git_sha=tree.sha,
                git_dirty=tree.dirty,
                oraclepack_version=__version__,
                oracle_version=version_of_oracle(self.request.oracle_bin) if is_asked else None,
                engine=self.settings[ENGINE],
                settings=dict(self.request.recorded),
                steps=tuple(step.id for step in pack.steps),
                mutating=mutates(pack),
                number=1 + max(numbers, default=0),
            )
        )

    def take_earlier(self, planned: Plan, imported: ImportedState | None) -> bool:
        """Take what was done before the run, by a state file or by files alone; whether any was."""
        if imported is not None:
            import_state(self, imported)
        is_adopting = any(step.adopts for step in planned.steps)
        if is_adopting:
            adopt_answers(self, planned)
        return is_adopting or imported is not None

    def refuse_dirty_rerun(self, planned: Plan) -> None:
        """Raise where a step would run over what its failed attempt left in the work tree."""
        if not self.dir.has_changes:
            return
        argv = self.request.argv
        refuse_half_undone(self, self.pack, argv)
        if not self.settings[rs.ALLOW_DIRTY_RERUN]:
            refuse_dirty_rerun(self, self.pack, planned, argv)

    @contextmanager
    def notified(self) -> Iterator[None]:
        """People are notified of what happens meanwhile, if they want to be."""
        if not self.settings[NOTIFY]:
            yield
            return
        # With what it needs for requests it would take each run a while to load.
        from oraclepack.run.notify import Notifier, notify_options

        options = notify_options(self.settings)
        if options is None:
            yield
            return
        notifier = Notifier(self.dir, options)
        notifier.begin(self.state)
        self.record.observe(notifier.event)
        try:
            yield
        finally:
            for failure in notifier.close():
                with suppress(OraclePackError, OSError):
                    self.warn(f"a notification was not delivered: {failure}", "notify")

    def begin(self, expected: RunForecast | None) -> None:
        """A command goes to work on the run; the commit it finds is one of the run's.

        The journal names the private directory before it is made, so that a later command can
        remove it.
        """
        self.record.append(
            j.SessionStarted(
                pid=environment.process_id(),
                host=environment.host(),
                command=self.request.command,
                argv=self.request.argv,
                oraclepack_version=__version__,
                settings=dict(self.request.recorded),
                private=self.private.name,
            )
        )
        tree = self.selected.tree
        if tree.sha is not None and tree.sha not in self.state.heads:
            self.record.append(j.HeadRecorded(sha=tree.sha, dirty=tree.dirty))
        if expected is not None:
            spent = self.state.cost().cost
            self.record.append(replace(expected.recorded, spent_before=spent))
            if expected.above_limit:
                self.warn(expected.above_limit, "budget")

    def record_plan(self, planned: Plan) -> None:
        """Write down what the plan warns of and skips, and keep what was paid for."""
        for warning in planned.warnings:
            self.warn(warning)
        for step in planned.steps:
            for warning in step.warnings:
                self.warn(warning, step=step.step_id)
        for step in planned.of(Decision.SKIPPED):
            self._skip(step)
        self._keep_answers(planned)

    def _skip(self, step: PlannedStep) -> None:
        before = self.state.step(step.step_id)
        if before.status is Status.SKIPPED and before.skip_reason == step.skip_reason:
            return
        self.record.append(
            j.StepFinished(
                step=step.step_id,
                attempt=before.attempts,
                status=Status.SKIPPED,
                skip_reason=step.skip_reason,
                command_hash=step.command_hash,
            )
        )

    def _keep_answers(self, planned: Plan) -> None:
        """Put outputs back, record answers that meet their contracts by now, before steps run."""
        kinds = (Decision.RESTORE, Decision.RECHECK, Decision.HELD)
        options, verify = self.request.verify_options, self.settings[rs.OUTPUT_VERIFY]
        for one in planned.steps:
            step = self.pack.step(one.step_id)
            assert step is not None
            if one.is_edited and one.decision in {*kinds, Decision.DONE}:
                revise.record_edits(self, one.step_id)
            if one.decision is Decision.RESTORE:
                revise.restore_outputs(self, one.step_id)
            elif one.decision is Decision.HELD:
                revise.hold_failed(self, step, options)
            elif one.decision is Decision.RECHECK:
                revise.recheck(self, step, options, verify=verify)

    def conclude(self, planned: Plan) -> RunResult:
        """The stages that follow, the rollback where one is wanted, the end of the command."""
        request, record, before = self.request, self.record, self.state
        figures = completion(planned, before, self.settings[rs.MIN_COMPLETION])
        answer = reply(planned, before)
        ci, signal = self.settings[rs.CI], self.stop.signal
        code = exit_code(answer, figures, ci=ci, signal=signal)
        after = FollowUpResult(code, failed=answer.is_unfinished)
        if request.then is not None:
            result = RunResult(self.selected, planned, before, answer, figures, code, self.root)
            after = request.then(result)
        if after.failed and self.settings[rs.ROLLBACK_ON_FAILURE]:
            roll_back(self, answer.unfinished_steps)
            answer = reply(planned, before, record.state)
        settled = [record.state.step(step.id).status.is_settled for step in self.pack.steps]
        if all(settled) and record.state.finished_at is None:
            record.append(j.RunFinished(ok=answer.failed_step is None))
        code, signal = after.exit_code, self.stop.signal
        if signal is not None or answer.rollback_status is not RollbackStatus.NOT_ATTEMPTED:
            code = exit_code(answer, figures, ci=ci, signal=signal)
        took = (self.clock.monotonic_ns() - self._began) // 1_000_000
        end = j.SessionFinished(
            exit_code=code, rollback=RollbackStatus(answer.rollback_status), duration_ms=took
        )
        record.append(end)
        return RunResult(self.selected, planned, record.state, answer, figures, code, self.root)


def _agreed(
    request: RunRequest, clock: Clock
) -> tuple[RunRequest, SelectedRun, Plan, ImportedState | None]:
    """The run and its plan, after asking the person at the terminal; raises why it cannot begin."""
    selected, planned = preview_run(request, clock)
    if planned.existing and request.ask is not None:
        question = (
            f"There are {existing_text(planned.existing)}. Take those, and ask for the others? "
            "(no ends the command: --existing replace asks for all again)"
        )
        if request.ask(question, _wait):
            adopting = replace(request.arguments, existing=Existing.ADOPT)
            request = replace(request, arguments=adopting)
            selected, planned = preview_run(request, clock)
    imported = imported_state(request, selected)
    if planned.refusal is not None and (planned.existing or imported is None):
        raise planned.refusal.error()
    return request, selected, planned, imported


def _wait(seconds: float) -> bool:
    threading.Event().wait(seconds)
    return True


def _refuse_nested(request: RunRequest, planned: Plan) -> None:
    """A run in a step would ask through the run of that step, and each would wait for the other."""
    if planned.to_run and not request.is_rehearsal and is_inside_a_step(os.environ):
        raise UsageError(
            "a step of another run started this command; its questions would wait for that run, "
            "and that run for them",
            hint="run the packs one after the other (`oraclepack run ONE.md OTHER.md`), or call "
            "oracle in the step itself; `plan` and --engine rehearsal work in a step too",
        )


def _confirmed(request: RunRequest, expected: RunForecast | None) -> RunForecast | None:
    """The forecast, after asking the person at the terminal where it is likely to cost much."""
    limit, likely = request.settings[CONFIRM_ABOVE], expected.recorded.likely if expected else None
    if expected is None or likely is None or limit is None or request.ask is None:
        return expected
    if likely <= limit or request.ask(f"{expected.text}; begin?", _wait):
        return expected
    raise UsageError(
        "not begun: the forecast is above confirm_above, and the answer was no",
        hint="`oraclepack plan` shows what costs most; --yes asks nothing",
    )


def _run_to_wait_for(root: Path, name: str, own: RunDir) -> RunDir:
    """The run of this name, if waiting for it can come to an end. Changes nothing."""
    target = named_run(root, name, other_than=own)
    seen, current = 0, target
    while seen < _LONGEST_CHAIN:
        if current.name == own.name:
            raise UsageError(
                f"--wait-for {name}: run {target.name} waits for this one itself",
                hint="leave --wait-for out, or stop the other run first",
            )
        following = run_dir.examine(current).own_state().waits_for
        if following is None or locks.holder_of(current.path) is None:
            break
        current = named_run(root, following)
        seen += 1
    return target


def _wait_for_end(run: Run, target: RunDir | None) -> bool:
    """Wait until no command works on the other run any more, or this one is stopped.

    Returns whether there was anything to wait for.
    """
    if target is None or locks.holder_of(target.path) is None:
        return False
    run.record.append(
        j.WaitStarted(step="", attempt=0, call=0, wait=1, reason=Wait.OTHER_RUN, detail=target.name)
    )
    poll = select.poll()
    for descriptor in run.stop.polite_fds:
        poll.register(descriptor, select.POLLIN)
    while run.stop.level is StopLevel.NONE and locks.holder_of(target.path) is not None:
        poll.poll(_POLL_MS)
    run.record.append(j.WaitFinished(step="", attempt=0, call=0, wait=1))
    return True


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


def _environment(request: RunRequest) -> dict[str, str]:
    """What the steps inherit: our environment, and the out_dir if one was given."""
    inherited = environment.inherited(with_database=not store_of(request))
    if not can_ask():
        inherited |= environment.WITHOUT_TERMINAL
    if request.is_rehearsal:
        # A step may call oraclepack itself; what that runs is a rehearsal too.
        inherited |= {ENGINE.variable: REHEARSAL}
    return inherited | {"out_dir": request.out_dir} if request.out_dir else inherited
