import json
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

    got = answer(capsys, "generate", "--explain", "--count", "3", "--cwd", str(root))

    assert got.code == 0
    assert got.out.count("    ROI ") == 3
    assert got.out.count("impact ") == 3
    assert "docs/oracle-pack-2026-03-09.md: written" in got.out


def test_a_repository_without_evidence_ends_well_with_a_notice(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = build("empty", tmp_path / "r")

    got = answer(capsys, "generate", "--cwd", str(root), "--json")

    assert (got.code, got.envelope["ok"]) == (0, True)
    assert got.envelope["data"]["path"] == ""
    assert "no pack was written" in got.envelope["warnings"][0]


def test_a_group_of_packs_is_listed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = build("monorepo", tmp_path / "r")

    got = answer(capsys, "generate", "--group", "auto", "--cwd", str(root), "--json")

    data = got.envelope["data"]
    listed = json.loads((root / data["manifest"]).read_text(encoding="utf-8"))
    assert [pack["path"] for pack in listed["packs"]] == [pack["path"] for pack in data["packs"]]
    assert data["manifest"] == "docs/oracle-packs-2026-03-06.json"
    for pack in data["packs"]:
        checked = answer(capsys, "validate", str(root / pack["path"]), "--cwd", str(root))
        assert checked.code == 0
