from pathlib import Path

import pytest

from tests.authoring.fixture_repositories import build
from tests.cli.answers import answer


def test_the_pack_goes_to_stdout_and_the_explanation_beside_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = build("cli", tmp_path / "r")

    got = answer(capsys, "generate", "--stdout", "--explain", "--cwd", str(root))

    assert got.code == 0
    assert got.out.startswith("# Oracle pack: tidy\n")
    assert "impact " in got.err
    assert not (root / "docs").exists()


def test_explain_prints_question_evidence_and_score(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = build("library", tmp_path / "r")

    got = answer(capsys, "generate", "--explain", "--count", "2", "--cwd", str(root))

    assert got.code == 0
    assert got.out.count("    ROI ") == 2
    assert got.out.count("impact ") == 2
    assert "docs/oracle-pack-2026-03-09.md: written" in got.out


def test_a_repository_without_evidence_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = build("empty", tmp_path / "r")

    got = answer(capsys, "generate", "--cwd", str(root), "--json")

    assert (got.code, got.envelope["ok"]) == (2, False)
    assert "no pack was written" in got.envelope["error"]["message"]
    assert not (root / "docs").exists()
