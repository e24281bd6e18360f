"""Answers that another run of the project paid for, and that no cache has.

The cache holds verified answers only. One that misses its contract, or that a person corrected or
accepted, is in the run that asked for it. The cache notes the names of such runs by the key of the
question; what they have is read from their journals, and only from signed ones.
"""

import posixpath
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec
from msgspec.structs import replace

from oraclepack.calls.answer_files import DISPLACED
from oraclepack.calls.context import CallContext
from oraclepack.calls.key import Parts
from oraclepack.calls.path_writers import run_events
from oraclepack.calls.prepare import PreparedCall
from oraclepack.calls.stored_answers import missing_in
from oraclepack.calls.unmet_answers import PaidAnswer, has_signs_of_a_cut, may_answer
from oraclepack.journal import events as j
from oraclepack.journal import run_dir
from oraclepack.journal.run_dir import RunDir
from oraclepack.journal.statuses import CRASHED, UNMET, OutputRetry
from oraclepack.pack.contract import by_suffix
from oraclepack.pack.output_names import output_names
from oraclepack.pack.questions import title_of
from oraclepack.system import files
from oraclepack.system.digests import sha256_bytes
from oraclepack.system.path_jail import AllowedPath, jail, read_content, stays_inside


class HeldQuestion(msgspec.Struct, frozen=True):
    """A question for which a run may have an answer."""

    root: Path
    key: str
    output: AllowedPath
    """Where its answer goes now."""
    prompt: str


class _RunAnswer(msgspec.Struct, frozen=True):
    """The last answer of a run to a question."""

    run: RunDir
    at: str
    step: str
    path: str
    """Where the run has put it, relative to the project root."""
    sha256: str
    retry: OutputRetry | None = None
    revised: j.OutputRevised | None = None
    """A person corrected or accepted it."""


class HeldAnswer(msgspec.Struct, frozen=True):
    """An answer that a run has, as it is now."""

    data: bytes
    run_id: str
    acceptance: j.OutputRevised | None = None
    """The event by which a person accepted it, if there is one."""
    retry: OutputRetry | None = None
    """The retry that was to replace it and was interrupted."""


def paid_elsewhere(context: CallContext, prepared: PreparedCall) -> PaidAnswer | None:
    """What a run has for this question: accepted, corrected, or short of its contract.

    None where the user asks for a new answer (`--refresh`, `--cache=false`), or no run of ours has
    a whole one.
    """
    key, options = prepared.key_value, context.options
    if key is None or len(prepared.outputs) != 1 or options.refresh or not options.use_cache:
        return None
    question = HeldQuestion(context.root, key, prepared.outputs[0], prepared.question.prompt)
    held = held_answer(question, context.store.cache.unmet_runs(key))
    if held is None:
        return None
    is_accepted = held.acceptance is not None
    return PaidAnswer(
        held.data,
        accepted=is_accepted,
        missing=() if is_accepted else missing_in(context, prepared, held.data),
        run_id=None if held.run_id == context.run_id else held.run_id,
        acceptance=held.acceptance,
        retry=held.retry,
    )


def held_answer(question: HeldQuestion, run_ids: Iterable[str]) -> HeldAnswer | None:
    """The latest whole answer that one of these runs has for a question."""
    answers = [
        one
        for run_id in run_ids
        if (one := _held_in(RunDir(question.root, run_id), question.key)) is not None
    ]
    for one in sorted(answers, key=lambda one: (one.at, one.run.run_id), reverse=True):
        held = _as_it_is_now(question, one)
        if held is not None:
            return held
    return None


def asked_parts(root: Path, key: str, run_ids: Iterable[str]) -> Parts | None:
    """What made the key of a question, from the call of one of these runs that asked it."""
    events = (event for run_id in run_ids for event in run_events(RunDir(root, run_id)))
    asked = (one for one in events if isinstance(one, j.InvocationIntent) and one.key == key)
    return next((one.key_parts for one in asked if one.key_parts), None)


def accepted_now(data: bytes, missing: tuple[str, ...]) -> PaidAnswer:
    """An answer that a person has just accepted; `acceptance` only where it lacks a section."""
    acceptance = j.OutputRevised(
        step="",
        attempt=0,
        path="",
        declared_path="",
        sha256=sha256_bytes(data),
        bytes=len(data),
        accepted=True,
        reason="accepted while the run waited for a decision",
        missing_sections=missing,
    )
    return PaidAnswer(data, accepted=True, acceptance=acceptance if missing else None)


def record_acceptance(context: CallContext, prepared: PreparedCall, paid: PaidAnswer) -> None:
    """An answer that was accepted in another run is accepted in this one, for the same reason.

    The run's copy first: killed after it, the next command finds the answer as this one did.
    """
    step = context.pack.step(prepared.call.step)
    if paid.acceptance is None or step is None:
        return
    path = _as_declared(context, prepared)
    outputs = context.journal.state.step(step.id).outputs
    known = {output.declared_path: output.path for output in outputs if output.declared_path}
    name = output_names(step.id, title_of(step), [path], known)[path]
    files.write_atomic(context.run_dir / name, paid.data, mode=files.PRIVATE_FILE)
    context.record(
        replace(
            paid.acceptance,
            seq=0,
            at="",
            step=str(step.id),
            attempt=prepared.call.attempt,
            path=name,
            declared_path=path,
            section=by_suffix(path),
            mode=None,
            replaced_sha256=None,
            backup=None,
            source_run=paid.run_id,
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


def _as_it_is_now(question: HeldQuestion, held: _RunAnswer) -> HeldAnswer | None:
    revised, run_id = held.revised, held.run.run_id
    if revised is not None:
        data = _content(question.root, held, revised.sha256)
        if data is not None and revised.accepted:
            return HeldAnswer(data, run_id, acceptance=revised)
    else:
        data = _edited(question, held) or _content(question.root, held, held.sha256)
    if data is None or has_signs_of_a_cut(data, question.prompt, question.output.relative):
        return None
    return HeldAnswer(data, run_id, retry=held.retry)


def _edited(question: HeldQuestion, held: _RunAnswer) -> bytes | None:
    """The file at the answer's path, edited by a person and written by nothing else since."""
    path = question.output.relative
    if held.path != path:
        return None
    now = read_content(question.output.path).data
    if now is None or sha256_bytes(now) == held.sha256:
        return None
    if not may_answer(now, question.prompt, path) or any(_later_writers(question.root, held)):
        return None
    return now


def _later_writers(root: Path, held: _RunAnswer) -> Iterator[str]:
    """The runs that have written to the path of an answer after it was given."""
    for run_id in run_dir.run_ids(root):
        for event in run_events(RunDir(root, run_id)):
            written = None
            if isinstance(event, j.InvocationOutcome) and (event.sha256 or event.unmet_sha256):
                written = event.output_path
            elif isinstance(event, j.OutputRecorded) and run_id != held.run.run_id:
                written = posixpath.normpath(event.declared_path or "")
            if written == held.path and event.at > held.at:
                yield run_id


def _held_in(run: RunDir, key: str) -> _RunAnswer | None:
    """The last answer of a run to a question, unless a verified one came after it."""
    held: _RunAnswer | None = None
    revised: dict[tuple[str, str], j.OutputRevised] = {}
    for event in run_events(run):
        match event:
            case j.OutputRevised():
                revised[_place(event.step, event.declared_path)] = event
            case j.OutputRecorded():
                _forget(revised, _place(event.step, event.declared_path), event.sha256)
            case j.InvocationOutcome() if event.error is None or event.error.code != CRASHED:
                sha256 = event.sha256 or event.unmet_sha256
                if sha256 is not None:
                    _forget(revised, _place(event.step, event.output_path), sha256)
                held = _after(run, held, event) if event.key == key else held
            case j.InvocationIntent() if event.key == key and event.retry is not None:
                held = _retried(run, event, event.retry)
    return held and replace(held, revised=revised.get((held.step, held.path)))


def _after(run: RunDir, held: _RunAnswer | None, event: j.InvocationOutcome) -> _RunAnswer | None:
    """What a run has for a question once a call of it has ended."""
    path, code = event.output_path, event.error.code if event.error else None
    if code is None:
        # Accepted unchanged: from a person, from another run, or from this one.
        is_taken = event.adopted and (held is not None or event.source_run is not None)
        sha256 = event.sha256 if is_taken else None
    elif code in UNMET:
        sha256 = event.unmet_sha256
    else:
        return held if held is not None and held.retry is not None else None
    if sha256 is None or path is None:
        return None
    return _RunAnswer(run, event.at, event.step, posixpath.normpath(path), sha256)


def _retried(run: RunDir, event: j.InvocationIntent, retry: OutputRetry) -> _RunAnswer | None:
    """The answer that a retry is to replace."""
    if event.output_path is None or retry.unmet_sha256 is None:
        return None
    path = posixpath.normpath(event.output_path)
    return _RunAnswer(run, event.at, event.step, path, retry.unmet_sha256, retry)


def _place(step: str, path: str | None) -> tuple[str, str]:
    return step, posixpath.normpath(path or "")


def _forget(
    revised: dict[tuple[str, str], j.OutputRevised], place: tuple[str, str], sha256: str
) -> None:
    """A person's edit of an output ends when something else is written there."""
    if place in revised and revised[place].sha256 != sha256:
        del revised[place]


def _content(root: Path, held: _RunAnswer, sha256: str) -> bytes | None:
    """The answer with this hash, wherever its run or the project still has it."""
    contents = (read_content(place).data for place in _places(root, held))
    return next(
        (data for data in contents if data is not None and sha256_bytes(data) == sha256), None
    )


def _places(root: Path, held: _RunAnswer) -> Iterable[Path]:
    run = held.run
    yield root / held.path
    yield from sorted(run.outputs.glob("*"))
    yield from sorted((run.path / DISPLACED).glob("*/*"))
    yield from sorted(run.backups.glob("*.answer/*"))
    for event in run_events(run):
        moved: tuple[str, ...] = ()
        if isinstance(event, j.Quarantined):
            moved = tuple(move.target for move in event.moves)
        elif isinstance(event, j.FileUndone) and event.quarantined_as is not None:
            moved = (event.quarantined_as,)
        for target in moved:
            place = root / target
            if stays_inside(root, place):
                yield place
