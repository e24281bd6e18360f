"""`oraclepack actionize`, through the boundary, and the page that tells its figures."""

import json
from pathlib import Path

import jsonschema
import pytest

from oraclepack.view.report.schemas import schema_of
from oraclepack.work.compare import Relation
from tests.cli.answers import answer
from tests.events import write_journal
from tests.packs import strict_text
from tests.work import score
from tests.work.answers import direct
from tests.work.project import FIX, Project, a_question

PAGE = Path(__file__).parent.parent.parent / "docs" / "actionizer.md"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "pack.md").write_text(strict_text(), encoding="utf-8")
    (tmp_path / "answers").mkdir()
    text = direct("Add a lock to `f`.", "Fix `src/shop/api.py:3`.")
    (tmp_path / "answers/01-public-contract.md").write_text(text, encoding="utf-8")
    return tmp_path


def test_the_figures_are_shown(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    args = ("actionize", "--answers", str(folder / "answers"), "--pack", str(folder / "pack.md"))

    got = answer(capsys, *args, "--export", "github,taskmaster", "--json")

    assert (got.code, got.err) == (0, "")
    jsonschema.validate(got.envelope["data"], schema_of("actionize-report"))
    assert got.envelope["data"]["tasks"] == {
        "actionable": 2,
        "blocked": 19,
        "conflict": 0,
        "noop": 0,
    }
    assert len(got.envelope["data"]["artifacts"]) == 5


YIELDS = [
    pytest.param([], 0, None, id="no policy"),
    pytest.param(["--ci"], 0, True, id="nothing demanded"),
    pytest.param(["--ci", "--min-yield", "2"], 0, True, id="just enough"),
    pytest.param(["--ci", "--min-yield", "2.5"], 5, False, id="too little"),
    pytest.param(["--min-yield", "2.5"], 0, False, id="a threshold without --ci"),
    pytest.param(["--non-interactive", "--json-log"], 0, None, id="flags that decide nothing"),
]


@pytest.mark.parametrize(("flags", "code", "met"), YIELDS)
def test_the_policy_of_ci_decides_about_the_exit_code(
    capsys: pytest.CaptureFixture[str],
    folder: Path,
    flags: list[str],
    code: int,
    met: bool | None,
) -> None:
    args = ("actionize", "--answers", str(folder / "answers"), "--pack", str(folder / "pack.md"))

    got = answer(capsys, *args, *flags, "--json")

    assert got.code == code
    assert (folder / "answers/actionizer/backlog.md").is_file()
    policy = got.envelope["data"]["policy"]
    assert policy["applies"] is ("--ci" in flags)
    assert met is None or policy["met"] is met
    error = got.envelope["error"]
    assert (error or {}).get("code") == ("POLICY" if code else None)
    if code:
        assert (
            "yield 2.00 (2 actionable from 1 answered) is below --min-yield 2.5" in error["message"]
        )


def test_a_threshold_without_ci_is_pointed_out(
    capsys: pytest.CaptureFixture[str], folder: Path
) -> None:
    args = ("actionize", "--answers", str(folder / "answers"), "--pack", str(folder / "pack.md"))

    assert "--min-yield decides nothing without --ci" in answer(capsys, *args, "--min-yield=1").err
    assert "not met  yield 2.00 of 3" in answer(capsys, *args, "--ci", "--min-yield=3").out


@pytest.mark.parametrize("flag", ["--ci", "--json-log"])
def test_the_log_has_a_line_for_each_file_and_one_for_the_figures(
    capsys: pytest.CaptureFixture[str], folder: Path, flag: str
) -> None:
    args = ("actionize", "--answers", str(folder / "answers"), "--pack", str(folder / "pack.md"))

    got = answer(capsys, *args, flag)

    lines = [json.loads(line) for line in got.err.splitlines()]
    assert [line["kind"] for line in lines] == ["artifact"] * 3 + ["actionized"]
    assert {line["path"] for line in lines[:3]} == {
        "normalized.jsonl",
        "backlog.md",
        "change-plan.md",
    }
    assert (lines[-1]["answered"], lines[-1]["policy"]["met"]) == (1, True)


def test_people_see_what_was_written(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    args = ("actionize", "--answers", str(folder / "answers"), "--pack", str(folder / "pack.md"))

    got = answer(capsys, *args)

    assert got.out.startswith("1 of 20 answers: 2 actionable, 19 blocked")
    assert f"\n{folder}/answers/actionizer/backlog.md written\n" in got.out


def test_paths_are_relative_to_the_current_directory(
    capsys: pytest.CaptureFixture[str], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    args = ("actionize", "--answers", str(folder / "answers"), "--pack", str(folder / "pack.md"))
    monkeypatch.chdir(folder)

    got = answer(capsys, *args, "--ci", "--min-yield=3")

    assert "\nanswers/actionizer/backlog.md written\n" in got.out
    assert "is listed in answers/actionizer/backlog.md" in got.err
    (folder / "elsewhere").mkdir()
    monkeypatch.chdir(folder / "elsewhere")
    assert f"\n{folder}/answers/actionizer/backlog.md unchanged\n" in answer(capsys, *args).out


@pytest.mark.parametrize(
    ("args", "word"),
    [
        pytest.param(["--run-dir", ".", "--export", "githb"], "did you mean github", id="export"),
        pytest.param([], "--run-dir", id="no run in the project"),
    ],
)
def test_wrong_usage(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, args: list[str], word: str
) -> None:
    got = answer(capsys, "actionize", *args, "--cwd", str(tmp_path))

    assert got.code == 2
    assert word in got.err


def test_the_newest_run_is_meant(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    project = Project(tmp_path, a_question(1))
    project.answer("01", FIX)
    write_journal(project.run, *project.events)
    (tmp_path / ".oraclepack/runs/2026-04-01__abc1234__55555555").mkdir()  # holds nothing

    got = answer(capsys, "actionize", "--cwd", str(tmp_path))

    assert (got.code, got.err) == (0, "next: oraclepack report\n")
    assert (project.run / "actionizer/backlog.md").is_file()


def test_the_page_tells_the_figures_of_the_labelled_pairs(
    capsys: pytest.CaptureFixture[str],
) -> None:
    judged = [(pair, pair.found) for pair in score.pairs()]
    page = PAGE.read_text(encoding="utf-8")

    assert len(judged) >= 150
    for relation in (Relation.DUPLICATE, Relation.CONFLICT):
        assert str(score.figures(relation, judged)) in page

    assert score.main() == 0
    assert capsys.readouterr().out.startswith(f"{len(judged)} pairs\n")
