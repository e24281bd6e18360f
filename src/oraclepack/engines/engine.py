"""What an engine is: it makes one try of a question, or says what became of an earlier one.

An engine is a module with a class that follows `Engine`, and a row in `engines/table.py`. It gets
the question, a folder of the try's own to write into, and a `Caller` that does for it what is the
same for all engines. Everything around a try belongs to `calls`: the search for an answer that was
paid for before, claims, slots, budget, retries, the check of the answer, keeping and publishing it.

Before anything is sent that may cost money, an engine calls `Caller.begin` (or starts its program
with `Caller.run` and `is_paid`): from its return on, the journal names the try. As soon as a name
is known under which the answer can be found again, it calls `Caller.identify`.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from decimal import Decimal
from pathlib import Path
from typing import Protocol, TypeAlias

import msgspec

from oraclepack.engines.try_folder import TryFolder
from oraclepack.errors import Refusal
from oraclepack.journal.events import BatchNoted
from oraclepack.journal.statuses import AWAITED, CallIdentity, QuestionSize
from oraclepack.journal.step_state import Invocation
from oraclepack.pack.answer_sections import Section
from oraclepack.system.path_jail import AllowedPath
from oraclepack.tools.oracle_attachments import AttachedFile
from oraclepack.tools.oracle_config import OracleContext
from oraclepack.tools.oracle_failures import Failure
from oraclepack.tools.oracle_question import OracleQuestion
from oraclepack.tools.oracle_sessions import SessionRecord
from oraclepack.tools.providers import ApiRoute, environment_of

TAIL_BYTES = 64_000
"""How much of a tool's output is kept: enough to see why it failed."""


class ToolRun(msgspec.Struct, frozen=True):
    """A request to start a program once."""

    tool: str
    """The name by which it is looked for, or the tool that a program of ours stands for."""
    argv: tuple[str, ...]
    cwd: str
    env: Mapping[str, str]
    program: str | None = None
    """What is started in its place; None is the tool as it is found on PATH."""
    timeout: float | None = None
    """Seconds until it is stopped; the tools' own limits are no deadlines."""
    hidden: bool = False
    """Its output is not passed on to the step."""
    keep: int = TAIL_BYTES
    """How many bytes at the end of each stream are kept in memory."""
    outlives_caller: bool = False
    """It keeps running when its caller is killed: it may be paid for already."""
    is_paid: bool = False
    """It costs money: a polite stop lets it finish."""
    on_output: Callable[[str], bool] | None = None
    """Gets the beginning of its stdout whenever that has grown, until it returns False."""
    identity: CallIdentity | None = None
    """The names under which its answer can be found, as far as they are known before it begins."""
    folder: Path | None = None
    """Where what it prints is kept under a name, so that it survives us; None: nowhere."""


class ToolEnd(msgspec.Struct, frozen=True):
    """How the real tool ended."""

    exit_code: int
    """As a shell reports it: 128 + n for a signal, 127 when it was not found."""
    out: str = ""
    """The end of its stdout."""
    err: str = ""
    cut: bool = False
    """Its output was longer than what was kept."""
    timed_out: bool = False
    stopped: bool = False
    """It was asked to end: the run is being stopped, or the caller is gone."""
    trouble: str = ""
    """Why it could not be started."""


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """A call of oracle, understood: whom it asks what, about which files."""

    argv: tuple[str, ...]
    """Oracle's words, with overrides and what we add ourselves."""
    cwd: str
    env: Mapping[str, str]
    """Of the call; it may hold keys."""
    asked: OracleQuestion = OracleQuestion("")
    around: OracleContext = OracleContext()
    provider: str = ""
    model: str | None = None
    route: ApiRoute | None = None
    """Where it goes over an API; None in a browser."""
    output: AllowedPath | None = None
    """Where the answer is to be published; an engine writes to `Try.folder.place(output)`."""
    key: str | None = None
    """Who asks the same of the same model has the same key; None where that is not known."""
    attached: tuple[tuple[str, str], ...] = ()
    """The files of its key and their SHA-256."""

    @property
    def environment(self) -> dict[str, str]:
        """What oracle finds in its environment: that of the call, and below it the `.env` file."""
        return environment_of(self.around, self.env)

    @property
    def api_key(self) -> str:
        """The key of its route; empty where there is none."""
        return self.route.key(self.environment) if self.route else ""


class Caller(Protocol):
    """The call that asks, as an engine sees it. Used by one thread."""

    @property
    def question(self) -> Question: ...

    @property
    def root(self) -> Path:
        """Of the project."""

    @property
    def files(self) -> Sequence[AttachedFile] | Refusal:
        """What `read_files` gave, for an engine that is free; a paid one waits, and reads again."""

    @property
    def sections(self) -> tuple[Section, ...]:
        """Those that the step asks for in this answer."""

    @property
    def seconds_left(self) -> float:
        """Until a wait for an answer that was paid for has taken as long as a call may."""

    @property
    def is_in_asking_step(self) -> bool:
        """Its step only asks questions, so that it may go on without this answer."""

    def batch_of(self, row: str) -> BatchNoted | None:
        """What the run knows of the batch with a row."""

    def blob(self, sha256: str) -> bytes | None:
        """A byte string that the run has kept."""

    def has_made(self, earlier: Invocation) -> bool:
        """Whether this run has made a call; the claim of a question may name one of another run."""

    @property
    def is_cancelled(self) -> bool:
        """`runs stop --now`: what a provider still computes is to be cancelled there."""

    def begin(self, identity: CallIdentity, size: QuestionSize | None = None) -> None:
        """What is sent next may be paid for: write the try down. Raises where it must not be made.

        The journal names the try, this process and the identity. What becomes of it after a kill
        is for the engine's own `settle` to say. A free engine gives the size of its question.
        """

    def identify(self, identity: CallIdentity) -> None:
        """The names under which the answer can be found from now on."""

    def run(self, order: ToolRun) -> ToolEnd:
        """Start a program and wait for its end. A paid one begins once it is written down."""

    def new_folder(self) -> TryFolder:
        """A folder for a program that reads an answer again."""

    def waiting(
        self, message: str, reason: str, pid: int | None = None
    ) -> AbstractContextManager[Callable[[float], bool]]:
        """A pause in seconds for a wait that is announced when it begins; False: give up."""

    @property
    def has_contract(self) -> bool:
        """The answer must have sections, so that one that has them all is whole."""

    def lacks(self, data: bytes) -> tuple[str, ...]:
        """The sections that an answer misses."""

    def is_whole(self, data: bytes) -> bool:
        """Whether this may be a whole answer to the question: not empty, no sign of a cut."""

    def clean(self, text: str) -> str:
        """The text without secrets."""

    def write(self, out: str = "", err: str = "") -> None:
        """Words on the step's own stdout and stderr."""

    def say(self, text: str) -> None:
        """A line for the person who watches the step."""

    def warn(self, code: str, message: str) -> None:
        """A warning in the records of the run."""


class Try(msgspec.Struct, frozen=True):
    """One try of a question: where its engine writes, and how long it may take."""

    folder: TryFolder
    argv: tuple[str, ...]
    """The question's words for this try; a repeated one may need oracle's `--force`."""
    timeout: float | None = None


class Ended(msgspec.Struct, frozen=True, kw_only=True):
    """How a try ended, as far as its engine can tell."""

    answer: bytes | None = None
    failure: Failure | None = None
    """Why that is no whole answer. A contract is checked by `calls`."""
    record: SessionRecord | None = None
    """The session or response that answered, with its usage."""
    exit_code: int = 0
    stopped: bool = False
    """It was asked to end before it had an answer."""
    is_killed: bool = False
    """It may still be marked as running, so that another try needs force."""
    version: str | None = None
    """Of the tool that asked."""


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """The answer of an earlier try."""

    data: bytes
    note: str
    """How it came about, in words that follow the path of its file."""
    record: SessionRecord | None = None
    missing: tuple[str, ...] = ()
    """The sections it lacks."""
    is_proven: bool = True
    """It is sure to be whole, so that it may be shared with other runs."""


class Over(msgspec.Struct, frozen=True, kw_only=True):
    """An earlier try has ended without an answer, so that its question may be asked."""

    force: bool = False
    """Ask with the tool's force flag, since it would refuse a repeated question."""
    verdict: Failure | None = None
    """What its provider says about it."""


class Pending(msgspec.Struct, frozen=True):
    """Its answer is still to come, and the time to wait for it is over."""

    message: str
    code: str = AWAITED


class Unknown(msgspec.Struct, frozen=True):
    """It is unknown whether an earlier try will still be answered: the user decides."""

    name: str
    """Of the session or the response."""
    reason: str = ""


class GivenUp(msgspec.Struct, frozen=True):
    """The call was given up while it waited."""


Settled: TypeAlias = Answer | Over | Pending | Unknown | GivenUp
"""What has become of an earlier try."""


class Traces(msgspec.Struct, frozen=True):
    """What is recorded of an earlier try, without a wait: its session, and what it has left."""

    record: SessionRecord | None = None
    answers: tuple[bytes, ...] = ()
    """What is sure to be its answer, the best first."""


class Engine(Protocol):
    """One way to ask. Its methods are called by one thread for each call."""

    is_paid: bool
    """Answers cost money: they are looked for, claimed, limited and kept."""
    price_part: Decimal
    """What its provider takes, as a part of the usual price."""

    def route(
        self,
        asked: OracleQuestion,
        model: str,
        around: OracleContext,
        environment: Mapping[str, str],
        /,
    ) -> ApiRoute:
        """Where a question goes over an API; `model` is the name that oracle has resolved."""

    def read_files(self, caller: Caller, /) -> Sequence[AttachedFile] | Refusal:
        """The files that the question attaches, as this engine would send them."""

    def ask(self, caller: Caller, once: Try, /) -> Ended:
        """Make one try. Raises OraclePackError only before anything was sent."""

    def find(self, caller: Caller, earlier: Invocation, /) -> Traces:
        """What an earlier try of the same question has left, as it is now."""

    def settle(self, caller: Caller, earlier: Invocation, /) -> Settled:
        """What has become of an earlier try that has no known end; waits while it is at work."""
