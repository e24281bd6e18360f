"""What answers were like on this machine: remembered for forecasts, and never in the way."""

from pathlib import Path

from oraclepack.calls.answer_history import (
    AnswerFigures,
    answer_history,
    history_directory,
    note_answer,
    project_mark,
)
from tests.calls.office import Office, ScriptedShim
from tests.calls.test_call_budget import paying


def test_an_answer_is_remembered_for_all_projects_of_the_machine(tmp_path: Path) -> None:
    office = Office(tmp_path)

    assert office.call(ScriptedShim(paying())) == 0

    (figures,) = answer_history(tmp_path / "another").like("gpt-5.2", None)
    assert (figures.output_tokens, figures.project) == (9000, project_mark(office.root))
    assert figures.seconds > 0


def test_only_the_latest_answers_count_and_the_file_stays_small(tmp_path: Path) -> None:
    line = b'{"model":"m","output_tokens":1,"seconds":1.0}\n'
    (tmp_path / "answers.jsonl").write_bytes(line * 9000)

    for tokens in range(2, 200):
        note_answer(AnswerFigures("m", tokens, 2.0), tmp_path)

    figures = answer_history(tmp_path, tmp_path).like("m", None)
    assert len(figures) == 200
    assert figures[-1] == AnswerFigures("m", 199, 2.0)
    assert figures[0] == AnswerFigures("m", 1, 1.0)
    assert (tmp_path / "answers.jsonl").stat().st_size < 400_000


def test_damage_and_trouble_are_no_error(tmp_path: Path) -> None:
    (tmp_path / "answers.jsonl").write_bytes(b'\xff\n{"model":1}\n{"model":"m","output_t')
    assert answer_history(tmp_path, tmp_path).like("m", None) == []
    (tmp_path / "file").touch()
    note_answer(AnswerFigures("m", 1, 1.0), tmp_path / "file")
    assert answer_history(tmp_path, tmp_path / "file").like("m", None) == []
    assert not history_directory().exists()
