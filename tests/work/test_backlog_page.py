"""The backlog for people: its first page, its issues, ticks and kept text."""

from oraclepack.work.backlog import AnsweredStep
from oraclepack.work.engine_actionize import actionize
from tests.work.builders import answer, pack, step

LOCK = "Add a lock around `Pool.take`, because two workers can corrupt one entry."
STEPS = (
    step(1, answer(LOCK, experiment='Run: rg -n "take" src'), roi=1.0),
    step(2, answer("Yes, `Batch.run` is idempotent."), roi=3.0),
    step(3, answer("Rename `Batch.run` to say what it does."), roi=0.1),
    step(4, ""),
    step(5, answer("Bound the queue.")[:-20]),
)


def backlog(steps: tuple[AnsweredStep, ...] = STEPS, earlier: str = "") -> str:
    work = actionize(pack(*steps), (), earlier)
    return next(one.text for one in work.artifacts if one.path == "backlog.md")


def test_the_first_page_says_what_there_is() -> None:
    page = backlog().partition("## Issues")[0]

    assert "- 5 questions, 4 answered, 1 of the answers cut off" in page
    assert "- 4 tasks: 3 changes, 1 experiment, 0 findings" in page
    assert "- 0 conflicts, 1 blocked, 1 without work" in page
    assert "1. `OP3-01234567-01-01` Add a lock around Pool.take — high, severe (corrupt)" in page
    assert "- Blocked: `OP3-01234567-04-01` Get the answer to question 04." in page
    assert "- Cut off: question 05 (`05-q.md`): " in page


def test_a_task_without_a_reason_ends_with_its_priority() -> None:
    page = backlog((step(1, answer("The queue has no bound in `Queue.put`.")),))

    assert all(not line.rstrip().endswith(",") for line in page.split("\n"))


def test_a_row_of_a_table_is_a_task_with_a_clause_as_title() -> None:
    table = "| Place | State | Fix |\n|---|---|---|\n| `Pool.take` | unsafe | Add a lock to it |\n"
    page = backlog((step(1, answer(table)),))

    assert "` Add a lock to it (Pool.take)\n" in page
    assert "  - `Pool.take` · unsafe · Add a lock to it\n" in page


def test_issues_come_in_the_order_of_their_value() -> None:
    heads = [
        line[4:6] for line in backlog().partition("## Issues")[2].split("\n") if "### " in line
    ]

    assert heads == ["01", "03", "05", "04", "02"]


def test_a_command_stands_in_a_block_of_its_own() -> None:
    assert '  ```sh\n  rg -n "take" src\n  ```\n' in backlog()


def test_a_tick_survives_and_follows_its_title() -> None:
    ticked = backlog().replace("- [ ] `OP3-01234567-01-01`", "- [x] `OP3-01234567-01-01`")
    again = backlog(earlier=ticked)
    assert again == ticked
    assert backlog(earlier=again) == again

    more = answer(f"Close the pool first.\n\n{LOCK}")
    changed = backlog((step(1, more, roi=1.0), *STEPS[1:]), earlier=ticked)
    assert "- [ ] `OP3-01234567-01-01` Close the pool first" in changed
    assert "- [x] `OP3-01234567-01-02` Add a lock around Pool.take" in changed


def test_a_tick_whose_task_is_gone_is_kept() -> None:
    ticked = backlog().replace("- [ ] `OP3-01234567-01-01`", "- [x] `OP3-01234567-01-01`")
    changed = backlog((step(1, answer("Yes, it is sound.")), *STEPS[1:]), earlier=ticked)

    kept = changed.partition("## Kept from before")[2]
    assert "- [x] `OP3-01234567-01-01` Add a lock around Pool.take" in kept


def test_a_persons_text_survives_in_its_place() -> None:
    slot = "<!-- keep: OP3-01234567-01 -->\n"
    noted = backlog().replace(slot, f"{slot}Ask the team first.\n")

    assert backlog(earlier=noted) == noted


def test_text_of_an_answer_is_no_markup() -> None:
    text = answer("Add <img src=x> and `<b>` to [the page](http://x) # now.")
    page = backlog((step(1, text),))

    assert "<img" not in page
    assert "`<b>`" in page


def test_nothing_is_asked_to_exist_that_may_be_there() -> None:
    page = backlog((step(1, answer(LOCK), expected_artifacts=("src/pool.py",)),))

    assert "exists" not in page
    assert "`src/pool.py` shows the result" in page
