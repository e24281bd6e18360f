"""What went wrong once: packs that were misread, took too long or broke something."""

import re
import shutil
import sys
from pathlib import Path

import pytest

from tests.fuzz.differential import differences
from tests.fuzz.packs import use, validate
from tests.fuzz.scripts import Written

CORPUS = Path(__file__).parent / "corpus"
CALLS = sorted((CORPUS / "calls").glob("*.md"))
_STEPS = re.compile(r"^Steps: (.*)$", re.MULTILINE)
_MARK = re.compile(r"\bs(\d\d)-[a-z]\b")

PACKS = [
    ("cut-in-a-block", 1, 1, "OP104"),
    ("deep-nesting", 1, 0, None),
    ("digits-of-other-scripts", 1, 1, "OP302"),
    ("doubling-functions", 1, 500, None),
    ("doubling-variable", 1, 1, None),
    ("quoted-block", 1, 1, "OP104"),
]
"""Each with its steps, its calls, and the rule that must speak up."""


@pytest.mark.parametrize("file", CALLS, ids=lambda file: file.stem)
def test_what_was_misread_is_read_as_bash_runs_it(file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    steps = _STEPS.search(text)
    assert steps is not None
    placed = {found[0]: found[1] for found in _MARK.finditer(text)}

    assert differences(Written(text, tuple(steps[1].split()), placed)) == []


@pytest.mark.parametrize(("name", "steps", "calls", "rule"), PACKS, ids=[row[0] for row in PACKS])
def test_what_broke_the_judge_is_judged(
    name: str,
    steps: int,
    calls: int,
    rule: str | None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "executable", "/nowhere/python")  # shellcheck would take the most time
    file = Path(shutil.copy(CORPUS / "packs" / f"{name}.md", tmp_path))
    checked = validate(file)

    assert checked is not None
    pack = checked.pack
    assert (len(pack.steps), sum(len(step.calls) for step in pack.steps)) == (steps, calls)
    assert rule is None or rule in {finding.rule for finding in checked.report.findings}
    use(file, checked)


def test_every_pack_of_the_corpus_is_judged() -> None:
    assert sorted(path.stem for path in (CORPUS / "packs").iterdir()) == sorted(
        row[0] for row in PACKS
    )
