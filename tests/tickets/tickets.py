"""Tickets by the line: builders for the tests of the ticket road."""

from collections.abc import Mapping
from pathlib import Path

from oraclepack.system.digests import sha256_text
from oraclepack.tickets.build import TicketBuild, build
from oraclepack.tickets.identify import SameId, identify
from oraclepack.tickets.read_tickets import parse_ticket
from oraclepack.tickets.ticket import KnownTicket, Ticket, TicketOptions

OPTIONS = TicketOptions(tickets_dir=".tickets")

TWO = {
    "T-1.md": "---\nid: T-1\n---\n# Limit\n\nSlow it down.\n\n- [x] measure\n- [ ] count\n\n"
    "## Acceptance Criteria\n\n- the sixth is refused\n",
    "T-2.md": "---\nid: T-2\ndepends_on: T-1\n---\n# Audit\n\n- [ ] define\n- [ ] write\n",
}


def a_ticket(text: str, path: str = "T-1.md") -> Ticket:
    return parse_ticket(text, path, sha256_text(text))


def known(texts: Mapping[str, str]) -> tuple[KnownTicket, ...]:
    found = identify([a_ticket(text, path) for path, text in sorted(texts.items())], ".tickets")
    assert not isinstance(found, SameId)
    return found


def built(texts: Mapping[str, str], options: TicketOptions = OPTIONS) -> TicketBuild:
    return build(known(texts), options)


def put(folder: Path, texts: Mapping[str, str]) -> Path:
    """Write tickets into a project that oraclepack has worked in before; gives it back."""
    (folder / ".oraclepack").mkdir(parents=True, exist_ok=True)
    (folder / ".oraclepack/.gitignore").write_text("*\n")
    for name, text in texts.items():
        place = folder / ".tickets" / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(text.encode())
    return folder


def everything_but_tickets(root: Path) -> dict[str, bytes]:
    """Everything but the tickets, and what hides ours from git."""
    found = (path for path in sorted(root.rglob("*")) if path.is_file())
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in found
        if ".tickets" not in path.parts and path.name != ".gitignore"
    }
