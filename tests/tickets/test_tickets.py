"""What the steps of the ticket action pack ask of us, in this process."""

import json
from pathlib import Path

import pytest

from oraclepack.errors import InputError, UsageError
from oraclepack.tickets.steps_support import TicketOutDir, note_missing, prompt, report, take, tasks
from oraclepack.tickets.ticket import AgentStage
from oraclepack.tickets.ticketify import TicketifyRequest, ticketify
from tests.tickets.tickets import OPTIONS, TWO, put

SELECTED = '{"ticket_id": "T-1", "action_ids": ["T-1-A02"], "reason": "first"}'
JUDGED = '{"criteria": [{"action_id": "T-1-A03", "met": "yes"}]}'
TASKS = {"master": {"tasks": [{"id": 4, "title": "T-1: Limit", "status": "pending"}]}}


@pytest.fixture
def desk(tmp_path: Path) -> TicketOutDir:
    ticketify(TicketifyRequest(put(tmp_path, TWO)))
    return TicketOutDir.at(tmp_path, OPTIONS.out_dir)


def _with_tasks(desk: TicketOutDir, content: object = TASKS) -> None:
    place = desk.root / ".taskmaster/tasks/tasks.json"
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(content if isinstance(content, str) else json.dumps(content))


def _read(desk: TicketOutDir, name: str) -> dict[str, object]:
    data = desk.content(name)
    assert data is not None
    loaded: dict[str, object] = json.loads(data)
    return loaded


def test_an_out_dir_outside_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        TicketOutDir.at(tmp_path, "../x")


def test_a_selection_knows_its_task(desk: TicketOutDir) -> None:
    _with_tasks(desk)

    reply = take(desk, AgentStage.SELECT, SELECTED, "gemini")

    assert reply.written == f"{OPTIONS.out_dir}/next.json"
    assert _read(desk, "next.json")["task_id"] == "4"


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
    desk: TicketOutDir, stage: AgentStage, raw: str, name: str
) -> None:
    take(desk, AgentStage.SELECT, SELECTED, "gemini")

    take(desk, stage, raw, "gemini")

    assert desk.content(name)


@pytest.mark.parametrize("stage", [stage for stage in AgentStage if stage is not AgentStage.ACCEPT])
def test_an_empty_answer_is_refused(desk: TicketOutDir, stage: AgentStage) -> None:
    with pytest.raises(InputError, match="cannot be used: the answer is empty"):
        take(desk, stage, "\n", "gemini")


@pytest.mark.parametrize("tool", ["codex", "gemini"])
def test_a_missing_reviewer_is_noted(desk: TicketOutDir, tool: str) -> None:
    reply = note_missing(desk, tool)

    assert f"{tool} was not found" in (desk.root / (reply.written or "")).read_text()


def test_prompts_follow_the_work(desk: TicketOutDir) -> None:
    assert prompt(desk, AgentStage.IMPLEMENT).text.startswith("SKIP: ")
    assert "T-1-A02" in prompt(desk, AgentStage.SELECT).text

    take(desk, AgentStage.SELECT, SELECTED, "gemini")
    take(desk, AgentStage.IMPLEMENT, "words", "gemini")

    assert "gemini-implement.md" not in prompt(desk, AgentStage.IMPLEMENT).text
    assert "gemini-implement.md" in prompt(desk, AgentStage.VERIFY).text


def test_nothing_open_is_skipped(tmp_path: Path) -> None:
    ticketify(TicketifyRequest(put(tmp_path, {"a.md": "- [x] done\n"})))

    reply = prompt(TicketOutDir.at(tmp_path, OPTIONS.out_dir), AgentStage.SELECT)

    assert reply.text == "SKIP: no ticket has an open action"


@pytest.mark.parametrize(
    ("question", "before", "after"),
    [("found", "none", "some"), ("complexity", "none", "none"), ("wanted", "2", "2")],
)
def test_short_questions(desk: TicketOutDir, question: str, before: str, after: str) -> None:
    assert tasks(desk, question)[0].text == before

    _with_tasks(desk)

    assert tasks(desk, question)[0].text == after


@pytest.mark.parametrize(("status", "expected"), [("pending", "4"), ("done", ""), ("review", "")])
def test_only_an_open_task_goes_to_review(desk: TicketOutDir, status: str, expected: str) -> None:
    _with_tasks(desk, {"tasks": [{"id": 4, "title": "T-1: x", "status": status}]})
    take(desk, AgentStage.SELECT, SELECTED, "gemini")

    assert tasks(desk, "selected")[0].text == expected


def test_the_complexity_report_is_demanded_whole(desk: TicketOutDir) -> None:
    with pytest.raises(InputError, match="was not written"):
        tasks(desk, "weighed")
    desk.write("tm-complexity.json", b"{")
    with pytest.raises(InputError, match="not JSON"):
        tasks(desk, "weighed")
    desk.write("tm-complexity.json", b'{"complexityAnalysis": [{}]}')

    assert tasks(desk, "weighed")[0].text == "1 task weighed"
    assert tasks(desk, "complexity")[0].text == "some"


@pytest.mark.parametrize("question", ["made", "kept", "expanded", "check", "sync"])
def test_figures_need_tasks(desk: TicketOutDir, question: str) -> None:
    with pytest.raises(InputError, match="holds no tasks"):
        tasks(desk, question)

    _with_tasks(desk, {"tasks": [{"id": 4, "title": "a", "subtasks": [{"id": 1, "title": "b"}]}]})

    assert tasks(desk, question)[0].written is not None


def test_what_was_not_broken_down_is_reported_and_no_figures_are_left(desk: TicketOutDir) -> None:
    _with_tasks(desk)

    with pytest.raises(InputError, match="broke down nothing of task 4"):
        tasks(desk, "expanded")

    assert desk.content("tm-expanded.json") is None


def test_a_check_tells_what_is_wrong(desk: TicketOutDir) -> None:
    _with_tasks(desk, {"tasks": [{"id": 1, "title": "a", "dependencies": [1]}]})

    reply, _ = tasks(desk, "check")

    assert not reply.ok
    assert "task 1: it depends on itself" in reply.text


def test_a_broken_tasks_file_is_an_error(desk: TicketOutDir) -> None:
    _with_tasks(desk, "{")

    with pytest.raises(InputError, match="not JSON"):
        tasks(desk, "found")


def test_reports(desk: TicketOutDir) -> None:
    assert "no repository" in report(desk, "changes").text
    assert report(desk, "audit").ok
    assert report(desk, "close-out").written == f"{OPTIONS.out_dir}/close-out.md"


def test_the_audit_finds_what_cannot_be_read(desk: TicketOutDir) -> None:
    desk.write("PR.md", b"")

    reply = report(desk, "audit")

    assert not reply.ok
    assert "PR.md: empty" in reply.text


@pytest.mark.parametrize("place", ["../key", "/dev/zero", ".git/config"])
def test_a_manifest_of_the_repository_names_no_file_elsewhere(
    desk: TicketOutDir, place: str
) -> None:
    manifest = desk.root / desk.path("manifest.json")
    data = json.loads(manifest.read_bytes())
    data["options"]["prd_path"] = place
    manifest.write_text(json.dumps(data))
    _with_tasks(desk)

    for look in (lambda: report(desk, "audit"), lambda: tasks(desk, "made")):
        with pytest.raises(InputError, match="names"):
            look()


def test_tasks_behind_a_link_out_of_the_project_are_not_read(desk: TicketOutDir) -> None:
    _with_tasks(desk)
    place = desk.root / ".taskmaster/tasks/tasks.json"
    place.rename(desk.root.parent / "tasks.json")
    place.symlink_to("../../../tasks.json")

    for look in (lambda: tasks(desk, "found"), lambda: report(desk, "close-out")):
        with pytest.raises(InputError, match="symbolic link"):
            look()
