"""`run.json` and `steps.json`: the results of a run for other programs, folded from the journal."""

from collections.abc import Collection, Iterator
from typing import TypeAlias, TypedDict

import msgspec

from oraclepack.errors import StepError
from oraclepack.journal import events as j
from oraclepack.journal.costs import NO_COST, CostTotal, total_cost
from oraclepack.journal.run_state import RunState, SessionState
from oraclepack.journal.statuses import PASSING, RollbackStatus, Status, Verification
from oraclepack.journal.step_state import Invocation, StepState
from oraclepack.pack.model import PRELUDE, Pack, Step, command_hash
from oraclepack.pack.output_names import output_names
from oraclepack.pack.questions import title_of
from oraclepack.system.digests import sha256_value
from oraclepack.tools.usage import Usage


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


def accepted_entry(one: j.OutputRevised) -> AcceptedEntry:
    return AcceptedEntry(
        path=one.declared_path,
        sha256=one.sha256,
        reason=one.reason,
        missing_sections=one.missing_sections,
        accepted_at=one.at,
    )


def change_entry(change: j.TreeChanged) -> ChangeEntry:
    return ChangeEntry(
        files=change.files,
        patch=change.patch,
        head_before=change.head_before,
        head_after=change.head_after,
    )


def output_entry(output: j.OutputRecorded, edited: Collection[str]) -> OutputEntry:
    return OutputEntry(
        path=output.path,
        declared_path=output.declared_path,
        section=output.section,
        sha256=output.sha256,
        bytes=output.bytes,
        from_cache=output.from_cache,
        edited=output.declared_path in edited,
    )


def invocation_entry(call: Invocation) -> InvocationEntry:
    record, outcome = call.outcome or call.intent, call.outcome
    return InvocationEntry(
        tool=record.tool if record else "",
        key=record.key if record else None,
        provider=record.provider if record else None,
        model=record.model if record else None,
        cache=outcome.cache if outcome else None,
        attempts=outcome.attempts if outcome else 0,
        waited_ms=outcome.waited_ms if outcome else 0,
        exit_code=outcome.exit_code if outcome else None,
        session=outcome.session if outcome else None,
        usage=outcome.usage if outcome else None,
        saved=outcome.saved if outcome else None,
    )


SCHEMA_VERSION = 1

Setting: TypeAlias = j.Setting


class Notice(msgspec.Struct, frozen=True, kw_only=True):
    """Something a reader should know."""

    message: str
    code: str | None = None
    step_id: str | None = None


class SessionEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One command that worked on the run."""

    started_at: str
    finished_at: str | None
    command: str
    argv: tuple[str, ...]
    exit_code: int | None
    rollback: RollbackStatus


class RunManifest(msgspec.Struct, frozen=True, kw_only=True):
    """`run.json`."""

    schema_version: int
    pack_id: str
    pack_path: str
    pack_hash: str
    git_sha: str | None
    git_dirty: bool | None
    heads: tuple[str, ...]
    oraclepack_version: str | None
    oracle_version: str | None
    created_at: str
    finished_at: str | None
    status: str
    engine: str | None
    settings: dict[str, Setting]
    models: tuple[str, ...]
    providers: tuple[str, ...]
    usage: Usage
    sessions: tuple[SessionEntry, ...]
    warnings: tuple[Notice, ...]
    cost: CostTotal = NO_COST
    """What all calls of the run cost, as far as it is known."""


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


class StepsManifest(msgspec.Struct, frozen=True, kw_only=True):
    """`steps.json`."""

    schema_version: int
    pack_id: str
    steps: tuple[StepEntry, ...]


def run_manifest(state: RunState) -> RunManifest | None:
    """`run.json` of a run; None as long as the journal does not say which run it is."""
    created = state.created
    if created is None:
        return None
    calls = [call for step in state.steps.values() for call in step.invocations]
    records = [call.outcome or call.intent for call in calls]
    return RunManifest(
        schema_version=SCHEMA_VERSION,
        pack_id=created.pack_id,
        pack_path=created.pack_path,
        pack_hash=created.pack_hash,
        git_sha=created.git_sha,
        git_dirty=created.git_dirty,
        heads=state.heads,
        oraclepack_version=created.oraclepack_version,
        oracle_version=created.oracle_version,
        created_at=created.at,
        finished_at=state.finished_at,
        status=state.status,
        engine=created.engine,
        settings=created.settings,
        models=tuple(sorted({one.model for one in records if one and one.model})),
        providers=tuple(sorted({one.provider for one in records if one and one.provider})),
        usage=state.usage(),
        cost=state.cost(),
        sessions=tuple(map(_session, state.sessions)),
        # A step that was cut off and ran again has said the same twice.
        warnings=tuple(dict.fromkeys(_notices(state, created))),
    )


def steps_manifest(pack: Pack | None, state: RunState) -> StepsManifest:
    """`steps.json`; without the pack only what the journal knows of each step."""
    known = {str(step.id): step for step in pack.steps} if pack else {}
    # The prelude may have called a tool; that does not make it a step.
    ids = sorted({*known, *state.step_ids, *state.steps} - {PRELUDE})
    return StepsManifest(
        schema_version=SCHEMA_VERSION,
        pack_id=state.created.pack_id if state.created else "",
        steps=tuple(
            _step(step_id, pack, known.get(step_id), state.step(step_id)) for step_id in ids
        ),
    )


def output_hash(outputs: tuple[j.OutputRecorded, ...]) -> str | None:
    """One hash for all outputs of a step: the file's own when there is but one."""
    if len(outputs) == 1:
        return outputs[0].sha256
    pairs = sorted((output.path, output.sha256) for output in outputs)
    return sha256_value(pairs) if pairs else None


def _session(session: SessionState) -> SessionEntry:
    start, end = session.started, session.finished
    return SessionEntry(
        started_at=start.at,
        finished_at=end.at if end else None,
        command=start.command,
        argv=start.argv,
        exit_code=end.exit_code if end else None,
        rollback=end.rollback if end else RollbackStatus.NOT_ATTEMPTED,
    )


def _notices(state: RunState, created: j.RunCreated) -> Iterator[Notice]:
    for name in ("git_sha", "git_dirty", "oraclepack_version", "oracle_version", "engine"):
        if getattr(created, name) is None:
            yield Notice(code="unknown_value", message=f"{name} is not known")
    for kind in state.unknown_kinds:
        message = f"events of the kind {kind} are from a newer oraclepack and were not understood"
        yield Notice(code="unknown_event", message=message)
    for warned in state.warnings:
        if warned.code in PASSING:
            continue
        yield Notice(code=warned.code, message=warned.message, step_id=warned.step)


def _step(step_id: str, pack: Pack | None, step: Step | None, state: StepState) -> StepEntry:
    outputs, edited = state.outputs, {one.declared_path for one in state.edited}
    is_pending = state.status in {Status.PENDING, Status.RUNNING}
    expected = _expected_path(step) if step is not None and is_pending else None
    digest = state.command_hash
    if digest is None and pack is not None and step is not None:
        digest = command_hash(pack, step)
    return StepEntry(
        step_id=step_id,
        **_declared(step),
        command_hash=digest,
        output_path=outputs[0].path if outputs else expected,
        output_hash=output_hash(outputs),
        outputs=tuple(output_entry(output, edited) for output in outputs),
        # The file knows four words; a running step has no result yet.
        status=Status.PENDING if is_pending else state.status,
        skip_reason=state.skip_reason,
        imported=state.imported,
        attempts=state.attempts,
        exit_code=state.exit_code,
        started_at=state.started_at,
        finished_at=state.finished_at,
        duration_ms=state.duration_ms,
        last_error=state.error,
        verification=state.verification,
        stdout_log=state.stdout_log,
        stderr_log=state.stderr_log,
        changes=change_entry(state.change) if state.change else None,
        invocations=tuple(map(invocation_entry, state.last_invocations())),
        accepted=tuple(map(accepted_entry, state.accepted)) if state.is_accepted else (),
        cost=total_cost(state.invocations),
        edited=bool(edited),
        adopted=state.is_adopted,
    )


def _expected_path(step: Step) -> str | None:
    """Where the run is going to keep the first output that the pack names."""
    declared = [output.path.value for output in step.outputs if output.path.value is not None]
    return next(iter(output_names(step.id, title_of(step), declared[:1]).values()), None)


def with_pack_fields(entry: StepEntry, described: StepEntry) -> StepEntry:
    """A step, with what an older entry has from the pack: the journal does not know it."""
    names = _PackFields.__annotations__
    is_pending = entry.status is Status.PENDING
    return msgspec.structs.replace(
        entry,
        command_hash=entry.command_hash or described.command_hash,
        output_path=entry.output_path or (described.output_path if is_pending else None),
        **{name: getattr(described, name) for name in names},
    )


class _PackFields(TypedDict):
    """What an entry has from the pack."""

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


def _declared(step: Step | None) -> _PackFields:
    """What the pack says of a step."""
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
