"""The command that continues a run."""

from collections.abc import Sequence

import pytest

from oraclepack.journal import events as j
from oraclepack.journal.run_state import RunState, fold
from oraclepack.journal.statuses import Status
from oraclepack.pack.model import StepId
from oraclepack.run.planning.plan import Decision, Plan, PlannedStep
from oraclepack.run.run_report import continue_command, ranges
from tests.events import a_step, created, numbered, session

IDS = ("01", "02", "03", "04", "05")


def a_plan(*to_run: str) -> Plan:
    return Plan(
        tuple(
            PlannedStep(
                StepId(one), Decision.RUN if one in to_run else Decision.DONE, "because", "hash"
            )
            for one in IDS
        )
    )


def state_of(*events: j.Event) -> RunState:
    return fold(numbered(created(*IDS), session(), *events))


OK_BEFORE = [event for one in IDS for event in a_step(one)]


@pytest.mark.parametrize(
    ("argv", "command"),
    [
        pytest.param(["run", "pack.md"], "oraclepack run pack.md", id="nothing but the pack"),
        pytest.param(
            ["run", "my pack.md", "--max-parallel", "4", "--keep-going"],
            "oraclepack run 'my pack.md' --max-parallel 4 --keep-going",
            id="flags stay, quoted",
        ),
        pytest.param(
            ["run", "pack.md", "--new-run", "--import-state", "x.json", "--no-resume"],
            "oraclepack run pack.md",
            id="what began the run is not said twice",
        ),
        pytest.param(
            ["run", "pack.md", f"--expect-pack={'0' * 64}", "--keep-going"],
            "oraclepack run pack.md --keep-going",
            id="an approved hash is for one command",
        ),
        pytest.param(
            ["run", "--import-state=x.json", "--resume=false", "pack.md"],
            "oraclepack run pack.md",
            id="with an equals sign as well",
        ),
        pytest.param(
            ["run", "pack.md", "--steps", "02-04", "--resume-from", "03"],
            "oraclepack run pack.md --steps 02-04 --resume-from 03",
            id="a selection stays",
        ),
        pytest.param(
            ["run", "--", "--rerun"], "oraclepack run -- --rerun", id="a pack with a bad name"
        ),
    ],
)
def test_the_command_that_continues(argv: Sequence[str], command: str) -> None:
    assert continue_command(argv, a_plan(*IDS), state_of()) == command


@pytest.mark.parametrize(
    ("argv", "command"),
    [
        pytest.param(
            ["run", "pack.md", "--rerun", "all"], "oraclepack run pack.md --rerun 02-05", id="all"
        ),
        pytest.param(
            ["run", "--rerun=all", "--", "pack.md"],
            "oraclepack run --rerun 02-05 -- pack.md",
            id="before the end of the options",
        ),
    ],
)
def test_a_rerun_goes_on_where_it_stopped_although_all_was_ok_before(
    argv: Sequence[str], command: str
) -> None:
    again = [*a_step("01", attempt=2), *a_step("02", Status.FAILED, attempt=2)]
    state = state_of(*OK_BEFORE, j.SessionFinished(exit_code=0), session(), *again)

    assert continue_command(argv, a_plan(*IDS), state) == command


def test_a_rerun_that_is_over_needs_no_rerun() -> None:
    state = state_of(*OK_BEFORE)

    assert continue_command(["run", "p.md", "--rerun", "all"], a_plan(*IDS), state) == (
        "oraclepack run p.md"
    )


@pytest.mark.parametrize(
    ("ids", "text"),
    [
        ([], ""),
        (["07"], "07"),
        (["03", "04"], "03-04"),
        (["09", "03", "07", "08"], "03,07-09"),
    ],
)
def test_ranges(ids: list[str], text: str) -> None:
    assert ranges(ids) == text
