"""`runs diff`: exactly the differences between two runs, two versions of a pack, two models."""

from dataclasses import replace
from pathlib import Path

import pytest

from oraclepack.errors import UsageError
from oraclepack.view.report.diff import (
    AnswerChange,
    Question,
    RunComparison,
    Said,
    diff_runs,
    matched,
    matched_questions,
    read_policies,
)
from oraclepack.work.backlog import AnsweredStep, StepQuestion
from tests.packs import strict_text
from tests.view.example_runs import Plan, a_run, answer_text

FIRST = Plan(run_id="2026-03-01__abc1234__{hash}")
SECOND = replace(FIRST, run_id="2026-03-08__abc1234__{hash}", cost="0.62", model="gpt-5.2")


def compared(root: Path, first: Plan, second: Plan, *fail_on: str) -> RunComparison:
    runs = [a_run(root, plan) for plan in (first, second)]
    return diff_runs(root, runs[0].run_id, runs[1].run_id, fail_on=fail_on)


def test_exactly_the_known_differences_are_found(tmp_path: Path) -> None:
    reworded = answer_text(3).replace(
        "It writes `current - amount` even where", "It stores `current - amount` also where"
    )
    changed = answer_text(5).replace(
        "- `add` reads and writes in two steps (`src/shop/tracing.py:14-16`), so two callers lose"
        " one of their updates.",
        "- Log lines of `flush` carry no request id (`src/shop/tracing.py:26`). Add one.",
    )
    assert reworded != answer_text(3)
    assert changed != answer_text(5)
    formatted = answer_text(8).replace("\n\n", "\n\n\n").replace("- **", "* **")
    second = replace(SECOND, answers={3: reworded, 5: changed, 8: formatted}, failed=(7,))

    made = compared(tmp_path, replace(FIRST, failed=(11,)), second)

    by_change = {
        change: [one.first_step for one in made.questions if one.change is change]
        for change in AnswerChange
    }
    assert by_change[AnswerChange.REWORDED] == ["03"]
    assert by_change[AnswerChange.CHANGED] == ["05"]
    assert by_change[AnswerChange.ONLY_IN_FIRST] == ["07"]
    assert by_change[AnswerChange.ONLY_IN_SECOND] == ["11"]
    assert by_change[AnswerChange.UNANSWERED] == []
    assert len(by_change[AnswerChange.SAME]) == 16
    (five,) = (one for one in made.questions if one.first_step == "05")
    assert len(five.dropped) == len(five.added) == 1
    assert five.dropped[0].startswith("`add` reads and writes in two steps")
    assert five.added[0].startswith("Log lines of `flush`")
    different = {one.first_step for one in made.questions if one.is_different}
    assert different == {"03", "05", "07", "11"}
    assert made.second.models == ("gpt-5.2",)


def test_a_run_is_the_same_as_itself(tmp_path: Path) -> None:
    made = compared(tmp_path, FIRST, replace(FIRST, run_id=SECOND.run_id))

    assert made.totals[AnswerChange.SAME] == 20
    assert (made.added_tasks, made.dropped_tasks) == (0, 0)
    assert made.kept_tasks == made.first.tasks
    assert not [one for one in made.questions if one.is_different]


def test_two_versions_of_a_pack_are_matched_by_question(tmp_path: Path) -> None:
    first = a_run(tmp_path, FIRST)
    text = strict_text().replace("set -euo pipefail", "set -euo pipefail\n# another version")
    (tmp_path / "later.md").write_text(text)
    second = a_run(tmp_path, replace(SECOND, pack="later.md"))

    made = diff_runs(tmp_path, first.run_id, second.run_id)

    assert made.first.pack_hash != made.second.pack_hash
    assert made.totals[AnswerChange.SAME] == 20


def question(step: str, text: str = "", question_id: str | None = None) -> Question:
    asked = StepQuestion(step, f"title {step}", text, question_id)
    return Question(AnsweredStep(asked))


MATCHES = [
    pytest.param(
        [question("01", question_id="a"), question("02", question_id="b")],
        [question("01", question_id="b"), question("02", question_id="a")],
        [("01", "02"), ("02", "01")],
        id="by id, whatever the number",
    ),
    pytest.param(
        [question("01", text="Who clears it?")],
        [question("07", text="who  clears it")],
        [("01", "07")],
        id="by text, whatever its spelling",
    ),
    pytest.param(
        [question("01", question_id="a", text="Same?")],
        [question("02", question_id="z", text="Same?")],
        [("01", "02")],
        id="by text where ids differ",
    ),
    pytest.param(
        [question("01", text="One?"), question("02", text="Same?")],
        [question("01", text="Same?"), question("02", text="Same?")],
        [("01", None), ("02", None), (None, "01"), (None, "02")],
        id="not where two have the same text",
    ),
]


@pytest.mark.parametrize(("first", "second", "expected"), MATCHES)
def test_questions_are_matched(
    first: list[Question], second: list[Question], expected: object
) -> None:
    pairs = matched_questions(first, second, is_same_pack=False)

    assert [(a and a.step_id, b and b.step_id) for a, b in pairs] == expected


STATEMENTS = [
    pytest.param("Fix `a.py:3`.", "Fix `a.py:3`.", (0, 0, 0), id="the same"),
    pytest.param(
        "The cache in `a.py` serves stale prices after an import.",
        "After an import the cache in `a.py` still serves stale prices.",
        (0, 0, 1),
        id="other words",
    ),
    pytest.param(
        "The cache in `a.py` is cleared after an import.",
        "The cache in `a.py` is not cleared after an import.",
        (1, 1, 0),
        id="a denial is a change",
    ),
    pytest.param(
        "Retry 3 times in `a.py`.", "Retry 5 times in `a.py`.", (1, 1, 0), id="another number"
    ),
    pytest.param("Rename `load`.", "Delete the queue.", (1, 1, 0), id="something else"),
]


@pytest.mark.parametrize(("first", "second", "expected"), STATEMENTS)
def test_statements_are_matched(first: str, second: str, expected: tuple[int, int, int]) -> None:
    dropped, added, reworded = matched([Said(first)], [Said(second)])

    assert (len(added), len(dropped), len(reworded)) == expected


POLICIES = [
    pytest.param("dropped-tasks", {"failed": (7,)}, True, id="a task is gone"),
    pytest.param("dropped-tasks", {}, False, id="no task is gone"),
    pytest.param("changed-answers", {"failed": (7,)}, True, id="an answer is gone"),
    pytest.param("changed-answers", {}, False, id="no answer changed"),
    pytest.param("cost+20%", {"cost": "0.60"}, True, id="it costs more"),
    pytest.param("cost+20%", {"cost": "0.45"}, False, id="it costs a little more"),
    pytest.param("time+1%", {}, False, id="the same time"),
]


@pytest.mark.parametrize(("policy", "change", "is_breached"), POLICIES)
def test_policies(
    policy: str, change: dict[str, object], is_breached: bool, tmp_path: Path
) -> None:
    first = replace(FIRST, steps=8)
    second = replace(first, run_id=SECOND.run_id, **change)  # type: ignore[arg-type]

    made = compared(tmp_path, first, second, policy)

    assert [one.policy for one in made.breaches] == [policy] * is_breached


def test_an_unknown_cost_does_not_pass(tmp_path: Path) -> None:
    first = replace(FIRST, steps=2)
    second = replace(first, run_id=SECOND.run_id, open=(2,))

    (breach,) = compared(tmp_path, first, second, "cost+20%").breaches

    assert breach.reason == "the cost of a run is not known"


@pytest.mark.parametrize("word", ["dropped-task", "cost+x%", "cost"])
def test_an_unknown_policy_is_refused(word: str) -> None:
    with pytest.raises(UsageError, match=r"--fail-on"):
        read_policies([word])


def test_the_page_shows_the_differences(tmp_path: Path) -> None:
    hostile = answer_text(5).replace("lose one of", "<script>1</script> lose two of")
    runs = [a_run(tmp_path, plan) for plan in (FIRST, replace(SECOND, answers={5: hostile}))]
    page = tmp_path / "diff.html"

    diff_runs(tmp_path, runs[0].run_id, runs[1].run_id, html=str(page))

    text = page.read_text()
    assert "Two runs compared" in text
    assert "&lt;script&gt;1&lt;/script&gt; lose two of" in text
    assert text.count("<script") == 1


def test_an_answer_that_is_too_large_to_be_read_is_only_compared_as_a_whole(
    tmp_path: Path,
) -> None:
    large = answer_text(5) + "Also see `src/shop/late.py:3`.\n" * 40_000
    second = replace(SECOND, answers={5: large})

    made = compared(tmp_path, replace(FIRST, answers={5: f"{large}\n\nmore\n"}), second)

    (five,) = (one for one in made.questions if one.first_step == "05")
    assert five.change is AnswerChange.CHANGED
    (added,) = five.added
    assert added.startswith("too large to be read (")
