import json
import threading

import msgspec
import pytest

from oraclepack.cli.lines import Activity, JsonLog, Lines, RunningSteps, beat, line_of
from oraclepack.cli.text import clock, seconds, size
from oraclepack.errors import StepError
from oraclepack.journal import events as j
from oraclepack.journal.run_state import fold
from oraclepack.journal.statuses import Cache, CallWait, Move, RollbackStatus, Status, Wait
from oraclepack.shell.attempt import ProcessIdentity
from tests.clocks import SteppingClock
from tests.events import a_step, created, finished, numbered, session, started

STATE = fold(numbered(created("01", "02", "03"), session(), *a_step("01")))
CALL = j.InvocationOutcome(step="03", attempt=1, call=2, tool="oracle", ok=True)
INTENT = j.InvocationIntent(step="03", attempt=1, call=2, tool="oracle")


def call(**changes: object) -> j.InvocationOutcome:
    return msgspec.structs.replace(CALL, **changes)


@pytest.mark.parametrize(
    ("event", "line"),
    [
        pytest.param(
            session(),
            "--  run 2026-03-01__abc1234__55555555: 1 of 3 steps already done",
            id="run",
        ),
        pytest.param(
            j.StepStarted(step="02", attempt=1, reason="it has not run yet"),
            "02  started: it has not run yet",
            id="a first attempt",
        ),
        pytest.param(
            j.StepStarted(step="02", attempt=3, reason="it failed"),
            "02  started, attempt 3: it failed",
            id="a further attempt",
        ),
        pytest.param(
            j.StepFinished(step="01", attempt=1, status=Status.OK, duration_ms=432_000),
            "01  ok in 7:12 [1/3]",
            id="a step that went well",
        ),
        pytest.param(
            j.WarningRecorded(
                step="03",
                code=Wait.SLOT,
                message="waiting for a slot of browser, 1 at a time",
                wait=CallWait(call=1, reason="slot of browser, 1 at a time"),
            ),
            "03  waiting: slot of browser, 1 at a time",
            id="a call that waits for a slot",
        ),
        pytest.param(
            j.WarningRecorded(
                step="03",
                code=Wait.RETRY,
                message="rate limited, next try in 45 s (2 of 5)",
                wait=CallWait(call=1, reason="429", seconds=45.0, tries=1),
            ),
            "03  waiting: 429, retry in 0:45 (try 2)",
            id="a call that waits for its next try",
        ),
        pytest.param(
            j.CallsAwaited(calls=2),
            "--  stopping: waiting for 2 calls; press Ctrl-C again to cancel them",
            id="a stop that waits for calls",
        ),
        pytest.param(
            j.CallsAwaited(calls=1, step="03"),
            "03  stopping: waiting for 1 call; `oraclepack runs stop RUN 03 --now` cancels it",
            id="the stop of a step that waits for its call",
        ),
        pytest.param(
            j.StepFinished(step="01", attempt=0, status=Status.OK, imported=True),
            "01  ok (taken over) [1/3]",
            id="a step taken over",
        ),
        pytest.param(
            j.StepFinished(step="01", attempt=1, status=Status.SKIPPED, skip_reason="SKIP: no tm"),
            "01  skipped: SKIP: no tm [1/3]",
            id="a step that skipped itself",
        ),
        pytest.param(finished("02", Status.FAILED), "02  failed in 0.0s (EXIT)", id="failed"),
        pytest.param(
            call(cache=Cache.HIT),
            "03  oracle call 2 answered from the cache",
            id="a cached answer",
        ),
        pytest.param(
            call(attempts=3),
            "03  oracle call 2 answered after 3 tries",
            id="an answer after retries",
        ),
        pytest.param(
            call(adopted=True),
            "03  oracle call 2 answered by an earlier call",
            id="an adopted answer",
        ),
        pytest.param(
            call(ok=False, error=StepError(code="AUTH", message="no key")),
            "03  oracle call 2 failed (AUTH)",
            id="a failed call",
        ),
        pytest.param(j.WarningRecorded(message="slow"), "--  warning: slow", id="a warning"),
        pytest.param(
            j.WarningRecorded(message="slow", step="02"), "02  warning: slow", id="of a step"
        ),
        pytest.param(
            j.Quarantined(step="02", attempt=1, moves=(Move(source="a", target="_failed/a"),)),
            "02  quarantined 1 earlier output(s): _failed/a",
            id="quarantine",
        ),
        pytest.param(j.RollbackStarted(steps=("01",)), "--  rolling back", id="rollback"),
        pytest.param(
            j.RollbackFinished(status=RollbackStatus.FAILED, error="disk full"),
            "--  rollback failed: disk full",
            id="a failed rollback",
        ),
        pytest.param(
            j.Imported(source="x.state.json", sha256="0", steps=("01",)),
            "--  took over 1 step(s) from x.state.json",
            id="import",
        ),
        pytest.param(j.PreludeStarted(attempt=1), "--  prelude started", id="the prelude starts"),
        pytest.param(
            j.PreludeFinished(attempt=1, error=StepError(code="X", message="exit code 1")),
            "--  prelude failed",
            id="the prelude fails",
        ),
        pytest.param(j.PreludeFinished(attempt=1), None, id="the prelude ends well"),
        pytest.param(j.SessionFinished(exit_code=0), None, id="the end has its own text"),
    ],
)
def test_each_event_has_its_line(event: j.KnownEvent, line: str | None) -> None:
    assert line_of(event, STATE) == line


def test_one_event_is_one_line_and_steers_no_terminal() -> None:
    said: list[str] = []

    Lines(said.append).event(j.WarningRecorded(message="one\ntwo\x1b[2J"), STATE)

    assert said == ["--  warning: one two[2J\n"]


def test_the_json_log_has_the_events_of_the_journal() -> None:
    said: list[str] = []
    log = JsonLog(said.append)

    for event in numbered(created("01"), started("01")):
        log.event(event, STATE)

    assert [json.loads(line)["kind"] for line in said] == ["run_created", "step_started"]
    assert json.loads(said[1])["seq"] == 2


def test_a_long_step_gives_signs_of_life_until_it_ends() -> None:
    said: list[str] = []
    alive = threading.Event()

    def write(text: str) -> None:
        said.append(text)
        if "running" in text:
            alive.set()

    lines = Lines(write, SteppingClock(), every=0.001)
    lines.event(started("02"), STATE)

    assert alive.wait(30)
    lines.event(j.SessionFinished(exit_code=0), STATE)
    lines.close()
    assert any(line.startswith("--  02 running 0:0") and "[1/3]" in line for line in said)


def test_silence_before_anything_runs() -> None:
    said: list[str] = []
    lines = Lines(said.append, SteppingClock(), every=0.0)

    lines.event(j.WarningRecorded(message="x"), STATE)
    lines.close()

    assert said == ["--  warning: x\n"]


def test_what_runs_and_what_waits() -> None:
    running = RunningSteps(SteppingClock())
    for event in (
        j.PreludeStarted(attempt=1),
        j.PreludeFinished(attempt=1),
        started("03"),
        started("07"),
        j.WarningRecorded(
            step="03", code="retry", message="rate limited, next try in 41 s (2 of 5)"
        ),
        started("08"),
        finished("08"),
    ):
        running.observe(event)

    active = running.now()

    assert {step: one.is_waiting for step, one in active.items()} == {"03": True, "07": False}
    assert active["03"].waits == ("rate limited, next try in 41 s (2 of 5)",)


@pytest.mark.parametrize(
    ("active", "line"),
    [
        pytest.param(Activity(432_000), "07 running 7:12", id="at work"),
        pytest.param(
            Activity(41_000, ("slot of browser, 1 at a time",), is_waiting=True),
            "07 waiting 0:41 (slot of browser, 1 at a time)",
            id="for a slot",
        ),
        pytest.param(
            Activity(41_000, ("429, retry in 0:45",), is_waiting=True, retries=1),
            "07 waiting 0:41 (429, retry in 0:45; 1 retry)",
            id="for its next try",
        ),
        pytest.param(
            Activity(41_000, retries=2),
            "07 running 0:41 (2 retries)",
            id="tried for the third time",
        ),
    ],
)
def test_a_sign_of_life(active: Activity, line: str) -> None:
    assert beat({"07": active}, 2, 20) == f"--  {line} [2/20]"


RETRY = CallWait(call=1, reason="429", seconds=45.0, tries=1)
SLOT = CallWait(call=2, reason="slot of browser, 1 at a time")


def waits(wait: CallWait, code: Wait = Wait.RETRY) -> j.WarningRecorded:
    return j.WarningRecorded(step="03", code=code, message="x", wait=wait)


def begun(number: int, *, made: bool) -> j.InvocationIntent:
    process = ProcessIdentity(pid=1) if made else None
    return j.InvocationIntent(step="03", attempt=1, call=number, tool="oracle", process=process)


def end(number: int, tries: int) -> j.InvocationOutcome:
    return j.InvocationOutcome(
        step="03", attempt=1, call=number, tool="oracle", ok=True, attempts=tries
    )


@pytest.mark.parametrize(
    ("events", "expected", "is_waiting", "retries"),
    [
        pytest.param([waits(RETRY)], ["429, retry in 0:44"], True, 1, id="it counts down"),
        pytest.param(
            [waits(RETRY), begun(1, made=True)], [], False, 1, id="tried again, and counted"
        ),
        pytest.param(
            [waits(RETRY), begun(1, made=True), end(1, 2)], [], False, 1, id="answered at last"
        ),
        pytest.param([end(1, 3), end(2, 2)], [], False, 3, id="retries of all calls together"),
        pytest.param(
            [waits(RETRY), waits(SLOT, Wait.SLOT)],
            ["429, retry in 0:43", "slot of browser, 1 at a time"],
            True,
            1,
            id="two calls wait",
        ),
        pytest.param(
            [begun(1, made=True), waits(SLOT, Wait.SLOT)],
            ["slot of browser, 1 at a time"],
            False,
            0,
            id="one call waits, another is at work",
        ),
        pytest.param(
            [waits(SLOT, Wait.SLOT), begun(1, made=True)],
            ["slot of browser, 1 at a time"],
            False,
            0,
            id="the call of another does not end a wait",
        ),
        pytest.param([waits(RETRY), started("03", 2)], [], False, 0, id="the next attempt"),
    ],
)
def test_why_a_step_waits(
    events: list[j.KnownEvent], expected: list[str], is_waiting: bool, retries: int
) -> None:
    running = RunningSteps(SteppingClock())
    for event in [started("03"), *events]:
        running.observe(event)

    active = running.now()["03"]

    assert list(active.waits) == expected
    assert (active.is_waiting, active.retries) == (is_waiting, retries)


def test_a_stop_waits_for_the_calls_whose_tool_is_at_work() -> None:
    running = RunningSteps(SteppingClock())
    asked = msgspec.structs.replace(INTENT, process=ProcessIdentity(pid=7))
    running.observe(started("03"))
    running.observe(asked)
    before = running.awaited_calls
    running.observe(j.CallsAwaited(calls=1))
    during = running.awaited_calls
    running.observe(CALL)

    assert (before, during, running.awaited_calls) == (0, 1, 0)


@pytest.mark.parametrize("wait", Wait)
@pytest.mark.parametrize("end", [CALL, INTENT], ids=["an answer", "a call"])
def test_whatever_a_step_waits_for_it_waits_until_a_call_or_an_answer(
    wait: Wait, end: j.KnownEvent
) -> None:
    running = RunningSteps(SteppingClock())
    running.observe(started("03"))
    running.observe(j.WarningRecorded(step="03", code=wait, message="later"))

    assert running.now()["03"].is_waiting
    running.observe(end)
    assert not running.now()["03"].is_waiting


@pytest.mark.parametrize(
    ("milliseconds", "over", "growing"),
    [
        (0, "0.0s", "0:00"),
        (9_940, "9.9s", "0:10"),
        (9_970, "10s", "0:10"),
        (59_600, "1:00", "1:00"),
        (432_000, "7:12", "7:12"),
        (3_723_000, "1:02:03", "1:02:03"),
    ],
)
def test_durations(milliseconds: int, over: str, growing: str) -> None:
    assert (seconds(milliseconds), clock(milliseconds)) == (over, growing)


@pytest.mark.parametrize(
    ("count", "expected"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1000, "1.0 kB"),
        (9_960, "10 kB"),
        (999_600, "1.0 MB"),
        (87_000_000, "87 MB"),
        (5_000_000_000_000, "5000 GB"),
    ],
)
def test_sizes(count: int, expected: str) -> None:
    assert size(count) == expected
