"""The use case behind `ticketify --check`: whether the files say what the tickets say."""

from pathlib import Path

from oraclepack.app.ticketify import Wish, manifest_of, read_tickets
from oraclepack.core import ticket_files as names
from oraclepack.core.ticket_work import FileState, TicketCheck
from oraclepack.system import files
from oraclepack.system.digests import canonical_file
from oraclepack.ticketify.manifest import changed_tickets, compared

REPORTS = {"check": names.CHECK, "determinism": names.DETERMINISM}


def check_tickets(wish: Wish, report: str | None) -> tuple[TicketCheck, tuple[str, ...]]:
    """Make everything again in memory, twice, and compare it with the files.

    The report `determinism` is about the files of steps 01 to 03 alone, and tickets that were
    edited since do not count against them: an agent may have ticked what it finished.
    """
    read = read_tickets(wish)
    again = read_tickets(wish, backwards=True)
    options = read.options
    old = manifest_of(wish.root, options.out_dir)
    wanted = read.built.files
    if report == "determinism":
        own = (names.INDEX, names.ACTIONS, names.ACTIONS_PAGE)
        chosen = {f"{options.out_dir}/{name}" for name in own} | {options.prd_path}
        wanted = {path: data for path, data in wanted.items() if path in chosen}
    found = {path: files.read(wish.root / path) for path in wanted}
    checked = compared(wanted, found, old)
    accepted = {FileState.SAME, FileState.STALE} if report == "determinism" else {FileState.SAME}
    repeatable = read.built.files == again.built.files
    now = {ticket.path: ticket.sha256 for ticket in read.built.index.tickets}
    result = TicketCheck(
        ok=repeatable and all(file.state in accepted for file in checked),
        repeatable=repeatable,
        changed_tickets=changed_tickets(old, now),
        files=checked,
    )
    if report is not None:
        write_report(wish.root / options.out_dir / REPORTS[report], result)
    return result, read.warnings


def write_report(path: Path, value: object) -> None:
    """Put a file of ours in place, whole."""
    files.make_directories(path.parent)
    files.write_atomic(path, canonical_file(value))
