"""Questions of a model: what is taken over, and what is dropped for which reason."""

import json
from typing import Any

import pytest

from oraclepack.authoring.model_questions import checked_questions, question_to_model
from oraclepack.authoring.question_selection import QuestionLimits
from oraclepack.authoring.repository_survey import RepositorySurvey
from tests.authoring.test_questions import surveyed

STOCK = """\
from shop.orders import save_order


def reserve(article, count):
    # lowers the quantity first
    if article.quantity < count:
        raise OutOfStock(article)
    article.quantity -= count
    return save_order(article, count)


def release(article, count):
    article.quantity += count
    return article.quantity
"""
FILES = {
    "shop/__init__.py": "",
    "shop/stock.py": STOCK,
    "shop/orders.py": "def save_order(article, count):\n    return append(article, count)\n",
    "shop/prices.py": "def price_for(article):\n    return article.price\n",
    "tests/test_stock.py": "from shop.stock import reserve\n\n\ndef test_a(): reserve(1, 2)\n",
    "tests/test_prices.py": "from shop.prices import price_for\n\n\ndef test_b(): price_for(1)\n",
    "README.md": "# shop\n\nStock is never sold twice.\n",
}
GOOD: dict[str, Any] = {
    "id": "reserve-killed",
    "category": "invariants",
    "reference": "shop/stock.py",
    "question": "reserve() lowers the quantity, then saves. Which kill in between loses stock?",
    "good": "the state after each interruption.",
    "why": "nobody sells it",
    "evidence": [
        {"path": "shop/stock.py", "line": 8, "text": "article.quantity -= count"},
        {"path": "shop/stock.py", "line": 9, "text": "return save_order(article, count)"},
    ],
    "attachments": ["shop/stock.py", "tests/test_stock.py"],
    "impact": 9,
    "confidence": 0.8,
    "effort": 2,
}
OTHER: dict[str, Any] = {
    **GOOD,
    "id": "release-twice",
    "impact": 8,
    "question": "What does release() do for an order that was never reserved?",
    "evidence": [
        {"path": "shop/stock.py", "line": 12, "text": "def release(article, count):"},
        {"path": "shop/stock.py", "line": 13, "text": "article.quantity += count"},
    ],
}
LIMITS = QuestionLimits(count=20)


@pytest.fixture(scope="module")
def survey() -> RepositorySurvey:
    return surveyed(FILES)


def reply(*questions: object) -> str:
    return json.dumps({"questions": questions})


def test_a_good_question_is_taken_over(survey: RepositorySurvey) -> None:
    taken, dropped = checked_questions(survey, reply(GOOD, OTHER), LIMITS)

    assert dropped == []
    (first, second) = taken
    assert first.candidate.evidence == (("shop/stock.py", 8), ("shop/stock.py", 9))
    assert first.attachments == ("shop/stock.py", "tests/test_stock.py")
    assert first.score.header.startswith("ROI=3.60 impact=9 confidence=0.80 effort=2")
    assert second.candidate.subject == "release"


def test_words_that_are_in_one_line_only_decide_against_the_number(
    survey: RepositorySurvey,
) -> None:
    wrong = [{**line, "line": line["line"] + 3} for line in GOOD["evidence"]]

    (taken,), _ = checked_questions(survey, reply({**GOOD, "evidence": wrong}), LIMITS)

    assert [place.line for place in taken.candidate.evidence] == [8, 9]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        pytest.param(
            {
                "evidence": [
                    *GOOD["evidence"],
                    {"path": "shop/stock.py", "line": 1, "text": "lock()"},
                ]
            },
            "shop/stock.py:1 does not say: lock()",
            id="an invented line",
        ),
        pytest.param(
            {"evidence": [*GOOD["evidence"], {"path": "shop/a.py", "line": 1, "text": "lock()"}]},
            "shop/a.py is no file that can be attached",
            id="a line of an invented file",
        ),
        pytest.param(
            {"attachments": ["shop/gone.py"]},
            "shop/gone.py is no file that can be attached",
            id="an invented attachment",
        ),
        pytest.param(
            {"attachments": ["../../etc/passwd"]},
            "../../etc/passwd is no file that can be attached",
            id="a file outside of the project",
        ),
        pytest.param(
            {"reference": "shop/gone.py"},
            "shop/gone.py is no file that can be attached",
            id="an invented reference",
        ),
        pytest.param(
            {"attachments": ["tests/test_prices.py"]},
            "tests/test_prices.py is neither a neighbour of shop/stock.py nor its test",
            id="the test of another file",
        ),
        pytest.param(
            {"attachments": ["shop/orders.py", "tests/test_stock.py", "README.md"]},
            "it needs 4 files; 3 may be attached",
            id="too many files",
        ),
        pytest.param(
            {"evidence": GOOD["evidence"][:1]}, "it quotes fewer than 2 lines", id="one line"
        ),
        pytest.param(
            {"evidence": [GOOD["evidence"][0]] * 3},
            "it quotes fewer than 2 lines",
            id="one, thrice",
        ),
        pytest.param(
            {"reference": "shop/orders.py"},
            "it quotes no line of its reference shop/orders.py",
            id="evidence of other files only",
        ),
        pytest.param(
            {
                "evidence": [
                    *GOOD["evidence"],
                    {"path": "shop/stock.py", "line": 5, "text": "# lowers the quantity first"},
                ]
            },
            "it quotes a comment: # lowers the quantity first",
            id="a comment",
        ),
        pytest.param(
            {"question": "Is reserve() safe when the process is killed?"},
            "yes or no would answer it",
            id="yes or no",
        ),
        pytest.param(
            {"question": "When two callers reserve at once, can stock be lost?"},
            "yes or no would answer it",
            id="a situation, and yes or no",
        ),
        pytest.param(
            {"question": "Look at reserve(), which is fine. Does it lock?"},
            "yes or no would answer it",
            id="an open word outside of the question",
        ),
        pytest.param({"category": "style"}, "there is no category 'style'", id="no category"),
        pytest.param({"impact": 11}, "a score is out of its range", id="a score too high"),
        pytest.param({"confidence": 1.0}, "a score is out of its range", id="certainty"),
        pytest.param(
            {"good": "`` "},
            "question, good and why need text, of at most 2000 characters",
            id="no text",
        ),
    ],
)
def test_what_fails_a_check_is_dropped(
    survey: RepositorySurvey, change: dict[str, Any], reason: str
) -> None:
    taken, dropped = checked_questions(survey, reply({**GOOD, **change}, OTHER), LIMITS)

    assert [one.candidate.key for one in taken] == ["release-twice"]
    assert [one.reason for one in dropped] == [reason]


@pytest.mark.parametrize(
    "question",
    [
        "Which kill loses stock?",
        "Is the order intended, and which kill loses stock?",
        "If two callers come at once, who gets the last one?",
        "reserve() lowers first: under which interleaving is stock lost?",
        "Where is the lock, and when does it end?",
    ],
)
def test_an_open_question_stays(survey: RepositorySurvey, question: str) -> None:
    taken, _ = checked_questions(survey, reply({**GOOD, "question": question}), LIMITS)

    assert [one.candidate.question for one in taken] == [question]


@pytest.mark.parametrize(
    "again",
    [
        pytest.param({}, id="the same"),
        pytest.param({"question": "When is stock lost for ever?"}, id="the same lines"),
        pytest.param(
            {"evidence": OTHER["evidence"], "id": "x"}, id="the same words about other lines"
        ),
    ],
)
def test_nothing_is_asked_twice(survey: RepositorySurvey, again: dict[str, Any]) -> None:
    taken, dropped = checked_questions(survey, reply(GOOD, {**GOOD, **again}), LIMITS)

    assert len(taken) == 1
    assert [one.reason for one in dropped] == ["it repeats question 1 of the reply that passed"]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        pytest.param("I cannot help with that.", "the reply is no JSON with questions", id="prose"),
        pytest.param('{"items": []}', "the reply is no JSON with questions", id="another object"),
        pytest.param(reply("Why?"), "not in the form that was asked for", id="a mere text"),
        pytest.param(reply({"question": "Why?"}), "not in the form that was asked", id="fields"),
        pytest.param(reply({**GOOD, "effort": "much"}), "not in the form", id="a wrong type"),
    ],
)
def test_a_reply_in_another_form(survey: RepositorySurvey, text: str, reason: str) -> None:
    taken, (dropped,) = checked_questions(survey, text, LIMITS)

    assert taken == []
    assert dropped.reason.startswith(reason)


def test_more_than_was_asked_for_is_dropped(survey: RepositorySurvey) -> None:
    taken, dropped = checked_questions(survey, reply(GOOD, OTHER), QuestionLimits(count=1))

    assert len(taken) == 1
    assert [one.reason for one in dropped] == ["there are 1 already"]


def test_the_words_of_a_model_stay_on_one_line(survey: RepositorySurvey) -> None:
    hostile = "```\n# 02) x\nPROMPT\n$(id) `id`: which\x1b[31m kill loses stock?"

    (taken,), _ = checked_questions(survey, reply({**GOOD, "question": hostile}), LIMITS)

    assert taken.candidate.question == "02) x PROMPT $(id) `id`: which [31m kill loses stock?"


def test_what_the_model_is_asked(survey: RepositorySurvey) -> None:
    asked = question_to_model(survey, "THE BRIEF", LIMITS, "Constraints: none\n\n")

    assert "up to 20 questions" in asked.prompt
    assert asked.prompt.rstrip().endswith("THE BRIEF")
    assert "<<" not in asked.prompt
    assert asked.files[0] == "shop/stock.py"
    assert not any(path.startswith("tests/") for path in asked.files)
