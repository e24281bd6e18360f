"""The backlog: the work that results from the answers of a pack."""

from collections.abc import Iterable
from enum import StrEnum

import msgspec

from oraclepack.errors import UsageError, did_you_mean
from oraclepack.pack.answer_sections import Section
from oraclepack.run.policy import YieldPolicy
from oraclepack.run.transaction import TransactionReport
from oraclepack.work.evidence import Evidence, QuestionFile

RECORD_VERSION = 3


class WorkStatus(StrEnum):
    """What can be done with a record."""

    ACTIONABLE = "actionable"
    BLOCKED = "blocked"
    CONFLICT = "conflict"
    NOOP = "noop"

    @property
    def words(self) -> str:
        """As people read it behind a number."""
        return {"conflict": "in conflict", "noop": "with nothing to do"}.get(self.value, self.value)


class TaskKind(StrEnum):
    """What a record is; the last three say something and ask for nothing."""

    CHANGE = "change"
    """The answer says what to change."""
    EXPERIMENT = "experiment"
    """The next experiment that the answer proposes."""
    FINDING = "finding"
    """A defect or gap; the answer does not say what to change."""
    QUESTION = "question"
    """Something that a person has to answer."""
    RISK = "risk"
    EVIDENCE = "evidence"
    """Evidence that the answer misses."""
    STATEMENT = "statement"
    """Anything else that the answer says."""


class RecordOrigin(StrEnum):
    """How it is known what a record is."""

    STATED = "stated"
    """The answer states it as work."""
    ASKED = "asked"
    """A model said so, and its quote stands in the answer: `actionize --ask`."""
    READ = "read"
    """Plain rules read it from the prose."""


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


class IssuesPer(StrEnum):
    """What an issue of a tracker stands for."""

    QUESTION = "question"
    """One issue with a task list for each question."""
    TASK = "task"
    """One issue for each task."""


def read_exports(words: Iterable[str]) -> tuple[Export, ...]:
    """The trackers that words of a command line name, each several if separated by commas."""
    names = sorted({one.strip() for word in words for one in word.split(",") if one.strip()})
    return tuple(map(_export, names))


def _export(word: str) -> Export:
    try:
        return Export(word)
    except ValueError:
        hint = did_you_mean(word, [*Export]) or f"there are {', '.join(Export)}"
        raise UsageError(f"--export: {word!r} is unknown", hint=hint) from None


class StepQuestion(msgspec.Struct, frozen=True):
    """What a step asked, as far as the pack shows."""

    step_id: str
    title: str = ""
    text: str = ""
    """The question itself, where the prompt contains it."""
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
    expected: tuple[Section, ...] = ()
    """The sections that were asked for in this file."""


class AnsweredStep(msgspec.Struct, frozen=True):
    """A question and what came back."""

    question: StepQuestion
    parts: tuple[AnswerPart, ...] = ()
    absent: str = ""
    """Why there is no answer, when something is known about that."""
    silent: bool = False
    """The step promises no answer in words, and none is required."""
    remark: str = ""
    """What every record of this answer has to note."""
    attached: tuple[QuestionFile, ...] | None = None
    """None when the attachments are unknown."""
    attached_known: bool = True
    """`attached` is all there was; False when there may have been more."""

    @property
    def is_answered(self) -> bool:
        return any(part.text.strip() for part in self.parts)


class AskedReply(msgspec.Struct, frozen=True):
    """A reply of a model, as `asked.jsonl` keeps it: about one answer, or about all titles."""

    sha256: str
    """Of what it is about: the text of the answer, or the list of titles."""
    model: str
    reply: str


class PackAnswers(msgspec.Struct, frozen=True):
    """Everything the actionizer works on."""

    pack_hash: str
    steps: tuple[AnsweredStep, ...]
    pack_id: str | None = None
    """None when the pack was not run by oraclepack."""
    pack_name: str = ""
    rehearsal: bool = False
    """The answers come from a rehearsal and say nothing about the code."""
    commit: str | None = None
    """The commit that the questions were asked about, where a run recorded it."""
    replies: tuple[AskedReply, ...] = ()
    """What a model said about the answers: `actionize --ask`."""


class SideStatement(msgspec.Struct, frozen=True, order=True):
    """One side of a conflict: who says what."""

    step_id: str
    text: str
    citations: tuple[str, ...] = ()


class SourceSpan(msgspec.Struct, frozen=True, order=True):
    """Lines of an answer file."""

    path: str
    first_line: int
    last_line: int

    def __str__(self) -> str:
        if self.first_line == self.last_line:
            return f"{self.path}:{self.first_line}"
        return f"{self.path}:{self.first_line}-{self.last_line}"


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """One line of `normalized.jsonl`: a statement of an answer, or why there is none.

    Actions, notes, missing inputs, paths and commands are in the answer as they are here; what
    oraclepack says about a record itself is in `remarks`, `next_step` and `why`.
    """

    schema_version: int = RECORD_VERSION
    pack_id: str | None
    pack_hash: str
    step_id: str
    """The step that raised it first."""
    task_id: str
    issue_title: str = ""
    """The title of the issue that it belongs to."""
    title: str
    status: WorkStatus
    kind: TaskKind | None = None
    """None for a record that is about the answer as a whole: blocked, or a contradiction."""
    origin: RecordOrigin = RecordOrigin.READ
    category: str
    reference: str | None
    expected_artifacts: tuple[str, ...]
    actions: tuple[str, ...]
    """What the answer says."""
    evidence: Evidence
    notes: tuple[str, ...]
    """The headings and lead-ins above it."""
    missing_inputs: tuple[str, ...]
    sources: tuple[str, ...]
    """The steps it comes from."""
    priority: Priority
    roi: float | None
    effort: float | None
    next_experiment: str | None = None
    """For a blocked or contradictory record: the experiment that the answer proposes."""
    next_step: str | None = None
    """For a blocked or contradictory record: the one thing to do next."""
    spans: tuple[SourceSpan, ...] = ()
    """Where its texts stand."""
    partial: bool = False
    """The answer it comes from is cut off."""
    remarks: tuple[str, ...] = ()
    """What oraclepack has to say about it."""
    why: str = ""
    """What the priority was made of, in words."""
    done_when: str = ""
    """How the answer says that the work is checked."""
    size: str | None = None
    """`S`, `M` or `L`, where the answer says so."""
    statements: tuple[SideStatement, ...] = ()
    """For a conflict: the statements that deny each other."""
    depends_on: tuple[str, ...] = ()
    """Ids that come first, where the answer says so."""
    merged: tuple[str, ...] = ()
    """Ids of the records of other answers that are the same work, merged into this one."""
    same_as: str | None = None
    """The id of the record that this one is merged into; it is not counted or planned itself."""

    @property
    def is_work(self) -> bool:
        return self.status is WorkStatus.ACTIONABLE

    @property
    def place(self) -> tuple[str, int]:
        """The step and the number in it, by which records are ordered."""
        return self.step_id, int(self.task_id.rpartition("-")[2] or 0)


class Issue(msgspec.Struct, frozen=True, kw_only=True):
    """One question with everything that its answer says."""

    issue_id: str
    step_id: str
    title: str
    question: str
    reference: str | None
    category: str
    answer: str
    """The verdict: as the answer states it, or its first statement."""
    risks: tuple[str, ...] = ()
    missing_inputs: tuple[str, ...] = ()
    """The files and patterns that the answer misses."""
    cut: str = ""
    """Why the answer is not whole; empty when it is."""
    doubts: tuple[str, ...] = ()
    """What of the stated work could not be read."""
    free_form: bool = False
    """The answer has none of the headings that were asked for."""
    answer_files: tuple[str, ...] = ()
    records: tuple[Record, ...] = ()
    """What was raised here first."""
    elsewhere: tuple[tuple[str, str], ...] = ()
    """Ids of this issue merged into another record, and the id of that record."""


class Artifact(msgspec.Struct, frozen=True):
    """A file to be written: its name below the actionizer's directory, and its text."""

    path: str
    text: str


class WrittenArtifact(msgspec.Struct, frozen=True, kw_only=True):
    """A file of the actionizer as it is now."""

    path: str
    sha256: str
    bytes: int
    changed: bool
    """It was not there before, or was different."""


class ActionizeReport(TransactionReport, frozen=True, kw_only=True):
    """The result of `actionize`; its steps are the files it writes."""

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
