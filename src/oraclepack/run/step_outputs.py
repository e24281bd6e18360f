"""The outputs of a step on disk: quarantined before it runs, recorded after it ran."""

from __future__ import annotations

import stat
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from oraclepack.answers.verify_pack import verify_step
from oraclepack.calls.publication import is_of_another_run
from oraclepack.errors import Refusal
from oraclepack.journal import events as j
from oraclepack.journal.blobs import back_up, read_blob
from oraclepack.journal.statuses import CRASHED, UNMET, Cache, Verification
from oraclepack.journal.step_state import StepState
from oraclepack.pack.contract import OutputContract, by_suffix, contracts_of
from oraclepack.pack.model import Step
from oraclepack.pack.output_names import output_names
from oraclepack.pack.questions import title_of
from oraclepack.run.quarantine import move_to_quarantine
from oraclepack.settings import call_settings as cs
from oraclepack.system import file_moves, files
from oraclepack.system.digests import sha256_bytes
from oraclepack.system.files import Content
from oraclepack.system.path_jail import content_at, hashes_of, jail, read_content
from oraclepack.system.secrets import BLOT

if TYPE_CHECKING:
    from oraclepack.run.run import Run

_HARMLESS = frozenset({"mkdir", "read", "cat", "echo", "printf", "true", "test", "[", ":"})
"""Commands that change no file but those that the text shows."""
_TOGETHER = 8 << 20
"""Bytes; outputs up to here are held in memory and synced together."""


def declared_paths(step: Step) -> tuple[str, ...]:
    """The outputs whose path is written out in the pack."""
    return tuple(output.path.value for output in step.outputs if output.path.value is not None)


def found_before(run: Run, step: Step) -> dict[str, j.OutputBackedUp]:
    """The files that the last attempt of a step found at its outputs, by path."""
    return {event.path: event for event in run.state.step(step.id).backed_up}


def restore_removed(run: Run, step: Step) -> None:
    """After a failed attempt: a file that the step has removed is there again."""
    for path, before in found_before(run, step).items():
        if path in declared_paths(step):
            run.put_back_removed(before)


def produced_paths(run: Run, step: Step, attempt: int) -> tuple[str, ...]:
    """The declared outputs, and those that only the running shell could name."""
    calls = run.state.step(step.id).invocations
    reported = [
        call.outcome.output_path
        for call in calls
        if call.attempt == attempt and call.outcome is not None and call.outcome.ok
    ]
    declared = declared_paths(step)
    # The same file may be spelled in several ways; the text's own spelling is the one to keep.
    named = {place_of(run, path) for path in declared}
    # A path that holds a secret was not written down; only the pack still has it.
    others = (path for path in reported if path and path not in named and BLOT not in path)
    return tuple(dict.fromkeys((*declared, *others)))


def place_of(run: Run, path: str) -> str:
    """A path as calls record it: relative to the project root, normalised."""
    verdict = jail(run.root, path)
    return path if isinstance(verdict, Refusal) else verdict.relative


def output_content(run: Run, step: Step, attempt: int, path: str) -> Content:
    """What a step has at an output's path.

    Where another run has published there since the step began, the answer that this attempt
    published counts: it is kept in the run.
    """
    place = _judged(run, path)
    now = content_at(run.root, path)
    is_others = place is not None and is_of_another_run(run.root, run.dir.run_id, place, now.data)
    if not is_others or is_same(now.data, found_before(run, step).get(path)):
        return now
    for call in reversed(run.state.step(step.id).invocations):
        outcome = call.outcome
        is_mine = call.attempt == attempt and outcome is not None
        if outcome is not None and is_mine and outcome.output_path == place_of(run, path):
            published = outcome.sha256 or outcome.unmet_sha256
            if now.data is not None and sha256_bytes(now.data) == published:
                return now  # both runs have published the same answer
            data = read_blob(run.dir.path, published)
            if data is not None:
                return Content(data)
    return Content(trouble="another run wrote it")


def quarantine_earlier(run: Run, step: Step) -> None:
    """Move what a failed or interrupted attempt left out of the way of the next one.

    A file that still is what the attempt found there is not its output, nor is one that another
    run has published.
    """
    before = run.state.step(step.id)
    if not before.has_bad_attempt:
        return
    recorded = [out.declared_path for out in before.outputs if out.declared_path]
    found = found_before(run, step)
    paid = set() if run.settings[cs.REFRESH] else _paid_for(run, before)
    inside = [
        path
        for path in (*declared_paths(step), *recorded)
        if (place := _judged(run, path))
        and not is_same(now := read_content(place).data, found.get(path))
        and place_of(run, path) not in paid
        and not is_of_another_run(run.root, run.dir.run_id, place, now)
    ]
    moves = move_to_quarantine(
        run.root, run.failed, run.dir.run_id, step.id, before.attempts, inside
    )
    if moves:
        run.record.append(j.Quarantined(step=step.id, attempt=before.attempts, moves=moves))


def _paid_for(run: Run, state: StepState) -> set[str]:
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
    return unmet | {place_of(run, one.declared_path) for one in state.accepted}


def back_up_outputs(run: Run, step: Step, attempt: int) -> None:
    """Keep every file that the step may replace, so that a rollback can put it back."""
    for path in declared_paths(step):
        place = _judged(run, path)
        if place is None:
            continue
        backup = back_up(run.dir.path, step.id, attempt, path, place)
        if backup is not None:
            link = file_moves.link_at(run.root / path)
            run.record.append(msgspec.structs.replace(backup, link=link))


def is_same(now: bytes | None, before: j.OutputBackedUp | None) -> bool:
    """A file still is the one that was kept before the attempt."""
    return now is not None and before is not None and sha256_bytes(now) == before.sha256


def record_outputs(run: Run, step: Step, attempt: int, *, succeeded: bool) -> None:
    """Copy what the step produced into the run directory, and write down what it is.

    Of a failed step only what it changed: a file it never touched is not its output. Outputs of
    other steps that a step changed before it went well are its own from now on.
    """
    paths = produced_paths(run, step, attempt)
    if succeeded:
        others = _changed_outputs(run, step, attempt, known=paths)
        paths = tuple(dict.fromkeys((*paths, *others)))
    if not paths:
        return
    group: list[tuple[j.OutputRecorded, bytes]] = []
    for one in _outputs_on_disk(run, step, attempt, paths, succeeded=succeeded):
        group.append(one)
        if sum(len(content) for _, content in group) > _TOGETHER:
            _keep(run, group)
            group = []
    _keep(run, group)


def _changed_outputs(run: Run, step: Step, attempt: int, known: tuple[str, ...]) -> Iterator[str]:
    """The outputs of other steps that changed while this one ran; what they were is kept."""
    only_asks = all(
        command.name in _HARMLESS or command.span in {call.span for call in step.calls}
        for command in step.script.commands
    )
    if only_asks and not step.writes_unknown and step.writes <= set(declared_paths(step)):
        return
    state = run.state
    started = datetime.fromisoformat(state.step(step.id).started_at or state.last_at or "")
    own = {place_of(run, path) for path in known}
    replaced = state.replaced_outputs()
    for output in [one for other in state.steps.values() for one in other.outputs]:
        path = output.declared_path
        if output.step == step.id or (output.step, output.path) in replaced or path is None:
            continue
        place = _judged(run, path)
        if place is None or place_of(run, path) in own or not place.is_file():
            continue
        # Not st_mtime, which tools copy from one file to another.
        changed = datetime.fromtimestamp(place.stat().st_ctime, UTC)
        content = read_content(place).data if changed >= started else None
        if content is None or sha256_bytes(content) == output.sha256:
            continue
        if is_of_another_run(run.root, run.dir.run_id, place, content):
            continue
        recorded = run.dir.path / output.path
        backup = back_up(run.dir.path, step.id, attempt, path, recorded)
        if backup is not None:
            mode = backup.mode if output.mode is None else output.mode
            run.record.append(msgspec.structs.replace(backup, mode=mode))
        yield path


def _keep(run: Run, group: list[tuple[j.OutputRecorded, bytes]]) -> None:
    folder, mode = run.dir.path, files.PRIVATE_FILE
    files.write_together([(folder / event.path, content, mode) for event, content in group])
    for event, _ in group:
        run.record.append(event)


def _outputs_on_disk(
    run: Run, step: Step, attempt: int, paths: tuple[str, ...], *, succeeded: bool
) -> Iterator[tuple[j.OutputRecorded, bytes]]:
    """The content at each path, and the event that records it."""
    known = {
        out.declared_path: out.path for out in run.state.step(step.id).outputs if out.declared_path
    }
    names = output_names(step.id, title_of(step), paths, known)
    replaced = found_before(run, step)
    cached = {
        call.outcome.output_path
        for call in run.state.step(step.id).last_invocations()
        if call.outcome is not None and call.outcome.cache is Cache.HIT
    }
    sections = {c.path: c.sections[0] for c in _contracts(run, step) if len(c.sections) == 1}
    for path in paths:
        place = _judged(run, path)
        content = output_content(run, step, attempt, path).data
        if place is None or content is None:
            continue
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
            mode=stat.S_IMODE(place.stat().st_mode) if place.exists() else None,
            from_cache=place_of(run, path) in cached,
            created=before is None,
            replaced_sha256=before.sha256 if before else None,
            backup=before.backup if before else None,
        )
        yield event, content


def verify_outputs(run: Run, step: Step, attempt: int = 0) -> Verification:
    """The step's outputs against their contracts, by the code of `verify-outputs`."""
    written = produced_paths(run, step, attempt)
    if not step.outputs and not written:
        return Verification(passed=True)
    accepted = {one.declared_path: one for one in run.state.step(step.id).accepted}

    def read(path: str) -> Content:
        return output_content(run, step, attempt, path)

    return verify_step(step, read, run.request.verify_options, written, accepted)


def attached_hashes(run: Run, step: Step) -> dict[str, str]:
    """The attached files the text names, and what was in them when the step ran."""
    named = {attached.word.value for call in step.calls for attached in call.attachments}
    paths = sorted(path for path in named if path is not None)
    return hashes_of(run.root, paths)


def _contracts(run: Run, step: Step) -> tuple[OutputContract, ...]:
    options = run.request.verify_options
    return contracts_of(step, chunks=options.chunks, mode=options.mode)


def _judged(run: Run, path: str) -> Path | None:
    verdict = jail(run.root, path)
    return None if isinstance(verdict, Refusal) else verdict.path
