"""Tickets: Markdown files that say what is to be done, and the files made from them."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated

import msgspec

VERSION = 1
"""Of every file below; raised when a reader would have to change."""

MOST_TICKETS = 200

Sha256 = Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{64}$")]


class ActionKind(StrEnum):
    """Where an action comes from: a task list, or the acceptance criteria."""

    TASK = "task"
    ACCEPTANCE = "acceptance"


class Mode(StrEnum):
    """What a set of tickets is turned into, beyond index, actions, PRD and pack."""

    BACKLOG = "backlog"
    PIPELINES = "pipelines"
    """Also `pipelines.md`: what can be worked on at once, ticket by ticket."""
    AUTOPILOT = "autopilot"
    """Also `autopilot.md`: how to go through all of it unattended."""
    CODEX = "codex"
    """Every step of an agent is for codex."""
    GEMINI = "gemini"
    """Every step of an agent is for gemini."""


@dataclass(frozen=True, slots=True)
class Item:
    """One line of a ticket that asks for something."""

    kind: ActionKind
    text: str
    done: bool
    line: int
    """In the ticket's file, counted from 1."""


@dataclass(frozen=True, slots=True)
class Mention:
    """A word of a ticket that may be the name of another ticket."""

    name: str
    line: int
    is_claim: bool = False
    """It stands where only tickets stand: behind "Depends on" or "Blocks"."""
    blocks: bool = False
    """The other ticket waits for this one, not the other way round."""
    in_front: bool = False
    """It stands in the front matter, where nothing but a ticket can be meant."""


@dataclass(frozen=True, slots=True)
class Ticket:
    """What one ticket file says, as far as its own text tells."""

    path: str
    """POSIX, relative to the tickets directory."""
    given_id: str | None
    title: str
    summary: str
    body: str
    """The Markdown below the front matter."""
    items: tuple[Item, ...]
    mentions: tuple[Mention, ...]
    sha256: str
    """Of the file as it lies on disk."""


@dataclass(frozen=True, slots=True)
class KnownTicket:
    """A ticket among others: with its id, and the tickets it names."""

    id: str
    ticket: Ticket
    path: str
    """POSIX, relative to the project root."""
    depends_on: tuple[str, ...] = ()
    blocks: tuple[str, ...] = ()
    unknown: tuple[Mention, ...] = ()
    """What its front matter names, and no ticket is called."""


class TicketOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What decides the result, besides the tickets themselves."""

    tickets_dir: str
    glob: str = "**/*.md"
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    top_n: Annotated[int, msgspec.Meta(ge=1, le=MOST_TICKETS)] = 25
    out_dir: str = ".oraclepack/ticketify"
    prd_path: str = ".taskmaster/docs/tickets_prd.md"
    mode: Mode = Mode.BACKLOG


class IndexedTicket(msgspec.Struct, frozen=True, kw_only=True):
    """A ticket in the index."""

    ticket_id: str
    path: str
    title: str
    summary: str
    sha256: Sha256
    depends_on: tuple[str, ...] = ()
    """Tickets that its text names as something it needs, or merely mentions."""
    blocks: tuple[str, ...] = ()
    """Tickets that its text says it blocks."""


class TicketIndex(msgspec.Struct, frozen=True, kw_only=True):
    """`_tickets_index.json`: the chosen tickets, by path."""

    version: int = VERSION
    tickets_dir: str
    ticket_glob: str
    include: tuple[str, ...]
    exclude: tuple[str, ...]
    top_n: int
    selected_count: int
    tickets: tuple[IndexedTicket, ...]


class Action(msgspec.Struct, frozen=True, kw_only=True):
    """One thing a ticket asks for."""

    action_id: str
    ticket_id: str
    ticket_path: str
    source_line: int
    kind: ActionKind
    done: bool
    text: str


class Actions(msgspec.Struct, frozen=True, kw_only=True):
    """`_actions.json`: everything the tickets ask for, by ticket and line."""

    version: int = VERSION
    out_dir: str
    count: int
    actions: tuple[Action, ...]


class TicketManifest(msgspec.Struct, frozen=True, kw_only=True):
    """`manifest.json` of the out dir: what was read and what was made of it."""

    version: int = VERSION
    options: TicketOptions
    inputs: Mapping[str, Sha256]
    """Each ticket's path and content."""
    outputs: Mapping[str, Sha256]
    """Each file made, but the manifest itself."""


def action_id(ticket_id: str, number: int) -> str:
    """`<ticket>-A01`, counted from 1."""
    return f"{ticket_id}-A{number:02}"
