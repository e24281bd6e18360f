"""Records and issues: nothing lost, kinds, statuses, ids, merging, contradictions."""

import msgspec
import pytest

from oraclepack.work.backlog import Record, TaskKind, WorkStatus
from oraclepack.work.evidence import QuestionFile
from tests.work.builders import answer, outcome, step

LOCK = "Add a lock around `Pool.take` in src/pool.py, because two workers can take one entry."
EXPERIMENT = 'Run: rg -n "take\\\\(" src to confirm every caller holds the lock.'
WORK = (
    "\nWORK: Hold the lock in take | files: src/pool.py | done when: the stress test passes "
    "| effort: S | evidence: src/pool.py:12\n"
)


def work_of(*texts: str, question: str = "") -> list[Record]:
    steps = (step(number, text, question) for number, text in enumerate(texts, start=1))
    return [record for record in outcome(*steps).records if record.status is not WorkStatus.NOOP]


def test_every_statement_of_an_answer_is_a_record() -> None:
    text = answer(
        f"{LOCK}\n\nThe queue is not bounded.\n\nIt is filled by the importer.",
        risks="Growth may fill the disk.",
        experiment=EXPERIMENT,
        missing="src/queue/**/*.py",
    )
    found = outcome(step(1, text))

    assert [(record.kind, record.status) for record in found.records] == [
        ("change", "actionable"),
        ("finding", "actionable"),
        ("experiment", "actionable"),
        ("statement", "noop"),
        ("risk", "noop"),
        ("evidence", "noop"),
    ]
    (issue,) = found.issues
    assert (issue.answer, issue.title) == (LOCK, "Add a lock around Pool.take in src/pool.py")
    assert issue.risks == ("Growth may fill the disk.",)
    assert issue.missing_inputs == ("src/queue/**/*.py",)
    assert issue.answer_files == ("01-q.md",)
    assert found.records[2].evidence.commands == ('rg -n "take\\\\(" src',)


def test_every_text_of_a_record_stands_in_the_answer() -> None:
    text = answer(
        "### Pool\n\n**Add** a lock around `Pool.take` <port>. (Evidence: `src/pool.py:3`.)",
        experiment='Run: `rg "take\\\\(|free\\.x" src/**`\n  Then read `src/pool.py`.',
        missing="* `src/**/*.py`",
    )
    folded = " ".join(text.split())
    for record in outcome(step(1, text)).records:
        said = (*record.actions, *record.notes, *record.missing_inputs)
        for piece in (*said, *record.evidence.commands, *record.evidence.paths):
            assert " ".join(piece.split()) in folded


def test_ids_are_the_question_and_the_number_in_its_answer() -> None:
    found = outcome(step(3, answer(f"It is so.\n\n{LOCK}", experiment=EXPERIMENT)))

    assert [(record.task_id, record.kind) for record in found.records[:3]] == [
        ("OP3-01234567-03-01", "change"),
        ("OP3-01234567-03-02", "experiment"),
        ("OP3-01234567-03-03", "statement"),
    ]
    assert found.issues[0].issue_id == "OP3-01234567-03"


def test_an_answer_may_have_more_than_99_statements() -> None:
    text = answer("\n".join(f"- Statement number {n} is here." for n in range(120)))

    assert outcome(step(1, text)).records[-1].task_id > "OP3-01234567-01-120"


def test_stated_work_is_the_work_and_the_prose_is_only_said() -> None:
    records = outcome(step(1, answer(LOCK, experiment=EXPERIMENT) + WORK)).records
    (record,) = [one for one in records if one.is_work]

    assert (record.title, record.kind, record.size) == ("Hold the lock in take", "change", "S")
    assert (record.done_when, record.origin) == ("the stress test passes", "stated")
    assert record.evidence.paths == ("src/pool.py",)
    assert str(record.evidence.citations[0]) == "src/pool.py:12"
    assert LOCK in [text for one in records for text in one.actions]


def test_no_work_stated_means_nothing_to_do() -> None:
    assert work_of(answer(LOCK) + "\nWORK: none\n") == []


def test_work_that_cannot_be_read_is_named_and_its_text_kept() -> None:
    text = answer(LOCK) + "\n[oraclepack-work]\nHold the lock\n[/oraclepack-work]\n"
    found = outcome(step(1, text))

    assert found.issues[0].doubts == ("Not read: 01-q.md:13: its block of work is not JSON",)
    assert any("Hold the lock" in text for one in found.records for text in one.actions)


def test_an_item_comes_after_the_one_that_the_answer_names() -> None:
    text = answer("It is so.") + (
        '\n[oraclepack-work]\n{"items": [{"title": "Drop the flag", "after": ["Move the callers"]},'
        ' {"title": "Move the callers"}]}\n[/oraclepack-work]\n'
    )
    first, second = work_of(text)

    assert (first.depends_on, second.depends_on) == ((second.task_id,), ())


@pytest.mark.parametrize(
    ("text", "next_step"),
    [
        pytest.param("", "Run step 01 again: there is no answer", id="no answer"),
        pytest.param(
            answer("It cannot be determined from these files.", missing="src/queue.py"),
            "Ask question 01 again with what is missing",
            id="nothing can be decided",
        ),
        pytest.param(
            "I am unable to perform this review.",
            "Ask question 01 again with what is missing",
            id="a refusal",
        ),
    ],
)
def test_a_blocked_question_has_exactly_one_next_step(text: str, next_step: str) -> None:
    (record,) = work_of(text)

    assert (record.status, record.next_step) == (WorkStatus.BLOCKED, next_step)


def test_a_blocked_question_names_the_evidence_or_what_was_attached() -> None:
    undecided = "It cannot be determined from these files."
    asked = msgspec.structs.replace(
        step(1, answer(undecided)), attached=(QuestionFile("src/pool.py", "h", "h", 9),)
    )

    assert work_of(answer(undecided, missing="src/q.py"))[0].missing_inputs == ("src/q.py",)
    assert outcome(asked).records[0].missing_inputs == ("src/pool.py",)


def test_missing_evidence_does_not_block() -> None:
    assert [one.status for one in work_of(answer(LOCK, missing="src/q.py"))] == ["actionable"]


def test_a_sound_answer_has_no_work() -> None:
    assert work_of(answer("Yes, every caller holds the lock.")) == []


def test_none_is_nothing_to_do() -> None:
    records = outcome(step(1, answer("None.", experiment="None."))).records

    assert {record.status for record in records} == {WorkStatus.NOOP}
    assert all("nothing to do" in record.remarks for record in records)


def test_a_cut_off_answer_keeps_its_broken_end() -> None:
    text = answer(f"{LOCK}\n\nThe queue is not bounded.")
    found = outcome(step(1, text[: text.index("bounded")]))

    assert [(one.actions, one.partial) for one in found.records] == [
        ((LOCK,), True),
        (("The queue is not",), True),
    ]
    assert "the answer is cut off here" in found.records[1].remarks
    assert found.issues[0].cut == "it ends in the middle of a sentence: …The queue is not"


def test_what_an_answer_says_twice_is_one_record() -> None:
    (record,) = work_of(answer(f"{LOCK}\n\nIt is so.\n\n{LOCK}"))

    assert [span.first_line for span in record.spans] == [3, 7]


def test_an_answer_without_headings_is_free_form() -> None:
    found = outcome(step(1, f"It is filled by the importer.\n\n{LOCK}\n"))

    assert found.issues[0].free_form
    assert [record.kind for record in found.records] == ["change", "statement"]


def test_the_same_work_of_two_answers_is_linked() -> None:
    found = outcome(step(1, answer(LOCK)), step(2, answer(LOCK.replace("a lock", "the lock"))))
    first, second = (record for record in found.records if record.is_work)

    assert first.sources == ("01", "02")
    assert first.merged == (second.task_id,)
    assert second.same_as == first.task_id
    assert found.issues[1].elsewhere == ((second.task_id, first.task_id),)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Add a lock around `Pool.take`.", "Add a lock around `Batch.run`."),
        ("Log every `clear` of the cache.", "Record every `clear` of the cache."),
        ("The result of `load_prices` is not cached.", "The result of `load_rates` is not cached."),
    ],
)
def test_other_work_stays_apart(one: str, other: str) -> None:
    records = work_of(answer(one), answer(other))

    assert [(record.same_as, record.status) for record in records] == [(None, "actionable")] * 2


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Keep the flag `WARM_START` for now.", "Remove the flag `WARM_START` for now."),
        ("The result of `load_prices` is cached.", "The result of `load_prices` is not cached."),
        ("The limit in src/cache.py:30 is 500 rows.", "The limit in src/cache.py:30 is 900 rows."),
    ],
)
def test_answers_that_contradict_each_other_are_a_conflict(one: str, other: str) -> None:
    (record,) = work_of(answer(one, missing="src/flags.py"), answer(other))

    assert record.status is WorkStatus.CONFLICT
    assert [side.text for side in record.statements] == [one, other]
    assert record.next_step == "Decide which of the answers 01 and 02 holds, and note it here"
    assert record.missing_inputs == ("src/flags.py",)
    assert len(record.title) <= 80


@pytest.mark.parametrize(
    ("text", "roi", "priority", "why"),
    [
        ("Add a check against leaking tokens.", 2.0, "medium", "ROI 2"),
        ("Add a check.", 4.5, "high", "ROI 4.5"),
        ("Add a check.", 0.5, "low", "ROI 0.5"),
        ("Add a check.", None, "medium", ""),
        ("[P0] Add a check.", 0.5, "critical", "marked P0"),
        ("**High:** add a check.", 0.5, "high", "marked High"),
        ("Add a check (severity: low).", 9.0, "low", "marked low"),
        ("Add a check of the high water mark.", 0.5, "low", "ROI 0.5"),
    ],
)
def test_priority_is_what_question_or_answer_say(
    text: str, roi: float | None, priority: str, why: str
) -> None:
    (record,) = [one for one in outcome(step(1, answer(text), roi=roi)).records if one.is_work]

    assert (record.priority, record.why) == (priority, why)


def test_an_issue_is_named_by_its_verdict_and_never_by_its_question() -> None:
    verdict = '[oraclepack-work] {"verdict": "The pool leaks.", "none": true} [/oraclepack-work]'
    issues = outcome(
        step(1, answer("It is so.") + f"\n{verdict}\n", "Is it sound?"),
        step(2, answer("Is it sound? The pool leaks when it is full."), "Is it sound?"),
        step(3, answer("The pool leaks."), "Is it sound?"),
        step(4, "", "Is it sound?"),
    ).issues

    assert [issue.title for issue in issues] == [
        "The pool leaks",
        "Is it sound? The pool leaks when it is full",
        "The pool leaks (question 03)",
        "Get the answer to question 04",
    ]


def test_nothing_depends_on_the_order_of_the_steps() -> None:
    steps = [step(1, answer(LOCK)), step(2, answer("Guard `Pool.take` with a lock."))]

    assert outcome(*steps).records == outcome(*reversed(steps)).records


def test_records_survive_a_round_trip_and_those_of_version_2_are_read() -> None:
    for record in outcome(step(1, answer(LOCK, experiment=EXPERIMENT))).records:
        written = msgspec.json.encode(record)
        assert msgspec.json.decode(written, type=Record) == record
        older = {**msgspec.json.decode(written), "score": 3, "experiment": False}
        older = {**older, "schema_version": 2, "kind": TaskKind.CHANGE}
        assert msgspec.json.decode(msgspec.json.encode(older), type=Record).title == record.title
