"""One call of a tool: what is known of it, the events about it, its waits, and its words.

`handler.py` tells what happens to a call; an engine sees it as its `Caller`.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import reduce
from pathlib import Path
from typing import Any, TypedDict, Unpack

from oraclepack.answers.output_check import is_blank
from oraclepack.answers.suspicions import INCOMPLETE, suspicions
from oraclepack.calls.budget import Reserved
from oraclepack.calls.context import CallContext, PersonAnswer, Place
from oraclepack.calls.key import InvocationKey
from oraclepack.calls.live_call import LiveCall, Shim
from oraclepack.calls.overrides import redacted_argv
from oraclepack.engines.engine import Question, ToolEnd, ToolRun
from oraclepack.engines.table import ENGINES
from oraclepack.engines.try_folder import TryFolder
from oraclepack.errors import ExitCode, OraclePackError, Refusal, StepError
from oraclepack.journal import events as j
from oraclepack.journal.blobs import keep_blob, read_blob
from oraclepack.journal.statuses import (
    INTERRUPTED,
    Cache,
    CallIdentity,
    CallWait,
    OutputRetry,
    QuestionSize,
    Wait,
)
from oraclepack.journal.step_state import Invocation, StepState
from oraclepack.pack.answer_sections import Section, is_rehearsed, missing_sections
from oraclepack.pack.contract import OutputContract, contracts_of
from oraclepack.pack.model import Step
from oraclepack.settings.call_settings import REHEARSAL
from oraclepack.shell import processes
from oraclepack.shell.attempt import ProcessIdentity
from oraclepack.store.claims import Claim
from oraclepack.system.digests import sha256_bytes
from oraclepack.system.environment import process_id
from oraclepack.system.machine import this_machine
from oraclepack.system.path_jail import read_content
from oraclepack.system.printable import readable
from oraclepack.system.text_limits import ANSWER
from oraclepack.tools.argv import parse_argv
from oraclepack.tools.flag_tables import table_of
from oraclepack.tools.oracle_attachments import AttachedFile
from oraclepack.tools.oracle_sessions import SessionRecord
from oraclepack.tools.prices import price_of
from oraclepack.tools.providers import BROWSER, OF_TOOL
from oraclepack.tools.usage import Usage, priced

STOPPED = StepError(code=INTERRUPTED, message="stopped before its end", transient=True)
STOPPED_EXIT = int(ExitCode.INTERRUPTED)
REFUSED_EXIT = 1
ACCEPT, RETRY, FAIL = "accept", "retry", "fail"
"""What a person may decide."""
_AT_TERMINAL = "the person at the terminal"
_POLL_SECONDS = 0.2
_COUNTED = frozenset({Wait.SLOT, Wait.RATE_LIMIT, Wait.PAUSED, Wait.BUDGET, Wait.RETRY})
"""Waits that are no part of asking."""


class AttachmentsChangedError(OraclePackError):
    """The files of a question are not those of its key any more. Nothing was asked."""


class _Outcome(TypedDict, total=False):
    """Fields of `InvocationOutcome`."""

    cache: Cache
    session: str | None
    usage: Usage | None
    adopted: bool
    source_run: str | None
    saved: Usage | None
    cancelled: bool


class Call:
    """A call of a tool, from its arrival to its outcome. Used by one thread."""

    def __init__(self, context: CallContext, made: LiveCall, shim: Shim) -> None:
        self.context = context
        self.made = made
        self.shim = shim
        self.step, self.attempt, self.number = made.step, made.attempt, made.number
        self.engine = ENGINES[context.options.engine]
        self.redactor = context.redactor.also(made.env)
        """Also knows the secrets that the tool itself would load."""

        # What it asks, once it was read (`question.py`); the rest of a tool is less.
        self.argv = made.argv
        """With overrides, and what we add ourselves."""
        self.question = Question(argv=made.argv, cwd=made.cwd, env=made.env)
        self.provider: str | None = OF_TOOL.get(made.tool)
        self.output_path: str | None = None
        """Where the answer is promised, relative to the project root."""
        self.key: InvocationKey | Refusal = Refusal("it asks no question of its own")
        self.contract: OutputContract | None = None
        self.limit = self.provider or made.tool
        """Whose slots it takes: a provider, one browser profile, or a tool."""
        self.most_input: int | None = None
        """No fewer input tokens than it sends; None where its files are not known."""
        self.files: Sequence[AttachedFile] | Refusal = ()
        self.read_ns = 0
        """When its files were read, by the steady clock."""

        # What was learned on the way.
        self.claim: Claim = Claim()
        self.retry: OutputRetry | None = None
        """How often its contract was missed, also in an interrupted call that it continues."""
        self.has_unsigned_answer = False
        """The cache has an answer that is not signed with the user's key."""
        self.force = False
        """Ask with the tool's force flag, since it would refuse a repeated question."""
        self.because = ""
        """Why it is asked although an earlier call was cut off."""

        # Its tries.
        self.attempts = 0
        self.tries = 0
        """Like `attempts`, those included that a guard of the tool refused."""
        self.waited_ns = 0
        self.started_ns = 0
        """When the last try began, by the steady clock; 0 while it has not."""
        self.reserved: Reserved | None = None
        """The money of the current try."""
        self.folder: TryFolder | None = None
        """Where the current try writes."""
        self.has_tried = False
        """Some try was made, and has ended."""
        self.is_open = False
        """The outcome is unknown at its end: a detached worker or the provider goes on, or the
        tool was cancelled while it asked."""
        self._used: dict[str, Usage] = {}
        self._patient_until: float | None = None

    # Facts.

    @property
    def place(self) -> Place:
        return (self.step, self.attempt, self.number)

    @property
    def root(self) -> Path:
        return self.context.root

    @property
    def key_value(self) -> str | None:
        return self.key.value if isinstance(self.key, InvocationKey) else None

    @property
    def pack_step(self) -> Step | None:
        return self.context.pack.step(self.step)

    @property
    def step_state(self) -> StepState:
        """The step as the journal knows it."""
        return self.context.journal.state.step(self.step)

    @property
    def is_in_asking_step(self) -> bool:
        return self.context.only_asks(self.step)

    def batch_of(self, row: str) -> j.BatchNoted | None:
        batches = self.context.journal.state.batches.values()
        return next((noted for noted in batches if row in noted.rows), None)

    def blob(self, sha256: str) -> bytes | None:
        return read_blob(self.context.run_dir, sha256)

    def has_made(self, earlier: Invocation) -> bool:
        made = earlier.intent
        own = self.context.journal.state.step(made.step).invocations if made else ()
        return any(one.intent == made for one in own)

    @property
    def is_cancelled(self) -> bool:
        return self.context.cancels(self.step)

    def now(self) -> int:
        return self.context.clock.monotonic_ns()

    @property
    def seconds_left(self) -> float:
        """Until a wait for another call has taken as long as a call may."""
        return (
            float("inf") if self._patient_until is None else self._patient_until - self.now() / 1e9
        )

    def be_patient(self) -> None:
        """A wait for an answer begins; it may take as long as a call of our own."""
        limit = self.context.options.call_timeout
        self._patient_until = None if limit is None else self.now() / 1e9 + limit

    # The answer.

    @property
    def sections(self) -> tuple[Section, ...]:
        """The sections that are asked for; those of the whole step where no file is promised."""
        if self.contract is not None:
            return self.contract.sections
        required = {one for sections in self.sections_by_path().values() for one in sections}
        return tuple(section for section in Section if section in required)

    def sections_by_path(self) -> dict[str, tuple[Section, ...]]:
        """The sections of each file that the step promises."""
        step, options = self.pack_step, self.context.options
        if step is None:
            return {}
        contracts = contracts_of(step, chunks=options.chunks, mode=options.contracts)
        return {contract.path: contract.sections for contract in contracts}

    @property
    def has_contract(self) -> bool:
        checks = self.context.options.verify and self.contract is not None
        return checks and bool(self.sections)

    def lacks(self, data: bytes) -> tuple[str, ...]:
        """The sections that an answer misses."""
        if not self.has_contract:
            return ()
        text = data.decode("utf-8", "replace")
        # Text too large for an answer is not searched; the verification reports it.
        searched = "" if ANSWER.excess(text) else text
        headings = self.context.options.require_headings
        missing = missing_sections(searched, self.sections, require_headings=headings)
        return tuple(dict.fromkeys(section.value for section in missing))

    def is_whole(self, data: bytes, *, may_be_rehearsed: bool = False) -> bool:
        """Whether this may be a whole answer to the question: not empty, no sign of a cut."""
        text = data.decode("utf-8", "replace")
        if is_blank(text) or (is_rehearsed(text) and not may_be_rehearsed):
            return False
        signs = suspicions(text, self.question.asked.prompt, self.output_path or "")
        return not any(sign.code in INCOMPLETE for sign in signs)

    def changed_file(self) -> str | None:
        """The first attached file that is not what it was when the key was made."""
        for path, sha256 in self.question.attached:
            data = read_content(Path(self.made.cwd, path)).data
            if data is None or sha256_bytes(data) != sha256:
                return path
        return None

    # Words.

    def clean(self, text: str) -> str:
        return self.redactor.clean(text)

    def say(self, text: str) -> None:
        """A line for the person who watches the step."""
        self.shim.write_stderr(self.clean(f"oraclepack: {text}\n"))

    def write(self, out: str = "", err: str = "") -> None:
        """Words on the step's own stdout and stderr."""
        if out:
            self.shim.write_stdout(self.clean(out))
        if err:
            self.shim.write_stderr(self.clean(err))

    def warn(self, code: str, message: str) -> None:
        self.record(j.WarningRecorded(step=self.step, code=code, message=message))

    # Programs.

    def run(self, order: ToolRun) -> ToolEnd:
        """Start a program and wait for its end. One that is not hidden is written down first."""
        if order.hidden:
            return self.shim.run(order, lambda _: None)
        return self.shim.run(order, lambda process: self._started(process, order.identity))

    def begin(self, identity: CallIdentity, size: QuestionSize | None = None) -> None:
        """What is sent next may be paid for."""
        if size is not None:
            self.intend(size=size)
            return
        pid = process_id()
        start_time = processes.start_time(pid)
        here = ProcessIdentity(pid=pid, start_time=start_time, machine=this_machine())
        self._started(here, identity)

    def _started(self, process: ProcessIdentity, identity: CallIdentity | None) -> None:
        if self.changed_file() is not None:
            raise AttachmentsChangedError("an attached file was changed")
        self.intend(process, identity)
        if self.reserved is not None:
            # After the journal, which names it: killed in between, nothing was paid for.
            self.reserved.open()
        self.started_ns = self.now()

    def new_folder(self, number: int = 0) -> TryFolder:
        """A folder for a try, or for a program that reads an answer again."""
        numbers = f"{self.step}.{self.attempt}.{self.number}.{number}"
        outputs = (self.question.output,) if self.question.output else ()
        return TryFolder.make(self.root, self.context.run_dir, numbers, outputs)

    # Events.

    def record(self, event: j.KnownEvent) -> j.KnownEvent:
        """Append an event to the journal, without secrets."""
        return self.context.journal.append(self.redactor.clean_record(event))

    @property
    def _identified(self) -> dict[str, Any]:
        """What identifies a call within its run, in every event about it."""
        return {"step": self.step, "attempt": self.attempt, "call": self.number}

    @property
    def _asked(self) -> dict[str, Any]:
        """What is said of it before and after it is made."""
        return {
            **self._identified,
            "tool": self.made.tool,
            "began_at": self.made.began_at,
            "key": self.key_value,
            "model": self.question.model,
            "output_path": self.output_path,
        }

    def intend(
        self,
        process: ProcessIdentity | None = None,
        identity: CallIdentity | None = None,
        size: QuestionSize | None = None,
    ) -> None:
        """From here on the call may cost money. Recorded again as soon as its process is known.

        With the size of its question it is a rehearsed call, which costs nothing.
        """
        parsed = parse_argv(table_of(self.made.tool), self.argv)
        # Redacted before it is cut: a part of a secret would not be recognised.
        argv = redacted_argv(parsed, tuple(map(self.clean, self.argv)))
        is_made = process is not None
        recorded = self.record(
            j.InvocationIntent(
                **self._asked,
                key_parts=dict(self.key.parts) if isinstance(self.key, InvocationKey) else {},
                provider=self.provider if self.engine.is_paid else REHEARSAL,
                argv=argv,
                process=process,
                retry=self.retry,
                because=self.because,
                question=size,
                reservation=self.reserved.name if is_made and self.reserved else None,
                private=self.folder.name if is_made and self.folder else None,
                identity=identity,
            )
        )
        if isinstance(recorded, j.InvocationIntent):
            self.claim.note(recorded)

    def identify(self, identity: CallIdentity) -> None:
        """The names under which the answer can be found from now on."""
        self.record(j.CallIdentified(**self._identified, identity=identity))
        calls = self.step_state.invocations
        place = (self.attempt, self.number)
        intent = next((one.intent for one in calls if (one.attempt, one.call) == place), None)
        if intent is not None:
            self.claim.identify(intent)

    def begin_try(self) -> None:
        """It has its slot; its intent is in the journal already."""
        self.attempts += 1
        self.tries += 1
        self.started_ns = 0
        self.record(j.TryStarted(**self._identified, number=self.tries))

    def end_try(
        self,
        exit_code: int,
        error: StepError | None,
        record: SessionRecord | None = None,
        left: bytes | None = None,
    ) -> None:
        """One try ended, and what it left was judged. Each may be billed, also a failed one."""
        if record is not None and record.usage is not None:
            self._used[record.id] = record.usage
        self.record(
            j.TryFinished(
                **self._identified,
                number=self.tries,
                ok=error is None,
                exit_code=exit_code,
                error=error,
                session=record.id if record else None,
                left_sha256=self.kept(left) if left else None,
            )
        )
        self.has_tried = True

    def conclude(
        self,
        error: StepError | None = None,
        exit_code: int = 0,
        *,
        answer: bytes | None = None,
        unmet: bytes | None = None,
        **more: Unpack[_Outcome],
    ) -> int:
        """What became of the call; `answer` is what was verified, `unmet` misses its contract.

        Unless `usage` says otherwise it used what its tries did.
        """
        # An answer of the cache is kept there.
        fields: dict[str, Any] = {"usage": self.usage, **more}
        keep = sha256_bytes if more.get("cache") is Cache.HIT else self.kept
        self.record(
            j.InvocationOutcome(
                **self._asked,
                ok=error is None,
                provider=self.provider if self.engine.is_paid else REHEARSAL,
                attempts=self.attempts,
                waited_ms=self.waited_ns // 1_000_000,
                exit_code=exit_code,
                sha256=None if answer is None else keep(answer),
                unmet_sha256=None if unmet is None else keep(unmet),
                error=error,
                **fields,
            )
        )
        return exit_code

    def refuse(self, code: str, reason: str) -> int:
        """The call is not made."""
        message = readable(reason)
        self.say(f"{code}: {message}")
        return self.conclude(StepError(code=code, message=message), REFUSED_EXIT)

    def kept(self, data: bytes) -> str:
        """Keep a byte string in the run; its hash. Failing to keep it is not an error here."""
        with suppress(OraclePackError):
            return keep_blob(self.context.run_dir, data)
        return sha256_bytes(data)

    # Money.

    def with_cost(self, usage: Usage | None) -> Usage | None:
        """What the tool reports, with its cost at our prices; a browser has no price per token."""
        if usage is None or self.provider == BROWSER:
            return priced(usage, None)
        return priced(usage, price_of(self.question.model, self.context.options.prices))

    @property
    def usage(self) -> Usage | None:
        """What all tries used, each at its price; None where no session reports it."""
        known = [used for one in self._used.values() if (used := self.with_cost(one)) is not None]
        return reduce(Usage.plus, known) if known else None

    # Waits.

    @contextmanager
    def wait(
        self,
        code: Wait,
        message: str,
        reason: str,
        *,
        seconds: float | None = None,
        tries: int = 0,
        pid: int | None = None,
    ) -> Iterator[Callable[[float], bool]]:
        """The shim's pause. Its first use records the beginning of the wait, leaving it the end."""
        number, start = 0, self.now()

        def pause(length: float) -> bool:
            nonlocal number
            if not number:
                self.say(message)
                wait = CallWait(
                    call=self.number, reason=reason, seconds=seconds, tries=tries, pid=pid
                )
                self.record(
                    j.WarningRecorded(step=self.step, code=code, message=message, wait=wait)
                )
                number = self.context.shared.next_wait(self.place)
                self.record(
                    j.WaitStarted(
                        **self._identified,
                        wait=number,
                        reason=code,
                        detail=reason,
                        seconds=seconds,
                    )
                )
            return self.shim.pause(length)

        try:
            yield pause
        finally:
            if number:
                self.waited_ns += self.now() - start if code in _COUNTED else 0
                self.record(j.WaitFinished(**self._identified, wait=number))

    def waiting(
        self, message: str, reason: str, pid: int | None = None
    ) -> AbstractContextManager[Callable[[float], bool]]:
        """A wait for an answer that was paid for."""
        return self.wait(Wait.EARLIER_CALL, message, reason, pid=pid)

    # A person.

    def decide(self, question: str, options: Sequence[str] = (RETRY, FAIL)) -> str | None:
        """What a person decides; None where no one can be asked, or the call is given up.

        At the terminal the question is yes or no: the first option or the last.
        """
        context, choices = self.context, tuple(options)
        if context.ask is None and context.decisions is None:
            return None
        asked: dict[str, Any] = {"step": self.step, "call": self.number, "question": question}
        self.record(j.DecisionNeeded(**asked, options=choices))
        message = f"{question} (oraclepack runs answer: {', '.join(choices)})"
        with self.wait(Wait.DECISION, message, f"decision needed: {question}") as pause:
            if context.ask is not None:
                yes = context.ask(question, pause)
                given = PersonAnswer(choices[0] if yes else choices[-1], _AT_TERMINAL)
            else:
                waiting = self._answer_from_elsewhere(question, choices, pause)
                if waiting is None:
                    return None
                given = waiting
        self.record(j.DecisionMade(**asked, answer=given.answer, by=given.by))
        return given.answer

    def _answer_from_elsewhere(
        self, question: str, choices: tuple[str, ...], pause: Callable[[float], bool]
    ) -> PersonAnswer | None:
        pending = self.context.decisions
        assert pending is not None
        pending.put_question(self.step, self.number, question, choices)
        while (given := pending.take_answer(self.step, self.number)) is None:
            if not pause(_POLL_SECONDS):
                pending.withdraw_question(self.step, self.number)
                return None
        return given
