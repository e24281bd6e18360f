"""The answer of a call on disk: what must hold before it is asked, backups, publishing."""

import os
import stat
from collections.abc import Iterable, Sequence
from pathlib import Path

from msgspec.structs import replace

from oraclepack.calls.context import CallContext
from oraclepack.calls.live_call import LiveCall
from oraclepack.errors import StepError
from oraclepack.journal import events as j
from oraclepack.journal.run_dir import BACKUPS, attempt_name
from oraclepack.journal.run_state import path_of
from oraclepack.journal.statuses import NO_SPACE, OUTPUT_PATH
from oraclepack.pack.answer_sections import Section, missing_sections
from oraclepack.pack.contract import OutputContract
from oraclepack.system import disk, file_moves, files
from oraclepack.system.digests import sha256_bytes
from oraclepack.system.path_jail import AllowedPath, jail
from oraclepack.system.text_limits import ANSWER

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


def lack_of_access(outputs: Iterable[AllowedPath]) -> StepError | None:
    """The error of a call whose answer could not be written to its path."""
    for output in outputs:
        folder = next(parent for parent in output.path.parents if _is_there(parent))
        if not os.access(folder, os.W_OK | os.X_OK):
            message = (
                f"not asked: {folder} is not writable, so that {output.relative} would be lost; "
                "correct its permissions, the same command continues"
            )
            return StepError(code=OUTPUT_PATH, message=message)
    return None


def _is_there(folder: Path) -> bool:
    try:
        folder.stat()
    except OSError:  # below a directory that may not be entered: that one is looked at next
        return False
    return True


def keep_copy(
    run_dir: Path, step: str, attempt: int, path: str, place: Path, *, replacing: bool = False
) -> j.OutputBackedUp | None:
    """Keep a copy of a file in the run directory; None when there is no such file."""
    if not place.is_file():
        return None
    backup = f"{BACKUPS}/{attempt_name(step, attempt)}/{path}"
    target = run_dir / backup
    files.make_private(target.parent)
    try:
        if replacing:
            file_moves.copy_over(place, target)
        else:
            file_moves.copy(place, target)
        # Hash the copy, not the file, which may have changed since; a rollback checks the copy.
        content, mode = target.read_bytes(), stat.S_IMODE(target.stat().st_mode)
    except OSError as trouble:
        raise files.cannot("keep a copy of", place, trouble) from trouble
    return j.OutputBackedUp(
        step=step,
        attempt=attempt,
        path=path,
        backup=backup,
        sha256=sha256_bytes(content),
        bytes=len(content),
        mode=mode,
    )


def back_up_existing(context: CallContext, call: LiveCall, outputs: Iterable[AllowedPath]) -> None:
    """Back up the files at output paths that are known only while the shell runs.

    Paths that the pack names were backed up when the step began.
    """
    step = context.pack.step(call.step)
    declared = {output.path.value for output in step.outputs} if step else set()
    named = {_place(context, path) for path in declared if path}
    known = {path_of(event) for event in context.journal.state.session_files}
    for output in outputs:
        path = output.relative
        if path in named or path in known or not context.shared.is_first_to_write(path):
            continue
        backup = keep_copy(context.run_dir, call.step, call.attempt, path, output.path)
        if backup is not None:
            context.record(backup)


def back_up_again(context: CallContext, call: LiveCall, place: Path) -> None:
    """Back up what another run wrote to a file after this step had backed it up.

    The copy replaces the earlier one: that is what the other run replaced, and has a copy of.
    """
    now = files.read(place) if place.is_file() else None
    events = [
        event
        for event in context.journal.state.session_files
        if (path := path_of(event)) is not None and context.root / _place(context, path) == place
    ]
    is_ours = any(isinstance(event, j.OutputRecorded) for event in events)
    if now is None or is_ours or (events and events[-1].sha256 == sha256_bytes(now)):
        return
    path = declared_names(context, call, place)[0]
    backup = keep_copy(context.run_dir, call.step, call.attempt, path, place, replacing=True)
    if backup is not None:
        earlier = next((one for one in events if isinstance(one, j.OutputBackedUp)), None)
        context.record(replace(backup, link=earlier.link if earlier else None))


def declared_names(context: CallContext, call: LiveCall, place: Path) -> tuple[str, ...]:
    """How the step spells the path of a file, or the path in the project if it does not."""
    step = context.pack.step(call.step)
    declared = (output.path.value for output in step.outputs) if step else ()
    relative = place.relative_to(context.root).as_posix()
    named = (path for path in declared if path and _place(context, path) == relative)
    return tuple(dict.fromkeys(named)) or (relative,)


def _place(context: CallContext, path: str) -> str:
    verdict = jail(context.root, path)
    return verdict.relative if isinstance(verdict, AllowedPath) else path


def read_answers(outputs: Sequence[AllowedPath]) -> list[bytes | None]:
    return [_answer(output.path) for output in outputs]


def _answer(path: Path) -> bytes | None:
    """The regular file at the allowed path; files behind links are not read."""
    leads_there = os.path.realpath(path.parent) == str(path.parent)
    is_plain = path.is_file() and not path.is_symlink() and leads_there
    return files.read(path) if is_plain else None


def lacking(
    contracts: Sequence[OutputContract],
    answers: Sequence[bytes | None],
    *,
    require_headings: bool,
) -> tuple[str, ...]:
    """The sections that answers miss."""
    missing = [
        section.value
        for contract, data in zip(contracts, answers, strict=True)
        for section in _missing(contract, data or b"", require_headings=require_headings)
    ]
    return tuple(dict.fromkeys(missing))


def _missing(
    contract: OutputContract, data: bytes, *, require_headings: bool
) -> tuple[Section, ...]:
    text = data.decode("utf-8", "replace")
    # Text too large for an answer is not searched; the verification reports it.
    searched = "" if contract.sections and ANSWER.excess(text) else text
    return missing_sections(searched, contract.sections, require_headings=require_headings)
