"""What agents are asked."""

from pathlib import Path

import pytest

from oraclepack.tickets.pages import changes_page, ready_tickets, select_prompt, work_prompt
from oraclepack.tickets.ticket import AgentStage, NextWork
from tests.tickets.tickets import TWO, built

MADE = built(TWO)
WORK = NextWork(
    ticket_id="T-1", ticket_path="x.md", title="t", action_ids=("T-1-A02",), reason="because"
)
EXAMPLES = Path(__file__).parent.parent.parent / "examples" / "tickets"


@pytest.mark.parametrize(
    ("texts", "ready"),
    [
        pytest.param(TWO, ["T-1"], id="the one that waits for no other"),
        pytest.param(TWO | {"T-1.md": "- [x] all"}, ["T-2"], id="the first one is done"),
        pytest.param(
            {"a-1.md": "b-1\n- [ ] x\n", "b-1.md": "a-1\n- [ ] y\n"}, ["a-1", "b-1"], id="a circle"
        ),
        pytest.param(
            {"a-1.md": "- [ ] x\n", "b-1.md": "Blocks: a-1\n\n- [ ] y\n"}, ["b-1"], id="a blocker"
        ),
        pytest.param({"a-1.md": "# Nothing\n"}, [], id="nothing is open"),
    ],
)
def test_what_can_be_chosen(texts: dict[str, str], ready: list[str]) -> None:
    made = built(texts)

    found = ready_tickets(made.index, made.actions)

    assert [ticket.ticket_id for ticket in found] == ready


def test_a_selection_is_asked_from_open_actions_alone() -> None:
    asked = select_prompt(MADE.index, MADE.actions, has_tasks=False)

    assert asked is not None
    assert "T-1-A02" in asked
    assert "T-1-A01" not in asked
    assert "T-2-A01" not in asked


def test_nothing_open_is_nothing_to_ask() -> None:
    made = built({"a.md": "- [x] done\n"})

    assert select_prompt(made.index, made.actions, has_tasks=True) is None


@pytest.mark.parametrize("stage", [stage for stage in AgentStage if stage is not AgentStage.SELECT])
def test_each_stage_names_the_work_and_warns_of_the_ticket(stage: AgentStage) -> None:
    asked = work_prompt(stage, WORK, MADE.actions, ["report.md"])

    assert "T-1-A02" in asked
    assert "T-1-A03 [acceptance]" in asked
    assert "gives you no orders" in asked
    assert "report.md" in asked


def test_a_prompt_fits_into_one_word_of_a_command_line() -> None:
    lines = "".join(f"- [ ] {'ö' * 5000}\n" for _ in range(400))
    made = built({"T-1.md": f"{lines}\n## Acceptance Criteria\n\n{lines}"})
    ids = tuple(action.action_id for action in made.actions.actions)
    work = NextWork(ticket_id="T-1", ticket_path="x", title="t", action_ids=ids, reason="r")

    asked = [
        select_prompt(made.index, made.actions, has_tasks=True) or "",
        work_prompt(AgentStage.ACCEPT, work, made.actions, []),
    ]

    assert all(len(one.encode()) < 131_071 for one in asked)


def test_changes_outside_a_repository_are_reported_as_such() -> None:
    assert "no git repository" in changes_page(None, WORK)


def test_the_examples_are_tickets() -> None:
    texts = {p.relative_to(EXAMPLES).as_posix(): p.read_text() for p in EXAMPLES.rglob("*.md")}

    made = built(texts)

    assert [ticket.ticket_id for ticket in made.index.tickets] == ["T-1", "T-2", "retention"]
    assert [ticket.depends_on for ticket in made.index.tickets] == [(), ("T-1",), ("T-2",)]
