"""The commands of the ticket road, as people and programs call them."""

from pathlib import Path

import jsonschema
import pytest

from oraclepack.view.report.schemas import schema_of
from tests.cli.answers import answer
from tests.faults import failing
from tests.tickets.tickets import OPTIONS, TWO, put

OUT = OPTIONS.out_dir


@pytest.mark.parametrize("words", [[], ["--check"]], ids=["write", "check"])
def test_the_answer_meets_its_schema(
    words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    put(tmp_path, TWO)

    result = answer(capsys, "ticketify", *words, "--cwd", str(tmp_path), "--json")

    jsonschema.validate(result.envelope["data"], schema_of("ticketify-report"))


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        pytest.param(["ticketify"], 0, "2 tickets of .tickets, 5 actions, 1 done", id="made"),
        pytest.param(["ticketify", "--top-n", "1"], 0, "1 ticket of .tickets", id="one"),
        pytest.param(["ticketify", "--check"], 4, "missing: .oraclepack", id="not made yet"),
        pytest.param(["ticketify", "--top-n", "0"], 2, "0 is not in the range", id="no ticket"),
        pytest.param(["ticketify", "--top-n", "201"], 2, "201 is not in the range", id="too many"),
        pytest.param(["ticketify", "--mode", "magic"], 2, "'magic' is not one of", id="mode"),
        pytest.param(["ticketify", "--report", "check"], 2, "belongs to --check", id="alone"),
        pytest.param(["tickets", "prompt", "select"], 2, "_actions.json is missing", id="too soon"),
        pytest.param(["tickets", "tasks", "found"], 0, "none", id="no tasks"),
        pytest.param(["tickets", "take", "pr", "--agent", "../x"], 2, "is not one of", id="agent"),
        pytest.param(["tickets", "report", "audit"], 2, "manifest.json is missing", id="audit"),
    ],
)
def test_exit_codes(
    words: list[str], code: int, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    put(tmp_path, TWO)

    result = answer(capsys, *words, "--cwd", str(tmp_path))

    assert result.code == code
    assert said in result.out + result.err


def test_a_failed_write_is_exit_code_3_with_the_state_of_the_rollback(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    put(tmp_path, TWO)

    with failing(2, only="rename"):
        result = answer(
            capsys, "ticketify", "--rollback-on-failure", "--cwd", str(tmp_path), "--json"
        )

    assert result.code == 3
    assert result.envelope["error"]["code"] == "PARTIAL_FAILURE"
    assert result.envelope["data"]["failed_step"] == "_actions.json"
    assert result.envelope["data"]["rollback_status"] in {"completed", "failed"}


def test_tasks_of_an_older_prd_are_reported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = put(tmp_path, TWO)
    cwd = ("--cwd", str(root))
    answer(capsys, "ticketify", *cwd)
    tasks = root / ".taskmaster/tasks/tasks.json"
    tasks.parent.mkdir(parents=True)
    tasks.write_text('{"master": {"tasks": [{"id": 1, "title": "T-1"}]}}')
    answer(capsys, "tickets", "tasks", "made", *cwd)
    (root / ".tickets" / "T-1.md").write_text("---\nid: T-1\n---\n- [ ] other\n")
    answer(capsys, "ticketify", *cwd)

    result = answer(capsys, "tickets", "tasks", "kept", *cwd)

    assert result.code == 0
    assert "made of an older PRD" in result.err
