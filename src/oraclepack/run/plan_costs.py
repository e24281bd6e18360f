"""Forecasts a run: looks up what would run, rehearses that in a copy, and prices the calls."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec.structs import replace

from oraclepack.journal.run_state import EMPTY, RunState
from oraclepack.lint.rules.cost_rules import is_pro_for_yes_or_no
from oraclepack.pack.questions import asking_calls, short_title
from oraclepack.run.forecast import (
    CallFate,
    CostForecast,
    PlannedCall,
    PlannedStepCost,
    RehearsedCall,
    assumptions_of,
    count_of,
    open_keys,
    planned_call,
    repeated_files,
    savings_of,
    simulated,
    total_range,
)
from oraclepack.run.known_calls import KnownAnswers, above_limit
from oraclepack.run.open_run import SelectedRun
from oraclepack.run.planning.plan import Plan
from oraclepack.run.planning.selection import RunArguments
from oraclepack.run.preview import preview_run
from oraclepack.run.rehearsing import end_killed
from oraclepack.run.request import (
    RunRequest,
    lanes_with,
    limits_of,
    max_parallel,
    read_request,
    request_for,
)
from oraclepack.run.run import run_pack
from oraclepack.settings import call_settings as cs
from oraclepack.settings.loading import load_settings
from oraclepack.settings.registry import Settings
from oraclepack.settings.value_kinds import AUTO, AUTO_STEPS
from oraclepack.shell.stop import Stop
from oraclepack.store.history import answer_history
from oraclepack.store.sqlite import existing_store
from oraclepack.tools.tool_names import ORACLE

_EVERYTHING = 64
"""More steps at once than a command may run: the critical path counts alone."""


def forecast_run(
    pack: str | Path,
    settings: Settings | None = None,
    arguments: RunArguments | None = None,
    stop: Stop | None = None,
) -> tuple[CostForecast, tuple[str, ...]]:
    """What a run would ask and cost, from a rehearsal in a copy of the project; and warnings.

    Nothing is asked, and no tool is started. The steps that would run are rehearsed in a copy of
    the project, whose record is kept below `.oraclepack/rehearsals`.
    """
    settings = settings or load_settings(pack)
    request = read_request(pack, settings, arguments)
    selected, planned = preview_run(request)
    steps = tuple(step.step_id for step in planned.to_run)
    state = EMPTY
    if steps:
        state = _rehearsed(request, settings, steps, stop)
    else:
        end_killed(request.root)  # what a killed rehearsal left
    answers = KnownAnswers(request.root, selected.run.path, settings)
    calls = tuple(_calls(answers, selected, state, steps))
    history = answer_history(request.root, existing_store())
    own = settings[cs.PRICES]
    priced = [planned_call(call, history, own) for call in calls]
    seconds: dict[str, float] = defaultdict(float)
    for one in priced:
        seconds[one.step_id] += one.seconds
    providers = sorted({call.provider for call in priced if call.provider and call.seconds})
    most = max_parallel(settings)
    lanes = lanes_with(settings, providers) or (AUTO_STEPS if most == AUTO else most)
    wall, _ = simulated(planned, seconds, most if most == AUTO and lanes == AUTO_STEPS else lanes)
    _, path = simulated(planned, seconds, _EVERYTHING)
    paid = [call for call in priced if call.fate in {CallFate.ASK, CallFate.ADOPT}]
    repeated = repeated_files(calls, own)
    closed = {
        step.id for step in request.pack.steps if any(map(is_pro_for_yes_or_no, asking_calls(step)))
    }
    refusal = planned.refusal
    cost_forecast = CostForecast(
        run_id=selected.run.run_id,
        continued=not selected.is_new,
        steps=_steps(request, planned, state, priced),
        to_ask=count_of(priced, CallFate.ASK),
        cached=count_of(priced, CallFate.CACHED),
        adopted=count_of(priced, CallFate.ADOPT),
        refused=count_of(priced, CallFate.REFUSED),
        input_tokens=sum(call.input_tokens or 0 for call in paid),
        bytes=sum(call.bytes for call in paid),
        cost=total_range(call.cost for call in paid),
        unpriced_calls=sum(call.is_unpriced for call in paid),
        too_long=tuple(f"{call.step_id}.{call.call}" for call in paid if call.is_too_long),
        repeated=repeated,
        missing=tuple(_missing(priced, state, steps)),
        max_parallel=lanes,
        seconds=max(wall, _paced(paid, settings)),
        critical_path=path,
        assumptions=assumptions_of(priced, history),
        savings=savings_of(repeated, paid, closed, history, own),
        refusal=str(refusal) if refusal else None,
    )
    refused = (f"this would be refused: {refusal} ({refusal.hint})",) if refusal else ()
    above = above_limit(settings, request.pack, calls)
    return cost_forecast, (*filter(None, [above, answers.notice]), *planned.warnings, *refused)


def _rehearsed(
    request: RunRequest, settings: Settings, steps: Sequence[str], stop: Stop | None
) -> RunState:
    """The state of a rehearsal of these steps, with the flags of the real run."""
    engine, origins = settings[cs.ENGINE], dict(settings.origins)
    flags = settings[cs.ORACLE_FLAG]
    if engine in {"api", "browser"}:
        flags = (*flags, f"--engine={engine}")
        origins[cs.ORACLE_FLAG.name] = settings.origin(cs.ENGINE)  # what is given is recorded
    values = {**settings.values, cs.ENGINE.name: cs.REHEARSAL, cs.ORACLE_FLAG.name: flags}
    arguments = RunArguments(steps=",".join(steps), argv=request.argv)
    rehearsal = request_for(
        request.pack, replace(settings, values=values, origins=origins), arguments
    )
    rehearsal = replace(rehearsal, keep_going=True, check=None, command="plan")
    return run_pack(rehearsal, stop=stop).state


def _calls(
    answers: KnownAnswers, selected: SelectedRun, state: RunState, steps: Sequence[str]
) -> Iterator[RehearsedCall]:
    """The calls of oracle that the rehearsal made, in their order."""
    unended = open_keys(selected.state)
    for step_id in steps:
        for call in sorted(state.step(step_id).invocations, key=lambda one: one.call):
            intent, outcome = call.intent, call.outcome
            record = call.record
            if record is None or record.tool != ORACLE:
                continue
            size = intent.question if intent else None
            error = outcome.error if outcome else None
            key = record.key
            fate = CallFate.ASK
            if error is not None or size is None:
                fate = CallFate.REFUSED
            elif key is not None and key in unended:
                fate = CallFate.ADOPT
            elif key and answers.has(key):
                fate = CallFate.CACHED
            yield RehearsedCall(
                step_id=step_id,
                call=call.call,
                fate=fate,
                provider=size.provider if size else None,
                model=record.model,
                output_path=record.output_path,
                files=size.files if size else {},
                input_tokens=size.input_tokens if size else None,
                problem=f"{error.code}: {error.message}" if error else None,
            )


def _steps(
    request: RunRequest, planned: Plan, state: RunState, calls: Sequence[PlannedCall]
) -> tuple[PlannedStepCost, ...]:
    titles = {step.id: short_title(step) for step in request.pack.steps}
    forecasts = []
    for step in planned.steps:
        mine = tuple(call for call in calls if call.step_id == step.step_id)
        error = state.step(step.step_id).error
        forecasts.append(
            PlannedStepCost(
                step_id=step.step_id,
                title=titles.get(step.step_id, ""),
                decision=step.decision,
                reason=step.reason,
                calls=mine,
                cost=total_range(call.cost for call in mine),
                problem=f"{error.code}: {error.message}" if error else None,
            )
        )
    return tuple(forecasts)


def _missing(calls: Sequence[PlannedCall], state: RunState, steps: Sequence[str]) -> Iterator[str]:
    reported = set()
    for call in calls:
        if call.problem:
            reported.add(call.step_id)
            yield f"step {call.step_id}, call {call.call}: {call.problem}"
    for step_id in steps:
        error = state.step(step_id).error
        if error is not None and step_id not in reported:
            yield f"step {step_id}: {error.code}: {error.message}"


def _paced(calls: Sequence[PlannedCall], settings: Settings) -> float:
    """The least time that the calls per minute of the providers allow."""
    limits = limits_of(settings)
    paces = [
        (sum(call.provider == name for call in calls) - 1) * 60 / limit.requests_per_minute
        for name, limit in limits.items()
        if limit.requests_per_minute
    ]
    return max([0.0, *paces])
