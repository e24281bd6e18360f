"""The sections of real answers, as a person read them, where those answers lie beside us."""

import json
from pathlib import Path

import pytest

from oraclepack.answers.answer_reader import read_answer_text
from oraclepack.pack.answer_sections import Section, sections_present

ANSWERS = Path(__file__).parents[3] / "shared" / "answers"

pytestmark = pytest.mark.skipif(not ANSWERS.is_dir(), reason="no ../shared/answers beside us")


@pytest.mark.parametrize("collection", ["csv-0105", "op-0102"])
def test_verify_and_actionize_find_what_a_person_found(collection: str) -> None:
    gold = json.loads((ANSWERS / f"{collection}.gold.json").read_text(encoding="utf-8"))
    for answer in gold:
        text = (ANSWERS / collection / answer["file"]).read_text(encoding="utf-8")
        there = {Section(name.replace("_", "-")) for name, at in answer["sections"].items() if at}
        read = read_answer_text(text).sections

        assert sections_present(text, require_headings=True) == there, answer["file"]
        assert sections_present(text) == there, answer["file"]
        assert read == there, answer["file"]
