"""An answer that no cache has is not paid for again when a new run of the project begins."""

import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from oraclepack.journal import events as j
from oraclepack.journal.journal_file import load
from oraclepack.journal.line_format import AnyEvent
from tests.e2e.program import Ran
from tests.e2e.run.project import Project, Zygote, a_project
from tests.packs import ANSWER_FORMAT

ANSWER = "out/01-a.md"
KEY = "a shared key of more than thirty-two characters"


def bash(prompt: str = "Why? [[fault=short]]", other: str = "true") -> str:
    question = f"{prompt}\n\n{ANSWER_FORMAT}"
    return (
        f"mkdir -p out\n# 01) ask\noracle --write-output {ANSWER} -p '{question}'\n"
        f"# 02) other\n{other}\n"
    )


def a_held_project(tmp_path: Path, zygote: Zygote) -> Project:
    """Its only answer has no heading for the risks, and was asked for once."""
    project = a_project(tmp_path, zygote, bash())
    assert project.run().code == 3
    assert len(project.oracle.calls) == 1
    return project


def correct(project: Project) -> str:
    file = project.root / ANSWER
    file.write_text(file.read_text().replace("## Worries", "## Risks/unknowns"))
    return file.read_text()


def accept(project: Project) -> Ran:
    words = ("accept", "pack.md", "01", "--reason", "the risks are under Worries", "--json")
    return project.start(*words).wait()


def edited(project: Project) -> Ran:
    """Another step is edited, so the next command begins a new run."""
    project.write(bash(other="echo more"))
    return project.run()


def begun_anew(project: Project) -> Ran:
    return project.run("--new-run")


NEW_RUN = pytest.mark.parametrize(
    "begin",
    [
        pytest.param(edited, id="another step was edited"),
        pytest.param(begun_anew, id="--new-run was given"),
    ],
)
Begin = Callable[[Project], Ran]


def newest(project: Project, ran: Ran) -> tuple[AnyEvent, ...]:
    assert len(project.run_dirs) == 2
    return load(project.root / ran.data["run_dir"] / "journal.jsonl").events


@NEW_RUN
def test_an_answer_that_misses_its_contract_is_held(
    tmp_path: Path, zygote: Zygote, begin: Begin
) -> None:
    project = a_held_project(tmp_path, zygote)
    first, before = project.run_dir.name, (project.root / ANSWER).read_bytes()

    ran = begin(project)

    assert (ran.code, len(project.oracle.calls)) == (3, 1)
    assert (project.root / ANSWER).read_bytes() == before
    (lack,) = ran.data["output_failures"]
    assert (lack["path"], lack["missing_sections"]) == (ANSWER, ["risks-unknowns"])
    assert "pack.md 01 --reason" in ran.envelope["error"]["suggestion"]
    (outcome,) = (one for one in newest(project, ran) if isinstance(one, j.InvocationOutcome))
    assert (outcome.source_run, outcome.unmet_sha256 is not None) == (first, True)
    # The new run knows the ways on by itself.
    assert accept(project).code == 0
    assert (project.run().code, len(project.oracle.calls)) == (0, 1)


@NEW_RUN
def test_an_accepted_answer_stays_accepted(tmp_path: Path, zygote: Zygote, begin: Begin) -> None:
    project = a_held_project(tmp_path, zygote)
    first, before = project.run_dir.name, (project.root / ANSWER).read_bytes()
    assert accept(project).code == 0

    ran = begin(project)

    assert (ran.code, len(project.oracle.calls)) == (0, 1)
    assert (project.root / ANSWER).read_bytes() == before
    (taken,) = (one for one in newest(project, ran) if isinstance(one, j.OutputRevised))
    assert (taken.accepted, taken.source_run) == (True, first)
    assert taken.reason == "the risks are under Worries"
    listed = project.start("list", "pack.md", "--json").wait().data["steps"]
    assert listed[0]["status"] == "accepted"
    checked = project.start("verify-outputs", "pack.md", "--json").wait()
    assert checked.code == 0


@NEW_RUN
@pytest.mark.parametrize("is_recorded", [True, False])
def test_a_corrected_answer_stays_corrected(
    tmp_path: Path, zygote: Zygote, begin: Begin, *, is_recorded: bool
) -> None:
    project = a_held_project(tmp_path, zygote)
    text = correct(project)
    if is_recorded:
        assert project.run().code == 0
        (project.root / ANSWER).unlink()

    ran = begin(project)

    assert (ran.code, len(project.oracle.calls)) == (0, 1)
    assert (project.root / ANSWER).read_text() == text


def test_it_holds_from_run_to_run(tmp_path: Path, zygote: Zygote) -> None:
    project = a_held_project(tmp_path, zygote)
    assert accept(project).code == 0

    codes = [project.run("--new-run").code for _ in range(3)]

    assert (codes, len(project.oracle.calls)) == ([0, 0, 0], 1)


@pytest.mark.parametrize("args", [["--refresh"], ["--cache=false"]])
def test_a_new_answer_is_asked_for_where_the_user_wants_one(
    tmp_path: Path, zygote: Zygote, args: list[str]
) -> None:
    project = a_held_project(tmp_path, zygote)

    ran = project.run("--new-run", *args)

    assert (ran.code, len(project.oracle.calls)) == (3, 2)


def test_a_foreign_run_holds_nothing(tmp_path: Path, zygote: Zygote) -> None:
    project = a_project(tmp_path, zygote, bash())
    assert project.run(ORACLEPACK_TRUST_KEY=KEY).code == 3

    refused = edited(project)
    ran = project.run("--existing", "replace")

    assert refused.envelope["error"]["code"] == "EXISTING_ANSWERS"
    assert (ran.code, len(project.oracle.calls)) == (3, 2)


def test_what_another_question_put_there_is_not_the_answer(tmp_path: Path, zygote: Zygote) -> None:
    project = a_held_project(tmp_path, zygote)
    short = (project.root / ANSWER).read_bytes()
    project.write(bash("Why else?"))
    assert project.run().code == 0
    assert (project.root / ANSWER).read_bytes() != short

    ran = edited(project)

    assert (ran.code, len(project.oracle.calls)) == (3, 2)
    assert (project.root / ANSWER).read_bytes() == short


@pytest.mark.parametrize("number", range(40, 112, 4))
def test_a_kill_while_an_accepted_answer_is_taken_over_costs_nothing(
    tmp_path: Path, zygote: Zygote, number: int
) -> None:
    project = a_held_project(tmp_path, zygote)
    assert accept(project).code == 0
    project.write(bash(other="echo more"))
    killed = project.run(fault={"notes": str(tmp_path / "notes"), "kill": number})
    assert killed.code == -signal.SIGKILL

    ran = project.run()

    assert (ran.code, len(project.oracle.calls)) == (0, 1)
    listed = project.start("list", "pack.md", "--json").wait().data["steps"]
    assert listed[0]["status"] == "accepted"


def forecast(project: Project, *flags: str) -> tuple[tuple[int, int], tuple[int, int]]:
    """What `plan` and the line of `run` say: calls to ask, and those that need not be asked."""
    planned = project.start("plan", "pack.md", "--json", *flags).wait().data
    line = project.run("--dry-run", *flags).data["forecast"]
    return (planned["to_ask"], planned["cached"]), (line["to_ask"], line["cached"])


def nothing(_: Project) -> None:
    """The answer stays as it is: it misses its contract, and is not asked for again."""


@pytest.mark.parametrize("then", [accept, correct, nothing])
def test_the_forecast_does_not_count_it_as_to_ask(
    tmp_path: Path, zygote: Zygote, then: Callable[[Project], object]
) -> None:
    project = a_held_project(tmp_path, zygote)
    then(project)
    asks = "oracle --write-output out/02-b.md -p 'What else?'"
    project.write(bash(other=asks))

    assert forecast(project) == ((1, 1), (1, 1))
    assert forecast(project, "--refresh") == ((2, 0), (2, 0))
    assert forecast(project, "--cache=false") == ((2, 0), (2, 0))
    assert (project.root / ANSWER).is_file()
    project.run("--keep-going")
    assert len(project.oracle.calls) == 2, "one was asked, as the forecast said"
    assert forecast(project, "--new-run") == ((0, 2), (0, 2))


def test_the_forecast_counts_a_changed_question_as_to_ask(tmp_path: Path, zygote: Zygote) -> None:
    project = a_project(tmp_path, zygote, bash().replace("oracle ", "oracle -f notes.txt "))
    (project.root / "notes.txt").write_text("notes\n")
    assert (project.run().code, len(project.oracle.calls)) == (3, 1)
    assert accept(project).code == 0
    assert project.run("--new-run").code == 0, "this run has no call of its own"
    line = project.run("--dry-run", "--new-run").data["forecast"]
    assert (line["to_ask"], line["cached"]) == (0, 1)

    (project.root / "notes.txt").write_text("other notes\n")

    line = project.run("--dry-run", "--new-run").data["forecast"]
    assert (line["to_ask"], line["cached"]) == (1, 0)
    assert forecast(project, "--new-run") == ((1, 0), (1, 0))
