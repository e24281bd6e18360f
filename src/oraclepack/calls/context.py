"""What all calls of a run share: the ports, the options, and what they must not do twice."""

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Protocol

import msgspec

from oraclepack.calls.budget import BudgetPolicy, CommandLedger
from oraclepack.calls.overrides import Overrides
from oraclepack.calls.retry import RetryPolicy, next_try
from oraclepack.calls.store import CallStore
from oraclepack.journal.events import KnownEvent
from oraclepack.journal.run_state import Ask, Journal
from oraclepack.pack.contract import ChunkMode, ContractMode
from oraclepack.pack.model import Pack
from oraclepack.store.limits import Limit
from oraclepack.store.runner import command_name
from oraclepack.system.clock import Clock
from oraclepack.system.secrets import NOTHING_SECRET, Redactor
from oraclepack.tools.oracle_attachments import OwnFiles
from oraclepack.tools.oracle_failures import Failure
from oraclepack.tools.prices import TokenPrice
from oraclepack.tools.tool_names import ORACLE


class OnUnknown(StrEnum):
    """`--on-unknown`: what to do where it is unknown whether a call was paid for."""

    ASK = "ask"
    RETRY = "retry"
    FAIL = "fail"


class CallOptions(msgspec.Struct, frozen=True):
    """How calls are made, judged and repeated. Durations are seconds."""

    overrides: Overrides = msgspec.field(default_factory=Overrides)
    engine: str = ORACLE
    """A name of `engines/table.py`."""
    in_place: bool = False
    """A rehearsal in the project itself, where a real answer must not be replaced."""
    use_cache: bool = True
    user_answers: bool = False
    """Paid answers are kept in the user's own directory, too."""
    refresh: bool = False
    """Ask again, once per question, whatever the cache has."""
    call_timeout: float | None = 7200.0
    retry: RetryPolicy = msgspec.field(default_factory=RetryPolicy)
    output_retries: int = 0
    """How often a complete answer that misses its contract is asked for again."""
    on_unknown: OnUnknown = OnUnknown.FAIL
    unknown_after: float | None = None
    """Age from which on a call without a known end is made again; None is never."""
    limits: Mapping[str, Limit] = {}
    trust_project: bool = False
    """Let a `.env` steer oracle to other hosts and programs, and links lead to what it sends."""
    verify: bool = True
    require_headings: bool = False
    chunks: ChunkMode = ChunkMode.AUTO
    contracts: ContractMode = ContractMode.AUTO
    prices: Mapping[str, TokenPrice] = {}
    """The user's own prices by model."""
    budget: BudgetPolicy = msgspec.field(default_factory=BudgetPolicy)


Place = tuple[str, int, int]
"""A call: its step, its attempt, its number."""


class SharedCallState:
    """State that the calls of one command share. Safe in several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._spent = (0, 0.0)
        self._waits: dict[Place, int] = {}
        self._published: dict[str, Place] = {}
        self.live: set[Place] = set()
        """Calls that this command is answering; they are not leftovers of a crash."""
        self.answered: set[str] = set()
        """Keys that were answered by this command."""
        self.attached: dict[tuple[str, int], dict[str, str]] = {}
        """Attached files and their SHA-256, by step and attempt."""
        self.budget = CommandLedger()
        self.noted: set[str] = set()
        """What was said once and is not said again."""

    @contextmanager
    def answering(self, place: Place) -> Iterator[None]:
        """A call of this command is being answered."""
        self.live.add(place)
        try:
            yield
        finally:
            self.live.discard(place)

    def next_wait(self, place: Place) -> int:
        """The number of a call's next wait, from 1."""
        with self._lock:
            self._waits[place] = self._waits.get(place, 0) + 1
            return self._waits[place]

    def publishes(self, path: str, place: Place) -> Place | None:
        """Note the call that publishes at a path; the one before it, if of no earlier attempt."""
        with self._lock:
            first = self._published.get(path)
            self._published[path] = place
        is_retried = first is not None and first[0] == place[0] and first[1] != place[1]
        return None if is_retried or first == place else first

    def attach(self, step: str, attempt: int, files: dict[str, str]) -> None:
        with self._lock:
            self.attached.setdefault((step, attempt), {}).update(files)

    def next_try(
        self, failure: Failure, tries: int, options: CallOptions, chance: float
    ) -> float | str:
        """Decide about one more try, and take it from the run's budget."""
        with self._lock:
            decided = next_try(failure, tries, self._spent, options.retry, chance)
            if not isinstance(decided, str):
                self._spent = (self._spent[0] + 1, self._spent[1] + decided)
            return decided


class PersonAnswer(msgspec.Struct, frozen=True):
    """What a person decided, and who it was."""

    answer: str
    by: str


class PendingDecisions(Protocol):
    """Holds the questions of a detached run until a person answers them."""

    def put_question(self, step: str, call: int, question: str, options: tuple[str, ...]) -> None:
        """Show a question."""

    def take_answer(self, step: str, call: int) -> PersonAnswer | None:
        """The answer, once; None while there is none."""

    def withdraw_question(self, step: str, call: int) -> None:
        """The caller is gone."""


class CallContext(msgspec.Struct, frozen=True):
    """Everything that answering a call needs besides the call itself."""

    root: Path
    run_dir: Path
    run_id: str
    pack: Pack
    journal: Journal
    store: CallStore
    clock: Clock
    chance: Callable[[], float]
    """Draws from [0, 1)."""
    options: CallOptions
    redactor: Redactor = NOTHING_SECRET
    ask: Ask | None = None
    """Asks the user at the terminal; None without a terminal."""
    decisions: PendingDecisions | None = None
    """Where questions to a person wait for an answer from elsewhere."""
    is_paused: Callable[[], bool] = lambda: False
    """The run was paused: what runs goes on, no tool is started."""
    only_asks: Callable[[str], bool] = lambda _: False
    """Whether a step asks questions and does nothing else."""
    cancels: Callable[[str], bool] = lambda _: False
    """Whether a step is to be stopped with `runs stop --now`, which cancels at providers, too."""
    shared: SharedCallState = msgspec.field(default_factory=SharedCallState)
    own_files: OwnFiles = OwnFiles()
    """What no pattern of an attachment takes in."""
    command: str = msgspec.field(default_factory=command_name)
    """This process, by a name that no later one has."""

    def record(self, event: KnownEvent) -> KnownEvent:
        """Append an event to the journal, without secrets."""
        return self.journal.append(self.redactor.clean_record(event))
