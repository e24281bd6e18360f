"""The outputs of a step on disk: quarantined before it runs, recorded after it ran."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import msgspec

from oraclepack.answers.verify_pack import verify_step
from oraclepack.calls.answer_files import keep_copy
from oraclepack.errors import Refusal
from oraclepack.journal import events as j
from oraclepack.journal.run_dir import attempt_name
from oraclepack.journal.statuses import CRASHED, UNMET, Cache, Status, Verification
from oraclepack.journal.step_state import StepState
from oraclepack.pack.contract import OutputContract, by_suffix, contracts_of
from oraclepack.pack.model import Step
from oraclepack.pack.output_names import output_names
from oraclepack.pack.questions import title_of
from oraclepack.run.quarantine import move_to_quarantine
from oraclepack.run.run_session import RunSession, manner_of
from oraclepack.system import file_moves, files
from oraclepack.system.digests import sha256_bytes
from oraclepack.system.files import Content
from oraclepack.system.path_jail import content_at, hashes_of, jail, read_content
from oraclepack.system.secrets import BLOT

_TOGETHER = 8 << 20
"""Bytes; outputs up to here are held in memory and synced together."""


def declared_paths(step: Step) -> tuple[str, ...]:
    """The outputs whose path is written out in the pack."""
    return tuple(output.path.value for output in step.outputs if output.path.value is not None)


def restore_backups(
    session: RunSession, step: Step, attempt: int, in_use: frozenset[Path] = frozenset()
) -> None:
    """After a failed attempt: a file that was where an answer should be is there again.

    What calls moved away they bring back themselves, unless they were killed in between. A file
    that another run used when the step began is left to that run, unless a call got it since: the
    run has moved it away, and would take the copy for its answer.
    """
    backups = backup_folder(session, step.id, attempt)
    before = _backups_of(session, step, attempt)
    for path in declared_paths(step):
        used = _judged(session, path) in in_use and not _is_held(session, step, path)
        if used or not (backups / path).is_file():
            continue
        link = before[path].link if path in before else None
        if link is not None and not os.path.lexists(session.root / path):
            _link(link, session.root / path)
        place = _judged(session, path)
        if place is not None and not place.exists():
            _copy(backups / path, place)


def produced_paths(session: RunSession, step: Step, attempt: int) -> tuple[str, ...]:
    """The declared outputs, and those that only the running shell could name."""
    calls = session.record.state.step(step.id).invocations
    reported = [
        call.outcome.output_path
        for call in calls
        if call.attempt == attempt and call.outcome is not None and call.outcome.ok
    ]
    declared = declared_paths(step)
    # The same file may be spelled in several ways; the text's own spelling is the one to keep.
    named = {place_of(session, path) for path in declared}
    # A path that holds a secret was not written down; only the pack still has it.
    others = (path for path in reported if path and path not in named and BLOT not in path)
    return tuple(dict.fromkeys((*declared, *others)))


def place_of(session: RunSession, path: str) -> str:
    """A path as calls record it: relative to the project root, normalised."""
    verdict = jail(session.root, path)
    return path if isinstance(verdict, Refusal) else verdict.relative


def hold_outputs(session: RunSession, step: Step) -> frozenset[Path]:
    """Let no other run write to the files of a step; those that one uses now stay untouched."""
    if session.calls is None:
        return frozenset()
    places = (_judged(session, path) for path in declared_paths(step))
    return session.calls.hold_outputs(step.id, [place for place in places if place is not None])


def quarantine_earlier(
    session: RunSession, step: Step, in_use: frozenset[Path] = frozenset()
) -> None:
    """Move what a failed or interrupted attempt left out of the way of the next one.

    A file that still is what the attempt found there is not its output, nor is one that it never
    got from another run. Those that another run uses now are left to it: the call that waits for
    one of them moves away what is there then.
    """
    before = session.record.state.step(step.id)
    if not before.has_bad_attempt:
        return
    recorded = [out.declared_path for out in before.outputs if out.declared_path]
    backups = backup_folder(session, step.id, before.attempts)
    paid = set() if session.options.refresh else _paid_for(session, before)
    inside = [
        path
        for path in (*declared_paths(step), *recorded)
        if (place := _judged(session, path))
        and place not in in_use
        and not before.is_of_another_run(before.attempts, path)
        and not is_same(place, backups / path)
        and place_of(session, path) not in paid
    ]
    moves = move_to_quarantine(
        session.root, session.failed, session.run.run_id, step.id, before.attempts, inside
    )
    if moves:
        session.record.append(j.Quarantined(step=step.id, attempt=before.attempts, moves=moves))


def _paid_for(session: RunSession, state: StepState) -> set[str]:
    """Where whole answers lie that miss their contract, or that a person accepted.

    They are not asked for again: the call takes them as they are now, corrected or not.
    """
    last: dict[str, str | None] = {}
    for invocation in sorted(
        state.invocations,
        key=lambda invocation: invocation.outcome.seq if invocation.outcome else 0,
    ):
        if invocation.outcome is not None and invocation.outcome.output_path is not None:
            code = invocation.outcome.error.code if invocation.outcome.error else None
            if code != CRASHED:
                last[invocation.outcome.output_path] = code
    unmet = {path for path, code in last.items() if code in UNMET}
    return unmet | {place_of(session, one.declared_path) for one in state.accepted}


def back_up_outputs(session: RunSession, step: Step, attempt: int) -> None:
    """Keep a copy of every file the step may replace, so that a rollback can put it back.

    A command that was killed may have died while a file was moved away: its copy counts.
    """
    if not step.outputs:
        return
    before = session.record.state.step(step.id)
    killed = before.status is Status.RUNNING
    earlier = backup_folder(session, step.id, before.attempts)
    for path in declared_paths(step):
        place = _judged(session, path)
        if place is None:
            continue
        source = earlier / path if killed and not place.exists() else place
        backup = keep_copy(session.run.path, step.id, attempt, path, source)
        if backup is not None:
            link = file_moves.link_at(session.root / path)
            session.record.append(msgspec.structs.replace(backup, link=link))


def record_in_use(session: RunSession, step: Step, attempt: int, in_use: frozenset[Path]) -> None:
    """Write down which files another run uses, before the attempt starts."""
    for path in declared_paths(step):
        if _judged(session, path) in in_use:
            session.record.append(j.OutputInUse(step=step.id, attempt=attempt, path=path))


def backup_folder(session: RunSession, step_id: str, attempt: int) -> Path:
    """Where an attempt keeps the files it may replace."""
    return session.run.backups / attempt_name(step_id, attempt)


def _backups_of(session: RunSession, step: Step, attempt: int) -> dict[str, j.OutputBackedUp]:
    """What an attempt kept copies of, by path."""
    return {
        event.path: event
        for event in session.record.state.session_files
        if isinstance(event, j.OutputBackedUp) and (event.step, event.attempt) == (step.id, attempt)
    }


def _link(text: str, place: Path) -> None:
    try:
        file_moves.make_link(text, place)
    except OSError as trouble:
        raise files.cannot("put back", place, trouble) from trouble


def _copy(source: Path, place: Path) -> None:
    files.make_directories(place.parent)
    try:
        file_moves.copy(source, place)
    except OSError as trouble:
        raise files.cannot("put back", place, trouble) from trouble


def is_same(place: Path, backup: Path) -> bool:
    """A file still is the one that was kept before the attempt."""
    now, then = read_content(place).data, read_content(backup).data
    return now is not None and now == then


def record_outputs(session: RunSession, step: Step, attempt: int, *, succeeded: bool) -> None:
    """Copy what the step produced into the run directory, and write down what it is.

    Of a failed step only what it changed: a file it never touched is not its output.
    """
    paths = produced_paths(session, step, attempt)
    if not paths:
        return
    group: list[tuple[j.OutputRecorded, bytes]] = []
    for one in _outputs_on_disk(session, step, attempt, paths, succeeded=succeeded):
        group.append(one)
        if sum(len(content) for _, content in group) > _TOGETHER:
            _keep(session, group)
            group = []
    _keep(session, group)


def _keep(session: RunSession, group: list[tuple[j.OutputRecorded, bytes]]) -> None:
    folder, mode = session.run.path, files.PRIVATE_FILE
    files.write_together([(folder / event.path, content, mode) for event, content in group])
    for event, _ in group:
        session.record.append(event)


def _outputs_on_disk(
    session: RunSession, step: Step, attempt: int, paths: tuple[str, ...], *, succeeded: bool
) -> Iterator[tuple[j.OutputRecorded, bytes]]:
    """The content at each path, and the event that records it."""
    known = {
        out.declared_path: out.path
        for out in session.record.state.step(step.id).outputs
        if out.declared_path
    }
    names = output_names(step.id, title_of(step), paths, known)
    replaced = _backups_of(session, step, attempt)
    cached = {
        call.outcome.output_path
        for call in session.record.state.step(step.id).last_invocations()
        if call.outcome is not None and call.outcome.cache is Cache.HIT
    }
    sections = {c.path: c.sections[0] for c in _contracts(session, step) if len(c.sections) == 1}
    for path in paths:
        place = _judged(session, path)
        content = read_content(place).data if place is not None else None
        if place is None or content is None:
            continue
        if is_of_another_run(session, step, path):
            continue
        if not succeeded and session.record.state.step(step.id).is_of_another_run(attempt, path):
            continue  # no call of the step waited for it
        before = replaced.get(path)
        digest = sha256_bytes(content)
        if not succeeded and before is not None and before.sha256 == digest:
            continue
        event = j.OutputRecorded(
            step=step.id,
            attempt=attempt,
            path=names[path],
            declared_path=path,
            section=sections.get(path) or by_suffix(path),
            sha256=digest,
            bytes=len(content),
            mode=stat.S_IMODE(place.stat().st_mode),
            from_cache=place_of(session, path) in cached,
            created=before is None,
            replaced_sha256=before.sha256 if before else None,
            backup=before.backup if before else None,
        )
        yield event, content


def verify_outputs(session: RunSession, step: Step, attempt: int = 0) -> Verification:
    """The step's outputs against their contracts, by the code of `verify-outputs`."""
    options = session.options
    written = produced_paths(session, step, attempt)
    if not step.outputs and not written:
        return Verification(passed=True)
    manner = manner_of(options)
    accepted = {one.declared_path: one for one in session.record.state.step(step.id).accepted}

    def read(path: str) -> Content:
        if is_of_another_run(session, step, path):
            return Content(trouble="another run writes to it")
        return content_at(session.root, path)

    return verify_step(step, read, manner, written, accepted)


def is_of_another_run(session: RunSession, step: Step, path: str) -> bool:
    """Whether a call of the step did not get the file, so that it holds no answer of the step."""
    place = _judged(session, path)
    if session.calls is None or place is None:
        return False
    return session.calls.is_of_another_run(step.id, place)


def _is_held(session: RunSession, step: Step, path: str) -> bool:
    place = _judged(session, path)
    if session.calls is None or place is None:
        return False
    return session.calls.is_held_by(step.id, place)


def attached_hashes(session: RunSession, step: Step) -> dict[str, str]:
    """The attached files the text names, and what was in them when the step ran."""
    named = {attached.word.value for call in step.calls for attached in call.attachments}
    paths = sorted(path for path in named if path is not None)
    return hashes_of(session.root, paths)


def _contracts(session: RunSession, step: Step) -> tuple[OutputContract, ...]:
    options = session.options
    return contracts_of(step, chunks=options.chunks, mode=options.contracts)


def _judged(session: RunSession, path: str) -> Path | None:
    verdict = jail(session.root, path)
    return None if isinstance(verdict, Refusal) else verdict.path
