"""The figures of the issue on real answers, where those lie beside the checkout."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from oraclepack.work.actionize import ActionizeRequest, actionize_request
from oraclepack.work.backlog import Export

SHARED = Path(__file__).parents[3] / "shared"
LEAST = {
    "precision_all": 0.75,
    "recall_work": 0.8,
    "entailed": 0.95,
    "verbatim": 1.0,
    "titles": 0.95,
    "issue_titles": 0.95,
}
MOST = {"lost": 0, "patterns_wrong": 5, "condensed": 1.0}
FIRST_PAGE = 120

pytestmark = pytest.mark.skipif(
    not (SHARED / "answers").is_dir(), reason="no ../shared/answers beside us"
)


@pytest.mark.parametrize("name", ["csv-0105", "op-0102", "op-0107", "op-0108", "op-0109-chunked"])
def test_real_answers_become_work(name: str, tmp_path: Path) -> None:
    answers, pack = SHARED / "answers" / name, SHARED / "answers" / f"{name}.pack.md"
    out = tmp_path / "out"
    request = ActionizeRequest(
        answers=str(answers), pack=str(pack), out_dir=str(out), exports=(Export.GITHUB,)
    )

    actionize_request(request, SHARED)

    figures = scored(name, answers, out, tmp_path)
    assert {key: figures[key] for key, least in LEAST.items() if figures[key] < least} == {}
    assert {key: figures[key] for key, most in MOST.items() if figures[key] > most} == {}
    first_page, _, _ = (out / "backlog.md").read_text().partition("<details>")
    assert len(first_page.splitlines()) < FIRST_PAGE


def scored(name: str, answers: Path, out: Path, tmp_path: Path) -> dict[str, float]:
    gold = json.loads((SHARED / "answers" / f"{name}.gold.json").read_text())
    if name.endswith("-chunked"):
        # An answer in several files, of which the labels know the first: the others follow it.
        (one,) = gold
        files = sorted(answers.iterdir())
        assert files[0].name == one["file"]
        answers = tmp_path / "whole"
        answers.mkdir()
        (answers / one["file"]).write_text("\n".join(file.read_text() for file in files))
    command = [
        sys.executable,
        str(SHARED / "tools/score_answers.py"),
        str(SHARED / "answers" / f"{name}.gold.json"),
        str(answers),
        str(out / "normalized.jsonl"),
        "--issues",
        str(out / "github-issues.json"),
        "--backlog",
        str(out / "backlog.md"),
        "--json",
    ]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    figures: dict[str, float] = json.loads(run.stdout)
    return figures
