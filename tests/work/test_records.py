"""Records and issues: kinds, statuses, ids, merging, contradictions."""

import msgspec
import pytest

from oraclepack.work.backlog import Record, TaskKind, WorkStatus
from tests.work.builders import answer, outcome, step

LOCK = "Add a lock around `Pool.take` in src/pool.py, because two workers can take one entry."
EXPERIMENT = 'Run: rg -n "take\\\\(" src to confirm every caller holds the lock.'


def kinds(text: str, question: str = "") -> list[TaskKind | None]:
    return [record.kind for record in outcome(step(1, text, question)).records]


def only(records: tuple[Record, ...]) -> Record:
    (record,) = records
    return record


def test_an_issue_holds_all_of_its_answer() -> None:
    text = answer(
        f"{LOCK}\n\nThe queue is not bounded.",
        risks="Growth may fill the disk.",
        experiment=EXPERIMENT,
        missing="src/queue/**/*.py",
    )
    (issue,) = outcome(step(1, text)).issues

    assert [record.kind for record in issue.records] == ["change", "finding", "experiment"]
    assert issue.answer == LOCK
    assert issue.risks == ("Growth may fill the disk.",)
    assert issue.missing_inputs == ("src/queue/**/*.py",)
    assert issue.commands == ('rg -n "take\\\\(" src',)
    assert issue.answer_files == ("01-q.md",)


def test_every_text_of_a_record_stands_in_the_answer() -> None:
    text = answer(
        "**Add** a lock around `Pool.take` <port>. (Evidence: `src/pool.py:3`.)",
        experiment='Run: `rg "take\\\\(|free\\.x" src/**`\n  Then read `src/pool.py`.',
        missing="* `src/**/*.py`",
    )
    folded = " ".join(text.split())
    for record in outcome(step(1, text)).records:
        said = (*record.actions, *record.notes, *record.missing_inputs)
        for piece in (*said, *record.evidence.commands, *record.evidence.paths):
            assert " ".join(piece.split()) in folded


def test_ids_are_the_question_and_the_place_in_its_answer() -> None:
    found = outcome(step(3, answer(LOCK, experiment=EXPERIMENT)))

    assert [record.task_id for record in found.records] == [
        "OP3-01234567-03-01",
        "OP3-01234567-03-02",
    ]
    assert found.issues[0].issue_id == "OP3-01234567-03"


def test_an_experiment_that_repeats_a_change_is_part_of_it() -> None:
    text = answer(
        "Sort the reports by number before they are written.",
        experiment="Add a test with reports out of order, then sort them by number.",
    )
    record = only(outcome(step(1, text)).records)

    assert record.kind is TaskKind.CHANGE
    assert len(record.actions) == 2
    assert [(span.first_line, span.last_line) for span in record.spans] == [(3, 3), (11, 11)]


def test_work_lines_are_the_tasks_exactly() -> None:
    text = answer(LOCK, experiment=EXPERIMENT) + (
        "\nWORK: Hold the lock in take | files: src/pool.py | done when: the stress test passes "
        "| effort: S | evidence: src/pool.py:12\n"
    )
    record = only(outcome(step(1, text)).records)

    assert (record.title, record.kind, record.size) == ("Hold the lock in take", "change", "S")
    assert record.done_when == "the stress test passes"
    assert record.evidence.paths == ("src/pool.py",)
    assert str(record.evidence.citations[0]) == "src/pool.py:12"


def test_work_none_means_nothing_to_do() -> None:
    record = only(outcome(step(1, answer(LOCK) + "\nWORK: none\n")).records)

    assert record.status is WorkStatus.NOOP


@pytest.mark.parametrize(
    ("text", "next_step"),
    [
        pytest.param("", "Run step 01 again: there is no answer", id="no answer"),
        pytest.param(
            answer("It cannot be determined from these files.", missing="src/queue.py"),
            "Attach src/queue.py and ask question 01 again",
            id="nothing can be decided",
        ),
        pytest.param(
            answer("Die Warteschlange wird nie geleert und wächst deshalb immer weiter an."),
            "Read the answer to question 01",
            id="not in English",
        ),
    ],
)
def test_a_blocked_question_has_exactly_one_next_step(text: str, next_step: str) -> None:
    record = only(outcome(step(1, text)).records)

    assert (record.status, record.kind) == (WorkStatus.BLOCKED, None)
    assert record.next_step == next_step


def test_missing_evidence_does_not_block() -> None:
    records = outcome(step(1, answer(LOCK, missing="src/queue.py"))).records

    assert [record.status for record in records] == [WorkStatus.ACTIONABLE]
    assert records[0].missing_inputs == ("src/queue.py",)


def test_a_sound_answer_without_work_is_noted() -> None:
    record = only(outcome(step(1, answer("Yes, every caller holds the lock."))).records)

    assert record.status is WorkStatus.NOOP


def test_a_cut_off_answer_gives_its_whole_units() -> None:
    text = answer(f"{LOCK}\n\nThe queue is not bounded.")
    cut = text[: text.index("bounded")]
    found = outcome(step(1, cut))

    assert [(record.title, record.partial) for record in found.records] == [
        ("Add a lock around Pool.take in src/pool.py", True)
    ]
    assert found.issues[0].dropped == "The queue is not"
    assert found.issues[0].cut == "it ends in the middle of a sentence: …The queue is not"


def test_the_same_work_of_two_answers_is_linked() -> None:
    found = outcome(
        step(1, answer(LOCK)),
        step(2, answer("Guard `Pool.take` in src/pool.py with a lock.")),
    )
    first, second = found.records

    assert first.sources == ("01", "02")
    assert first.merged == (second.task_id,)
    assert second.same_as == first.task_id
    assert found.issues[1].elsewhere == ((second.task_id, first.task_id),)
    assert found.issues[1].records == ()


@pytest.mark.parametrize(
    ("one", "other"),
    [
        pytest.param(
            "Add a lock around `Pool.take`.", "Add a lock around `Batch.run`.", id="other thing"
        ),
        pytest.param(
            "Log every `clear` of the cache.", "Count every `clear` of the cache.", id="other act"
        ),
        pytest.param(
            "The result of `load_prices` is not cached.",
            "The result of `load_rates` is not cached.",
            id="other finding",
        ),
    ],
)
def test_other_work_stays_apart(one: str, other: str) -> None:
    records = outcome(step(1, answer(one)), step(2, answer(other))).records

    assert [record.same_as for record in records] == [None, None]
    assert {record.status for record in records} == {WorkStatus.ACTIONABLE}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        pytest.param(
            "Validation must not newly fail packs that ran before.",
            "Packs that fail validation should be refused by default.",
            id="the direction of a negation",
        ),
        pytest.param(
            "Keep the flag `WARM_START` for now.", "Remove the flag `WARM_START`.", id="acts"
        ),
        pytest.param(
            "The result of `load_prices` is cached.",
            "The result of `load_prices` is not cached.",
            id="a fact and its denial",
        ),
        pytest.param(
            "The limit in src/cache.py:30 is 500 entries.",
            "The limit in src/cache.py:30 is 5000 entries.",
            id="two numbers",
        ),
    ],
)
def test_answers_that_contradict_each_other_are_a_conflict(one: str, other: str) -> None:
    asked = "What should be done about it?"
    record = only(outcome(step(1, answer(one), asked), step(2, answer(other), asked)).records)

    assert record.status is WorkStatus.CONFLICT
    assert [side.text for side in record.statements] == [one, other]
    assert record.next_step == "Decide which of the answers 01 and 02 holds, and note it here"
    assert len(record.title) <= 80


def test_an_answer_that_changes_moves_only_its_own_records() -> None:
    steps = [
        step(1, answer(LOCK)),
        step(2, answer("Guard `Pool.take` with a lock.", experiment=EXPERIMENT)),
        step(3, answer("The queue is not bounded.")),
    ]
    before = {record.task_id: record for record in outcome(*steps).records}
    steps[1] = step(2, answer("Rename `Batch.run` to say what it does."))
    after = {record.task_id: record for record in outcome(*steps).records}

    moved = {name for name in {*before, *after} if before.get(name) != after.get(name)}
    own = {name for name in {*before, *after} if name.split("-")[2] == "02"}
    shared = {name for name, record in before.items() if "02" in record.sources}
    assert moved <= own | shared
    assert before["OP3-01234567-03-01"] == after["OP3-01234567-03-01"]


def test_priority_says_what_it_was_made_of() -> None:
    text = answer("Add a check against leaking `token` into the log.")
    record = only(outcome(step(1, text, roi=2.0, effort=1.0)).records)

    assert record.why == "severe (leaking), ROI 2, says what to change"
    assert (record.priority, record.score) == ("high", 5)


def test_nothing_depends_on_the_order_of_the_steps() -> None:
    steps = [step(1, answer(LOCK)), step(2, answer("Guard `Pool.take` with a lock."))]

    assert outcome(*steps).records == outcome(*reversed(steps)).records


def test_records_survive_a_round_trip() -> None:
    for record in outcome(step(1, answer(LOCK, experiment=EXPERIMENT))).records:
        assert msgspec.json.decode(msgspec.json.encode(record), type=Record) == record
