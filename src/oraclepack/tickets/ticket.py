"""Tickets: Markdown files that say what is to be done, and the files made from them."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated

import msgspec

from oraclepack.tools.tool_names import TM_COMPLEXITY as TM_COMPLEXITY  # noqa: PLC0414 - one of the names below

INDEX = "_tickets_index.json"
ACTIONS = "_actions.json"
ACTIONS_PAGE = "_actions.md"
PACK = "ticket-action-pack.md"
MANIFEST = "manifest.json"
PIPELINES = "pipelines.md"
AUTOPILOT = "autopilot.md"

CHECK = "check.json"
DETERMINISM = "determinism.json"
TM_TASKS = "tm-tasks.json"
TM_EXPANDED = "tm-expanded.json"
TM_CHECK = "tm-check.json"
TM_SYNC = "tm-sync.json"
NEXT = "next.json"
REVIEW = "gemini-review.json"
PR = "PR.md"
ACCEPTANCE = "acceptance.json"
CHANGES = "changes.md"
AUDIT = "audit.json"
CLOSE_OUT = "close-out.md"

TASKS = ".taskmaster/tasks/tasks.json"
"""Task Master's own file, relative to the project root."""


class Owner(StrEnum):
    """Who makes a file, and so what may be done to it."""

    TICKETIFY = "ticketify"
    """Made from the tickets alone: can be made again at any time."""
    TASK_MASTER = "task-master"
    """Made by a model: an input from then on, replaced only on request."""
    STEP = "step"
    """Made by a step of the pack."""


@dataclass(frozen=True, slots=True)
class OwnedFile:
    """A file of a ticket pack that only oraclepack and its steps write."""

    name: str
    owner: Owner
    step: str | None = None
    """The step that makes or refreshes it."""


OWNED = (
    OwnedFile(INDEX, Owner.TICKETIFY, "01"),
    OwnedFile(ACTIONS, Owner.TICKETIFY, "02"),
    OwnedFile(ACTIONS_PAGE, Owner.TICKETIFY, "02"),
    OwnedFile(MANIFEST, Owner.TICKETIFY),
    OwnedFile(PACK, Owner.TICKETIFY),
    OwnedFile(PIPELINES, Owner.TICKETIFY),
    OwnedFile(AUTOPILOT, Owner.TICKETIFY),
    OwnedFile(CHECK, Owner.STEP, "04"),
    OwnedFile(TM_TASKS, Owner.TASK_MASTER, "05"),
    OwnedFile(TM_COMPLEXITY, Owner.TASK_MASTER, "06"),
    OwnedFile(TM_EXPANDED, Owner.TASK_MASTER, "07"),
    OwnedFile(TM_CHECK, Owner.STEP, "08"),
    OwnedFile(NEXT, Owner.STEP, "09"),
    OwnedFile("codex-implement.md", Owner.STEP, "10"),
    OwnedFile("gemini-implement.md", Owner.STEP, "10"),
    OwnedFile("codex-verify.md", Owner.STEP, "11"),
    OwnedFile(REVIEW, Owner.STEP, "11"),
    OwnedFile("codex-docs.md", Owner.STEP, "12"),
    OwnedFile("gemini-docs.md", Owner.STEP, "12"),
    OwnedFile("codex-regressions.md", Owner.STEP, "13"),
    OwnedFile("gemini-regressions.md", Owner.STEP, "13"),
    OwnedFile(TM_SYNC, Owner.STEP, "14"),
    OwnedFile(DETERMINISM, Owner.STEP, "15"),
    OwnedFile(PR, Owner.STEP, "16"),
    OwnedFile(ACCEPTANCE, Owner.STEP, "17"),
    OwnedFile(CHANGES, Owner.STEP, "18"),
    OwnedFile(AUDIT, Owner.STEP, "19"),
    OwnedFile(CLOSE_OUT, Owner.STEP, "20"),
)
"""Everything in the out dir that is ours, in the order of the steps. The PRD lies elsewhere."""


VERSION = 1
"""The version of every file below; raised when readers have to change."""

MOST_TICKETS = 200

Sha256 = Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{64}$")]


class ActionKind(StrEnum):
    """Where an action comes from: a task list, or the acceptance criteria."""

    TASK = "task"
    ACCEPTANCE = "acceptance"


class TicketMode(StrEnum):
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
class TicketItem:
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
    """It follows "Depends on" or "Blocks", where only tickets are named."""
    blocks: bool = False
    """The other ticket waits for this one, not the other way round."""
    in_front: bool = False
    """It is in the front matter, where only tickets are named."""


@dataclass(frozen=True, slots=True)
class Ticket:
    """One ticket file, as far as its own text shows."""

    path: str
    """POSIX, relative to the tickets directory."""
    given_id: str | None
    title: str
    summary: str
    body: str
    """The Markdown below the front matter."""
    items: tuple[TicketItem, ...]
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
    """Names in its front matter that belong to no ticket."""


class TicketOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What decides the result, besides the tickets themselves."""

    tickets_dir: str
    glob: str = "**/*.md"
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    top_n: Annotated[int, msgspec.Meta(ge=1, le=MOST_TICKETS)] = 25
    out_dir: str = ".oraclepack/ticketify"
    prd_path: str = ".taskmaster/docs/tickets_prd.md"
    mode: TicketMode = TicketMode.BACKLOG


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


NonEmpty = Annotated[str, msgspec.Meta(min_length=1)]


class AgentStage(StrEnum):
    """What an agent is asked for."""

    SELECT = "select"
    IMPLEMENT = "implement"
    VERIFY = "verify"
    DOCS = "docs"
    REGRESSIONS = "regressions"
    PR = "pr"
    ACCEPT = "accept"


class TicketSelection(msgspec.Struct, frozen=True, kw_only=True):
    """What an agent answers when it is asked what comes next."""

    ticket_id: NonEmpty
    action_ids: Annotated[tuple[NonEmpty, ...], msgspec.Meta(min_length=1)]
    reason: NonEmpty


class NextWork(msgspec.Struct, frozen=True, kw_only=True):
    """`next.json`: the one piece of work that the steps after it are about."""

    version: int = VERSION
    ticket_id: NonEmpty
    ticket_path: NonEmpty
    title: str
    action_ids: Annotated[tuple[NonEmpty, ...], msgspec.Meta(min_length=1)]
    reason: NonEmpty
    task_id: str | None = None
    """The task of Task Master that stands for the ticket, if there is one."""


class CriterionStatus(StrEnum):
    """What a reviewer says of a criterion."""

    YES = "yes"
    NO = "no"
    UNKNOWN = "unknown"


class Criterion(msgspec.Struct, frozen=True, kw_only=True):
    """A criterion, the verdict on it, and the evidence for the verdict."""

    action_id: NonEmpty
    met: CriterionStatus
    evidence: str = ""


class CriteriaAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """What an agent answers when it is asked about the acceptance criteria."""

    criteria: tuple[Criterion, ...]


class Acceptance(msgspec.Struct, frozen=True, kw_only=True):
    """`acceptance.json`: every criterion of the work, each with its verdict."""

    version: int = VERSION
    ticket_id: NonEmpty
    criteria: tuple[Criterion, ...]


class Review(msgspec.Struct, frozen=True, kw_only=True):
    """`gemini-review.json`: what a reviewer said, or that there was none."""

    version: int = VERSION
    tool: str
    status: str
    """`answered` or `missing`."""
    answer: str


class TaskProblem(msgspec.Struct, frozen=True, kw_only=True):
    """A fault in Task Master's tasks."""

    task_id: str
    problem: str


class TasksReport(msgspec.Struct, frozen=True, kw_only=True):
    """`tm-tasks.json`, `tm-expanded.json`, `tm-check.json`, `tm-sync.json`: tasks in figures."""

    version: int = VERSION
    tasks: int
    subtasks: int
    statuses: Mapping[str, int]
    problems: tuple[TaskProblem, ...] = ()
    prd_sha256: Sha256 | None = None
    """The PRD they were made from; null if they existed before."""
    task_id: str | None = None
    """The task that the selected work belongs to."""


@dataclass(frozen=True, slots=True)
class ChangedFile:
    """A file that differs from the last commit: git's two letters and its path."""

    state: str
    path: str


class FileState(StrEnum):
    """How a file compares with what the tickets say now."""

    SAME = "same"
    MISSING = "missing"
    CHANGED = "changed"
    """It was edited, or made by another version: the tickets are as they were."""
    STALE = "stale"
    """The tickets have changed since it was made."""
    UNREADABLE = "unreadable"


class CheckedFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file and how it compares."""

    path: str
    state: FileState


class TicketCheck(msgspec.Struct, frozen=True, kw_only=True):
    """`check.json` and `determinism.json`: whether the files say what the tickets say."""

    version: int = VERSION
    ok: bool
    repeatable: bool
    """Made twice, from the files in two orders: the same bytes."""
    changed_tickets: tuple[str, ...]
    """Tickets that differ from the manifest."""
    files: tuple[CheckedFile, ...]


class AuditedFile(msgspec.Struct, frozen=True, kw_only=True):
    """One of our files: who makes it, whether it is there, and whether it can be read."""

    path: str
    owner: str
    step: str | None
    present: bool
    sha256: Sha256 | None = None
    problem: str | None = None


class Audit(msgspec.Struct, frozen=True, kw_only=True):
    """`audit.json`: every file of `ticketify` and of its pack."""

    version: int = VERSION
    ok: bool
    files: tuple[AuditedFile, ...]
    strangers: tuple[str, ...]
    """Files in the out dir that are none of ours; they are left alone."""
