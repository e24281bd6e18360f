"""The verifier on the labelled answers: what it finds, and that the docs say so."""

from pathlib import Path

import pytest

from tests.answers.corpus_reader import Case, cases
from tests.answers.score import fails, fails_or_doubtful, report, score

KINDS = {"good", "headings", "truncated", "echoed", "placeholder", "empty", "language", "chunks"}
PAGE = Path(__file__).parents[2] / "docs/writing-packs.md"
EVERY = cases()


def test_the_corpus_holds_what_it_should() -> None:
    assert len(EVERY) >= 60
    assert {case.kind for case in EVERY} >= KINDS
    assert len({(case.kind, case.name) for case in EVERY}) == len(EVERY)


def test_few_good_answers_fail_and_few_bad_ones_pass() -> None:
    strict = score(fails_or_doubtful, EVERY)

    assert strict.precision >= 0.9
    assert strict.recall >= 0.85


@pytest.mark.parametrize(
    "case", [case for case in EVERY if case.kind in {"good", "headings"}], ids=lambda c: c.name
)
def test_a_doubt_never_falls_on_a_good_answer(case: Case) -> None:
    assert not case.good or fails(case) or not fails_or_doubtful(case)


def test_the_docs_state_the_figures_and_the_mistakes() -> None:
    assert report() in PAGE.read_text(encoding="utf-8")
