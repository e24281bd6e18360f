import re

import msgspec
import pytest

from oraclepack.pack.answer_sections import Section
from oraclepack.pack.model import CATEGORIES
from oraclepack.work.backlog import AnsweredStep, AnswerPart, Priority, StepQuestion, WorkStatus
from oraclepack.work.engine_actionize import actionize
from oraclepack.work.evidence import QuestionFile
from oraclepack.work.normalize import MOST_NUMBERS, MOST_TASKS, normalize
from tests.work.answers import PACK_HASH, a_pack, a_step, direct, records_of

ID = re.compile(rf"OP3-{PACK_HASH[:8]}-\d\d-\d\d")


def test_a_reworded_duplicate_is_one_task_with_two_sources() -> None:
    (task,) = records_of(
        s01=direct("Add a lock around `put` (`src/cache.py:15`)."),
        s02=direct("Guard `put` in `src/cache.py:15` with a lock."),
    )

    assert (task.task_id, task.sources) == ("OP3-ab12cd34-01-01", ("01", "02"))
    assert task.merged == ("OP3-ab12cd34-02-01",)
    assert task.actions == ("Add a lock around `put` (`src/cache.py:15`).",)
    assert task.notes == ("step 02 puts it so: Guard `put` in `src/cache.py:15` with a lock.",)


def test_a_denial_of_the_same_line_is_a_conflict_that_names_both() -> None:
    found = records_of(
        s01=direct("`load` is cached (`src/cache.py:3`)."),
        s02=direct("`load` is not cached (`src/cache.py:3`)."),
    )

    conflict = next(r for r in found if r.status is WorkStatus.CONFLICT)
    assert [(s.step_id, s.text) for s in conflict.statements] == [
        ("01", "`load` is cached (`src/cache.py:3`)."),
        ("02", "`load` is not cached (`src/cache.py:3`)."),
    ]
    assert conflict.sources == ("01", "02")
    assert "`src/cache.py:3`" in conflict.missing_inputs[0]
    assert conflict.next_experiment is not None


def test_conflict_outranks_blocked() -> None:
    (conflict,) = records_of(
        s01=direct("Remove the flag `X` (`src/cache.py:99`)."),
        s02=direct("Keep the flag `X` (`src/cache.py:99`)."),
    )

    assert conflict.status is WorkStatus.CONFLICT


def test_one_answer_never_conflicts_with_itself() -> None:
    text = direct("`f` is cached (`src/cache.py:3`).", "`f` is not cached (`src/cache.py:3`).")

    assert [r.status for r in records_of(s01=text)] == [WorkStatus.NOOP]


def test_cannot_tell_and_missing_files_is_blocked_with_those_files() -> None:
    text = (
        "## Direct answer\n\nCannot tell who calls it.\n\n"
        "## Next experiment\n\n- Search for callers.\n- Read them.\n\n"
        "## Missing evidence\n\n- `src/a.py`\n- src/b/*.py, for the jobs\n"
    )

    (blocked,) = records_of(s01=text)

    assert blocked.status is WorkStatus.BLOCKED
    assert blocked.missing_inputs == ("src/a.py", "src/b/*.py")
    assert blocked.next_experiment == "Search for callers."


@pytest.mark.parametrize(
    ("citation", "status", "word"),
    [
        pytest.param("src/cache.py:40", WorkStatus.ACTIONABLE, "", id="in range"),
        pytest.param("src/cache.py:500", WorkStatus.BLOCKED, "beyond", id="out of range"),
        pytest.param("src/moved.py:3", WorkStatus.BLOCKED, "as it is now", id="stale"),
        pytest.param("src/other.py:3", WorkStatus.BLOCKED, "never attached", id="not attached"),
    ],
)
def test_a_task_stands_on_its_citations(citation: str, status: WorkStatus, word: str) -> None:
    (task,) = records_of(s01=direct(f"Fix the loop in `{citation}`."))

    assert task.status is status
    assert word in " ".join(task.missing_inputs)
    assert (task.next_experiment is None) is (status is WorkStatus.ACTIONABLE)


def test_one_good_citation_is_enough() -> None:
    (task,) = records_of(s01=direct("Move `src/cache.py:500` to `src/cache.py:5`."))

    assert task.status is WorkStatus.ACTIONABLE


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("No action required.", id="said"),
        pytest.param(direct("Nothing to do (`src/cache.py:3`)."), id="said in an item"),
        pytest.param(direct("It is fine."), id="nothing is asked for"),
        pytest.param("No action required.\n\n## Next experiment\n\nLook again.", id="only a try"),
    ],
)
def test_no_action_required_is_no_work(text: str) -> None:
    assert [r.status for r in records_of(s01=text)] == [WorkStatus.NOOP]


@pytest.mark.parametrize("text", [None, "", " \n\n"])
def test_a_missing_answer_is_blocked(text: str | None) -> None:
    (blocked,) = records_of(s07=text)

    assert (blocked.status, blocked.task_id) == (WorkStatus.BLOCKED, "OP3-ab12cd34-07-01")
    assert blocked.missing_inputs[0].startswith("the answer of step 07")
    assert "--rerun 07" in (blocked.next_experiment or "")


def test_the_reason_of_a_missing_answer_is_told() -> None:
    step = AnsweredStep(StepQuestion("01"), absent="the step failed: no key")

    assert "no key" in normalize(step).proposals[0].missing_inputs[0]


def test_a_step_that_promises_no_words_is_no_work() -> None:
    step = AnsweredStep(StepQuestion("01"), silent=True)

    assert normalize(step).proposals[0].status is WorkStatus.NOOP


def test_chunks_are_one_answer() -> None:
    parts = (
        AnswerPart("01-x-missing-evidence.md", "- `src/a.py`", Section.MISSING_EVIDENCE),
        AnswerPart("01-x-direct-answer.md", "- It cannot be determined.", Section.DIRECT_ANSWER),
    )
    (blocked,) = actionize(a_pack(AnsweredStep(StepQuestion("01"), parts))).records

    assert (blocked.status, blocked.missing_inputs) == (WorkStatus.BLOCKED, ("src/a.py",))


def test_two_hundred_kilobytes_become_a_bounded_number_of_tasks() -> None:
    items = [
        f"Add a check for case {n} of `f{n}` (`src/jobs.py:{n % 120 + 1}`)." for n in range(3400)
    ]
    items += [f"`g{n}` is cached (`src/jobs.py:{n % 120 + 1}`)." for n in range(300)]
    text = direct(*items)
    assert len(text) > 200_000

    found = normalize(a_step("01", text))

    assert len(found.proposals) == MOST_TASKS
    assert "3341" in found.proposals[-1].title
    assert len(found.proposals[-1].actions) == 3342
    assert found.claims[-1].number == MOST_NUMBERS


def test_every_record_keeps_to_its_form() -> None:
    found = records_of(s01=direct("Add a lock.", "`f` is set (`src/cache.py:3`)."), s02=None)

    for record in found:
        assert ID.fullmatch(record.task_id)
        assert record.category in CATEGORIES
        assert msgspec.convert(msgspec.to_builtins(record), type(record)) == record


@pytest.mark.parametrize(
    ("about", "category"),
    [
        pytest.param({"category": "Feature Flags"}, "feature flags", id="spelled otherwise"),
        pytest.param({"category": "?", "title": "worker queue"}, "background jobs", id="by words"),
        pytest.param({}, "failure modes", id="nothing known"),
    ],
)  # fmt: skip
def test_the_category(about: dict[str, str], category: str) -> None:
    (record,) = actionize(a_pack(a_step("01", "Ok then.", **about))).records

    assert record.category == category


@pytest.mark.parametrize(
    ("roi", "effort", "text", "priority"),
    [
        pytest.param(9.0, 1.0, "Fix `src/cache.py:3`.", Priority.HIGH, id="dear, cheap, verified"),
        pytest.param(9.0, 1.0, "Fix `cache.py:3`, `cache.py:99`.", Priority.HIGH, id="a doubt"),
        pytest.param(3.0, 3.0, "Fix the loop.", Priority.MEDIUM, id="middling"),
        pytest.param(0.5, 8.0, "Fix the loop.", Priority.LOW, id="poor"),
        pytest.param(None, None, "Fix the loop.", Priority.LOW, id="nothing known"),
    ],
)  # fmt: skip
def test_the_priority(
    roi: float | None, effort: float | None, text: str, priority: Priority
) -> None:
    (record,) = actionize(a_pack(a_step("01", direct(text), roi=roi, effort=effort))).records

    assert record.priority is priority


def test_agreement_raises_the_priority() -> None:
    text = direct("Fix the loop in `src/cache.py:3`.")
    alone = records_of(s01=text)[0].score

    assert records_of(s01=text, s02=text, s03=text, s04=text)[0].score == alone + 2


def test_unknown_attachments_leave_a_task_as_it_is() -> None:
    step = AnsweredStep(StepQuestion("01"), (AnswerPart("a.md", direct("Fix `src/x.py:500`.")),))

    assert actionize(a_pack(step)).records[0].status is WorkStatus.ACTIONABLE


def test_a_hash_that_nobody_recorded_is_taken_from_now() -> None:
    file = QuestionFile("src/x.py", None, "h", 10)
    parts = (AnswerPart("a.md", direct("Fix `src/x.py:5`.")),)
    step = AnsweredStep(StepQuestion("01"), parts, attached=(file,))

    assert actionize(a_pack(step)).records[0].evidence.citations[0].state == "verified"


@pytest.mark.parametrize(
    ("text", "actions"),
    [
        pytest.param("- [ ] The page about prices", ["The page about prices"], id="an open box"),
        pytest.param("- [x] Add a page", [], id="a ticked box"),
        pytest.param(
            "- Change these:\n  - add a lock\n  - it is slow",
            ["Change these", "add a lock"],
            id="a head and its points",
        ),
        pytest.param("Run it:\n\n```sh\nmake a\n```", ["Run it: `make a`"], id="code below"),
        pytest.param("- Run it\n  ```sh\n  make a\n  ```", ["Run it"], id="code inside"),
        pytest.param("```sh\nmake a\n```", ["Run `make a`"], id="nothing but code"),
        pytest.param("![Add a lock](x.png)", ["Add a lock"], id="the words of a picture"),
        pytest.param("|Fix|\n|-|\n||\n|none|\n|Add a lock|", ["Add a lock"], id="empty cells"),
    ],
)
def test_what_an_item_asks_for(text: str, actions: list[str]) -> None:
    (record, *others) = records_of(s01=text)

    assert [list(record.actions), others] == [actions, []]


@pytest.mark.parametrize(
    ("section", "action"),
    [
        pytest.param("Do this:\n\n- start it\n- stop it", "Do this: start it", id="a list"),
        pytest.param("|n|do|\n|-|-|\n|1|start it|", "start it", id="a table"),
        pytest.param("- None", None, id="none"),
    ],
)
def test_the_next_experiment_is_one_point(section: str, action: str | None) -> None:
    (record,) = records_of(s01=f"It is so.\n\n## Next experiment\n\n{section}\n")

    assert (record.actions[:1] or (None,))[0] == action
    assert record.experiment is (action is not None)


def test_a_claim_without_a_path_speaks_of_its_items_file() -> None:
    text = direct("See `src/cache.py:3`. There `load` is {}cached.")
    found = records_of(s01=text.format(""), s02=text.format("not "))

    assert [r.status for r in found if r.step_id == "01"][-1] is WorkStatus.CONFLICT


def test_many_statements_about_one_thing_are_compared_with_their_neighbours() -> None:
    words = [f"Add a {w}{v}x check to `src/cache.py`." for w in "bcdfghjk" for v in "lmnpqrtvwz"]
    reworded = "`src/cache.py`: add the check blx."

    found = records_of(s01=direct(*words[:40]), s02=direct(*words[40:], reworded))

    assert found[0].sources == ("01", "02")
    assert len(found) == len(words)
