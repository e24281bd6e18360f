"""What a command does with every step of a pack: run it, or leave it and why.

Resume is not a mode: every command plans against the state of its run, and the state
of a new run is merely empty. `why` and `run --dry-run` print the same plan.
"""

from collections.abc import Iterable, Mapping

import msgspec
from msgspec.structs import replace

from oraclepack.errors import InputError, MachineError, Refusal
from oraclepack.journal import events as j
from oraclepack.journal.run_state import RunState
from oraclepack.journal.statuses import Status
from oraclepack.journal.step_state import StepState
from oraclepack.pack.missing_files import missing_files
from oraclepack.pack.model import Pack, Step, command_hash
from oraclepack.pack.questions import short_title
from oraclepack.pack.script import Enclosure
from oraclepack.run.planning.edges import Edges, edges_of, is_barrier, only_asks
from oraclepack.run.planning.plan import Decision, Plan, PlannedStep, listed
from oraclepack.run.planning.selection import Rerun, ResolvedSelection, Selection, choose
from oraclepack.tools.tool_names import ORACLE
from oraclepack.tools.wrappers import unwrap

TOOL_MISSING = "tool_missing"


class CheckedOutputs(msgspec.Struct, frozen=True):
    """The outputs of a step that missed its contract or were edited, checked as they are now."""

    passed: bool
    is_whole: bool = True
    """Every output is there, and none looks cut off or like a placeholder."""
    lacks: str = ""
    """What is missing where, for people: `out/03.md lacks risks-unknowns`."""


class DiskSnapshot(msgspec.Struct, frozen=True):
    """What the disk and the machine look like now.

    Hashes are SHA-256 by the path the journal gives; a path that is not in the mapping,
    or has None, is missing.
    """

    outputs: Mapping[str, str | None] = msgspec.field(default_factory=dict)
    """The copies in the run directory, by path relative to it."""
    declared: Mapping[str, str | None] = msgspec.field(default_factory=dict)
    """Outputs where the pack asked for them, by path relative to the project root. Missing are also
    files that hold nothing, and what another run recorded."""
    attached: Mapping[str, str | None] = msgspec.field(default_factory=dict)
    missing_tools: frozenset[str] = frozenset()
    """Tools that cannot be called here, by the names of `pack/tool_call.py`. Oracle is not one of
    them while oraclepack itself answers for it."""
    checked: Mapping[str, CheckedOutputs] = msgspec.field(default_factory=dict)
    """By step: those whose answer missed its contract, or was edited."""
    answered: frozenset[str] = frozenset()
    """Tools that oraclepack itself answers for, so that none of them may really start."""
    lacks_space: str = ""
    """Why oracle could not write to its home; empty where it can, and where it is not called."""
    missing_files: frozenset[str] = frozenset()
    """Attachments of the pack that are not there; empty where that must not stop the run."""


_FEW_STEPS = 5
"""A message names so many steps; of more it has the number."""


def plan(
    pack: Pack, state: RunState, selection: Selection, snapshot: DiskSnapshot
) -> Plan | Refusal:
    """The decision about every step, with its reason, in the order of the ids."""
    steps = sorted(pack.steps, key=lambda step: step.id)
    ids = [step.id for step in steps]
    twice = sorted({one for one in ids if ids.count(one) > 1})
    if twice:
        return Refusal(f"the pack has more than one step {listed(twice)}", hint="renumber them")
    chosen = choose(selection, ids)
    if isinstance(chosen, Refusal):
        return chosen
    early = _taken_back_before(chosen.resume_from, ids, state)
    if early is not None:
        return early
    edges = edges_of(steps)
    replaced = state.replaced_outputs()
    planned = [
        _planned(
            _Case(
                step,
                command_hash(pack, step),
                state.step(step.id),
                snapshot,
                edited_outputs(state, step.id, snapshot.declared),
                selection.refresh,
                frozenset(path for step_id, path in replaced if step_id == step.id),
            ),
            chosen,
            edges[step.id],
        )
        for step in steps
    ]
    return Plan(
        steps=tuple(_with_neighbours(step, planned, state) for step in planned),
        warnings=tuple(_warnings(pack, state, planned)),
        refusal=_without_oracle(pack, planned, snapshot)
        or _without_space(pack, planned, snapshot)
        or _escaping_prelude(pack, snapshot)
        or _without_file(pack, planned, state, snapshot),
    )


def _taken_back_before(first: str | None, ids: Iterable[str], state: RunState) -> Refusal | None:
    """`--resume-from` means that the steps before are done; what was taken back is not."""
    back = [one for one in ids if one < (first or "") and state.step(one).rolled_back]
    if not back:
        return None
    return Refusal(
        f"--resume-from {first} leaves out step {listed(back)}, whose files were taken back",
        hint=f"resume from {back[0]}, or pick steps with --steps",
    )


def edited_outputs(state: RunState, step_id: str, now: Mapping[str, str | None]) -> dict[str, str]:
    """Outputs of a step that were changed after it went well, by path, with their hashes now.

    What a later step of the run recorded at the same path is that step's output.
    """
    step = state.step(step_id)
    if step.status is not Status.OK and not step.edited:
        return {}
    recorded = {
        (output.declared_path, output.sha256)
        for other in state.steps.values()
        for output in other.outputs
    }
    paths = [output.declared_path for output in step.outputs if output.declared_path is not None]
    present = ((path, now.get(path)) for path in paths)
    return {path: sha for path, sha in present if sha is not None and (path, sha) not in recorded}


class _Case(msgspec.Struct, frozen=True):
    """One step and everything that is known about it."""

    step: Step
    command_hash: str
    state: StepState
    snapshot: DiskSnapshot
    edited: Mapping[str, str]
    """Outputs that a person changed, with their hashes."""
    refresh: bool = False
    replaced: frozenset[str] = frozenset()
    """Its outputs that belong to a later step, by their paths in the run directory."""

    @property
    def outputs(self) -> tuple[j.RecordedOutput, ...]:
        """The recorded outputs that are still its own."""
        return tuple(out for out in self.state.outputs if out.path not in self.replaced)


def _planned(case: _Case, chosen: ResolvedSelection, edges: Edges) -> PlannedStep:
    reason, decision, skip_reason = _decided(case, chosen)
    is_kept = decision in {Decision.DONE, Decision.RESTORE}
    warnings = (*_stale(case), *_newly_edited(case)) if is_kept else ()
    return PlannedStep(
        step_id=case.step.id,
        decision=decision,
        reason=reason,
        command_hash=case.command_hash,
        needs=edges.needs,
        after=edges.after,
        barrier=is_barrier(case.step),
        only_asks=only_asks(case.step),
        skip_reason=skip_reason,
        warnings=tuple(warnings),
        title=short_title(case.step),
        is_edited=bool(case.edited or case.state.edited),
    )


def _decided(case: _Case, chosen: ResolvedSelection) -> tuple[str, Decision, str | None]:
    left_out = chosen.against(case.step) or _not_rerun(case, chosen)
    if left_out is not None:
        return left_out, Decision.NOT_SELECTED, None
    reason = _asked_for(case, chosen)
    reuse = _reusable(case) if reason is None else None
    if reuse is not None:
        return *reuse, None
    reason = reason or _due(case)
    if reason is None:
        return _done(case), Decision.DONE, None
    missing = _missing_tools(case)
    if missing:
        names = listed(missing)
        verb = "is" if len(missing) == 1 else "are"
        return f"{names} {verb} not on PATH", Decision.SKIPPED, f"{TOOL_MISSING}: {names}"
    escape = _escape(case)
    if escape is not None:
        return escape, Decision.SKIPPED, f"rehearsal: {escape}"
    return reason, Decision.RUN, None


def _not_rerun(case: _Case, chosen: ResolvedSelection) -> str | None:
    """Why `--rerun failed` or `--rerun changed` passes a step over."""
    status = case.state.status
    if chosen.rerun is Rerun.FAILED and not case.state.has_bad_attempt:
        return f"--rerun failed skips it: it is {status}"
    if chosen.rerun is Rerun.CHANGED:
        if status is not Status.OK:
            return f"--rerun changed skips it: it is {status}"
        if not any((*_changed(case), *_changed_files(case), *_displaced(case))):
            return "--rerun changed skips it: nothing that it depends on has changed"
    return None


def _asked_for(case: _Case, chosen: ResolvedSelection) -> str | None:
    """Why a step runs although it may be done."""
    if chosen.rerun is Rerun.ALL:
        return "--rerun all asks for it"
    if chosen.named is not None:
        return "--rerun names it"
    if chosen.rerun is Rerun.CHANGED:
        return next(iter((*_changed(case), *_changed_files(case))), None)
    return None


def _reusable(case: _Case) -> tuple[str, Decision] | None:
    """What was paid for and need not be asked for again, though the step is not simply done."""
    now = case.snapshot.checked.get(case.step.id)
    if case.state.status is Status.OK and not any(_changed(case)):
        if case.edited and now is not None and not now.passed:
            return f"{now.lacks}, {edited_ways(case.step.id)}", Decision.HELD
        displaced = next(iter(_displaced(case)), None)
        return None if displaced is None else (displaced, Decision.RESTORE)
    same = case.state.misses_contract and case.state.command_hash == case.command_hash
    if now is None or not same or case.refresh:
        return None
    if now.passed and is_complete(case.step, case.state):
        return "its answer meets its contract now", Decision.RECHECK
    if now.passed or not now.is_whole:
        return None
    ways = f"accept it, correct it, or --rerun {case.step.id} --refresh"
    return f"{now.lacks}; it was paid for and is not asked again: {ways}", Decision.HELD


def is_complete(step: Step, state: StepState) -> bool:
    """The script of a step whose answer missed its contract did run to its end.

    The call itself fails with such an answer, which may have ended the script; after the last
    command there is nothing left to run.
    """
    if state.status is Status.OK:
        return True
    if not state.misses_contract or state.error is None:
        return False
    last = max((command.span for command in step.script.commands), default=None)
    calls = [call.span for call in step.calls]
    return state.error.code == "OUTPUT_CONTRACT" or (
        last is not None and bool(calls) and max(calls) >= last
    )


def edited_ways(step_id: str) -> str:
    """Why a step fails whose answer a person changed, and both ways on."""
    return (
        f"since it was edited: `oraclepack step accept` takes step {step_id} as it is; "
        "without the file, `run` puts the recorded answer back"
    )


def _newly_edited(case: _Case) -> Iterable[str]:
    known = {one.declared_path: one.sha256 for one in case.state.edited}
    copies = {output.declared_path: output.path for output in case.state.outputs}
    for path, digest in case.edited.items():
        if known.get(path) != digest:
            yield (
                f"{path} was edited after it was recorded: it stays as it is; "
                f"the recorded answer is {copies[path]} in the run directory"
            )


def _displaced(case: _Case) -> Iterable[str]:
    """Outputs that are missing in one of their two places, and can be restored from the other."""
    for output in case.outputs:
        copy = case.snapshot.outputs.get(output.path)
        path = output.declared_path
        there = case.snapshot.declared.get(path) if path is not None else None
        if path is not None and there is None and copy == output.sha256:
            yield f"its output {path} is gone and put back from the run's own copy"
        elif path is not None and there == output.sha256 and copy != output.sha256:
            yield f"the run's copy {output.path} is restored from {path}"


def _due(case: _Case) -> str | None:
    """Why a step is not done; None when it is."""
    state = case.state
    match state.status:
        case Status.OK:
            return next(iter(_changed(case)), None)
        case Status.RUNNING:
            return "it was running when the last command was ended"
        case Status.FAILED:
            reason = f": {state.error.message}" if state.error else ""
            return f"its last attempt failed{reason}"
        case Status.SKIPPED:
            if (state.skip_reason or "").startswith(TOOL_MISSING):
                return "a tool was missing when it was skipped, and none is now"
            return "it skipped itself last time, and may not now"
        case _:
            return _still_to_do(state)


def _still_to_do(state: StepState) -> str:
    if state.is_interrupted:
        return "it was interrupted: stopped before its end"
    if state.is_over_budget:
        return "a call of its last attempt did not fit the budget"
    if state.is_awaited:
        return "its provider had not finished an answer that was paid for; it is waited for"
    return "its last run was taken back" if state.rolled_back else "it has not run yet"


def _changed(case: _Case) -> Iterable[str]:
    """What has changed since the step went well: its command, its outputs."""
    if case.state.command_hash != case.command_hash:
        yield "its commands or the prelude have changed since it ran"
    for output in case.outputs:
        path = output.declared_path
        if path is not None and case.snapshot.declared.get(path) is not None:
            continue  # as recorded, or as a person left it
        if case.snapshot.outputs.get(output.path) != output.sha256:
            yield f"its output {path or output.path} is gone"


def _changed_files(case: _Case) -> Iterable[str]:
    """Which attached files have changed since the question was asked."""
    for path, was in sorted(case.state.attached.items()):
        now = case.snapshot.attached.get(path)
        if now is None:
            yield f"its attached file {path} is gone"
        elif now != was:
            yield f"its attached file {path} has changed since it was asked about"


def _stale(case: _Case) -> Iterable[str]:
    return (f"{one}; --rerun changed asks again" for one in _changed_files(case))


def _done(case: _Case) -> str:
    state = case.state
    how = "it was taken over from a state file" if state.imported else "it went well"
    if state.is_accepted:
        why = next((f": {one.reason}" for one in state.accepted if one.reason), "")
        how = f"it was {state.word} as it is{why}"
    if case.edited:
        return f"{how}, and {listed(case.edited)} stays as it was edited"
    match len(state.outputs):
        case 0:
            return how
        case 1:
            return f"{how}, and its output is as recorded"
        case count:
            return f"{how}, and its {count} outputs are as recorded"


def _missing_tools(case: _Case) -> list[str]:
    """Tools other than oracle that the step surely calls and that are not there."""
    sure = {
        call.tool
        for call in case.step.calls
        if call.tool != ORACLE and not call.guarded and Enclosure.CONDITION not in call.places
    }
    return sorted(sure & case.snapshot.missing_tools)


def _escape(case: _Case) -> str | None:
    """Why a tool that oraclepack answers for would really start; None where none would."""
    for call in case.step.calls:
        if call.tool in case.snapshot.answered and call.escapes is not None:
            return f"{call.tool} would really start: {call.escapes}"
    return None


def _escaping_prelude(pack: Pack, snapshot: DiskSnapshot) -> Refusal | None:
    """The prelude runs before every step: what it would really start cannot be skipped."""
    commands = pack.prelude.script.commands if pack.prelude and snapshot.answered else ()
    for command in commands:
        unwrapped = unwrap([word.value for word in command.words])
        if (
            unwrapped is not None
            and unwrapped.tool in snapshot.answered
            and unwrapped.escapes is not None
        ):
            return Refusal(
                f"the prelude would really start {unwrapped.tool}: {unwrapped.escapes}",
                hint=f"call it as {unwrapped.tool}, so that the rehearsal can answer for it",
            )
    return None


def _with_neighbours(step: PlannedStep, planned: list[PlannedStep], state: RunState) -> PlannedStep:
    """Add what a reader should know about the steps that a step needs."""
    others = {other.step_id: other for other in planned}
    notes = [
        note
        for one in step.needs
        if (note := _note(step, others[one], state.step(one).status)) is not None
    ]
    return replace(step, warnings=(*step.warnings, *notes)) if notes else step


def _note(step: PlannedStep, needed: PlannedStep, status: Status) -> str | None:
    if step.decision is Decision.DONE and needed.runs:
        return f"step {needed.step_id}, whose output it reads, runs again"
    if not step.runs:
        return None
    reads = f"it reads what step {needed.step_id} writes, and that step"
    if needed.decision is Decision.SKIPPED:
        return f"{reads} is skipped"
    if needed.decision is Decision.NOT_SELECTED and status is not Status.OK:
        return f"{reads} is {status} and not selected"
    return None


def _warnings(pack: Pack, state: RunState, planned: list[PlannedStep]) -> Iterable[str]:
    if state.created is not None and state.created.pack_hash != pack.pack_hash:
        yield "the pack has changed since this run began; steps with other commands run again"
    if planned and not any(step.decision is not Decision.NOT_SELECTED for step in planned):
        yield "no step is selected"


def _without_file(
    pack: Pack, planned: list[PlannedStep], state: RunState, snapshot: DiskSnapshot
) -> Refusal | None:
    if not snapshot.missing_files:
        return None
    running = {step.step_id for step in planned if step.runs}
    settled = {step.id for step in pack.steps if state.step(step.id).status is Status.OK}
    missing = list(missing_files(pack, snapshot.missing_files, running, settled - running))
    if not missing:
        return None
    first = missing[0]
    more = f" (and {len(missing) - 1} more)" if len(missing) > 1 else ""
    return Refusal(
        f"step {first.step} (line {first.span.line}) attaches {first.path}, which does not exist "
        f"and which nothing before it creates{more}",
        hint="correct the path, which is relative to the project root, or create the file; "
        "--no-validate runs it anyway",
        kind=InputError,
    )


def _without_space(
    pack: Pack, planned: list[PlannedStep], snapshot: DiskSnapshot
) -> Refusal | None:
    if not snapshot.lacks_space or not _asking(pack, planned):
        return None
    hint = "make room there, or name another place in ORACLE_HOME_DIR"
    return Refusal(snapshot.lacks_space, hint=hint, kind=MachineError)


def _asking(pack: Pack, planned: list[PlannedStep]) -> list[str]:
    """The steps that run and surely call oracle."""
    asking = {step.id for step in pack.steps if any(not call.guarded for call in step.oracle_calls)}
    return [step.step_id for step in planned if step.runs and step.step_id in asking]


def _without_oracle(
    pack: Pack, planned: list[PlannedStep], snapshot: DiskSnapshot
) -> Refusal | None:
    if ORACLE not in snapshot.missing_tools:
        return None
    steps = _asking(pack, planned)
    if not steps:
        return None
    named = f"steps {listed(steps)}" if len(steps) <= _FEW_STEPS else f"{len(steps)} steps"
    which = f"step {steps[0]} calls it" if len(steps) == 1 else f"{named} call it"
    # A question without a pack is a step that the user has not numbered.
    is_alone = len(pack.steps) == 1
    return Refusal(
        "oracle is not on PATH" if is_alone else f"oracle is not on PATH, and {which}",
        hint="install it (npm install -g @steipete/oracle), name it with --oracle-bin, "
        "ask without it (--engine direct), "
        "or try it with --engine rehearsal",
        kind=MachineError,
    )
