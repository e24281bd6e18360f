"""Publishing an answer: it is written, whole and at once, to the path that the pack names.

Two runs may promise the same file. One run at a time publishes in a project, for the few writes
that takes; a note beside the lock says which run has published a file last, and what. So a run
that records its outputs later knows a file that another run has replaced since.
"""

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import msgspec

from oraclepack.calls.answer_files import back_up_replaced
from oraclepack.calls.context import CallContext
from oraclepack.calls.live_call import LiveCall
from oraclepack.errors import MachineError, OraclePackError, Refusal
from oraclepack.journal import events as j
from oraclepack.journal.statuses import Wait
from oraclepack.system import files
from oraclepack.system.digests import canonical_line, sha256_bytes, sha256_text
from oraclepack.system.locks import turn
from oraclepack.system.path_jail import AllowedPath, jail, read_content

FOLDER = ".oraclepack/published"
"""Under the project root."""


class Publication(msgspec.Struct, frozen=True):
    """What a run has published at a path."""

    run_id: str
    sha256: str


def publish(
    context: CallContext,
    call: LiveCall,
    output: AllowedPath,
    data: bytes,
    mode: int | None = None,
) -> None:
    """Write an answer to the path that the pack names; what another run wrote there is kept.

    `mode` is that of a new file; a file that is replaced keeps its own. Raises OraclePackError.
    """
    root = context.root
    verdict = jail(root, str(output.path))
    if isinstance(verdict, Refusal) or verdict.path != output.path:
        reason = verdict.reason if isinstance(verdict, Refusal) else "it leads elsewhere by now"
        raise MachineError(f"{output.relative} cannot be written: {reason}")
    with publishing(root):
        now = read_content(output.path).data
        if now == data:
            return
        _warn_of_two_calls(context, call, output)
        is_ours = now is not None and published_at(root, output.path) == Publication(
            context.run_id, sha256_bytes(now)
        )
        if not is_ours:
            back_up_replaced(context, call, output.path)
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


def _warn_of_two_calls(context: CallContext, call: LiveCall, output: AllowedPath) -> None:
    """Two calls of one command that publish to one path: the second replaces the first."""
    first = context.shared.publishes(output.relative, (call.step, call.attempt, call.number))
    if first is None:
        return
    message = (
        f"call {call.number} of step {call.step} replaces the answer of call {first[2]} of step "
        f"{first[0]} at {output.relative}; both are kept in the run"
    )
    context.record(j.WarningRecorded(step=call.step, code=Wait.SAME_OUTPUT, message=message))
