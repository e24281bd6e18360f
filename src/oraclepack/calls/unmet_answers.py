"""Whole answers that missed their contract: paid for, so taken as they are now, not asked again."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from msgspec.structs import replace

from oraclepack.answers.output_check import is_blank
from oraclepack.answers.suspicions import INCOMPLETE, suspicions
from oraclepack.calls.cache import GOOD, CacheEntry, CacheLookup
from oraclepack.calls.context import CallContext
from oraclepack.calls.prepare import PreparedCall
from oraclepack.calls.publication import published_at
from oraclepack.calls.store import AnswerCache
from oraclepack.journal import events as j
from oraclepack.journal.blobs import read_blob
from oraclepack.journal.run_dir import RunDir, examine, is_run_id
from oraclepack.journal.statuses import CRASHED, UNMET, OutputRetry
from oraclepack.journal.step_state import Invocation, StepState
from oraclepack.pack.answer_sections import is_rehearsed
from oraclepack.pack.contract import by_suffix
from oraclepack.pack.output_names import FOLDER as OUTPUTS
from oraclepack.pack.output_names import output_names
from oraclepack.pack.questions import title_of
from oraclepack.system import files
from oraclepack.system.digests import sha256_bytes
from oraclepack.system.path_jail import CACHE, AllowedPath, jail, plain_place, read_content
from oraclepack.tools.oracle_sessions import SessionRecord


def accepted_output(context: CallContext, prepared: PreparedCall) -> j.OutputRevised | None:
    """The event by which a person took an answer to this question, if there is one."""
    step = context.journal.state.step(prepared.call.step)
    taken = next((one for one in step.accepted if _is_at(prepared, context, one)), None)
    if taken is None or last_outcome(context, prepared, step) is not None:
        return taken
    # What the user took before anything was asked is taken by its path: it has no question.
    return taken if taken.adopted and not context.options.refresh else None


def find_unmet(caches: Iterable[AnswerCache], key: str) -> CacheLookup | None:
    """The answer to a question that misses its contract, or that a person accepted."""
    looked = (answers.unmet.get(key) for answers in caches)
    return next((one for one in looked if one is not None and one.state == GOOD), None)


def replace_unmet(
    caches: Iterable[AnswerCache], key: str, data: bytes, accepted: str | None
) -> None:
    """A person has corrected the answer to a question, or takes it as it is, in every run."""
    for answers in caches:
        kept = find_unmet((answers,), key)
        if kept is not None:
            sha256, size = sha256_bytes(data), len(data)
            entry = replace(kept.entry, sha256=sha256, bytes=size, accepted=accepted)
            answers.unmet.put(entry, data)


def noted_before(context: CallContext, prepared: PreparedCall, key: str) -> CacheLookup | None:
    """The same of oraclepack 0.2, which noted the runs that have such an answer, by their names."""
    folder = plain_place(context.root, f"{CACHE}/unmet/{key}")
    names = sorted(path.name for path in folder.iterdir()) if folder and folder.is_dir() else []
    for run in (RunDir(context.root, name) for name in reversed(names) if is_run_id(name)):
        examined = examine(run)
        outcomes = [
            one
            for one in examined.reading.events
            if isinstance(one, j.InvocationOutcome) and one.key == key and one.unmet_sha256
        ]
        for outcome in reversed(outcomes) if examined.foreign is None else ():
            copies = (read_content(path).data for path in sorted(run.outputs.glob("*")))
            for data in copies:
                if data is not None and sha256_bytes(data) == outcome.unmet_sha256:
                    entry = CacheEntry(
                        key=key,
                        parts={},
                        sha256=sha256_bytes(data),
                        bytes=len(data),
                        stored_at=outcome.at,
                        output_path=prepared.output_path,
                        pack_id=run.run_id,
                    )
                    return CacheLookup(entry, data, GOOD)
    return None


def corrected(root: Path, output: AllowedPath, prompt: str, kept: CacheLookup) -> bytes | None:
    """The file at the answer's path, edited by a person since the answer was published there."""
    last, now = published_at(root, output.path), read_content(output.path).data
    if now is None or last is None or last.sha256 != kept.entry.sha256 or now == kept.data:
        return None
    return now if may_answer(now, prompt, output.relative) else None


def acceptance(data: bytes, missing: tuple[str, ...], reason: str) -> j.OutputRevised:
    """The event by which a person takes an answer; its place is filled in when it is recorded."""
    return j.OutputRevised(
        step="",
        attempt=0,
        path="",
        declared_path="",
        sha256=sha256_bytes(data),
        bytes=len(data),
        accepted=True,
        reason=reason,
        missing_sections=missing,
    )


def record_acceptance(
    context: CallContext,
    prepared: PreparedCall,
    data: bytes,
    taken: j.OutputRevised,
    run_id: str | None = None,
) -> None:
    """An answer that was accepted, perhaps in another run, is accepted in this one.

    The run's copy first: killed after it, the next command finds the answer as this one did.
    """
    step = context.pack.step(prepared.call.step)
    if step is None:
        return
    path = _as_declared(context, prepared)
    outputs = context.journal.state.step(step.id).outputs
    known = {output.declared_path: output.path for output in outputs if output.declared_path}
    name = output_names(step.id, title_of(step), [path], known)[path]
    files.write_atomic(context.run_dir / name, data, mode=files.PRIVATE_FILE)
    context.record(
        replace(
            taken,
            step=str(step.id),
            attempt=prepared.call.attempt,
            path=name,
            declared_path=path,
            section=by_suffix(path),
            source_run=run_id,
        )
    )


def _as_declared(context: CallContext, prepared: PreparedCall) -> str:
    """The output's path as the pack writes it, which verification uses as its name."""
    step = context.pack.step(prepared.call.step)
    for output in step.outputs if step else ():
        path = output.path.value
        place = jail(context.root, path) if path else None
        if path and isinstance(place, AllowedPath) and place.relative == prepared.output_path:
            return path
    return prepared.output_path or ""


def next_retry(
    before: OutputRetry | None, answer: bytes | None, record: SessionRecord | None
) -> OutputRetry:
    """The retry that follows one more answer that misses its contract."""
    return OutputRetry(
        number=(before.number if before else 0) + 1,
        unmet_sha256=None if answer is None else sha256_bytes(answer),
        sessions=(*(before.sessions if before else ()), *((record.id,) if record else ())),
    )


def interrupted_retry(
    context: CallContext, prepared: PreparedCall, open_call: j.InvocationIntent | None
) -> OutputRetry | None:
    """The retry at which the last call of the same question was cut off or failed.

    None where it had not asked again, or its retries came to their end. `open_call` is the last
    call that a claim names, perhaps of another run. With `--refresh` only a call without a known
    end counts: what has ended is not to be continued.
    """
    invocations = [
        one
        for step in context.journal.state.steps.values()
        for one in step.invocations
        if _asks_the_same(context, prepared, one)
    ]
    last = max(invocations, key=_moment, default=None)
    retries = [open_call.retry] if open_call is not None else []
    if last is not None and last.intent is not None and _is_unfinished(context, last):
        retries.append(last.intent.retry)
    return max((one for one in retries if one), key=lambda one: one.number, default=None)


def _asks_the_same(context: CallContext, prepared: PreparedCall, invocation: Invocation) -> bool:
    call = invocation.intent or invocation.outcome
    if call is None or (call.step, call.attempt, call.call) in context.shared.live:
        return False
    is_named = call.key is not None or call.output_path == prepared.output_path
    return call.tool == prepared.call.tool and call.key == prepared.key_value and is_named


def _moment(invocation: Invocation) -> int:
    """When a call began; one that adopted an answer has no intent."""
    call = invocation.intent or invocation.outcome
    return call.seq if call else 0


def _is_unfinished(context: CallContext, invocation: Invocation) -> bool:
    """A call did not come to an answer that was checked."""
    if invocation.is_open or invocation.outcome is None:
        return True
    error = invocation.outcome.error
    return error is not None and error.code not in UNMET and not context.options.refresh


def last_outcome(
    context: CallContext, prepared: PreparedCall, step: StepState
) -> j.InvocationOutcome | None:
    """How the last call for this file ended, in whichever attempt, if it asked the same.

    If there was none: the last call that asked the same for another file of the step, such as
    before `--out-dir`.
    """
    path = prepared.output_path
    if path is None or len(prepared.outputs) != 1 or context.options.refresh:
        return None
    invocation = (
        invocation.outcome for invocation in step.invocations if invocation.outcome is not None
    )
    ended = [outcome for outcome in invocation if not _is_closed(outcome)]
    mine = [outcome for outcome in ended if outcome.output_path == path]
    if not mine and prepared.key_value is not None:
        mine = [outcome for outcome in ended if outcome.key == prepared.key_value]
    last = max(mine, key=lambda outcome: outcome.seq, default=None)
    return last if last is not None and last.key == prepared.key_value else None


def _is_closed(outcome: j.InvocationOutcome) -> bool:
    return outcome.error is not None and outcome.error.code == CRASHED


def is_cut_off(context: CallContext, step: StepState, paths: set[str | None]) -> bool:
    """A later call for these files has no known end: there may be another answer."""
    opened = [
        invocation.intent
        for invocation in step.invocations
        if invocation.is_open and invocation.intent
    ]
    return any(
        intent.output_path in paths
        and (intent.step, intent.attempt, intent.call) not in context.shared.live
        for intent in opened
    )


def _is_at(prepared: PreparedCall, context: CallContext, one: j.OutputRevised) -> bool:
    return (context.root / one.declared_path).resolve() == prepared.outputs[0].path


def with_hash(context: CallContext, step: StepState, path: str, sha256: str | None) -> bytes | None:
    """The content with this hash: a blob of the run, or, before 0.3, in one of many places."""
    if sha256 is None:
        return None
    kept = read_blob(context.run_dir, sha256)
    if kept is not None:
        return kept
    contents = (read_content(place).data for place in _places(context, step, path))
    return next(
        (data for data in contents if data is not None and sha256_bytes(data) == sha256), None
    )


def _places(context: CallContext, step: StepState, path: str) -> Iterator[Path]:
    yield context.root / path
    # Not only those of the last attempt: the one before may have left it.
    outputs = context.run_dir / OUTPUTS
    yield from sorted(outputs.iterdir()) if outputs.is_dir() else ()
    yield from sorted((context.run_dir / "aside").glob("*/*"))
    for event in reversed(step.quarantined):
        yield from (context.root / move.target for move in event.moves if move.source == path)
    rollback = context.journal.state.rollback
    for undone in rollback.undone if rollback else ():
        if undone.path == path and undone.quarantined_as is not None:
            yield context.root / undone.quarantined_as


def is_an_answer(prepared: PreparedCall, data: bytes) -> bool:
    """Whether a file may be a whole answer, edited or not."""
    return may_answer(data, prepared.question.prompt, prepared.output_path or "")


def looks_cut(prepared: PreparedCall, data: bytes) -> bool:
    """Signs that an answer is not whole."""
    return has_signs_of_a_cut(data, prepared.question.prompt, prepared.output_path or "")


def may_answer(data: bytes, prompt: str, path: str) -> bool:
    """Whether the content of a path may be a whole answer to a prompt, edited or not."""
    text = data.decode("utf-8", "replace")
    return not (is_blank(text) or is_rehearsed(text) or has_signs_of_a_cut(data, prompt, path))


def has_signs_of_a_cut(data: bytes, prompt: str, path: str) -> bool:
    signs = suspicions(data.decode("utf-8", "replace"), prompt, path)
    return any(sign.code in INCOMPLETE for sign in signs)
