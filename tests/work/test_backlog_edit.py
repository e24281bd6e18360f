"""Ticks and notes in a backlog, as a person would write them."""

from pathlib import Path

import pytest

from oraclepack.errors import InputError, NotFoundError
from oraclepack.view.report.write import read_run
from oraclepack.work.backlog_edit import (
    noted_text,
    read_notes,
    tick_task,
    ticked_text,
    write_backlog,
    write_note,
)
from tests.view.example_runs import Plan, a_run

TEXT = """\
# Backlog

<!-- keep: notes -->
<!-- /keep -->

- [ ] `OP3-ab-01-01` First \u2028 task
  - Priority high

  ```sh
  pytest
  ```

- [x] `OP3-ab-01-02` Second task
  - Priority low
"""


def test_a_tick_changes_one_sign() -> None:
    ticked = ticked_text(TEXT, "OP3-ab-01-01", done=True)

    assert ticked == TEXT.replace("- [ ]", "- [x]")
    assert ticked_text(ticked, "OP3-ab-01-01", done=False) == TEXT


def test_a_task_without_a_box_cannot_be_ticked() -> None:
    with pytest.raises(NotFoundError, match="no box for OP3-ab-09-01"):
        ticked_text(TEXT, "OP3-ab-09-01", done=True)


NOTES = [
    pytest.param("notes", "<!-- keep: notes -->\nmine\n<!-- /keep -->", id="the whole backlog"),
    pytest.param(
        "OP3-ab-01-01",
        "  ```\n\n<!-- keep: OP3-ab-01-01 -->\nmine\n<!-- /keep -->\n\n- [x]",
        id="a task, after its own lines",
    ),
    pytest.param(
        "OP3-ab-01-02",
        "low\n<!-- keep: OP3-ab-01-02 -->\nmine\n<!-- /keep -->\n",
        id="the last task",
    ),
]


@pytest.mark.parametrize(("name", "expected"), NOTES)
def test_a_note_is_written_at(name: str, expected: str) -> None:
    noted = noted_text(TEXT, name, "mine\n")

    assert expected in noted
    assert noted_text(noted, name, "mine") == noted
    assert "mine" not in noted_text(noted, name, "")


@pytest.mark.parametrize("note", ["a\n<!-- /keep -->\nb", "<!-- keep: x -->"])
def test_a_note_with_marks_is_refused(note: str) -> None:
    with pytest.raises(InputError, match="marks"):
        noted_text(TEXT, "notes", note)


def test_ticks_and_notes_of_a_run_survive_actionize(tmp_path: Path) -> None:
    run = a_run(tmp_path, Plan(steps=3))
    assert read_notes(run.path) is None

    write_backlog(run.path)
    task = next(one.task_id for one in read_run(str(run.path)).records if one.kind)
    tick_task(run.path, task, done=True)
    notes = write_note(run.path, task, "ask Ann first")
    again = write_backlog(run.path)

    assert notes == again
    assert again.ticked == (task,)
    assert again.notes == {task: "ask Ann first\n"}
