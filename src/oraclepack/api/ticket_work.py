"""Turn tickets into packs."""

from __future__ import annotations

from pathlib import Path
from typing import TypedDict, Unpack

from oraclepack.tickets import steps_support
from oraclepack.tickets import ticketify as use_case
from oraclepack.tickets.steps_support import TicketSteps
from oraclepack.tickets.ticket import TicketCheck
from oraclepack.tickets.ticketify import TicketifyResult


class TicketifyOptions(TypedDict, total=False):
    """Which tickets are read and which files are written; each option has a default."""

    tickets_dir: str
    glob: str
    include: tuple[str, ...]
    exclude: tuple[str, ...]
    top_n: int
    out_dir: str
    prd_path: str
    mode: str
    only: str | None
    """Update only this part."""
    force: bool
    """Replace a PRD that was edited."""
    regenerate: bool
    """Have Task Master create its results again."""
    rollback_on_failure: bool


def ticketify(root: Path, **options: Unpack[TicketifyOptions]) -> TicketifyResult:
    """Turn tickets into an index, a list of actions, a PRD and a pack."""
    return use_case.ticketify(use_case.TicketifyRequest(root=root, **options))


def check_tickets(
    root: Path,
    report: str | None = None,
    **options: Unpack[TicketifyOptions],
) -> tuple[TicketCheck, tuple[str, ...]]:
    """Check whether the files of `ticketify` still match the tickets; the check and warnings."""
    return steps_support.check_tickets(use_case.TicketifyRequest(root=root, **options), report)


def ticket_steps(root: str | Path, out_dir: str) -> TicketSteps:
    """The commands for steps of the ticket action pack: prompt, take, tasks, report."""
    return TicketSteps(Path(root), out_dir)
