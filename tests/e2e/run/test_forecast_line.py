"""What `run` says of its cost before it starts, and afterwards; what --dry-run knows of calls."""

from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import pytest

from oraclepack.errors import UsageError
from oraclepack.journal import events as j
from oraclepack.journal.journal_file import load
from oraclepack.run.entry_points import run_pack
from oraclepack.settings import call_settings
from oraclepack.settings.registry import Settings
from tests.e2e.run.project import Project, Zygote, a_project

CALL = 'oracle -e api -m gpt-5.2 -f notes.txt -p "{0}?" --write-output out/{0}.md\n'
BASH = f"# 01) two calls\n{CALL.format('a')}{CALL.format('b')}# 02) one call\n{CALL.format('c')}"


@pytest.fixture
def project(tmp_path: Path, zygote: Zygote) -> Project:
    made = a_project(tmp_path, zygote, BASH)
    (made.root / "notes.txt").write_text("notes\n" * 100)
    made.commit()
    made.variables.update({"ORACLEPACK_PRICES": "gpt-5.2=0/1000", "OPENAI_API_KEY": "k"})
    return made


def calls_of(project: Project, *flags: str) -> dict[str, tuple[int, int, int]]:
    data = project.run("--dry-run", *flags).data
    counts = {one["step_id"]: one["expected_calls"] for one in data["steps"]}
    return {
        step: (one["to_ask"], one["cached"], one["adopted"]) for step, one in counts.items() if one
    }


def test_a_line_before_the_run_says_what_it_is_likely_to_cost(project: Project) -> None:
    ran = project.start("run", "pack.md", "--no-tui").wait()

    assert ran.code == 0
    # No past answers: 4,000 output tokens are assumed for each call, from 1,000 to 12,000.
    said = "--  forecast: 3 calls to ask, likely $12.00 ($3.00 to $36.00), by the text of the pack"
    assert said in ran.err
    assert ran.err.index("forecast") < ran.err.index("started")


def test_a_dry_run_says_what_is_cached(project: Project) -> None:
    assert calls_of(project) == {"01": (2, 0, 0), "02": (1, 0, 0)}
    assert project.run().code == 0
    assert calls_of(project) == {}, "nothing is left to run"
    assert calls_of(project, "--new-run") == {"01": (0, 2, 0), "02": (0, 1, 0)}
    assert calls_of(project, "--new-run", "--refresh") == {"01": (2, 0, 0), "02": (1, 0, 0)}
    text = project.start("run", "pack.md", "--dry-run", "--new-run").wait().out
    assert "2 answered before" in text
    assert "forecast: 0 calls to ask, 3 answered before" in text

    (project.root / "notes.txt").write_text("other notes\n")

    assert calls_of(project, "--new-run") == {"01": (2, 0, 0), "02": (1, 0, 0)}


@pytest.mark.parametrize("flag", ["--engine=browser", "--oracle-flag=--model=gpt-5.1"])
def test_another_engine_or_model_is_asked_again_and_forecast_so(
    project: Project, flag: str
) -> None:
    asked, cached = {"01": (2, 0, 0), "02": (1, 0, 0)}, {"01": (0, 2, 0), "02": (0, 1, 0)}
    assert project.run().code == 0
    assert calls_of(project, "--new-run", flag) == asked
    other = project.run("--new-run", flag).data
    assert (other["forecast"]["to_ask"], other["cost"]["calls"]) == (3, 3)
    assert calls_of(project, "--new-run", flag) == cached
    assert calls_of(project, "--new-run") == cached


ASKED, CACHED = {"01": (2, 0, 0), "02": (1, 0, 0)}, {"01": (0, 2, 0), "02": (0, 1, 0)}
OVERRIDE = "--override=02:--model=gpt-5.1"


@pytest.mark.parametrize("flag", [OVERRIDE, "--override=02:--search=off"])
def test_a_step_with_other_flags_is_asked_again_and_forecast_so(
    project: Project, flag: str
) -> None:
    assert project.run().code == 0
    assert calls_of(project, "--new-run", flag) == {**CACHED, "02": (1, 0, 0)}
    planned = project.start("plan", "pack.md", "--json", "--new-run", flag).wait().data
    assert (planned["to_ask"], planned["cached"]) == (1, 2)
    assert calls_of(project, "--new-run") == CACHED
    other = project.run("--new-run", flag).data
    assert (other["forecast"]["to_ask"], other["cost"]["calls"]) == (1, 1)
    assert calls_of(project, "--new-run", flag) == CACHED
    assert calls_of(project, "--new-run") == CACHED


def test_a_flag_for_all_calls_is_asked_again_and_forecast_so(project: Project) -> None:
    flag = "--oracle-flag=--search=off"
    assert project.run().code == 0
    assert calls_of(project, "--new-run", flag) == ASKED
    assert project.run("--new-run", flag).data["cost"]["calls"] == 3
    assert calls_of(project, "--new-run", flag) == CACHED


def test_the_calls_of_a_run_that_went_on_with_another_engine_are_distinguished(
    project: Project,
) -> None:
    assert project.run("--steps=01").code == 0
    assert project.run("--engine=browser").code == 0
    assert (len(project.run_dirs), len(project.oracle.calls)) == (1, 3)

    assert calls_of(project, "--new-run") == {**CACHED, "02": (1, 0, 0)}
    assert calls_of(project, "--new-run", "--engine=browser") == {**ASKED, "02": (0, 1, 0)}


def test_a_plan_with_another_engine_is_no_forecast_without_it(project: Project) -> None:
    assert project.run("--engine=browser").code == 0
    planned = project.start("plan", "pack.md", "--json", "--new-run", "--engine=browser").wait()
    assert planned.data["cached"] == 3

    assert calls_of(project, "--new-run") == ASKED
    assert calls_of(project, "--new-run", "--engine=browser") == CACHED


def test_after_a_run_from_the_cache_other_questions_are_forecast_as_asked(
    project: Project,
) -> None:
    assert project.run().code == 0
    assert project.run("--new-run").data["cost"]["calls"] == 0
    assert calls_of(project, "--new-run") == CACHED
    assert calls_of(project, "--new-run", "--engine=browser") == ASKED

    (project.root / "notes.txt").write_text("other notes\n")

    assert calls_of(project, "--new-run") == ASKED


def test_after_plan_the_line_is_the_figure_of_plan(project: Project) -> None:
    planned = project.start("plan", "pack.md", "--json").wait().data

    ran = project.run()

    forecast = ran.data["forecast"]
    assert planned["cost"] == {name: forecast[name] for name in ("low", "likely", "high")}
    assert (planned["to_ask"], forecast["to_ask"], forecast["unrecorded_steps"]) == (3, 3, [])


def test_the_forecast_stands_beside_the_cost_and_no_call_is_no_forecast(project: Project) -> None:
    assert project.run().code == 0
    again = project.run("--new-run")

    forecast = again.data["forecast"]
    assert (forecast["to_ask"], forecast["cached"], forecast["likely"]) == (0, 3, None)
    events = load(project.run_dirs[-1] / "journal.jsonl").events
    assert [one.cached for one in events if isinstance(one, j.ForecastRecorded)] == [3]
    project.write("# 01) nothing to ask\ntrue\n")
    assert project.run("--no-validate").data["forecast"] is None


@pytest.mark.parametrize(
    ("limit", "answer", "begun", "questions"),
    [
        pytest.param("11.99", False, False, 1, id="above it, and the answer is no"),
        pytest.param("11.99", True, True, 1, id="above it, and the answer is yes"),
        pytest.param("12", False, True, 0, id="not above it"),
        pytest.param("none", False, True, 0, id="never asked"),
        pytest.param("0", None, True, 0, id="no terminal to ask at"),
    ],
)
def test_above_a_sum_the_person_is_asked(
    limit: str,
    answer: bool | None,
    begun: bool,
    questions: int,
    project: Project,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(project.root)
    for name, value in project.environment.items():
        monkeypatch.setenv(name, value)
    own = {
        "prices": call_settings.PRICES.kind.read("gpt-5.2=0/1000"),
        "confirm_above": call_settings.CONFIRM_ABOVE.kind.read(limit),
    }
    asked: list[str] = []

    def ask(question: str, _: Callable[[float], bool]) -> bool:
        asked.append(question)
        return bool(answer)

    settings = Settings(own, root=str(project.root))
    if begun:
        run_pack("pack.md", settings, ask=None if answer is None else ask)
    else:
        with pytest.raises(UsageError, match="not begun"):
            run_pack("pack.md", settings, ask=ask)

    assert len(asked) == questions
    assert (len(project.oracle.calls) == 3) is begun
    assert project.run_dirs == [] or begun
    if asked:
        assert "likely $12.00 ($3.00 to $36.00)" in asked[0]


def test_the_default_asks_above_twenty_dollars() -> None:
    assert call_settings.CONFIRM_ABOVE.default == Decimal(20)
