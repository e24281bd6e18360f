"""A step as every file, list and screen shows it, from its pack and its journal."""

from collections.abc import Iterator
from typing import Any, TypeVar

import msgspec

from oraclepack.errors import StepError
from oraclepack.journal import events as j
from oraclepack.journal.costs import NO_COST, CostTotal, total_cost
from oraclepack.journal.run_state import RunState
from oraclepack.journal.statuses import OutputDoubt, Status, Verification
from oraclepack.journal.step_state import StepState
from oraclepack.pack.model import PRELUDE, Pack, Step, command_hash
from oraclepack.pack.output_names import output_names
from oraclepack.pack.questions import title_of
from oraclepack.system.digests import sha256_value
from oraclepack.tools.usage import Usage

Shape = TypeVar("Shape", bound=msgspec.Struct)


def shaped(shape: type[Shape], *sources: object, **given: object) -> Shape:
    """A record of this shape: each field as it is given, or from the first source that has it."""
    for name in shape.__struct_fields__:
        holder = next((one for one in sources if hasattr(one, name)), None)
        if name not in given and holder is not None:
            given[name] = getattr(holder, name)
    return shape(**given)


class OutputEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One output of a step."""

    path: str
    declared_path: str | None
    section: str | None
    sha256: str
    bytes: int
    from_cache: bool
    edited: bool = False
    """A person changed the file at `declared_path` after it was recorded; the hash is of the
    recorded output, which is kept at `path`."""


class InvocationEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One call of a tool."""

    tool: str
    key: str | None
    provider: str | None
    model: str | None
    cache: str | None
    attempts: int
    waited_ms: int
    exit_code: int | None
    session: str | None
    usage: Usage | None
    saved: Usage | None = None
    """What an answer from the cache had used when it was paid for."""


class ChangeEntry(msgspec.Struct, frozen=True, kw_only=True):
    """What a step left changed in the work tree."""

    files: tuple[str, ...]
    patch: str | None
    head_before: str | None
    head_after: str | None


class AcceptedEntry(msgspec.Struct, frozen=True, kw_only=True):
    """An output that a person took as it is."""

    path: str
    """Relative to the project root."""
    sha256: str
    reason: str
    missing_sections: tuple[str, ...]
    accepted_at: str


class StepEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One step. What is unknown is null."""

    step_id: str
    title: str | None
    question_id: str | None
    reference: str | None
    category: str | None
    roi: float | None
    impact: float | None
    confidence: float | None
    effort: float | None
    horizon: str | None
    tools: tuple[str, ...]
    command_hash: str | None
    output_path: str | None
    output_hash: str | None
    outputs: tuple[OutputEntry, ...]
    status: Status
    skip_reason: str | None
    imported: bool
    attempts: int
    exit_code: int | None
    started_at: str | None
    finished_at: str | None
    duration_ms: int | None
    last_error: StepError | None
    verification: Verification | None
    stdout_log: str | None
    stderr_log: str | None
    changes: ChangeEntry | None
    invocations: tuple[InvocationEntry, ...]
    accepted: tuple[AcceptedEntry, ...] = ()
    """Outputs that a person took as they are, although they miss their contracts or were edited."""
    cost: CostTotal = NO_COST
    """What the calls of all its attempts cost, as far as it is known."""
    edited: bool = False
    """A person changed an output after it was recorded, and that version stays."""
    adopted: bool = False
    """Its answers, or some of them, were there before the run, and the user took them."""


class StepView(StepEntry, frozen=True, kw_only=True):
    """A step of `steps.json`; its state may also be `running` or `interrupted`."""

    state: str

    @property
    def reason(self) -> str:
        """Why it failed, was skipped or has no answer."""
        return (self.last_error.message if self.last_error else "") or self.skip_reason or ""

    @property
    def doubts(self) -> tuple[OutputDoubt, ...]:
        return self.verification.doubts if self.verification else ()


_NO_OUTCOME = InvocationEntry(
    tool="",
    key=None,
    provider=None,
    model=None,
    cache=None,
    attempts=0,
    waited_ms=0,
    exit_code=None,
    session=None,
    usage=None,
)


def declared(step: Step | None) -> dict[str, Any]:
    """What the pack says of a step: null where the pack is gone."""
    return {
        "title": step.title if step else None,
        "question_id": step.meta.question_id if step else None,
        "reference": step.reference if step else None,
        "category": step.category if step else None,
        "roi": step.number("ROI") if step else None,
        "impact": step.number("impact") if step else None,
        "confidence": step.number("confidence") if step else None,
        "effort": step.number("effort") if step else None,
        "horizon": step.attribute("horizon") if step else None,
        "tools": step.tools if step else (),
    }


def step_views(pack: Pack | None, state: RunState, *, is_locked: bool) -> Iterator[StepView]:
    """Every step of a run; without the pack only what the journal knows of each."""
    known = {str(step.id): step for step in pack.steps} if pack else {}
    # The prelude may have called a tool; that does not make it a step.
    for step_id in sorted({*known, *state.step_ids, *state.steps} - {PRELUDE}):
        step = known.get(step_id)
        digest = command_hash(pack, step) if pack is not None and step is not None else None
        yield _step_view(step_id, step, digest, state.step(step_id), is_locked=is_locked)


def _step_view(
    step_id: str, step: Step | None, digest: str | None, state: StepState, *, is_locked: bool
) -> StepView:
    edited = {one.declared_path for one in state.edited}
    is_pending = state.status in {Status.PENDING, Status.RUNNING}
    outputs = tuple(
        shaped(
            OutputEntry,
            one,
            from_cache=isinstance(one, j.OutputRecorded) and one.from_cache,
            edited=one.declared_path in edited,
        )
        for one in state.outputs
    )
    expected = _expected_path(step) if step is not None and is_pending else None
    accepted = tuple(
        shaped(AcceptedEntry, one, path=one.declared_path, accepted_at=one.at)
        for one in state.accepted
    )
    return shaped(
        StepView,
        state,
        step_id=step_id,
        **declared(step),
        command_hash=state.command_hash or digest,
        output_path=outputs[0].path if outputs else expected,
        output_hash=output_hash(state.outputs),
        outputs=outputs,
        # The file knows four words; a running step has no result yet.
        status=Status.PENDING if is_pending else state.status,
        state=step_word(state, is_locked=is_locked),
        last_error=state.error,
        changes=shaped(ChangeEntry, state.change) if state.change else None,
        invocations=tuple(
            shaped(InvocationEntry, call.outcome, call.intent, _NO_OUTCOME)
            for call in state.last_invocations()
        ),
        accepted=accepted if state.is_accepted else (),
        cost=total_cost(state.invocations),
        edited=bool(edited),
        adopted=state.is_adopted,
    )


def step_word(step: StepState, *, is_locked: bool) -> str:
    """The status of a step: one that never ended, in a run that is not in use, was interrupted."""
    return "interrupted" if step.status is Status.RUNNING and not is_locked else step.word


def output_hash(outputs: tuple[j.RecordedOutput, ...]) -> str | None:
    """One hash for all outputs of a step: the file's own when there is but one."""
    if len(outputs) == 1:
        return outputs[0].sha256
    pairs = sorted((output.path, output.sha256) for output in outputs)
    return sha256_value(pairs) if pairs else None


def _expected_path(step: Step) -> str | None:
    """Where the run is going to keep the first output that the pack names."""
    paths = [output.path.value for output in step.outputs if output.path.value is not None]
    return next(iter(output_names(step.id, title_of(step), paths[:1]).values()), None)


def with_pack_fields(entry: StepEntry, described: StepEntry) -> StepEntry:
    """A step, with what an older entry has from the pack: the journal does not know it."""
    is_pending = entry.status is Status.PENDING
    return msgspec.structs.replace(
        entry,
        command_hash=entry.command_hash or described.command_hash,
        output_path=entry.output_path or (described.output_path if is_pending else None),
        **{name: getattr(described, name) for name in declared(None)},
    )
