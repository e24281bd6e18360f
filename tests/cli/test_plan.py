"""`oraclepack plan`: real rehearsals, cached answers, missing files, both formats."""

from pathlib import Path

import pytest

from tests.e2e.program import oraclepack
from tests.packs import pack_text

STEPS = """\
# 01) first
for part in one two; do
  oracle --engine api -m gpt-5.2 -p "What is $part?" -f src/a.py -f src/b.py \\
    --write-output "out/01-$part.md"
done
# 02) second
oracle --engine api -m gpt-5.5-pro -p "Why?" -f src/a.py --write-output out/02.md
# 03) third
oracle --engine api -m gpt-5.2 -p "Where?" -f src/nothing.py --write-output out/03.md
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "src").mkdir()
    (tmp_path / "src/a.py").write_text("a = 1\n" * 1000)
    (tmp_path / "src/b.py").write_text("b = 2\n" * 1000)
    (tmp_path / "pack.md").write_text(pack_text(STEPS))
    return tmp_path


def test_every_call_is_foreseen_with_its_files_and_cost(project: Path) -> None:
    got = oraclepack(project, "plan", "pack.md", "--no-validate", "--json")

    assert got.code == 0, got.err
    data = got.data
    assert (data["to_ask"], data["refused"], data["unpriced_calls"]) == (3, 1, 0)
    first, second = data["steps"][0]["calls"]
    assert (first["model"], first["files"], first["bytes"]) == ("gpt-5.2", 2, 12_000)
    assert first["output_path"] == "out/01-one.md"
    assert second["fate"] == "ask"
    assert data["steps"][1]["calls"][0]["model"] == "gpt-5.5-pro"
    assert float(data["cost"]["low"]) < float(data["cost"]["likely"]) < float(data["cost"]["high"])
    assert ["src/a.py"] in [one["files"] for one in data["repeated"]]
    assert "src/nothing.py" in data["missing"][0]
    assert not (project / "out").exists()


def test_the_forecast_for_people_and_for_a_pull_request(project: Path) -> None:
    text = oraclepack(project, "plan", "pack.md", "--no-validate").out
    comment = oraclepack(project, "plan", "pack.md", "--no-validate", "--format", "github").out

    assert "3 calls to ask, 1 refused" in text
    assert "assumption: gpt-5.2:" in text
    assert comment.startswith("### Forecast of pack.md\n")
    assert "**3 calls to ask**" in comment
