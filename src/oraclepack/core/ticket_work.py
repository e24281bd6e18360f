"""What the steps of the ticket action pack leave behind: the shapes of their files."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated

import msgspec

from oraclepack.core.ticket import VERSION, Sha256

NonEmpty = Annotated[str, msgspec.Meta(min_length=1)]


class Stage(StrEnum):
    """What an agent is asked for."""

    SELECT = "select"
    IMPLEMENT = "implement"
    VERIFY = "verify"
    DOCS = "docs"
    REGRESSIONS = "regressions"
    PR = "pr"
    ACCEPT = "accept"


class Selected(msgspec.Struct, frozen=True, kw_only=True):
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


class Met(StrEnum):
    """What a reviewer says of a criterion."""

    YES = "yes"
    NO = "no"
    UNKNOWN = "unknown"


class Criterion(msgspec.Struct, frozen=True, kw_only=True):
    """A criterion, the verdict on it, and what the verdict stands on."""

    action_id: NonEmpty
    met: Met
    evidence: str = ""


class Judged(msgspec.Struct, frozen=True, kw_only=True):
    """What an agent answers when it is asked about the acceptance criteria."""

    criteria: tuple[Criterion, ...]


class Acceptance(msgspec.Struct, frozen=True, kw_only=True):
    """`acceptance.json`: every criterion of the work, each with its verdict."""

    version: int = VERSION
    ticket_id: NonEmpty
    criteria: tuple[Criterion, ...]


class Review(msgspec.Struct, frozen=True, kw_only=True):
    """`gemini-review.json`: what a reviewer said, or that it was not there."""

    version: int = VERSION
    tool: str
    status: str
    """`answered` or `missing`."""
    answer: str


class TaskProblem(msgspec.Struct, frozen=True, kw_only=True):
    """A fault in Task Master's tasks."""

    task_id: str
    problem: str


class TasksTold(msgspec.Struct, frozen=True, kw_only=True):
    """`tm-tasks.json`, `tm-expanded.json`, `tm-check.json`, `tm-sync.json`: tasks in figures."""

    version: int = VERSION
    tasks: int
    subtasks: int
    statuses: Mapping[str, int]
    problems: tuple[TaskProblem, ...] = ()
    prd_sha256: Sha256 | None = None
    """The PRD they were made of; null if they were there before."""
    task_id: str | None = None
    """The task that the work selected belongs to."""


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
    """`audit.json`: every file of the ticket road."""

    version: int = VERSION
    ok: bool
    files: tuple[AuditedFile, ...]
    strangers: tuple[str, ...]
    """Files in the out dir that are none of ours; they are left alone."""
