"""File names that are not UTF-8: they are shown, recorded and restored like others."""

import os
from pathlib import Path

import pytest

from oraclepack.journal.journal_file import load
from tests.e2e.changing import EDITS, STEP, a_project, contents, run

NAME = os.fsdecode(b"\xff\xfe.md")
ESCAPED_NAME = "\\udcff\\udcfe.md"
IN_BASH = "$'\\xff\\xfe.md'"
OURS = {".oraclepack", "pack.state.json", "pack.report.json"}


def entries(root: Path) -> set[str]:
    return {path.name for path in root.iterdir()} - OURS


def assert_whole_journal(root: Path) -> None:
    (place,) = (root / ".oraclepack").glob("r*/*/journal.jsonl")
    reading = load(place)
    assert (reading.damage, reading.torn) == (None, b"")


@pytest.mark.parametrize("code", [0, 7], ids=["the step goes well", "the step fails"])
def test_a_file_that_a_step_makes_is_recorded_and_taken_back(tmp_path: Path, code: int) -> None:
    root = a_project(tmp_path, STEP, f"printf w >{IN_BASH}; exit {code}\n")
    before = entries(root)

    first = run(root, "run", "pack.md")
    made = entries(root) - before
    again = run(root, "run", "pack.md")
    undone = run(root, "undo", "pack.md", "01")

    assert (first.code, again.code, undone.code) == ((3, 2, 0) if code else (0, 0, 0))
    assert made == {NAME}
    assert first.data["steps"][0]["changed_files"] == undone.data["files"] == [ESCAPED_NAME]
    assert entries(root) == before
    assert_whole_journal(root)


def test_a_file_that_a_step_should_not_have_made_is_reported(tmp_path: Path) -> None:
    asks = f"# 01) ask\noracle -p q --write-output a.md\nprintf w >{IN_BASH}\n"
    root = a_project(tmp_path, asks, "exit 0\n")

    ran = run(root, "run", "pack.md", "--engine", "rehearsal")

    assert ran.code == 0
    assert f"files it does not own changed while it ran: {ESCAPED_NAME}" in ran.err
    assert_whole_journal(root)


def test_no_answer_is_written_into_such_a_directory(tmp_path: Path) -> None:
    step = f"# 01) do\nmkdir {IN_BASH}; cd {IN_BASH}; codex exec 'do it' -o out.md\n"
    root = a_project(tmp_path, step, "echo called >out.md\n")

    ran = run(root, "run", "pack.md")

    assert ran.code == 3
    assert ran.data["steps"][0]["error"] == "OUTPUT_PATH"
    assert not (root / NAME / "out.md").exists()
    assert_whole_journal(root)


def test_a_project_in_such_a_directory_is_watched(tmp_path: Path) -> None:
    root = a_project(tmp_path / NAME, STEP, f"{EDITS}exit 7\n")
    before = contents(root)

    assert run(root, "run", "pack.md").code == 3
    assert contents(root) != before
    assert run(root, "undo", "pack.md", "01").code == 0
    assert contents(root) == before
    assert_whole_journal(root)


def test_below_such_a_directory_outputs_are_still_distinguished_from_other_files(
    tmp_path: Path,
) -> None:
    step = "# 01) do\ncodex exec 'do it' -o out.md\n"
    top = a_project(tmp_path, step, "echo half >out.md; echo w >other.md; exit 7\n")
    root = top / NAME
    root.mkdir()
    (top / "pack.md").rename(root / "pack.md")
    (top / "bin").rename(root / "bin")

    ran = run(root, "run", "pack.md", "--cwd", ".", "--rollback-on-failure")
    again = run(root, "run", "pack.md", "--cwd", ".")
    undone = run(root, "undo", "pack.md", "01", "--cwd", ".")

    assert ran.data["rollback_status"] == "completed"
    assert again.envelope["error"]["code"] == "DIRTY_RERUN"
    assert undone.data["files"] == [f"{ESCAPED_NAME}/other.md"]
    assert_whole_journal(root)
