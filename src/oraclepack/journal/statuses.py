"""What is known of a step's result: its status, its fault, its check, what it cost."""

from enum import StrEnum

import msgspec


class OutputFailure(msgspec.Struct, frozen=True, kw_only=True):
    """An output that does not meet its contract, and in what."""

    path: str
    contract: str
    missing_sections: tuple[str, ...] = ()
    io_error: str | None = None
    reason: str | None = None
    """`unreadable`, `sections`, or `rehearsal`; null in the records of older versions."""


class OutputDoubt(msgspec.Struct, frozen=True, kw_only=True):
    """A sign that an output is not what it seems, though it meets its contract."""

    path: str
    code: str
    message: str
    line: int


class Verification(msgspec.Struct, frozen=True, kw_only=True):
    """The check of a step's outputs against their contracts."""

    passed: bool
    checked: int = 0
    """How many outputs were looked at."""
    failures: tuple[OutputFailure, ...] = ()
    doubts: tuple[OutputDoubt, ...] = ()


class Wait(StrEnum):
    """What a call waits for: the reason in the journal, and the code of the warning."""

    RETRY = "retry"
    """Its own next try."""
    SLOT = "slot"
    SAME_QUESTION = "same_question"
    """Another process that asks the same question."""
    SAME_OUTPUT = "same_output"
    """Another run that writes to the same file."""
    EARLIER_CALL = "earlier_call"
    """A call that a crash or the tool left behind."""
    RATE_LIMIT = "rate_limit"
    """The provider's number of calls per minute, as the settings say it."""
    DECISION = "decision"
    """A person."""
    BUDGET = "budget"
    PAUSED = "paused"
    """The run was paused."""
    OTHER_RUN = "other_run"
    """The end of another run: `--wait-for`."""


class CallWait(msgspec.Struct, frozen=True, kw_only=True):
    """One wait of a call, for displays."""

    call: int
    reason: str
    """In a few words: `slot of browser, 1 at a time`."""
    seconds: float | None = None
    """How long it takes from here on, where that is known."""
    tries: int = 0
    """How often the call has been tried so far."""
    pid: int | None = None
    """The process that is waited for."""


class QuestionSize(msgspec.Struct, frozen=True, kw_only=True):
    """What a rehearsed call would send, and to whom."""

    provider: str
    input_tokens: int
    """About so many."""
    files: dict[str, int] = {}
    """The bytes of each attached file."""


class CallIdentity(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The names under which a call can be found again: those that its tool has printed."""

    session: str | None = None
    """Of the tool's session record."""
    response: str | None = None
    """The provider's id of a response that it computes in the background."""
    provider: str | None = None
    """Who computes the response: `openai` or `azure`."""
    endpoint: str | None = None
    """The address at which the response can be asked for."""
    batch: str | None = None
    """Its row in a batch; `BatchNoted` says in which."""


class OutputRetry(msgspec.Struct, frozen=True, kw_only=True):
    """A call that asks again because its answers missed their contract (`--output-retries`)."""

    number: int
    """Which retry, from 1: as many short answers were paid for before it."""
    unmet_sha256: str | None = None
    """Of the last of these answers, where there is exactly one file."""
    sessions: tuple[str, ...] = ()
    """The sessions of these answers: none of them answers the retry."""


WAITS = frozenset(Wait)
PASSING = frozenset({Wait.SLOT, Wait.RATE_LIMIT})
"""Waits that every busy run has: the journal records each one, summaries omit them."""


class Status(StrEnum):
    """The status of a step."""

    PENDING = "pending"
    RUNNING = "running"
    """Started and not finished; so it stays after a crash."""
    OK = "ok"
    FAILED = "failed"
    SKIPPED = "skipped"

    @property
    def is_settled(self) -> bool:
        """Nothing is left to do for the step."""
        return self in {Status.OK, Status.SKIPPED}


class RollbackStatus(StrEnum):
    """The result of a rollback."""

    NOT_ATTEMPTED = "not_attempted"
    STARTED = "started"
    """Begun and never ended: the next command finishes or reports it."""
    COMPLETED = "completed"
    FAILED = "failed"


class Cache(StrEnum):
    """What the cache did for a call."""

    HIT = "hit"
    MISS = "miss"
    OFF = "off"


UNDECIDED = "UNDECIDED"
"""The code of a call where it is unknown whether an earlier one was paid for."""
INTERRUPTED = "INTERRUPTED"
"""The code of a step or a call that was stopped before its end, because its command was."""

BUDGET = "BUDGET"
"""The code of a step or a call that was not made because it did not fit the budget."""

BUDGET_LEDGER = "BUDGET_LEDGER"
"""The code of a call that was not made because the ledger of its budget cannot be used."""

NO_SPACE = "NO_SPACE"
"""The code of a call that was not made because the disk could not take its answer."""

NO_KEY = "NO_KEY"
"""The code of a call that was not made because there is no key for its provider."""

OUTPUT_PATH = "OUTPUT_PATH"
"""The code of a call that was not made because its answer may not, or could not, be written."""

CRASHED = "CRASHED"
"""The code of a call that was cut off and closed later; the call that did so has its own end."""
UNMET = frozenset({"CONTRACT", "OUTPUT_CONTRACT"})
"""The codes of a whole answer that misses its contract, from its call or from the step."""

DETACHED = "DETACHED"
"""The code of a call whose tool ended and left its question to a worker, which goes on."""

AWAITED, BATCH_PENDING = "AWAITED", "BATCH_PENDING"
"""The code of a call whose answer its provider still computes: the next command waits for it."""


class Move(msgspec.Struct, frozen=True, kw_only=True):
    """A file that was moved: from where, to where."""

    source: str
    target: str
