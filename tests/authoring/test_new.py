import re
from pathlib import Path

import pytest

from oraclepack.authoring.blank import TEMPLATES
from oraclepack.lint.finding import Severity
from oraclepack.lint.validate import check_pack
from oraclepack.settings.registry import STRICT, Settings
from tests.cli.answers import answer


@pytest.mark.parametrize("template", TEMPLATES)
def test_a_template_lacks_nothing_but_questions(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], template: str
) -> None:
    path = tmp_path / "docs" / "my-pack.md"

    got = answer(capsys, "new", "--template", template, str(path))

    assert got.code == 0
    checked = check_pack(path, Settings())
    asks = {"short": 3, "runbook": 0, "review": 2, "chunked": 1}[template]
    assert [finding.rule for finding in checked.report.findings] == ["OP314"] * asks
    text = path.read_text()
    for question in (
        "Which timer fires twice?",
        "Who may void an invoice?",
        "What is lost by a kill?",
    ):
        text = re.sub("<your question: [^>]*>", question, text, count=1)
    path.write_text(text)
    assert check_pack(path, Settings()).report.findings == ()
    assert checked.pack.text.startswith("# My pack\n")
    assert sum(line.startswith("# ") for line in checked.pack.text.splitlines()) > 3


@pytest.mark.parametrize("words", [["--strict"], ["--template", "single"]], ids=" ".join)
def test_a_strict_template_has_the_metadata_of_a_review(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str]
) -> None:
    answer(capsys, "new", str(tmp_path / "short.md"))
    answer(capsys, "new", *words, str(tmp_path / "review.md"))

    assert "ROI=" not in (tmp_path / "short.md").read_text()
    assert "ROI=" in (tmp_path / "review.md").read_text()


@pytest.mark.parametrize("template", ["review", "chunked"])
def test_a_question_of_a_template_is_strict_but_for_the_count(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], template: str
) -> None:
    path = tmp_path / "pack.md"
    answer(capsys, "new", "--template", template, str(path))

    checked = check_pack(path, Settings(values={STRICT.name: True}))

    errors = [f.rule for f in checked.report.findings if f.severity is Severity.ERROR]
    assert set(errors) == {"OP110", "OP314"}


def test_a_file_is_only_replaced_by_force(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "pack.md"
    path.write_text("mine\n")

    refused = answer(capsys, "new", str(path))
    kept = path.read_text()
    forced = answer(capsys, "new", "--force", str(path))

    assert (refused.code, kept, forced.code) == (2, "mine\n", 0)


def test_a_directory_is_no_pack(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    got = answer(capsys, "new", str(tmp_path))

    assert got.code == 2
    assert "is a directory" in got.err
