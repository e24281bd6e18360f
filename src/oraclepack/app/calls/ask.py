"""Asking: a call is tried until there is a true answer, or no hope of one."""

from pathlib import Path

from msgspec.structs import replace

from oraclepack.adapters.claims import Claim
from oraclepack.app.calls import answer_files, notes
from oraclepack.app.calls.prepared import Prepared
from oraclepack.app.calls.store import is_true, keep
from oraclepack.app.calls.trying import Tried, try_once
from oraclepack.app.calls.unmet import next_retry
from oraclepack.app.calls.waiting import telling_pause
from oraclepack.app.calls.world import CallWorld
from oraclepack.core.invocation import Shim
from oraclepack.errors import SIGNALLED, ExitCode, OraclePackError, StepError
from oraclepack.intercept.adoption import answer_in_log
from oraclepack.intercept.retry import RetryAfter, cause, waiting_note
from oraclepack.intercept.truth import COMPLETED, redirected_to
from oraclepack.journal.statuses import (
    DETACHED,
    INTERRUPTED,
    UNMET,
    Cache,
    OutputRetry,
    Wait,
    Waiting,
)
from oraclepack.system import files
from oraclepack.tools.oracle_config import oracle_home
from oraclepack.tools.oracle_failures import Failure, FailureClass
from oraclepack.tools.oracle_sessions import OracleSessions

STOPPED = StepError(code=INTERRUPTED, message="stopped before its end", transient=True)
STOPPED_EXIT = int(ExitCode.INTERRUPTED)


class Asking:
    """One call of oracle on its way to an answer. For one thread."""

    def __init__(
        self,
        world: CallWorld,
        prepared: Prepared,
        shim: Shim,
        claim: Claim | None = None,
        retry: OutputRetry | None = None,
    ) -> None:
        self._world = world
        self._prepared = prepared
        self._shim = shim
        self._claim = claim
        self._tally = notes.Tally(world)
        self._tally.retry = retry
        self._cache = Cache.MISS if prepared.key_value and world.options.use_cache else Cache.OFF
        self.goes_on = False
        """Somebody else still works on the question when we have ended."""

    def intend(self) -> None:
        """Record that the tool is about to be called, and as which retry."""
        prepared, retry = self._prepared, self._tally.retry
        notes.intend(self._world, prepared, prepared.argv, claim=self._claim, retry=retry)

    def ask(self, *, force: bool = False) -> int:
        """Call the tool, again if that may help; the exit code for the step.

        The caller records the intent first.
        """
        while True:
            tried = try_once(
                self._world, self._prepared, self._shim, self._tally, self._claim, force=force
            )
            if tried is None:
                return self._stopped(STOPPED_EXIT)
            tried = self._harvested(tried)
            if tried.failure is None:
                return self._succeeded(tried)
            if tried.failure.code == DETACHED:
                return self._left_to_a_worker(tried, tried.failure)
            if tried.end.stopped:
                self._put_back(tried)
                return self._stopped(tried.end.exit_code or STOPPED_EXIT)
            exit_code = self._after(tried, tried.failure, forced=force)
            if exit_code is not None:
                return exit_code
            # What was ended by force is still marked running, and would block its own repetition.
            killed = tried.end.timed_out or tried.end.exit_code > SIGNALLED
            force = force or killed or tried.failure.kind is FailureClass.DUPLICATE

    def _harvested(self, tried: Tried) -> Tried:
        """A tool that came to grief after its session was completed has the answer all the same."""
        record, outputs = tried.record, self._prepared.outputs
        if record is None or record.status != COMPLETED or len(outputs) != 1:
            return tried
        if tried.failure is None or tried.end.exit_code == 0:
            return tried
        for data in (tried.answer, self._elsewhere(tried)):
            if data is not None and is_true(self._world, self._prepared, data, record):
                answer_files.publish(outputs[0], data)
                return replace(
                    tried, end=replace(tried.end, exit_code=0), answers=(data,), failure=None
                )
        return tried

    def _after(self, tried: Tried, failure: Failure, *, forced: bool) -> int | None:
        """The exit code when nothing more can be done; None when another try is due."""
        if failure.kind is FailureClass.DUPLICATE and not forced:
            # The guard compares prompts only, and refused for nothing; the question is ours.
            self._put_back(tried)
            self._tally.attempts -= 1
            return None
        if failure.code == "CONTRACT":
            return self._unmet(tried, failure)
        self._save(tried, failure)
        self._put_back(tried)
        chance = self._world.chance()
        decided = self._world.shared.next_try(
            failure, self._tally.attempts, self._world.options, chance
        )
        if not isinstance(decided, RetryAfter):
            return self._failed(tried, failure, decided.reason)
        policy = self._world.options.retry
        note = waiting_note(failure, decided, self._tally.attempts, policy)
        start = self._tally.now()
        call = self._prepared.call
        wait = Waiting(
            call=call.number,
            reason=cause(failure),
            seconds=round(decided.seconds, 3),
            tries=self._tally.attempts,
        )
        pause = telling_pause(self._world, call, self._shim, Wait.RETRY, note, wait)
        goes_on = pause(decided.seconds)
        self._tally.waited_since(start)
        return None if goes_on else self._stopped(STOPPED_EXIT)

    def _unmet(self, tried: Tried, failure: Failure) -> int | None:
        """A whole answer that lacks something was paid for: it stays where the pack wants it."""
        retry = next_retry(self._tally.retry, tried.answer, tried.record)
        if retry.number > self._world.options.output_retries:
            return self._failed(tried, failure, "")
        self._say(f"{failure.message}; asking again")
        # Before the answer is moved aside: a killed command is continued with this retry.
        self._tally.retry = retry
        notes.note_unmet(self._world, self._prepared)
        self.intend()
        return None

    def _succeeded(self, tried: Tried) -> int:
        if tried.answer is not None:
            self._keep(tried, tried.answer)
        self._conclude(tried)
        return 0

    def _left_to_a_worker(self, tried: Tried, failure: Failure) -> int:
        """It goes on asking, so nothing is put back: the next command takes its answer."""
        self.goes_on = True
        self._say(f"{failure.code}: {failure.message}; run again to wait for its answer")
        self._conclude(tried, failure.error())
        return STOPPED_EXIT if tried.end.stopped else 1

    def _failed(self, tried: Tried, failure: Failure, reason: str) -> int:
        why = f" ({reason})" if reason and self._tally.attempts > 1 else ""
        self._say(f"{failure.code}: {failure.message}{why}")
        self._conclude(tried, failure.error())
        return tried.end.exit_code or 1

    def _stopped(self, exit_code: int) -> int:
        notes.conclude(
            self._world,
            self._prepared,
            self._tally,
            error=STOPPED,
            exit_code=exit_code,
            cache=self._cache,
        )
        return exit_code

    def _conclude(self, tried: Tried, error: StepError | None = None) -> None:
        notes.conclude(
            self._world,
            self._prepared,
            self._tally,
            error=error,
            exit_code=tried.end.exit_code,
            cache=self._cache,
            session=tried.record.id if tried.record else None,
            answer=tried.answer if error is None else None,
            usage=tried.record.usage if tried.record else None,
            unmet=tried.answer if error is not None and error.code in UNMET else None,
        )

    def _put_back(self, tried: Tried) -> None:
        answer_files.put_back(self._world, self._prepared.call, self._prepared.outputs, tried.aside)

    def _save(self, tried: Tried, failure: Failure) -> None:
        """An answer that was given but not written to its path is kept for the next run."""
        if failure.code not in {"REDIRECTED_WRITE", "WRITE_FAILED", "NO_OUTPUT"}:
            return
        data = self._elsewhere(tried)
        if data is not None and is_true(self._world, self._prepared, data, tried.record):
            self._keep(tried, data)
            self._say("the answer itself is whole and kept; the next run will find it")

    def _keep(self, tried: Tried, data: bytes) -> None:
        keep(self._world, self._prepared, self._shim, data, tried.record, tried.end.out)

    def _elsewhere(self, tried: Tried) -> bytes | None:
        told = redirected_to(tried.end.out)
        if told is not None:
            return self._fallback(Path(told))
        if tried.record is None:
            return None
        log = OracleSessions(oracle_home(self._prepared.call.env)).log(tried.record.id)
        answer = answer_in_log(log)
        return None if answer is None else answer.encode()

    def _fallback(self, path: Path) -> bytes | None:
        """The file beside the call. An answer is printed too, and may name any other file."""
        promised = (output.path for output in self._prepared.outputs)
        names = {f"{one.stem}.fallback{one.suffix}" for one in promised}
        cwd = Path(self._prepared.call.cwd)
        if path.name not in names or path.resolve() != cwd.resolve() / path.name:
            return None
        try:
            return files.read(path)
        except OraclePackError:
            return None

    def _say(self, text: str) -> None:
        self._shim.tell(self._world.redactor.clean(f"oraclepack: {text}\n"))
