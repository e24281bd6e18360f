"""The reply of `run`: the shape of its data."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from shlex import join, quote
from typing import TYPE_CHECKING

import msgspec

from oraclepack.errors import ExitCode
from oraclepack.journal.costs import (
    NO_COST,
    CostTotal,
    cost_of,
    forecast_text,
    total_cost,
)
from oraclepack.journal.events import ForecastRecorded
from oraclepack.journal.run_dir import log_names, run_ids
from oraclepack.journal.run_state import RunState
from oraclepack.journal.statuses import AWAITED, UNMET, WAITS, Cache
from oraclepack.journal.step_state import Invocation
from oraclepack.pack.model import PRELUDE, Pack
from oraclepack.run.forecast import ExpectedCalls
from oraclepack.run.open_run import SelectedRun
from oraclepack.run.planning.plan import Plan, PlannedStep
from oraclepack.run.policy import CompletionReport, RunReply, completion, reply
from oraclepack.system.environment import environment
from oraclepack.system.git import changed_files
from oraclepack.system.path_jail import REHEARSALS
from oraclepack.tools.usage import FigureSource
from oraclepack.view.legacy_files import names_for
from oraclepack.view.step import shaped

if TYPE_CHECKING:
    from oraclepack.run.known_calls import RunForecast
    from oraclepack.run.request import RunRequest
    from oraclepack.run.run import RunResult


class CallReport(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One call of a tool. What has its usual value is left out."""

    call: int
    tool: str
    status: str
    """`ok`, `failed`, or `open` where nothing is known of its end."""
    attempt: int = 1
    """The attempt of the step that made it."""
    model: str | None = None
    provider: str | None = None
    cache: str | None = None
    """`hit`: answered from the cache; `miss`: asked."""
    adopted: bool = False
    """The answer of an earlier call, not asked for again."""
    tries: int = 0
    waited_ms: int = 0
    """Spent waiting for slots and between tries."""
    output: str | None = None
    error: str | None = None
    message: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost: Decimal | None = None
    """US dollars; left out where it is not known or nothing was paid."""
    cost_source: str | None = None
    saved: Decimal | None = None
    """What the answer had cost when it was paid for."""


class OutputReport(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One output of a step."""

    path: str
    bytes: int
    sha256: str
    from_cache: bool = False


class StepReport(msgspec.Struct, frozen=True, kw_only=True):
    """One step in the reply of a command."""

    step_id: str
    decision: str
    reason: str
    status: str
    attempts: int
    duration_ms: int | None = None
    error: str | None = None
    message: str | None = None
    transient: bool | None = None
    """Whether the error may pass by itself; null without an error."""
    retry_after: float | None = None
    """Seconds after which the provider asks to be tried again."""
    stdout_log: str | None = None
    stderr_log: str | None = None
    changed_files: tuple[str, ...] = ()
    """What its last attempt changed in the work tree and was not undone."""
    patch: str | None = None
    """That change, relative to the run directory."""
    cost: CostTotal = NO_COST
    """What the calls of all its attempts cost, as far as it is known."""
    expected_calls: ExpectedCalls | None = None
    """With --dry-run: what would become of its calls, from what is recorded of them."""
    title: str = ""
    outputs: tuple[OutputReport, ...] = ()
    """Of its last attempt."""
    invocations: tuple[CallReport, ...] = ()
    """The calls of all its attempts."""


class ForecastReport(msgspec.Struct, frozen=True, kw_only=True):
    """What a command was expected to ask and to cost, and what it cost."""

    to_ask: int
    cached: int
    adopted: int
    low: Decimal | None
    likely: Decimal | None
    """US dollars; null where no price is known."""
    high: Decimal | None
    unpriced_calls: int
    unrecorded_steps: tuple[str, ...]
    """Steps of which only the text of the pack was known."""
    actual: Decimal | None = None
    """What is known of the cost of this command; null before it, and where nothing is known."""

    @property
    def text(self) -> str:
        """In one line."""
        return forecast_text(shaped(ForecastRecorded, self))


def forecast_report(
    forecast: ForecastRecorded | None, cost: CostTotal | None = None
) -> ForecastReport | None:
    """A forecast, beside the cost of its run now."""
    if forecast is None:
        return None
    now, before = cost.cost if cost else None, forecast.spent_before
    return shaped(ForecastReport, forecast, actual=None if now is None else now - (before or 0))


def ways_on(pack: str, steps: Sequence[str]) -> str:
    """The three ways on from answers that miss their contracts: they were paid for."""
    return (
        f"`oraclepack step accept {quote(pack)} {steps[0]} --reason …` takes the answer as it is; "
        "or correct the file and run again; "
        f"or `oraclepack run {quote(pack)} --rerun {','.join(steps)} --refresh` asks again"
    )


_FIXES = {
    "AUTH": "set a key that the provider accepts, where a login shell finds it (`~/.bash_profile`) "
    "or in `.env` of the project; or ask through the browser with --engine browser",
    "QUOTA": "add credit at the provider or raise its limit there, or ask another model with "
    "--oracle-flag=--model=NAME",
    "MODEL_UNAVAILABLE": "ask a model that your key may use, with --oracle-flag=--model=NAME; "
    "`oraclepack config prices` lists models",
    "BROWSER": "log in to ChatGPT in Chrome (docs/browser-mode.md), or set OPENAI_API_KEY and ask "
    "with --engine api",
    "CONTEXT_TOO_LONG": "attach less to the question, or ask a model that takes more",
    "BAD_ATTACHMENT": "correct the --file of the step",
    "OUTPUT_PATH": "correct the output path of the step",
    "FORBIDDEN": "ask the provider, or another one with --oracle-flag=--model=NAME",
}
"""What must change before the same command can succeed, by the code of a failure."""


class RunReport(RunReply, frozen=True, kw_only=True):
    """The data of `run`."""

    run_id: str
    run_dir: str
    continued: bool
    reason: str
    """Why this run and no other."""
    status: str
    prelude_error: str | None = None
    """Why the prelude failed, if it did."""
    prelude_stdout_log: str | None = None
    prelude_stderr_log: str | None = None
    """Of the prelude that failed."""
    completion: CompletionReport
    steps: tuple[StepReport, ...]
    dry_run: bool = False
    cost: CostTotal = NO_COST
    """What the calls of the run cost so far, those of its earlier commands too."""
    forecast: ForecastReport | None = None
    """What this command was expected to ask and to cost, beside what it did cost."""
    failure: str | None = None
    """The first failure and why, in one sentence."""
    next_command: str | None = None
    """The command line that continues the run, where something is left to do."""

    @property
    def is_rehearsal(self) -> bool:
        return self.run_dir.startswith(REHEARSALS)

    @property
    def cause(self) -> str | None:
        """The first failure and why: `step 01 failed: RATE_LIMITED: Rate limit reached …`."""
        if self.failed_step is None:
            return None
        if self.failed_step == PRELUDE:
            return f"the prelude failed: {self.prelude_error or 'no reason is known'}"
        first = self._first_failed
        why = f": {first.error}: {first.message}" if first and first.error else ""
        others = [step for step in self.failed_steps if step != self.failed_step]
        more = f" (also failed: {', '.join(others)})" if others else ""
        return f"step {self.failed_step} failed{why}{more}"

    @property
    def budget_cause(self) -> str | None:
        """The first call that did not fit the budget: what is spent, reserved and left."""
        return self._first_of(self.budget_steps)

    @property
    def awaited_cause(self) -> str | None:
        """The first call whose answer its provider still computes."""
        return self._first_of(self.awaited_steps)

    @property
    def awaited_code(self) -> str:
        """Who has it: a provider that computes one answer, or a batch."""
        codes = [one.error for one in self.steps if one.step_id in self.awaited_steps]
        return next((code for code in codes if code), AWAITED)

    def _first_of(self, names: tuple[str, ...]) -> str | None:
        steps = [one for one in self.steps if one.step_id in names]
        if not steps:
            return None
        more = f" (also: {', '.join(one.step_id for one in steps[1:])})" if steps[1:] else ""
        return f"step {steps[0].step_id}: {steps[0].message}{more}"

    @property
    def is_retryable(self) -> bool:
        """Everything that failed may pass by itself, so the same command may succeed later."""
        return bool(self._failed) and all(step.transient for step in self._failed)

    @property
    def retry_after(self) -> float | None:
        """When the last of the providers that failed us wants to be tried again, in seconds."""
        if not self.is_retryable:
            return None
        return max((s.retry_after for s in self._failed if s.retry_after is not None), default=None)

    @property
    def unmet_steps(self) -> tuple[str, ...]:
        """The failed steps with a complete answer that misses its contract."""
        return tuple(step.step_id for step in self._failed if step.error in UNMET)

    def ways_on(self, pack: str) -> str | None:
        """What a person can do where only such answers are left to deal with; `pack` is a path."""
        if not self.unmet_steps or set(self.unmet_steps) != set(self.failed_steps):
            return None
        return ways_on(pack, self.unmet_steps)

    def way_on(self, pack: str, command: str) -> str:
        """What a person can do about the first failure, with the command that continues."""
        first = self._first_failed
        fix = _FIXES.get(first.error or "") if first else None
        return self.ways_on(pack) or (
            f"{fix}; then: {command}" if fix else f"to continue: {command}"
        )

    @property
    def _first_failed(self) -> StepReport | None:
        return next((one for one in self.steps if one.step_id == self.failed_step), None)

    @property
    def _failed(self) -> list[StepReport]:
        return [step for step in self.steps if step.step_id in self.failed_steps]

    @property
    def counted(self) -> str:
        """How many steps had which result, in words."""
        counts = [
            (len(self.completed_steps), "ok"),
            (len(self.done_steps), "already done"),
            (len(self.skipped_steps), "skipped"),
            (len(self.failed_steps), "failed"),
            (len(self.interrupted_steps), "interrupted"),
            (len(self.budget_steps), "over budget"),
            (len(self.awaited_steps), "waiting for an answer that was paid for"),
        ]
        nothing = "no step ran" if self.failed_step else "nothing to do"
        accepted = sum(step.status == "accepted" for step in self.steps)
        note = f" ({accepted} accepted by a person)" if accepted else ""
        return (", ".join(f"{count} {word}" for count, word in counts if count) or nothing) + note


def report_of(result: RunResult) -> RunReport:
    report = _report(result.selected, result.plan, result.state, result.reply, result.completion)
    sessions = result.state.sessions
    forecast = forecast_report(sessions[-1].forecast if sessions else None, report.cost)
    return msgspec.structs.replace(report, failure=report.cause, forecast=forecast)


def plan_report(selected: SelectedRun, plan: Plan) -> RunReport:
    """The plan in the same shape."""
    state = selected.state
    report = _report(selected, plan, state, reply(plan, state), completion(plan, state))
    return msgspec.structs.replace(report, dry_run=True)


def _report(
    selected: SelectedRun,
    plan: Plan,
    state: RunState,
    answer: RunReply,
    figures: CompletionReport,
) -> RunReport:
    error = state.prelude_error
    logs = log_names(PRELUDE, state.prelude_attempts) if error is not None else (None, None)
    return shaped(
        RunReport,
        answer,
        run_id=selected.run.run_id,
        run_dir=selected.run.relative,
        continued=not selected.is_new,
        reason=selected.reason,
        status=state.status,
        prelude_error=error.message if error is not None else None,
        prelude_stdout_log=logs[0],
        prelude_stderr_log=logs[1],
        completion=figures,
        steps=tuple(_step(step, state) for step in plan.steps),
        cost=state.cost(),
    )


def _step(step: PlannedStep, state: RunState) -> StepReport:
    now = state.step(step.step_id)
    change = now.change if now.change and now.change.attempt == now.attempts else None
    return shaped(
        StepReport,
        step,
        now,
        status=now.word,
        error=now.error.code if now.error else None,
        message=now.error.message if now.error else None,
        transient=now.error.transient if now.error else None,
        retry_after=now.error.known_wait if now.error else None,
        changed_files=change.files if change else (),
        patch=change.patch if change else None,
        cost=total_cost(now.invocations),
        outputs=tuple(
            shaped(OutputReport, one, path=one.declared_path or one.path) for one in now.outputs
        ),
        # Of all attempts: what was paid for is named, also where it was of no use.
        invocations=tuple(map(_call, now.invocations)),
    )


def _call(call: Invocation) -> CallReport:
    outcome, cost = call.outcome, cost_of(call)
    record = call.record
    error = outcome.error if outcome else None
    cache = outcome.cache if outcome else Cache.OFF
    return shaped(
        CallReport,
        call,
        cost,
        record,
        status="open" if outcome is None else "ok" if outcome.ok else "failed",
        cache=None if cache is Cache.OFF else str(cache),
        tries=outcome.attempts if outcome else 0,
        output=outcome.output_path if outcome else None,
        error=error.code if error else None,
        message=error.message if error else None,
        cost_source=None if cost.source is FigureSource.UNKNOWN else str(cost.source),
    )


class RunOutcome(msgspec.Struct, frozen=True):
    """The result of a command that ran a pack."""

    report: RunReport
    exit_code: ExitCode
    continue_command: str
    """The command line that continues the run."""
    warnings: tuple[str, ...]
    recorded_warnings: tuple[str, ...]
    """Those of `warnings` that are events too: a display that shows events has shown them."""
    pack: Pack
    root: Path
    unignored: tuple[str, ...] = ()
    """After the first run of a project: its state and report files, where git would add them."""


class PlanOutcome(msgspec.Struct, frozen=True):
    """What a command would do with every step of a pack."""

    report: RunReport
    warnings: tuple[str, ...]
    """Also why it would be refused, if it would be."""


def run_outcome(request: RunRequest, result: RunResult) -> RunOutcome:
    recorded = recorded_warnings(result)
    command = continue_command(request.argv, result.plan, result.state)
    report = report_of(result)
    if result.exit_code or report.resume_from is not None:
        report = msgspec.structs.replace(report, next_command=command)
    return RunOutcome(
        report=report,
        exit_code=ExitCode(result.exit_code),
        continue_command=command,
        warnings=notices(result.selected) + recorded,
        recorded_warnings=recorded,
        pack=request.pack,
        root=request.root,
        unignored=_unignored(request, result),
    )


def _unignored(request: RunRequest, result: RunResult) -> tuple[str, ...]:
    is_first = result.selected.is_new and len(run_ids(request.root)) == 1
    created = result.state.created
    if not (request.writes_legacy_files and is_first and created is not None):
        return ()
    changed = changed_files(request.root, environment()) or ()
    names = names_for(request.root, created.pack_path)
    return tuple(name for name in names if ("??", name) in changed)


def plan_outcome(
    selected: SelectedRun, plan: Plan, expected: RunForecast | None = None
) -> PlanOutcome:
    warnings = notices(selected) + plan.warnings
    if plan.refusal is not None:
        refusal = plan.refusal
        warnings += (f"without --dry-run this is refused: {refusal.reason} (hint: {refusal.hint})",)
    report = plan_report(selected, plan)
    if expected is not None:
        steps = (
            msgspec.structs.replace(step, expected_calls=expected.by_step.get(step.step_id))
            for step in report.steps
        )
        forecast = forecast_report(expected.recorded)
        report = msgspec.structs.replace(report, steps=tuple(steps), forecast=forecast)
    return PlanOutcome(report, warnings)


def notices(selected: SelectedRun) -> tuple[str, ...]:
    """Why another run was begun than the user may have expected."""
    if not selected.notice:
        return ()
    return (f"{selected.notice}; starting a new run (the cache keeps what is unchanged)",)


def recorded_warnings(result: RunResult) -> tuple[str, ...]:
    """What this command recorded as warnings; waits are not among them."""
    new = result.state.warnings[len(result.selected.state.warnings) :]
    lines = (
        f"step {one.step}: {one.message}" if one.step else one.message
        for one in new
        if one.code not in WAITS
    )
    return tuple(dict.fromkeys(lines))


_ONCE = frozenset({"--new-run", "--resume", "--no-resume"})
"""They would begin another run, or are the default."""
_ONCE_WITH_VALUE = frozenset({"--import-state", "--rerun", "--expect-pack"})
"""An approved hash is for one command: the pack may be fixed before the next."""


def continue_command(argv: Sequence[str], plan: Plan, state: RunState) -> str:
    """The words of this command without those that must not be repeated.

    A rerun continues with exactly the steps that it did not reach: they may have been ok before, so
    that only `--rerun` selects them.
    """
    words = list(_lasting(argv))
    if _is_rerun(argv):
        left = [step.step_id for step in plan.to_run if not _is_settled(state, step.step_id)]
        end = words.index("--") if "--" in words else len(words)
        words[end:end] = ["--rerun", ranges(left)] if left else []
    return join(["oraclepack", *words])


def ranges(ids: Iterable[str]) -> str:
    """Step ids as `--rerun` and `--steps` take them: `03,07-09`."""
    ordered = sorted(ids)
    breaks = [at for at, (one, two) in enumerate(pairwise(ordered), 1) if int(two) - int(one) > 1]
    runs = [ordered[a:b] for a, b in pairwise([0, *breaks, len(ordered)])] if ordered else []
    return ",".join(run[0] if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)


def _is_settled(state: RunState, step_id: str) -> bool:
    """It went well in the last command; an earlier success does not count for a rerun."""
    began = state.sessions[-1].started.at if state.sessions else ""
    step = state.step(step_id)
    return step.status.is_settled and (step.finished_at or "") >= began


def _is_rerun(argv: Sequence[str]) -> bool:
    options = argv[: list(argv).index("--")] if "--" in argv else argv
    return any(word.partition("=")[0] == "--rerun" for word in options)


def _lasting(argv: Sequence[str]) -> Iterator[str]:
    rest = iter(argv)
    for word in rest:
        name, equals, _ = word.partition("=")
        if word == "--":
            yield word
            yield from rest
        elif name in _ONCE_WITH_VALUE:
            if not equals:
                next(rest, None)
        elif name not in _ONCE:
            yield word
