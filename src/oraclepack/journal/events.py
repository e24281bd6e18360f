"""The events of a run: what happened, in the order it happened.

The journal is the only source of truth about a run; `journal/run_state.py` folds it. A kind, once
written, keeps its name and the meaning of its fields. New optional fields and new
kinds may come within a schema version; anything else needs the next one.
"""

from decimal import Decimal
from typing import Any, TypeAlias, Union

import msgspec

from oraclepack.errors import StepError
from oraclepack.journal.statuses import (
    Cache,
    CallIdentity,
    CallWait,
    Move,
    OutputRetry,
    QuestionSize,
    RollbackStatus,
    Status,
    Verification,
)
from oraclepack.shell.attempt import ProcessIdentity
from oraclepack.tools.usage import Usage


class Event(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", omit_defaults=True):
    """One thing that happened. The journal gives it its number and its time."""

    seq: int = 0
    at: str = ""
    """UTC, RFC 3339."""


class StepEvent(Event, frozen=True, kw_only=True):
    """Something that happened to an attempt at a step."""

    step: str
    attempt: int


class CallEvent(StepEvent, frozen=True, kw_only=True):
    """Something that happened to a call of a tool."""

    call: int
    """Which call of the attempt, counted from 1."""


class TreeRecorded(StepEvent, frozen=True, kw_only=True, tag="tree_seen"):
    """The work tree before a step that may change it, as a git tree in the run's own store."""

    tree: str


class TreeChanged(StepEvent, frozen=True, kw_only=True, tag="tree_changed"):
    """What an attempt changed in the work tree."""

    files: tuple[str, ...]
    """For people: bytes of a name that are no UTF-8 are spelled out; the patch has them."""
    patch: str | None = None
    """Relative to the run directory; None when nothing may be taken back from it."""
    head_before: str | None = None
    head_after: str | None = None
    allowed: bool = True
    """The step's policy lets it change these files."""
    patch_sha256: str | None = None
    """Of the patch; None in records of 0.1.0."""


class ChangeUndone(StepEvent, frozen=True, kw_only=True, tag="change_undone"):
    """A recorded change was taken back because the user asked."""

    patch: str


SCHEMA_VERSION = 1

Setting: TypeAlias = str | int | float | bool | list[str] | None


class RunCreated(Event, frozen=True, kw_only=True, tag="run_created"):
    """The first event: which pack, at which commit, with what."""

    schema_version: int
    pack_id: str
    pack_path: str
    pack_hash: str
    git_sha: str | None = None
    git_dirty: bool | None = None
    oraclepack_version: str | None = None
    oracle_version: str | None = None
    engine: str | None = None
    settings: dict[str, Setting] = msgspec.field(default_factory=dict)
    steps: tuple[str, ...] = ()
    mutating: bool = False
    """Some step changes the work tree, and may move HEAD itself."""
    number: int = 0
    """Which of the pack's runs in this project, from 1: a clock may have been set back."""


class SessionStarted(Event, frozen=True, kw_only=True, tag="session_started"):
    """A command began to work on the run."""

    pid: int
    host: str
    process_started: str | None = None
    command: str = "run"
    argv: tuple[str, ...] = ()
    oraclepack_version: str | None = None
    settings: dict[str, Setting] = msgspec.field(default_factory=dict)
    private: str | None = None
    """The name of its directory for temporary files, which the next command removes if need be."""


class ForecastRecorded(Event, frozen=True, kw_only=True, tag="forecast"):
    """What a command was expected to ask and to cost, before its steps began."""

    to_ask: int
    cached: int = 0
    adopted: int = 0
    low: Decimal | None = None
    """US dollars; null where no price is known."""
    likely: Decimal | None = None
    high: Decimal | None = None
    unpriced_calls: int = 0
    unrecorded_steps: tuple[str, ...] = ()
    """Steps of which only the text of the pack was known."""
    spent_before: Decimal | None = None
    """What the run had cost before."""


class HeadRecorded(Event, frozen=True, kw_only=True, tag="head_seen"):
    """The commit of the work tree, when it differs from the last recorded one."""

    sha: str | None
    dirty: bool | None = None
    step: str | None = None
    """The step after which it was read."""


class PreludeStarted(Event, frozen=True, kw_only=True, tag="prelude_started"):
    attempt: int
    stdout_log: str | None = None
    stderr_log: str | None = None
    process: ProcessIdentity | None = None


class PreludeFinished(Event, frozen=True, kw_only=True, tag="prelude_finished"):
    attempt: int
    exit_code: int | None = None
    duration_ms: int | None = None
    error: StepError | None = None


class StepStarted(StepEvent, frozen=True, kw_only=True, tag="step_started"):
    """Written before the step's shell starts, so that no step runs unrecorded."""

    command_hash: str | None = None
    reason: str = ""
    """Why the step runs, in the planner's words."""
    stdout_log: str | None = None
    stderr_log: str | None = None
    token: str | None = None


class StepSpawned(StepEvent, frozen=True, kw_only=True, tag="step_spawned"):
    """The step's shell as a process, as soon as it is known."""

    process: ProcessIdentity


class InvocationIntent(CallEvent, frozen=True, kw_only=True, tag="invocation_intent"):
    """A tool is about to be called: from here on it may cost money."""

    tool: str
    key: str | None = None
    key_parts: dict[str, str] = msgspec.field(default_factory=dict)
    provider: str | None = None
    model: str | None = None
    output_path: str | None = None
    argv: tuple[str, ...] = ()
    process: ProcessIdentity | None = None
    retry: OutputRetry | None = None
    """Its answers missed their contract so far, and it asks again."""
    question: QuestionSize | None = None
    """In a rehearsal: what the real call would send."""
    because: str = ""
    """Why it is made although an earlier call of the question was cut off."""
    began_at: str | None = None
    """When the call arrived: its question was read between then and now."""
    reservation: str | None = None
    """The name under which its worst case is reserved in the ledger of budgets."""
    private: str | None = None
    """The folder in which the tool writes and prints, relative to the project root; its name is
    unique, and in oracle's own record of the session."""
    identity: CallIdentity | None = None
    """What its tool has printed since: in the claim of its question, and in the folded state."""


class CallIdentified(CallEvent, frozen=True, kw_only=True, tag="call_identified"):
    """The tool has printed under which names its call can be found again.

    Recorded as soon as they are printed, each time with all that are known.
    """

    identity: CallIdentity


class BatchNoted(Event, frozen=True, kw_only=True, tag="batch_noted"):
    """A batch of questions: each time with all that is known of it, before and after each request.

    `submitting` is its intent: from here on it may exist.
    """

    nonce: str
    """Ours; the provider keeps it with the batch, where its API can."""
    rows: tuple[str, ...]
    """The ids of its rows; the identities of calls name them."""
    dialect: str
    address: str
    model: str
    keys: tuple[str, ...] = ()
    """The variables that may hold the key."""
    state: str
    """`submitting`, `submitted`, `ended` or `failed`."""
    file: str | None = None
    batch: str | None = None
    """The provider's id."""
    results: str | None = None
    """SHA-256 of its results, which are kept among the blobs of the run."""
    detail: str = ""


class BudgetReserved(CallEvent, frozen=True, kw_only=True, tag="budget_reserved"):
    """The worst case of a try was reserved: it is about to be made."""

    reservation: str
    """Its name, which no other try of any run has."""
    cost: Decimal
    """US dollars; 0 where the price is not known."""
    tokens: int
    unknown: tuple[str, ...] = ()
    """`cost`, `tokens`: what of the worst case is not known."""


class BudgetSettled(CallEvent, frozen=True, kw_only=True, tag="budget_settled"):
    """What became of a reservation: the sum that counts from now on."""

    reservation: str
    cost: Decimal
    calls: int
    """0 for a try that was not made, or that the provider refused."""
    tokens: int
    worst_case: bool = False
    """The cost of the try is unknown, so its worst case counts."""


class InvocationOutcome(CallEvent, frozen=True, kw_only=True, tag="invocation_outcome"):
    """What became of a call, all its tries included."""

    tool: str
    ok: bool
    key: str | None = None
    provider: str | None = None
    model: str | None = None
    output_path: str | None = None
    cache: Cache = Cache.OFF
    attempts: int = 0
    waited_ms: int = 0
    exit_code: int | None = None
    session: str | None = None
    sha256: str | None = None
    """Of the verified answer, where there is exactly one."""
    usage: Usage | None = None
    adopted: bool = False
    """The answer of an earlier call, harvested instead of asked for again."""
    error: StepError | None = None
    unmet_sha256: str | None = None
    """Of a whole answer that misses its contract: it was paid for, and is not asked for again."""
    source_run: str | None = None
    """The run that paid for the answer, where it was taken from another one."""
    saved: Usage | None = None
    """What an answer from the cache had used when it was paid for."""
    began_at: str | None = None
    """When the call arrived."""
    cancelled: bool = False
    """Its tool was ended while it asked: it may be paid for, so a later call of the question first
    looks for its answer."""


class TryStarted(CallEvent, frozen=True, kw_only=True, tag="try_started"):
    """A call has its slot and is about to start its tool; the intent precedes it."""

    number: int
    """Which try of the call, counted from 1."""


class TryFinished(CallEvent, frozen=True, kw_only=True, tag="try_finished"):
    """One try of a call ended, and what it left was judged."""

    number: int
    ok: bool
    exit_code: int | None = None
    error: StepError | None = None
    session: str | None = None
    left_sha256: str | None = None
    """Of what a failed try left, a cut answer for example: a blob of the run."""


class WaitStarted(CallEvent, frozen=True, kw_only=True, tag="wait_started"):
    """A call begins to wait; a step of "" is the run itself, which waits for another run."""

    wait: int
    """Which wait of the call, counted from 1."""
    reason: str
    """One of `statuses.Wait`; text, so that a newer reason is no damage."""
    detail: str = ""
    seconds: float | None = None
    """How long it takes, where that is known."""


class WaitFinished(CallEvent, frozen=True, kw_only=True, tag="wait_finished"):
    wait: int


class ControlOpened(Event, frozen=True, kw_only=True, tag="control_opened"):
    """The command takes requests at this socket until it ends."""

    socket: str


class ControlRequested(Event, frozen=True, kw_only=True, tag="control_requested"):
    """A person or a program asked the running command for something, and it was accepted."""

    action: str
    """`stop`, `pause`, `resume`, `set` or `answer`."""
    value: str = ""
    by: str = ""
    """Who asked: user and process."""


class CallsAwaited(Event, frozen=True, kw_only=True, tag="calls_awaited"):
    """A polite stop waits for calls that are being asked: they may be paid for."""

    calls: int
    step: str = ""
    """The step that was to stop; "" is the whole command."""


class DecisionNeeded(Event, frozen=True, kw_only=True, tag="decision_needed"):
    """A call cannot go on without a person; everything else goes on."""

    step: str
    call: int
    question: str
    options: tuple[str, ...] = ()


class DecisionMade(Event, frozen=True, kw_only=True, tag="decision_made"):
    step: str
    call: int
    question: str
    answer: str
    by: str = ""


class OutputBackedUp(StepEvent, frozen=True, kw_only=True, tag="set_aside"):
    """What was at an output's path was copied or moved away before the step may replace it."""

    path: str
    backup: str
    sha256: str
    bytes: int
    mode: int | None = None
    modified_ns: int | None = None
    """When the file was changed last; None before 0.3, whose copies had that time themselves."""
    link: str | None = None
    """The target, where the path was a symbolic link; the copy is of what it leads to."""


class OutputInUse(StepEvent, frozen=True, kw_only=True, tag="output_in_use"):
    """Another run writes to a file of the step. Of 0.2, whose tools wrote to the declared paths."""

    path: str
    """As the step declares it, or relative to the project root."""
    obtained: bool = False
    """A call of the step has got the file."""


class RecordedOutput(StepEvent, frozen=True, kw_only=True):
    """An output as it is in the run directory."""

    path: str
    """Relative to the run directory."""
    declared_path: str | None = None
    """Where the pack asked for it, relative to the project root."""
    section: str | None = None
    sha256: str
    bytes: int
    mode: int | None = None
    replaced_sha256: str | None = None
    """Of the file, or of the recorded output, that it replaced."""
    backup: str | None = None
    """Where that is kept, relative to the run directory."""


class OutputRecorded(RecordedOutput, frozen=True, kw_only=True, tag="output_recorded"):
    """An output was found, hashed and copied into the run directory."""

    from_cache: bool = False
    created: bool = True
    """Nothing was at the declared path before."""


class OutputRevised(RecordedOutput, frozen=True, kw_only=True, tag="output_revised"):
    """The file at an output's path is the recorded output from now on, as a person left it.

    It meets its contract after all, or it was accepted as it is.
    """

    declared_path: str
    accepted: bool = False
    reason: str = ""
    """Why it was accepted, in the words of the person."""
    missing_sections: tuple[str, ...] = ()
    """What it lacked when it was accepted."""
    source_run: str | None = None
    """The run in which it was accepted, where that was another one."""
    adopted: bool = False
    """It was there before the run, and the user takes it: no call of ours made it."""


class OutputEdited(Event, frozen=True, kw_only=True, tag="output_edited"):
    """A person changed the file at an output's path after it was recorded; the file stays.

    The recorded output is still the one of the run's own copy. Where `sha256` is that of the
    recorded output, the file is as recorded again.
    """

    step: str
    declared_path: str
    sha256: str
    """Of the file as it is now."""


class OutputRestored(Event, frozen=True, kw_only=True, tag="output_restored"):
    """A recorded output that was gone or changed is back: at its path, or in the run directory."""

    step: str
    path: str
    """Relative to the run directory."""
    declared_path: str
    sha256: str
    to_run: bool = False
    """The run's copy was made again from the file at the declared path."""


class StepFinished(StepEvent, frozen=True, kw_only=True, tag="step_finished"):
    status: Status
    exit_code: int | None = None
    error: StepError | None = None
    skip_reason: str | None = None
    verification: Verification | None = None
    duration_ms: int | None = None
    attached: dict[str, str] = msgspec.field(default_factory=dict)
    """Attached files and their SHA-256: what `--rerun changed` compares."""
    imported: bool = False
    """Taken over from a state file; nothing ran here."""
    command_hash: str | None = None
    """Only when no start came before it, as for imported steps."""


class Quarantined(StepEvent, frozen=True, kw_only=True, tag="quarantined"):
    """Outputs of a failed attempt were moved aside."""

    moves: tuple[Move, ...]
    reason: str = ""
    """Why, where it is not the failure of the attempt."""


class Restored(Event, frozen=True, kw_only=True, tag="restored"):
    """Outputs came back from quarantine."""

    step: str
    moves: tuple[Move, ...]


class RollbackStarted(Event, frozen=True, kw_only=True, tag="rollback_started"):
    steps: tuple[str, ...]


class FileUndone(Event, frozen=True, kw_only=True, tag="file_undone"):
    """One change of the command was reverted: its file quarantined, the previous one restored."""

    step: str
    path: str
    quarantined_as: str | None = None
    restored_from: str | None = None


class RolledBack(Event, frozen=True, kw_only=True, tag="rolled_back"):
    """These steps are pending again."""

    steps: tuple[str, ...]


class RollbackFinished(Event, frozen=True, kw_only=True, tag="rollback_finished"):
    status: RollbackStatus
    error: str | None = None
    left: tuple[str, ...] = ()
    """What could not be taken back, relative to the project root."""


class Imported(Event, frozen=True, kw_only=True, tag="imported"):
    """A state file of the older tool was taken over, once."""

    source: str
    sha256: str
    steps: tuple[str, ...] = ()


class RunTrusted(Event, frozen=True, kw_only=True, tag="run_trusted"):
    """The user took over a foreign run: from here on everything before counts as ours."""

    reason: str
    """Why it was foreign."""


class WarningRecorded(Event, frozen=True, kw_only=True, tag="warning"):
    message: str
    step: str | None = None
    code: str | None = None
    wait: CallWait | None = None
    """Of a call that waits: what for, and how long."""


class SessionFinished(Event, frozen=True, kw_only=True, tag="session_finished"):
    exit_code: int
    rollback: RollbackStatus = RollbackStatus.NOT_ATTEMPTED
    duration_ms: int | None = None
    """By a clock that never goes back."""


class RunFinished(Event, frozen=True, kw_only=True, tag="run_finished"):
    """No step is left to run."""

    ok: bool


KnownEvent: TypeAlias = Event
"""An event of a kind that this version knows."""


def _kinds(event: type[Event]) -> list[type[Event]]:
    kinds = event.__subclasses__()
    return [event] if not kinds else [one for kind in kinds for one in _kinds(kind)]


KINDS: dict[str, type[Event]] = {str(one.__struct_config__.tag): one for one in _kinds(Event)}
"""Every kind by its name in the journal: the classes that hold more than common fields."""
EveryEvent: Any = Union[tuple(KINDS.values())]  # noqa: UP007 - made from a list
"""Any event, for decoders and schemas."""
