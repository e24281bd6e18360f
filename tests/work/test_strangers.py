"""Offline reading on answers in the styles of strangers' models, labelled by hand.

In `strangers.txt` a line that begins with `@W`, `@F` or `@N` begins a thought: work, a defect, or
neither. The figures are a fence against rules that read one style well and lose another.
"""

import re
from pathlib import Path

import pytest

from oraclepack.pack.answer_sections import normalise
from oraclepack.work.backlog import Record
from oraclepack.work.records import actionize
from tests.work.answers import a_pack, a_step

FILE = Path(__file__).with_name("strangers.txt")
CASES = re.split(r"^=== ", FILE.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
HEADING = re.compile(r"(?:\d )?(?:direct|risks|next|missing|if evid|findings)")
PRECISION, RECALL = 0.9, 0.85


def thoughts(case: str) -> list[tuple[str, str]]:
    """The label and the text of each thought."""
    parts = re.split(r"^@([WFN]) ", case.partition("\n")[2], flags=re.MULTILINE)
    return list(zip(parts[1::2], parts[2::2], strict=True))


def records_of(case: str) -> tuple[Record, ...]:
    answer = re.sub(r"^@[WFN] ", "", case.partition("\n")[2], flags=re.MULTILINE)
    return actionize(a_pack(a_step("01", answer))).records


def is_in(text: str, other: str) -> bool:
    """Whether two texts share nearly all words of the shorter one."""
    words, others = set(normalise(text).split()), set(normalise(other).split())
    return len(words & others) >= 0.8 * min(len(words), len(others))


@pytest.mark.parametrize("case", CASES, ids=[case.partition("\n")[0] for case in CASES])
def test_nothing_is_lost(case: str) -> None:
    held = normalise(" ".join(" ".join((*r.actions, *r.notes)) for r in records_of(case)))

    for _, text in thoughts(case):
        for line in re.split(r"\n|(?<=[.:]) |\|", text):
            said = normalise(re.sub(r"^\s*(?:[-*>+]|\d+[.)])\s", "", line))
            assert said in held or HEADING.match(said) or said.isdigit(), line


def test_most_of_what_is_called_work_is_work() -> None:
    right = wrong = covered = work = 0
    for case in CASES:
        said = thoughts(case)
        tasks = [" ".join(r.actions) for r in records_of(case) if r.is_work]
        for task in tasks:
            labels = {label for label, text in said if is_in(task, text)}
            right, wrong = right + bool(labels & {"W", "F"}), wrong + (labels == {"N"})
        for text in (text for label, text in said if label == "W"):
            work += 1
            covered += any(is_in(task, text) for task in tasks)

    assert right / (right + wrong) >= PRECISION
    assert covered / work >= RECALL
