"""The names of the files that tickets become, and which of them are whose."""

from dataclasses import dataclass
from enum import StrEnum

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
    """Made by a model: an input from then on, replaced only when somebody asks."""
    STEP = "step"
    """Made by a step of the pack."""


@dataclass(frozen=True, slots=True)
class Owned:
    """A file of the ticket road: what nobody but oraclepack and its steps writes."""

    name: str
    owner: Owner
    step: str | None = None
    """The step that makes or refreshes it."""


OWNED = (
    Owned(INDEX, Owner.TICKETIFY, "01"),
    Owned(ACTIONS, Owner.TICKETIFY, "02"),
    Owned(ACTIONS_PAGE, Owner.TICKETIFY, "02"),
    Owned(MANIFEST, Owner.TICKETIFY),
    Owned(PACK, Owner.TICKETIFY),
    Owned(PIPELINES, Owner.TICKETIFY),
    Owned(AUTOPILOT, Owner.TICKETIFY),
    Owned(CHECK, Owner.STEP, "04"),
    Owned(TM_TASKS, Owner.TASK_MASTER, "05"),
    Owned(TM_COMPLEXITY, Owner.TASK_MASTER, "06"),
    Owned(TM_EXPANDED, Owner.TASK_MASTER, "07"),
    Owned(TM_CHECK, Owner.STEP, "08"),
    Owned(NEXT, Owner.STEP, "09"),
    Owned("codex-implement.md", Owner.STEP, "10"),
    Owned("gemini-implement.md", Owner.STEP, "10"),
    Owned("codex-verify.md", Owner.STEP, "11"),
    Owned(REVIEW, Owner.STEP, "11"),
    Owned("codex-docs.md", Owner.STEP, "12"),
    Owned("gemini-docs.md", Owner.STEP, "12"),
    Owned("codex-regressions.md", Owner.STEP, "13"),
    Owned("gemini-regressions.md", Owner.STEP, "13"),
    Owned(TM_SYNC, Owner.STEP, "14"),
    Owned(DETERMINISM, Owner.STEP, "15"),
    Owned(PR, Owner.STEP, "16"),
    Owned(ACCEPTANCE, Owner.STEP, "17"),
    Owned(CHANGES, Owner.STEP, "18"),
    Owned(AUDIT, Owner.STEP, "19"),
    Owned(CLOSE_OUT, Owner.STEP, "20"),
)
"""Everything in the out dir that is ours, in the order of the steps. The PRD lies elsewhere."""
