"""The examples are what they claim to be."""

import re
import subprocess
import sys
from html import escape
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from tests.e2e.program import oraclepack
from tests.picture import PICTURE, picture

ROOT = Path(__file__).parent.parent.parent
PACKS = sorted((ROOT / "examples").glob("*.md"))


@pytest.mark.parametrize("pack", PACKS, ids=lambda pack: pack.name)
def test_an_example_is_valid(pack: Path) -> None:
    ran = oraclepack(ROOT, "validate", "--json", f"examples/{pack.name}")

    missing = [one for one in ran.data["findings"] if one["rule"].startswith(("OP2", "OP4", "OP5"))]
    assert (ran.code, missing) == (0, [])


def test_the_review_meets_every_strict_demand() -> None:
    ran = oraclepack(ROOT, "validate", "--strict", "--json", "examples/codebase-review.md")

    assert (ran.code, ran.data["findings"]) == (0, [])
    assert ran.data["counts"]["oracle_questions"] == 20


def test_the_backlog_of_work_lines_is_what_actionize_writes(tmp_path: Path) -> None:
    folder = ROOT / "examples/work-lines"

    made = oraclepack(
        folder,
        *("actionize", "--answers", "answers", "--pack", "pack.md", "--cwd", "."),
        *("--out-dir", str(tmp_path), "--json"),
    )

    assert made.code == 0
    assert (tmp_path / "backlog.md").read_bytes() == (folder / "backlog.md").read_bytes()


def test_the_demo_runs(tmp_path: Path) -> None:
    bin_dir = Path(sys.executable).parent
    done = subprocess.run(
        ["bash", "-c", 'PATH="$1:$PATH" bash examples/demo.sh "$2"', "demo", bin_dir, tmp_path],
        cwd=ROOT,
        capture_output=True,
        check=False,
        timeout=120,
    )

    output = done.stdout.decode()
    assert (done.returncode, done.stderr) == (0, b"")
    assert "20 steps, 20 questions, 20 oracle calls: ok" in output
    assert "broken.md:15:3 OP201 error" in output
    assert "changed: 1 fix written to broken.md" in output
    assert "20 ok (" in output
    assert "actionize  ok       5 actionable" in output
    assert "4 calls of unknown cost" in output
    assert "\n5. `OP3-" in output
    shown = re.findall(r"^the .+: (/.+)$", output, re.MULTILINE)
    assert [Path(one).name for one in shown] == ["backlog.md", "report.html"]
    assert all(Path(one).is_file() for one in shown)
    assert picture(output) == picture(output)


def test_the_picture_shows_the_demo_of_today() -> None:
    script = (ROOT / "examples/demo.sh").read_text(encoding="utf-8")
    drawn = PICTURE.read_text(encoding="utf-8")

    said = [f"== {words}" for words in re.findall(r'^say "(.+)"$', script, re.MULTILINE)]
    assert len(said) == 7
    assert all(escape(words).replace(" ", "&#160;") in drawn for words in said), (
        "run `make picture`"
    )


def test_the_picture_fetches_nothing() -> None:
    drawn = ET.fromstring(PICTURE.read_bytes())

    assert not re.search(r"url\((?!#)|href", ET.tostring(drawn, encoding="unicode"))
