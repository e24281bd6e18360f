"""Questions that outlive their callers: the step waits for what may be paid for, no more."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from oraclepack.core.invocation import LiveCall, Shim
from tests.callers import Stage, call_through, stage

BEGUN = "until [[ -s bin/oracle.calls.jsonl ]]; do sleep 0.02; done\n"
"""Wait until the tool is at work."""
KILLED = f"""\
env {{}} oracle -p 'q [[fault=slow]]' --write-output x.md & shim=$!
{BEGUN}kill -KILL $shim
"""


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Stage]:
    with stage(tmp_path) as made:
        yield made


def paid(here: Stage) -> None:
    """From now on every call may be paid for."""

    def ask(call: LiveCall, shim: Shim) -> int:
        here.ends.append(call_through(call, shim, outlives_caller=True))
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

    outcome, said = here.run(KILLED.format(variables))

    assert outcome.ok, said
    assert [(end.exit_code, end.stopped) for end in here.ends] == [(0, False)]
    assert (here.bench.root / "x.md").exists()


def test_a_call_that_is_no_question_is_not_waited_for(here: Stage) -> None:
    outcome, _ = here.run(f"oracle -p '[[fault=hang]]' &\n{BEGUN}")

    assert outcome.ok
    assert [end.stopped for end in here.ends] == [True]
