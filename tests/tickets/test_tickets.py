"""What the steps of the ticket action pack ask of us, in this process."""

import json
from pathlib import Path

import pytest

from oraclepack.errors import InputError, UsageError
from oraclepack.tickets.steps_support import TicketSteps
from oraclepack.tickets.ticket import AgentStage
from oraclepack.tickets.ticketify import TicketifyRequest, ticketify
from tests.tickets.tickets import OPTIONS, TWO, put

SELECTED = '{"ticket_id": "T-1", "action_ids": ["T-1-A02"], "reason": "first"}'
JUDGED = '{"criteria": [{"action_id": "T-1-A03", "met": "yes"}]}'
TASKS = {"master": {"tasks": [{"id": 4, "title": "T-1: Limit", "status": "pending"}]}}


@pytest.fixture
def steps(tmp_path: Path) -> TicketSteps:
    ticketify(TicketifyRequest(put(tmp_path, TWO)))
    return TicketSteps.at(tmp_path, OPTIONS.out_dir)


def _with_tasks(steps: TicketSteps, content: object = TASKS) -> None:
    place = steps.root / ".taskmaster/tasks/tasks.json"
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(content if isinstance(content, str) else json.dumps(content))


def _read(steps: TicketSteps, name: str) -> dict[str, object]:
    data = steps.content(name)
    assert data is not None
    loaded: dict[str, object] = json.loads(data)
    return loaded


def test_an_out_dir_outside_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        TicketSteps.at(tmp_path, "../x")


def test_a_selection_knows_its_task(steps: TicketSteps) -> None:
    _with_tasks(steps)

    reply = steps.take(AgentStage.SELECT, SELECTED, "gemini")

    assert reply.written == f"{OPTIONS.out_dir}/next.json"
    assert _read(steps, "next.json")["task_id"] == "4"


@pytest.mark.parametrize(
    ("stage", "raw", "name"),
    [
        (AgentStage.IMPLEMENT, "words", "gemini-implement.md"),
        (AgentStage.DOCS, "words", "gemini-docs.md"),
        (AgentStage.REGRESSIONS, "words", "gemini-regressions.md"),
        (AgentStage.PR, "# PR", "PR.md"),
        (AgentStage.VERIFY, "words", "gemini-review.json"),
        (AgentStage.ACCEPT, JUDGED, "acceptance.json"),
    ],
)
def test_an_answer_goes_to_its_file(
    steps: TicketSteps, stage: AgentStage, raw: str, name: str
) -> None:
    steps.take(AgentStage.SELECT, SELECTED, "gemini")

    steps.take(stage, raw, "gemini")

    assert steps.content(name)


@pytest.mark.parametrize("stage", [stage for stage in AgentStage if stage is not AgentStage.ACCEPT])
def test_an_empty_answer_is_refused(steps: TicketSteps, stage: AgentStage) -> None:
    with pytest.raises(InputError, match="cannot be used: the answer is empty"):
        steps.take(stage, "\n", "gemini")


@pytest.mark.parametrize("tool", ["codex", "gemini"])
def test_a_missing_reviewer_is_noted(steps: TicketSteps, tool: str) -> None:
    reply = steps.note_missing(tool)

    assert f"{tool} was not found" in (steps.root / (reply.written or "")).read_text()


def test_prompts_follow_the_work(steps: TicketSteps) -> None:
    assert steps.prompt(AgentStage.IMPLEMENT).text.startswith("SKIP: ")
    assert "T-1-A02" in steps.prompt(AgentStage.SELECT).text

    steps.take(AgentStage.SELECT, SELECTED, "gemini")
    steps.take(AgentStage.IMPLEMENT, "words", "gemini")

    assert "gemini-implement.md" not in steps.prompt(AgentStage.IMPLEMENT).text
    assert "gemini-implement.md" in steps.prompt(AgentStage.VERIFY).text


def test_nothing_open_is_skipped(tmp_path: Path) -> None:
    ticketify(TicketifyRequest(put(tmp_path, {"a.md": "- [x] done\n"})))

    reply = TicketSteps.at(tmp_path, OPTIONS.out_dir).prompt(AgentStage.SELECT)

    assert reply.text == "SKIP: no ticket has an open action"


@pytest.mark.parametrize(
    ("question", "before", "after"),
    [("found", "none", "some"), ("complexity", "none", "none"), ("wanted", "2", "2")],
)
def test_short_questions(steps: TicketSteps, question: str, before: str, after: str) -> None:
    assert steps.tasks(question)[0].text == before

    _with_tasks(steps)

    assert steps.tasks(question)[0].text == after


@pytest.mark.parametrize(("status", "expected"), [("pending", "4"), ("done", ""), ("review", "")])
def test_only_an_open_task_goes_to_review(steps: TicketSteps, status: str, expected: str) -> None:
    _with_tasks(steps, {"tasks": [{"id": 4, "title": "T-1: x", "status": status}]})
    steps.take(AgentStage.SELECT, SELECTED, "gemini")

    assert steps.tasks("selected")[0].text == expected


def test_the_complexity_report_is_demanded_whole(steps: TicketSteps) -> None:
    with pytest.raises(InputError, match="was not written"):
        steps.tasks("weighed")
    steps.write("tm-complexity.json", b"{")
    with pytest.raises(InputError, match="not JSON"):
        steps.tasks("weighed")
    steps.write("tm-complexity.json", b'{"complexityAnalysis": [{}]}')

    assert steps.tasks("weighed")[0].text == "1 task weighed"
    assert steps.tasks("complexity")[0].text == "some"


@pytest.mark.parametrize("question", ["made", "kept", "expanded", "check", "sync"])
def test_figures_need_tasks(steps: TicketSteps, question: str) -> None:
    with pytest.raises(InputError, match="holds no tasks"):
        steps.tasks(question)

    _with_tasks(steps, {"tasks": [{"id": 4, "title": "a", "subtasks": [{"id": 1, "title": "b"}]}]})

    assert steps.tasks(question)[0].written is not None


def test_what_was_not_broken_down_is_reported_and_no_figures_are_left(steps: TicketSteps) -> None:
    _with_tasks(steps)

    with pytest.raises(InputError, match="broke down nothing of task 4"):
        steps.tasks("expanded")

    assert steps.content("tm-expanded.json") is None


def test_a_check_tells_what_is_wrong(steps: TicketSteps) -> None:
    _with_tasks(steps, {"tasks": [{"id": 1, "title": "a", "dependencies": [1]}]})

    reply, _ = steps.tasks("check")

    assert not reply.ok
    assert "task 1: it depends on itself" in reply.text


def test_a_broken_tasks_file_is_an_error(steps: TicketSteps) -> None:
    _with_tasks(steps, "{")

    with pytest.raises(InputError, match="not JSON"):
        steps.tasks("found")


def test_reports(steps: TicketSteps) -> None:
    assert "no repository" in steps.report("changes").text
    assert steps.report("audit").ok
    assert steps.report("close-out").written == f"{OPTIONS.out_dir}/close-out.md"


def test_the_audit_finds_what_cannot_be_read(steps: TicketSteps) -> None:
    steps.write("PR.md", b"")

    reply = steps.report("audit")

    assert not reply.ok
    assert "PR.md: empty" in reply.text


@pytest.mark.parametrize("place", ["../key", "/dev/zero", ".git/config"])
def test_a_manifest_of_the_repository_names_no_file_elsewhere(
    steps: TicketSteps, place: str
) -> None:
    manifest = steps.root / steps.path("manifest.json")
    data = json.loads(manifest.read_bytes())
    data["options"]["prd_path"] = place
    manifest.write_text(json.dumps(data))
    _with_tasks(steps)

    for look in (lambda: steps.report("audit"), lambda: steps.tasks("made")):
        with pytest.raises(InputError, match="names"):
            look()


def test_tasks_behind_a_link_out_of_the_project_are_not_read(steps: TicketSteps) -> None:
    _with_tasks(steps)
    place = steps.root / ".taskmaster/tasks/tasks.json"
    place.rename(steps.root.parent / "tasks.json")
    place.symlink_to("../../../tasks.json")

    for look in (lambda: steps.tasks("found"), lambda: steps.report("close-out")):
        with pytest.raises(InputError, match="symbolic link"):
            look()
