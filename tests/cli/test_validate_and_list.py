"""`validate` and `list` in this process: every format, for a sound and a faulty pack."""

import os
from pathlib import Path

import jsonschema
import pytest

from oraclepack.view.report.schemas import schema_of
from tests.cli.answers import answer
from tests.packs import pack_text, strict_text

FAULTY = pack_text("# 01) one\noracle -f a.md\n  -p why\n# 03) three\ncat <<'E'\nx\nE\n")


@pytest.fixture
def packs(tmp_path: Path) -> Path:
    (tmp_path / "sound.md").write_text(strict_text(), encoding="utf-8")
    (tmp_path / "faulty.md").write_text(FAULTY, encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize("form", ["text", "json", "sarif", "github"])
@pytest.mark.parametrize(("name", "code"), [("sound.md", 0), ("faulty.md", 2)])
def test_each_format_ends_with_the_same_code(
    packs: Path, capsys: pytest.CaptureFixture[str], form: str, name: str, code: int
) -> None:
    got = answer(
        capsys,
        "validate",
        "--cwd",
        str(packs),
        "--format",
        form,
        "--ignore",
        "OP4",
        f"{packs / name}",
    )

    assert got.code == code
    assert ("OP201" in got.out) == (name == "faulty.md" or form == "sarif")
    assert bool(got.out) == (name == "faulty.md" or form != "github")


@pytest.mark.parametrize("form", ["sarif", "github"])
def test_a_pack_that_cannot_be_read_is_named_beside_the_format(
    packs: Path, capsys: pytest.CaptureFixture[str], form: str
) -> None:
    got = answer(
        capsys, "validate", "--format", form, str(packs / "sound.md"), str(packs / "gone.md")
    )

    assert got.code == 2
    assert "gone.md: no such file" in got.err
    assert "gone.md" not in got.out


@pytest.mark.parametrize("form", ["text", "json", "sarif", "github"])
def test_a_file_name_may_hold_any_bytes(
    packs: Path, capsys: pytest.CaptureFixture[str], form: str
) -> None:
    path = packs / os.fsdecode(b"\xff\n%,:.md")
    path.write_text(FAULTY, encoding="utf-8")

    got = answer(capsys, "validate", "--format", form, str(path))

    assert got.code == 2
    assert "OP201" in got.out


def test_the_place_is_marked_below_wide_characters(
    packs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (packs / "wide.md").write_text(
        pack_text("# 01) one\n\techo 数e\u0301; oracle -p why -f .env\n"), encoding="utf-8"
    )

    lines = answer(capsys, "validate", "--select", "OP404", str(packs / "wide.md")).out.splitlines()

    assert lines[1].endswith("|  echo 数e\u0301; oracle -p why -f .env")
    assert lines[2] == "       | " + " " * len(" echo NNe; oracle -p why -f ") + "^^^^"


def test_of_a_long_line_the_part_that_matters_is_shown(
    packs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (packs / "long.md").write_text(
        pack_text(f"# 01) one\noracle -p '{'x' * 300}' -f .env -m '{'y' * 300}'\n"),
        encoding="utf-8",
    )

    lines = answer(capsys, "validate", "--select", "OP404", str(packs / "long.md")).out.splitlines()

    assert lines[1].startswith("     5 | …xxx")
    assert lines[1].endswith("yyy…")
    assert lines[1][lines[2].index("^") : lines[2].rindex("^") + 1] == ".env"


def test_fix_writes_through_a_symbolic_link(
    packs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (packs / "a.md").write_text("a\n", encoding="utf-8")
    link = packs / "link.md"
    link.symlink_to("faulty.md")

    assert answer(capsys, "validate", "--fix", "--cwd", str(packs), str(link)).code == 0
    assert link.is_symlink()
    assert "oracle -f a.md \\\n" in (packs / "faulty.md").read_text(encoding="utf-8")


def test_an_empty_path_is_not_the_current_directory(
    packs: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(packs)

    got = answer(capsys, "validate", "--fix", "")

    assert got.code == 2
    assert "an empty path names no pack" in got.err
    assert (packs / "faulty.md").read_text(encoding="utf-8") == FAULTY


def test_list_tells_the_steps(packs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    result = answer(capsys, "list", str(packs / "sound.md"))
    data = answer(capsys, "list", "--json", str(packs / "sound.md")).envelope["data"]

    assert result.code == 0
    assert len(result.out.splitlines()) == 21
    assert [step["step_id"] for step in data["steps"]][:2] == ["01", "02"]
    jsonschema.validate(data, schema_of("listing"))


def test_words_in_the_place_of_numbers_are_listed_as_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    step = (
        "# 01) ROI=4.50 a title\n# Impact: High\n# Effort: 2 (days)\n# Category: invariants\ntrue\n"
    )
    (tmp_path / "pack.md").write_text(pack_text(step))

    data = answer(capsys, "list", "--json", str(tmp_path / "pack.md")).envelope["data"]

    jsonschema.validate(data, schema_of("listing"))
    (listed,) = data["steps"]
    assert (listed["roi"], listed["impact"], listed["effort"]) == (4.5, None, 2.0)
    assert listed["attributes"] == {
        "ROI": "4.50",
        "impact": "High",
        "effort": "2",
        "category": "invariants",
    }
