"""Hard limits of cost: what does not fit is not asked, and the same command goes on later."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from oraclepack.pack.pack_files import read_pack
from oraclepack.run.planning.selection import RunArguments
from oraclepack.run.request import request_for
from oraclepack.run.run import run_pack
from oraclepack.settings import call_settings
from oraclepack.settings.registry import Settings
from oraclepack.store.budget import Budget
from oraclepack.store.sqlite import SqliteDatabase, existing_store
from tests.clocks import SteppingClock
from tests.e2e.run.project import Project, Zygote, a_project

CALL = 'oracle -e api -m gpt-5.2 --max-output 1000 -p "{0}?" --write-output out/{0}.md'
PRICE = "gpt-5.2=0/1000"
"""A call may come to exactly one dollar: it has 1,000 output tokens at most."""


def pack_of(*steps: str, calls: int = 1) -> str:
    return "".join(
        f"# {number:02d}) {name}\n"
        + "".join(CALL.format(f"{name}{call}") + "\n" for call in range(1, calls + 1))
        for number, name in enumerate(steps, start=1)
    )


@pytest.fixture
def project(tmp_path: Path, zygote: Zygote) -> Project:
    made = a_project(tmp_path, zygote, pack_of("a", "b", "c", calls=2))
    made.variables.update({"ORACLEPACK_PRICES": PRICE, "OPENAI_API_KEY": "k"})
    return made


def test_a_budget_that_is_reached_stops_the_command_and_loses_nothing(project: Project) -> None:
    limits = ("--no-validate", "--max-parallel", "1", "--max-cost", "3.50")

    first = project.run(*limits)

    assert first.code == 7, first.err
    error = first.envelope["error"]
    assert (error["code"], error["phase"], error["retryable"]) == ("BUDGET", "run", False)
    said = "--max-cost of $3.50 has spent $3.00, left $0.50"
    assert "step 02: not asked: it may come to $1.00" in error["message"]
    assert said in error["message"]
    words = f"oraclepack run pack.md --json {' '.join(limits)}"
    assert error["suggestion"] == f"to continue, once the limit has room for the call: {words}"
    assert first.data["budget_steps"] == ["02"]
    assert first.data["failed_steps"] == []
    assert project.statuses() == ["ok", "pending", "pending"]
    assert project.steps()["02"]["last_error"]["code"] == "BUDGET"
    assert project.oracle.prompts == ["a1?", "a2?", "b1?"]
    shown = project.start("runs", "show", project.run_dir.name).wait()
    assert "budget" in shown.out

    # The same command has a limit of its own, and asks nothing twice.
    again = project.run(*limits)

    assert again.code == 0, again.err
    assert project.oracle.prompts == ["a1?", "a2?", "b1?", "b2?", "c1?", "c2?"]
    assert project.statuses() == ["ok"] * 3


@pytest.mark.parametrize(
    ("flags", "is_said"),
    [
        pytest.param(("--max-cost", "0.50"), True, id="one call is above the limit"),
        pytest.param(("--max-cost", "1"), False, id="one call fits"),
        pytest.param(
            ("--max-cost", "0.50", "--oracle-flag=--max-output=100"), False, id="a shorter answer"
        ),
    ],
)
def test_a_limit_below_one_call_is_said_before_anything_else(
    flags: tuple[str, ...], is_said: bool, project: Project
) -> None:
    notice = "step 01: one call may come to $1.00 (gpt-5.2, up to 1,000 output tokens), above"

    planned = project.start("plan", "pack.md", "--json", *flags).wait()
    ran = project.start("run", "pack.md", "--ci", *flags).wait()

    assert [one for one in planned.envelope["warnings"] if notice in one] == (
        planned.envelope["warnings"][:1] if is_said else []
    )
    kinds = [(one["kind"], one.get("message", "")) for one in map(json.loads, ran.err.splitlines())]
    before = kinds[: [kind for kind, _ in kinds].index("step_started")]
    said = [text for kind, text in before if kind == "warning"]
    assert [notice in text for text in said] == [True] * is_said
    assert all("--oracle-flag=--max-output=N" in text for text in said)


def test_a_pipeline_without_any_answer_verifies_nothing(project: Project) -> None:
    ran = project.start("pipeline", "pack.md", "--ci", "--json", "--max-cost", "0.50").wait()

    stages = {one["stage"]: one["status"] for one in ran.data["stages"]}
    assert (ran.code, stages["verify"], stages["actionize"]) == (7, "skipped", "skipped")


def test_a_step_that_goes_on_after_a_refused_call_is_not_done(project: Project) -> None:
    lines = pack_of("a").rstrip()
    project.write(f"{lines} || true\nmkdir -p out\nprintf '## Direct answer\\nno\\n' > out/a1.md\n")

    ran = project.run("--no-validate", "--max-calls", "0")

    assert ran.code == 7, ran.out
    assert project.statuses() == ["pending"]


@pytest.mark.parametrize(
    ("flags", "code", "statuses"),
    [
        pytest.param(("--ci",), 7, ["pending", "pending", "pending"], id="the policy is not met"),
        pytest.param(("--ci", "--min-completion", "0"), 0, ["pending"] * 3, id="the policy is met"),
        pytest.param(("--keep-going",), 7, ["pending"] * 3, id="every step is tried"),
        pytest.param(("--rollback-on-failure",), 3, ["pending"] * 3, id="rolled back"),
    ],
)
def test_what_the_exit_code_is(
    flags: tuple[str, ...], code: int, statuses: list[str], project: Project
) -> None:
    ran = project.run("--no-validate", "--max-cost", "0", *flags)

    assert ran.code == code, ran.err
    assert project.statuses() == statuses
    assert project.oracle.calls == []


def test_what_the_cache_has_needs_no_budget(project: Project) -> None:
    assert project.run("--no-validate").code == 0

    again = project.run("--no-validate", "--new-run", "--max-cost", "0", "--max-calls", "0")

    assert again.code == 0, again.out
    assert len(project.oracle.calls) == 6


def test_a_rehearsal_reserves_nothing(project: Project) -> None:
    ran = project.run("--no-validate", "--max-cost", "0", "--engine", "rehearsal")

    assert ran.code == 0, ran.out
    assert existing_store() is None
    assert not [one for one in project.journal.events if "Budget" in type(one).__name__]


def test_a_pipeline_that_reaches_its_budget_says_so(project: Project) -> None:
    ran = project.start("pipeline", "pack.md", "--json", "--max-cost", "0").wait()

    assert ran.code == 7
    assert ran.envelope["error"]["code"] == "BUDGET"
    assert "--max-cost of $0.00 has spent $0.00" in ran.envelope["error"]["message"]
    assert {one["stage"]: one["status"] for one in ran.data["stages"]}["run"] == "failed"


def test_a_daily_budget_continues_tomorrow_without_asking_twice(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(project.root)
    for name, value in project.environment.items():
        monkeypatch.setenv(name, value)
    values = {"budget.per_day": call_settings.PER_DAY.kind.read("2"), "validate": False}
    prices = {"prices": call_settings.PRICES.kind.read(PRICE)}
    settings = Settings({**values, **prices}, root=str(project.root))

    def on(day: int, *, hour: int = 10) -> int:
        request = request_for(read_pack(Path("pack.md")), settings, RunArguments())
        return run_pack(request, SteppingClock(datetime(2026, 3, day, hour, tzinfo=UTC))).exit_code

    asked: list[int] = []
    codes = []
    for day, hour in ((1, 10), (1, 12), (2, 10), (1, 23), (3, 10), (3, 11)):
        codes.append(on(day, hour=hour))
        asked.append(len(project.oracle.calls))

    # A clock that was set back finds the budget of that day used up.
    assert codes == [7, 7, 7, 7, 0, 0]
    assert asked == [2, 2, 4, 4, 6, 6]
    assert sorted(project.oracle.prompts) == ["a1?", "a2?", "b1?", "b2?", "c1?", "c2?"]
    ledger = Budget(SqliteDatabase()).ledger()
    assert ledger.reservations == {}
    assert {one.day: one.spent.cost for one in ledger.sums} == {
        f"2026-03-0{day}": 2 for day in (1, 2, 3)
    }


def test_five_processes_share_a_daily_budget(tmp_path: Path, zygote: Zygote) -> None:
    packs = [pack_of(*(f"p{one}s{step}x" for step in range(4))) for one in range(5)]
    projects = [
        a_project(tmp_path, zygote, pack, f"project{number}") for number, pack in enumerate(packs)
    ]
    for project in projects:
        project.variables.update(
            {"ORACLEPACK_PRICES": PRICE, "OPENAI_API_KEY": "k", "ORACLEPACK_BUDGET_PER_DAY": "7.5"}
        )
    flags = ("run", "pack.md", "--json", "--no-validate", "--keep-going", "--max-parallel", "2")

    started = [project.start(*flags) for project in projects]
    codes = [program.wait().code for program in started]

    assert codes == [7] * 5
    assert sum(len(project.oracle.calls) for project in projects) == 7
    ledger = Budget(SqliteDatabase()).ledger()
    assert ledger.reservations == {}
    assert [one.spent.cost for one in ledger.sums] == [7]


def test_a_limit_may_be_lowered_and_raised_between_commands(project: Project) -> None:
    def run(limit: str) -> int:
        return project.run("--no-validate", ORACLEPACK_BUDGET_PER_RUN=limit).code

    def made() -> int:
        return len(project.oracle.calls)

    assert (run("3"), made()) == (7, 3)
    assert (run("1"), made()) == (7, 3)
    assert (run("5.99"), made()) == (7, 5)
    assert (run("none"), made()) == (0, 6)
