"""What answers were like on this machine: remembered for forecasts, and never in the way."""

from pathlib import Path

from oraclepack.store.history import AnswerFigures, answer_history, note_answer, project_mark
from oraclepack.store.sqlite import SqliteDatabase, existing_store
from tests.calls.office import Office, ScriptedShim
from tests.calls.test_call_budget import paying


def test_an_answer_is_remembered_for_all_projects_of_the_machine(tmp_path: Path) -> None:
    office = Office(tmp_path)

    assert office.call(ScriptedShim(paying())) == 0

    database = SqliteDatabase(office.state)
    (figures,) = answer_history(tmp_path / "another", database).like("gpt-5.2", None)
    assert (figures.output_tokens, figures.project) == (9000, project_mark(office.root))
    assert figures.seconds > 0


def test_only_the_latest_answers_of_a_model_are_kept(tmp_path: Path) -> None:
    database = SqliteDatabase(tmp_path)
    note_answer(database, AnswerFigures("other", 1, 1.0))
    for tokens in range(1100):
        note_answer(database, AnswerFigures("m", tokens, 2.0))

    history = answer_history(tmp_path, database)
    assert [one.output_tokens for one in history.like("m", None)] == list(range(900, 1100))
    assert len(history.like("other", None)) == 1
    assert database.rows("select count(*) from answer_figures") == [(1001,)]


def test_the_history_of_0_2_goes_on(tmp_path: Path) -> None:
    folder = tmp_path / "history"
    folder.mkdir()
    line = b'{"model":"m","output_tokens":7,"seconds":1.5}\n'
    (folder / "answers.jsonl").write_bytes(line + b'\xff\n{"model":1}\n{"model":"m","output_t')

    figures = answer_history(tmp_path, SqliteDatabase(tmp_path)).like("m", None)

    assert figures == [AnswerFigures("m", 7, 1.5)]


def test_damage_and_trouble_are_no_error(tmp_path: Path) -> None:
    (tmp_path / "store.db").write_bytes(b"{}")
    note_answer(SqliteDatabase(tmp_path), AnswerFigures("m", 1, 1.0))
    assert answer_history(tmp_path, SqliteDatabase(tmp_path)).like("m", None) == []
    assert answer_history(tmp_path, existing_store()).like("m", None) == []
    assert existing_store() is None, "who only reads makes no store"
