"""What a statement is taken for: plain rules, and `said` for all else."""

import pytest

from oraclepack.answers.statements import Statement
from oraclepack.pack.answer_sections import Section
from oraclepack.work.reading import Reading, reading_of

CHANGE, FINDING, SAID = Reading.CHANGE, Reading.FINDING, Reading.SAID


def read(text: str, section: Section = Section.DIRECT_ANSWER, question: str = "") -> Reading:
    return reading_of(Statement(section, text, 1, 1), question)


@pytest.mark.parametrize(
    ("text", "reading"),
    [
        ("Add a lock around `put`.", CHANGE),
        ("**Fix:** close the file when `load` raises.", CHANGE),
        ("1) Rename the flag.", CHANGE),
        ("The importer should skip empty rows.", CHANGE),
        ("The job needs to be idempotent.", CHANGE),
        ("When the queue is full, reject new jobs.", CHANGE),
        ("Do not log the token.", CHANGE),
        ("It reads the whole file. Stream it instead.", CHANGE),
        ("| `src/a.py` | Add a lock around the write |", CHANGE),
        ("Cache keys are hashed.", SAID),
        ("Log lines: two per request.", SAID),
        ("Retries are logged by the worker.", SAID),
        ("The pack must contain one block.", SAID),
        ("The index is stale after an import.", FINDING),
        ("`put` does not check the size.", FINDING),
        ("Errors are silently dropped.", FINDING),
        ("Duplicate funds can trigger incorrect side effects.", FINDING),
        ("✅ Avoids shell injection.", Reading.DONE),
        ("[x] Add a lock.", Reading.DONE),
        ("FIXED: the leak in `put`.", Reading.DONE),
        ("Resolution: the lock is held now.", Reading.DONE),
        ("None.", Reading.NOTHING),
        ("N/A", Reading.NOTHING),
        ("No changes are needed.", Reading.NOTHING),
        ("I am unable to perform this review.", Reading.UNDECIDED),
        ("This cannot be determined from the attached files.", Reading.UNDECIDED),
        ("The attached evidence is insufficient.", Reading.UNDECIDED),
    ],
)
def test_a_direct_statement(text: str, reading: Reading) -> None:
    assert read(text) is reading


@pytest.mark.parametrize(
    ("section", "reading"),
    [
        (Section.RISKS_UNKNOWNS, Reading.RISK),
        (Section.NEXT_EXPERIMENT, Reading.EXPERIMENT),
        (Section.MISSING_EVIDENCE, Reading.EVIDENCE),
    ],
)
def test_the_section_decides_first(section: Section, reading: Reading) -> None:
    assert read("Add the file `src/a.py`.", section) is reading
    assert read("None.", section) is Reading.NOTHING


def test_a_rule_of_the_code_is_advice_where_advice_is_asked_for() -> None:
    text = "Logs must name the step."

    assert read(text) is SAID
    assert read(text, question="Propose a logging plan.") is CHANGE
