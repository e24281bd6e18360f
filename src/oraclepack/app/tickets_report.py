"""The use cases behind `tickets report`: changes, audit, close-out."""

from pathlib import Path

from oraclepack.adapters.tickets import list_files
from oraclepack.app.tickets import Desk
from oraclepack.core import ticket_files as names
from oraclepack.core.ticket import Actions, TicketIndex, TicketManifest
from oraclepack.core.ticket_work import Acceptance, Audit, NextWork
from oraclepack.core.ticketified import TicketsTold
from oraclepack.errors import InputError
from oraclepack.system import files
from oraclepack.system.digests import canonical_file
from oraclepack.system.environment import environment
from oraclepack.system.git import changed_files
from oraclepack.ticketify.closing import Change, Turn, audit, changes_page, close_out_page

_NOT_WORK = (".oraclepack/", ".taskmaster/", "ticket-action-pack.")
"""Ours and Task Master's, and the state of the run: no part of what was worked on."""


def report(desk: Desk, about: str) -> TicketsTold:
    """Write one of the reports at the end of a turn."""
    match about:
        case "changes":
            return _changes(desk)
        case "audit":
            return _audit(desk)
        case _:
            return _close_out(desk)


def _changes(desk: Desk) -> TicketsTold:
    desk.needed(names.INDEX, TicketIndex)
    found = changed_files(desk.root, environment())
    kept = None
    if found is not None:
        own = (*_NOT_WORK, f"{desk.out_dir}/")
        kept = [Change(state, path) for state, path in found if not path.startswith(own)]
    page = changes_page(kept, desk.shape(names.NEXT, NextWork))
    path = desk.write(names.CHANGES, page.encode())
    count = "no repository" if kept is None else f"{len(kept)} files"
    return TicketsTold(text=f"{count}: wrote {path}", written=path)


def _audit(desk: Desk) -> TicketsTold:
    manifest = desk.needed(names.MANIFEST, TicketManifest)
    prd = desk.prd_path(manifest)
    inside = [desk.path(name) for name in list_files(desk.root, desk.out_dir)]
    paths = {*inside, prd, names.TASKS}
    found = {path: _content(desk.root / path) for path in paths}
    result = audit(desk.out_dir, prd, found, inside)
    path = desk.write(names.AUDIT, canonical_file(result))
    wrong = [f"{file.path}: {file.problem}" for file in result.files if file.problem]
    there = sum(file.present for file in result.files)
    text = "\n".join([f"{there} files: wrote {path}", *wrong])
    return TicketsTold(text=text, written=path, ok=result.ok)


def _close_out(desk: Desk) -> TicketsTold:
    turn = Turn(
        index=desk.needed(names.INDEX, TicketIndex),
        actions=desk.needed(names.ACTIONS, Actions),
        work=desk.shape(names.NEXT, NextWork),
        acceptance=desk.shape(names.ACCEPTANCE, Acceptance),
        audit=desk.shape(names.AUDIT, Audit),
        tasks=desk.tasks_data(),
    )
    path = desk.write(names.CLOSE_OUT, close_out_page(turn, desk.out_dir).encode())
    return TicketsTold(text=f"wrote {path}", written=path)


def _content(path: Path) -> bytes | None:
    try:
        return files.read(path)
    except InputError:
        return b""
