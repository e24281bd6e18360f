"""Answers of calls: kept in caches and in the run, published where the pack wants them, accepted.

Answers are published whole and at once. Two runs may promise the same file: one run at a time
publishes in a project, for the few writes that takes; a note beside the lock says which run has
published a file last, and what. So a run that records its outputs later knows a file that another
run has replaced since.
"""

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import msgspec
from msgspec.structs import replace

from oraclepack.calls.cache import GOOD, CacheEntry, CacheLookup
from oraclepack.calls.call import Call
from oraclepack.calls.context import CallContext
from oraclepack.calls.key import InvocationKey
from oraclepack.calls.store import AnswerCache
from oraclepack.errors import MachineError, OraclePackError, Refusal, StepError
from oraclepack.journal import events as j
from oraclepack.journal.blobs import back_up, read_blob
from oraclepack.journal.run_dir import RunDir, examine, is_run_id
from oraclepack.journal.run_state import path_of
from oraclepack.journal.statuses import NO_SPACE, OUTPUT_PATH, Wait
from oraclepack.journal.step_state import StepState
from oraclepack.pack.contract import by_suffix
from oraclepack.pack.output_names import FOLDER as OUTPUTS
from oraclepack.pack.output_names import output_names
from oraclepack.pack.questions import title_of
from oraclepack.system import disk, files
from oraclepack.system.clock import rfc3339
from oraclepack.system.digests import canonical_line, sha256_bytes, sha256_text
from oraclepack.system.locks import turn
from oraclepack.system.path_jail import CACHE, AllowedPath, jail, plain_place, read_content
from oraclepack.tools.oracle_sessions import SessionRecord

FOLDER = ".oraclepack/published"
"""Of the notes about published files, under the project root."""
ROOM = 8 * 1024 * 1024
"""Bytes that must be free before a paid call: an answer, its copies, the log, the journal."""


def lack_of_room(context: CallContext) -> StepError | None:
    """The error of a call whose answer the disk could not take.

    A tool that cannot write its answer would be paid for nothing.
    """
    for place in (context.run_dir, context.root):
        free = disk.free_bytes(place)
        if free is not None and free < ROOM:
            message = (
                f"not asked: only {free // 1024} kB are free in {place}, and an answer could be "
                f"lost; free at least {ROOM // 1024**2} MiB, the same command continues"
            )
            return StepError(code=NO_SPACE, message=message)
    return None


def lack_of_access(output: AllowedPath) -> StepError | None:
    """The error of a call whose answer could not be written to its path."""
    folder = next(parent for parent in output.path.parents if _is_there(parent))
    if os.access(folder, os.W_OK | os.X_OK):
        return None
    message = (
        f"not asked: {folder} is not writable, so that {output.relative} would be lost; "
        "correct its permissions, the same command continues"
    )
    return StepError(code=OUTPUT_PATH, message=message)


def _is_there(folder: Path) -> bool:
    try:
        folder.stat()
    except OSError:  # below a directory that may not be entered: that one is looked at next
        return False
    return True


def caches_of(context: CallContext) -> tuple[AnswerCache, ...]:
    """Where verified answers are looked for: the cache, then the run."""
    store = context.store
    is_used = context.options.use_cache and store.cache.foreign is None
    return (store.cache, store.own) if is_used else (store.own,)


def keep(
    call: Call,
    data: bytes,
    record: SessionRecord | None,
    version: str | None = None,
    *,
    is_shared: bool = True,
) -> None:
    """Store a verified answer. Failing to store it is not an error.

    One that is not to be shared with other runs goes to the run's own answers.
    """
    if not isinstance(call.key, InvocationKey):
        return
    places = caches_of(call.context) if is_shared else (call.context.store.own,)
    if _put(call, places, _entry(call, call.key, data, record, version), data):
        call.context.shared.answered.add(call.key.value)


def keep_unmet(call: Call, data: bytes, record: SessionRecord | None = None) -> None:
    """Store a whole answer that misses its contract, so that no other run asks for it again."""
    call.kept(data)
    if not isinstance(call.key, InvocationKey) or not call.context.options.use_cache:
        return
    entry = replace(_entry(call, call.key, data, record, None), missing_sections=call.lacks(data))
    _put(call, (call.context.store.cache.unmet,), entry, data)


def _put(call: Call, places: Sequence[AnswerCache], entry: CacheEntry, data: bytes) -> bool:
    """Store an answer in the first place that takes it."""
    for answers in places:
        try:
            answers.put(entry, data)
        except OraclePackError as trouble:
            call.say(f"the answer could not be cached: {trouble.message}")
        else:
            return True
    return False


def _entry(
    call: Call,
    key: InvocationKey,
    data: bytes,
    record: SessionRecord | None,
    version: str | None,
) -> CacheEntry:
    entry = CacheEntry(
        key=key.value,
        parts=dict(key.parts),
        sha256=sha256_bytes(data),
        bytes=len(data),
        stored_at=rfc3339(call.context.clock.now()),
        step=call.step,
        pack_id=call.context.run_id,
        output_path=call.output_path,
        provider=call.provider,
        model=call.question.model,
        session=record.id if record else None,
        usage=call.with_cost(record.usage) if record else None,
        tool_version=version,
    )
    return call.redactor.clean_record(entry)


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


def unmet_of_0_2(call: Call, key: str) -> CacheLookup | None:
    """The same of oraclepack 0.2, which noted the runs that have such an answer, by their names."""
    folder = plain_place(call.root, f"{CACHE}/unmet/{key}")
    names = sorted(path.name for path in folder.iterdir()) if folder and folder.is_dir() else []
    for run in (RunDir(call.root, name) for name in reversed(names) if is_run_id(name)):
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
                        output_path=call.output_path,
                        pack_id=run.run_id,
                    )
                    return CacheLookup(entry, data, GOOD)
    return None


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
    call: Call, data: bytes, taken: j.OutputRevised, run_id: str | None = None
) -> None:
    """An answer that was accepted, perhaps in another run, is accepted in this one.

    The run's copy first: killed after it, the next command finds the answer as this one did.
    """
    step, place = call.pack_step, call.question.output
    if step is None or place is None:
        return
    path = _declared_names(call, place.path)[0]
    known = {one.declared_path: one.path for one in call.step_state.outputs if one.declared_path}
    name = output_names(step.id, title_of(step), [path], known)[path]
    files.write_atomic(call.context.run_dir / name, data, mode=files.PRIVATE_FILE)
    call.record(
        replace(
            taken,
            step=call.step,
            attempt=call.attempt,
            path=name,
            declared_path=path,
            section=by_suffix(path),
            source_run=run_id,
        )
    )


class Publication(msgspec.Struct, frozen=True):
    """What a run has published at a path."""

    run_id: str
    sha256: str


def publish(call: Call, output: AllowedPath, data: bytes, mode: int | None = None) -> None:
    """Write an answer to the path that the pack names; what another run wrote there is kept.

    `mode` is that of a new file; a file that is replaced keeps its own. Raises OraclePackError.
    """
    root, context = call.root, call.context
    verdict = jail(root, output.relative)
    if isinstance(verdict, Refusal) or verdict.path != output.path:
        reason = verdict.reason if isinstance(verdict, Refusal) else "it leads elsewhere by now"
        raise MachineError(f"{output.relative} cannot be written: {reason}")
    with publishing(root):
        now = read_content(output.path).data
        if now == data:
            return
        first = context.shared.publishes(output.relative, call.place)
        if first is not None:
            call.warn(
                Wait.SAME_OUTPUT,
                f"call {call.number} of step {call.step} replaces the answer of call {first[2]} of "
                f"step {first[0]} at {output.relative}; both are kept in the run",
            )
        is_ours = now is not None and published_at(root, output.path) == Publication(
            context.run_id, sha256_bytes(now)
        )
        if not is_ours:
            back_up_replaced(call, output.path)
        _note(root, output.path, Publication(context.run_id, sha256_bytes(data)))
        files.make_directories(output.path.parent)
        files.write_atomic(output.path, data, mode=None if output.path.exists() else mode)


@contextmanager
def publishing(root: Path) -> Iterator[None]:
    """No other run of the project publishes meanwhile. Where no lock can be had, all do without."""
    with ExitStack() as stack:
        with suppress(MachineError):
            files.make_private(root / FOLDER)
            stack.enter_context(turn(root / FOLDER / "lock"))
        yield


def published_at(root: Path, place: Path) -> Publication | None:
    """What was published at a place last; None where nothing is known."""
    data = read_content(_note_path(root, place)).data
    try:
        return msgspec.json.decode(data or b"", type=Publication)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None


def is_of_another_run(root: Path, run_id: str, place: Path, data: bytes | None) -> bool:
    """Whether what is at a place was published by another run."""
    last = published_at(root, place)
    if last is None or last.run_id == run_id or data is None:
        return False
    return last.sha256 == sha256_bytes(data)


def _note(root: Path, place: Path, publication: Publication) -> None:
    """Before the file is replaced: killed in between, the note fits no file and says nothing."""
    with suppress(OraclePackError):
        path, content = _note_path(root, place), canonical_line(publication)
        files.write_atomic(path, content, mode=files.PRIVATE_FILE)


def _note_path(root: Path, place: Path) -> Path:
    relative = os.path.relpath(place, os.path.realpath(root))
    return root / FOLDER / f"{sha256_text(relative)[:32]}.json"


def back_up_replaced(call: Call, place: Path) -> None:
    """Keep the file that an answer is about to replace, unless the command has it already.

    What another run wrote after this step had begun is the previous file from now on.
    """
    context = call.context
    events = [
        event
        for event in context.journal.state.session_files
        if (path := path_of(event)) is not None and call.root / _place(call, path) == place
    ]
    if any(isinstance(event, j.OutputRecorded) for event in events):
        return
    path = _declared_names(call, place)[0]
    backup = back_up(context.run_dir, call.step, call.attempt, path, place)
    if backup is not None and not (events and events[-1].sha256 == backup.sha256):
        earlier = next((one for one in events if isinstance(one, j.OutputBackedUp)), None)
        call.record(replace(backup, link=earlier.link if earlier else None))


def _declared_names(call: Call, place: Path) -> tuple[str, ...]:
    """How the step spells the path of a file, or the path in the project if it does not."""
    step = call.pack_step
    declared = (output.path.value for output in step.outputs) if step else ()
    relative = place.relative_to(call.root).as_posix()
    named = (path for path in declared if path and _place(call, path) == relative)
    return tuple(dict.fromkeys(named)) or (relative,)


def _place(call: Call, path: str) -> str:
    verdict = jail(call.root, path)
    return verdict.relative if isinstance(verdict, AllowedPath) else path
