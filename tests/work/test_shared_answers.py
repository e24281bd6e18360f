"""The figures of the issue on real answers, where those lie beside the checkout."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from oraclepack.work.actionize import ActionizeRequest, actionize_request

SHARED = Path(__file__).parents[3] / "shared"
LEAST = {
    "precision": 0.93,
    "findings": 0.85,
    "recall_work": 0.93,
    "recall_broad": 0.85,
    "verbatim": 1.0,
    "commands": 0.95,
    "patterns_found": 0.93,
    "titles": 0.95,
}

pytestmark = pytest.mark.skipif(
    not (SHARED / "answers").is_dir(), reason="no ../shared/answers beside us"
)


@pytest.mark.parametrize("name", ["csv-0105", "op-0102"])
def test_real_answers_become_work(name: str, tmp_path: Path) -> None:
    answers, pack = SHARED / "answers" / name, SHARED / "answers" / f"{name}.pack.md"
    request = ActionizeRequest(answers=str(answers), pack=str(pack), out_dir=str(tmp_path / "out"))

    actionize_request(request, SHARED)
    scored = subprocess.run(
        [
            sys.executable,
            str(SHARED / "tools/score_answers.py"),
            str(SHARED / "answers" / f"{name}.gold.json"),
            str(answers),
            str(tmp_path / "out/normalized.jsonl"),
            "--json",
        ],
        capture_output=True,
        text=True,
        check=True,
    )

    figures = json.loads(scored.stdout)
    assert {key: figures[key] for key, least in LEAST.items() if figures[key] < least} == {}
    assert figures["patterns_wrong"] <= 5
