"""Answers in a plain directory, made without oraclepack."""

from pathlib import Path

import msgspec
import pytest

from oraclepack.errors import InputError
from oraclepack.work.actionize import ActionizeRequest, actionize_request
from tests.work.answers import direct
from tests.work.project import FIX, Project, a_question, by_hand


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path, "".join(map(a_question, (1, 2, 3))))


def test_answers_made_by_hand_need_only_their_pack(project: Project) -> None:
    request = by_hand(project, s01_any_name=FIX, s02=direct("Add a lock."), s44_x="?")

    done = actionize_request(request, project.root)

    assert [r.status.value for r in done.work.records] == ["actionable", "actionable", "blocked"]
    assert done.work.records[0].evidence.citations[0].state == "verified"
    assert done.report.pack_id is None
    assert done.warnings == ("44-x.md belongs to no step of the pack and was left out",)


def test_an_out_dir_is_used(project: Project, tmp_path: Path) -> None:
    request = msgspec.structs.replace(by_hand(project, s01=FIX), out_dir=str(tmp_path / "x/y"))

    actionize_request(request, project.root)

    assert (tmp_path / "x/y/backlog.md").exists()


def test_a_persons_text_survives_in_any_encoding(project: Project) -> None:
    request = by_hand(project, s01=FIX)
    actionize_request(request, project.root)
    backlog = Path(request.answers) / "actionizer/backlog.md"
    begin = b"<!-- keep: notes -->\n"
    mine = backlog.read_bytes().replace(begin, begin + b"Gr\xfc\xdfe\n")
    backlog.write_bytes(mine)

    actionize_request(request, project.root)

    assert backlog.read_bytes() == mine


def test_a_directory_without_answers_is_refused(project: Project) -> None:
    with pytest.raises(InputError, match="no answers here"):
        actionize_request(by_hand(project, sreadme="x"), project.root)


def test_a_pack_without_steps_is_refused(tmp_path: Path) -> None:
    project = Project(tmp_path, "true\n")

    with pytest.raises(InputError, match="no steps"):
        actionize_request(by_hand(project, s01=FIX), project.root)


def test_a_directory_that_is_not_there_is_refused(project: Project) -> None:
    request = ActionizeRequest(
        answers=str(project.root / "nope"), pack=str(project.root / "pack.md")
    )

    with pytest.raises(InputError, match="cannot be read"):
        actionize_request(request, project.root)
