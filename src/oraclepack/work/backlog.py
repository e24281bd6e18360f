"""The backlog: what the answers of a pack come to as work."""

from enum import StrEnum

import msgspec

from oraclepack.pack.answer_sections import Section
from oraclepack.run.policy import YieldPolicy
from oraclepack.run.transaction import TransactionReport
from oraclepack.work.evidence import Evidence, QuestionFile

RECORD_VERSION = 1


class WorkStatus(StrEnum):
    """What can be done with a record."""

    ACTIONABLE = "actionable"
    BLOCKED = "blocked"
    CONFLICT = "conflict"
    NOOP = "noop"


class Priority(StrEnum):
    """How soon; the words are also Task Master's."""

    CRITICAL = "critical"
    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"


class Export(StrEnum):
    """A tracker that the backlog can be written for."""

    GITHUB = "github"
    TASKMASTER = "taskmaster"


class StepQuestion(msgspec.Struct, frozen=True):
    """What a step asked, as far as the pack tells."""

    step_id: str
    title: str = ""
    question_id: str | None = None
    category: str | None = None
    reference: str | None = None
    expected_artifacts: tuple[str, ...] = ()
    roi: float | None = None
    effort: float | None = None


class AnswerPart(msgspec.Struct, frozen=True):
    """One file of an answer; a chunked answer has several, each for one section."""

    path: str
    text: str
    section: Section | None = None


class AnsweredStep(msgspec.Struct, frozen=True):
    """A question and what came back."""

    question: StepQuestion
    parts: tuple[AnswerPart, ...] = ()
    absent: str = ""
    """Why there is no answer, when something is known about that."""
    silent: bool = False
    """The step promises no answer in words, and nobody waits for one."""
    remark: str = ""
    """What every record of this answer has to note."""
    attached: tuple[QuestionFile, ...] | None = None
    """None when nobody knows what was attached."""
    attached_known: bool = True
    """`attached` is all there was; False when there may have been more."""

    @property
    def is_answered(self) -> bool:
        return any(part.text.strip() for part in self.parts)


class PackAnswers(msgspec.Struct, frozen=True):
    """Everything the actionizer works on."""

    pack_hash: str
    steps: tuple[AnsweredStep, ...]
    pack_id: str | None = None
    """None when the pack was not run by oraclepack."""
    pack_name: str = ""
    rehearsal: bool = False
    """The answers come from a rehearsal and say nothing about the code."""


class Statement(msgspec.Struct, frozen=True, order=True):
    """One side of a conflict: who says what."""

    step_id: str
    text: str
    citations: tuple[str, ...] = ()


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """One line of `normalized.jsonl`: a piece of work, or why there is none."""

    schema_version: int = RECORD_VERSION
    pack_id: str | None
    pack_hash: str
    step_id: str
    """The step that raised it first."""
    task_id: str
    title: str
    status: WorkStatus
    category: str
    reference: str | None
    expected_artifacts: tuple[str, ...]
    actions: tuple[str, ...]
    evidence: Evidence
    notes: tuple[str, ...]
    missing_inputs: tuple[str, ...]
    sources: tuple[str, ...]
    """The steps it comes from."""
    priority: Priority
    score: int
    """What the priority was made of, for sorting within it."""
    roi: float | None
    effort: float | None
    experiment: bool = False
    """It is the next experiment that an answer proposes."""
    next_experiment: str | None = None
    """For a blocked or contradictory record: the one thing to do next."""
    statements: tuple[Statement, ...] = ()
    """For a conflict: the statements that deny each other."""
    depends_on: tuple[str, ...] = ()
    """Ids that come first; an id that was merged into another record is in its `merged`."""
    merged: tuple[str, ...] = ()
    """Ids of the duplicates that went into this record."""


class Artifact(msgspec.Struct, frozen=True):
    """A file to be written: its name below the actionizer's directory, and its text."""

    path: str
    text: str


class WrittenArtifact(msgspec.Struct, frozen=True, kw_only=True):
    """A file of the actionizer as it stands now."""

    path: str
    sha256: str
    bytes: int
    changed: bool
    """It was not there before, or was different."""


class ActionizeReport(TransactionReport, frozen=True, kw_only=True):
    """What `actionize` came to; its steps are the files it writes."""

    pack_id: str | None
    pack_hash: str
    out_dir: str
    steps: int
    answered: int
    tasks: dict[WorkStatus, int]
    action_yield: float
    """Actionable tasks per answered step; 0 when nothing was answered."""
    artifacts: tuple[WrittenArtifact, ...]
    """The files as they stand; after a failure those that could be written and were kept."""
    policy: YieldPolicy | None = None
    """What the command `actionize` weighs; null inside `pipeline`, which has its own policy."""
