"""`validate` and `list` in this process: every format, for a sound and a faulty pack."""

from pathlib import Path

import jsonschema
import pytest

from oraclepack.core.schemas import schema_of
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


def test_list_tells_the_steps(packs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = answer(capsys, "list", str(packs / "sound.md"))
    data = answer(capsys, "list", "--json", str(packs / "sound.md")).envelope["data"]

    assert told.code == 0
    assert len(told.out.splitlines()) == 21
    assert [step["step_id"] for step in data["steps"]][:2] == ["01", "02"]
    jsonschema.validate(data, schema_of("listing"))
