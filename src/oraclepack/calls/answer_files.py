"""The answer of a call on disk: room for it, the file that it replaces, the sections it lacks."""

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from msgspec.structs import replace

from oraclepack.calls.context import CallContext
from oraclepack.calls.live_call import LiveCall
from oraclepack.errors import StepError
from oraclepack.journal import events as j
from oraclepack.journal.blobs import back_up
from oraclepack.journal.run_state import path_of
from oraclepack.journal.statuses import NO_SPACE, OUTPUT_PATH
from oraclepack.pack.answer_sections import Section, missing_sections
from oraclepack.pack.contract import OutputContract
from oraclepack.system import disk, files
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


def back_up_replaced(context: CallContext, call: LiveCall, place: Path) -> None:
    """Keep the file that an answer is about to replace, unless the command has it already.

    What another run wrote after this step had begun is the previous file from now on.
    """
    events = [
        event
        for event in context.journal.state.session_files
        if (path := path_of(event)) is not None and context.root / _place(context, path) == place
    ]
    if any(isinstance(event, j.OutputRecorded) for event in events):
        return
    path = declared_names(context, call, place)[0]
    backup = back_up(context.run_dir, call.step, call.attempt, path, place)
    if backup is not None and not (events and events[-1].sha256 == backup.sha256):
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
