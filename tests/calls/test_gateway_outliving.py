"""Questions that outlive their callers: the step waits for what may be paid for, no more."""

import os
import shlex
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from oraclepack.calls.live_call import LiveCall, Shim
from oraclepack.shell.attempt import AttemptCallbacks, AttemptEnd, Grace, StopLevel
from tests.callers import Stage, call_through, stage

BEGUN = "until [[ -s bin/oracle.calls.jsonl ]]; do sleep 0.02; done\n"
"""Wait until the tool is at work."""
KILLED = f"""\
env {{}} oracle -p 'q [[fault={{}}]]' --write-output x.md & shim=$!
{BEGUN}kill -KILL $shim
"""


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Stage]:
    with stage(tmp_path) as made:
        yield made


def paid(here: Stage) -> None:
    """From now on every call may be paid for."""

    def ask(call: LiveCall, shim: Shim) -> int:
        here.ends.append(call_through(call, shim, outlives_caller=True, is_paid=True))
        return here.ends[-1].exit_code

    here.act = ask


@pytest.mark.parametrize(
    "variables",
    [
        pytest.param("", id="plainly"),
        pytest.param('-i PATH="$PATH"', id="with an emptied environment"),
    ],
)
def test_a_question_whose_caller_was_killed_is_waited_for(variables: str, here: Stage) -> None:
    paid(here)

    outcome, said = here.run(KILLED.format(variables, "slow"))

    assert outcome.ok, said
    assert [(end.exit_code, end.stopped) for end in here.ends] == [(0, False)]
    assert (here.bench.root / "x.md").exists()


def test_a_call_that_is_no_question_is_not_waited_for(here: Stage) -> None:
    outcome, _ = here.run(f"oracle --dry-run -p '[[fault=hang]]' &\n{BEGUN}")

    assert outcome.ok
    assert [end.stopped for end in here.ends] == [True]


ASKED = "oracle -p '{0} [[fault=slow]]' --write-output {0}.md"


@pytest.mark.parametrize(
    ("body", "answers"),
    [
        pytest.param(f"{ASKED.format('a')} &", 1, id="one"),
        pytest.param(f"{ASKED.format('a')} &\n{ASKED.format('b')} &", 2, id="two at once"),
        pytest.param(f"({ASKED.format('a')}; {ASKED.format('b')}) &", 2, id="one after another"),
        pytest.param(f"bash -c {shlex.quote(ASKED.format('a'))} &", 1, id="of a script"),
    ],
)
def test_calls_in_the_background_are_waited_for_without_wait(
    body: str, answers: int, tmp_path: Path
) -> None:
    with stage(tmp_path) as here:
        paid(here)

        outcome, said = here.run(body, grace=Grace())

    assert outcome.ok, said
    assert [(end.exit_code, end.stopped) for end in here.ends] == [(0, False)] * answers
    assert len(list(here.bench.root.glob("?.md"))) == answers


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(f"env {ASKED.format('a')} & shim=$!\n{BEGUN}kill $shim; wait", id="kill"),
        pytest.param(f"env {ASKED.format('a')} & shim=$!\n{BEGUN}kill -HUP $shim", id="a hang-up"),
    ],
)
def test_a_signal_of_the_step_ends_the_shim_and_not_the_question(body: str, here: Stage) -> None:
    paid(here)

    here.run(body)

    assert [(end.exit_code, end.stopped) for end in here.ends] == [(0, False)]
    assert (here.bench.root / "a.md").exists()


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(KILLED.format("", "hang"), id="its caller was killed"),
        pytest.param(f"oracle -p '[[fault=hang]]' &\n{BEGUN}", id="its caller is there"),
    ],
)
def test_an_urgent_stop_while_an_answer_is_awaited_stops_the_step(body: str, here: Stage) -> None:
    def stop() -> None:
        here.awaiting.wait()
        here.bench.stop.ask(StopLevel.POLITE)
        here.stop_waits.wait()
        here.bench.stop.ask(StopLevel.AT_ONCE)

    paid(here)
    stopper = threading.Thread(target=stop)
    stopper.start()
    outcome, _ = here.run(body)
    stopper.join()

    assert outcome.reason is AttemptEnd.STOPPED


HELD = "oracle -p 'q [[fault=hold]]' --write-output x.md"
"""A call that is answered once the test says so."""


@pytest.mark.parametrize(
    ("body", "reason", "prompts"),
    [
        pytest.param(HELD, AttemptEnd.EXITED, 1, id="a step that ends with its call"),
        pytest.param(f"{HELD} &\n{BEGUN}", AttemptEnd.EXITED, 1, id="a call in the background"),
        pytest.param(f"{HELD}; sleep 60", AttemptEnd.STOPPED, 1, id="a step that goes on"),
        pytest.param(f"{HELD}; oracle -p r", AttemptEnd.STOPPED, 1, id="a second call"),
        pytest.param(f"{HELD}; oracle -p r || :", AttemptEnd.STOPPED, 1, id="a second one ignored"),
    ],
)
def test_a_polite_stop_lets_a_paid_call_finish(
    body: str, reason: AttemptEnd, prompts: int, here: Stage
) -> None:
    gate = Path(f"{here.oracle.program}.gate")
    os.mkfifo(gate)

    def stop() -> None:
        with gate.open("w"):  # waits for the tool
            here.bench.stop.ask(StopLevel.POLITE)
            here.stop_waits.wait()

    paid(here)
    stopper = threading.Thread(target=stop)
    stopper.start()
    outcome, _ = here.run(body)
    stopper.join()

    assert (here.ends[0].exit_code, here.ends[0].stopped) == (0, False)
    assert (here.bench.root / "x.md").exists()
    assert (outcome.reason, len(here.oracle.calls)) == (reason, prompts)


def test_a_question_that_the_stop_ends_at_once_counts_as_not_answered(here: Stage) -> None:
    def stop(call: LiveCall, shim: Shim) -> int:
        here.bench.stop.ask(StopLevel.POLITE)
        return call_through(call, shim, outlives_caller=True).exit_code

    here.act = stop
    attempt = here.bench.attempt("oracle -p q", first_on_path=str(here.shim_dir))
    here.gateway.attempts.expect(attempt)
    here.bench.run(attempt)

    assert not here.gateway.attempts.await_answers(attempt, 10)


def test_the_limits_of_a_step_hold_while_an_answer_is_awaited(here: Stage) -> None:
    silences: list[float] = []
    never = threading.Event()
    attempt = here.bench.attempt("true", step_timeout=0.6, idle_timeout=0.2)

    outcome = here.bench.run(
        attempt, AttemptCallbacks(is_answered=never.wait, on_idle=silences.append)
    )

    assert outcome.reason is AttemptEnd.TIMEOUT
    assert len(silences) == 1
