"""Each step of the ticket action pack does its work, and fails for a reason."""

import json
import os
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import pytest

from oraclepack.pack.model import Pack
from oraclepack.pack.parse.read_pack import parse_pack
from oraclepack.tickets.pages import pack_text
from oraclepack.tickets.ticketify import TicketifyRequest, ticketify
from tests.tickets import agents
from tests.tickets.tickets import OPTIONS, TWO, put

OUT = Path(OPTIONS.out_dir)
TASKS = Path(".taskmaster/tasks/tasks.json")
NEXT = {
    "version": 1,
    "ticket_id": "T-1",
    "ticket_path": ".tickets/T-1.md",
    "title": "Limit",
    "action_ids": ["T-1-A02"],
    "reason": "first",
    "task_id": None,
}
GOOD_TASKS = {"master": {"tasks": [{"id": 1, "title": "T-1: Limit", "status": "pending"}]}}


@cache
def the_pack() -> Pack:
    return parse_pack(pack_text(OPTIONS), "pack.md")


@dataclass(frozen=True)
class Bench:
    """A project with tickets, tools and a pack, whose steps are run one by one."""

    root: Path
    tools: Path
    variables: dict[str, str] = field(default_factory=dict)

    def write(self, path: Path | str, content: object) -> None:
        place = self.root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(content if isinstance(content, str) else json.dumps(content))

    def step(self, number: str, fault: str = "") -> subprocess.CompletedProcess[str]:
        step = the_pack().step(number)
        assert step is not None
        env = os.environ | {"PATH": f"{self.tools}:/usr/bin:/bin", "TOOL_FAULT": fault}
        return subprocess.run(
            ["bash", "-c", step.code],
            cwd=self.root,
            env=env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    root = put(tmp_path / "project", TWO)
    ticketify(TicketifyRequest(root))
    bench = Bench(root, agents.install(tmp_path / "bin", *agents.ALL))
    bench.write(OUT / "next.json", NEXT)
    bench.write(TASKS, GOOD_TASKS)
    return bench


def _duplicate(bench: Bench) -> None:
    bench.write(".tickets/T-3.md", "---\nid: T-1\n---\n")


def _unreadable(bench: Bench) -> None:
    (bench.root / ".tickets/T-3.md").symlink_to("nowhere")


def _edited_prd(bench: Bench) -> None:
    bench.write(OPTIONS.prd_path, "mine")


def _edited_actions(bench: Bench) -> None:
    bench.write(OUT / "_actions.md", "mine")


def _no_tasks(bench: Bench) -> None:
    (bench.root / TASKS).unlink()


def _bad_tasks(bench: Bench) -> None:
    circle = [
        {"id": 1, "title": "a", "dependencies": [2]},
        {"id": 2, "title": "b", "dependencies": [1]},
    ]
    bench.write(TASKS, {"master": {"tasks": circle}})


def _no_index(bench: Bench) -> None:
    (bench.root / OUT / "_tickets_index.json").unlink()


def _half_next(bench: Bench) -> None:
    bench.write(OUT / "next.json", '{"version": 1, "ticket')


def _broken_actions(bench: Bench) -> None:
    bench.write(OUT / "_actions.json", "[]")


def _nothing(_: Bench) -> None: ...


@pytest.mark.parametrize(
    ("step", "prepare", "fault", "reason", "leaves"),
    [
        pytest.param("01", _duplicate, "", "more than one ticket", None, id="01 one id twice"),
        pytest.param("02", _unreadable, "", "T-3.md: cannot be read", None, id="02 unreadable"),
        pytest.param(
            "03", _edited_prd, "", "edited by another program or person", None, id="03 edited PRD"
        ),
        pytest.param("04", _edited_actions, "", "not what the tickets say", "check.json", id="04"),
        pytest.param(
            "05",
            _no_tasks,
            "task-master parse-prd silent",
            "holds no tasks",
            None,
            id="05 exit 0 and no tasks",
        ),
        pytest.param(
            "06",
            _nothing,
            "task-master analyze-complexity silent",
            "tm-complexity.json was not written",
            None,
            id="06 exit 0 and no report",
        ),
        pytest.param("07", _nothing, "task-master expand", "expand failed", None, id="07 refused"),
        pytest.param(
            "07",
            _nothing,
            "task-master expand silent",
            "broke down nothing of task 1",
            None,
            id="07 exit 0 and nothing broken down",
        ),
        pytest.param(
            "08", _bad_tasks, "", "circle of dependencies", "tm-check.json", id="08 circle"
        ),
        pytest.param(
            "08", _nothing, "task-master circle", "[CIRCULAR]", "tm-check.json", id="08 reported"
        ),
        pytest.param(
            "09", _nothing, "gemini malformed", "no JSON object", None, id="09 half an answer"
        ),
        pytest.param("10", _nothing, "codex fails", "turn.failed", None, id="10 codex fails"),
        pytest.param(
            "10", _half_next, "", "next.json has the wrong", None, id="10 half a next.json"
        ),
        pytest.param("11", _nothing, "gemini error", "quota", "codex-verify.md", id="11 no review"),
        pytest.param("12", _nothing, "codex fails", "turn.failed", None, id="12 codex fails"),
        pytest.param("13", _nothing, "codex fails", "turn.failed", None, id="13 codex fails"),
        pytest.param(
            "14", _nothing, "task-master set-status", "set-status failed", None, id="14 refused"
        ),
        pytest.param(
            "15",
            _edited_actions,
            "",
            "not what the tickets say",
            "determinism.json",
            id="15 edited",
        ),
        pytest.param("16", _nothing, "gemini empty", "response in the tool's", None, id="16 empty"),
        pytest.param(
            "17", _nothing, "gemini silent", "says nothing about", None, id="17 no verdict"
        ),
        pytest.param("18", _no_index, "", "_tickets_index.json is missing", None, id="18 no index"),
        pytest.param(
            "19", _half_next, "", "next.json: wrong format", "audit.json", id="19 half a file"
        ),
        pytest.param(
            "20", _broken_actions, "", "_actions.json has the wrong", None, id="20 broken"
        ),
    ],
)
def test_a_step_fails_for_a_reason(
    bench: Bench,
    step: str,
    prepare: Callable[[Bench], None],
    fault: str,
    reason: str,
    leaves: str | None,
) -> None:
    prepare(bench)
    before = set((bench.root / OUT).iterdir())

    ran = bench.step(step, fault)

    assert ran.returncode != 0, ran.stdout
    assert reason in ran.stderr
    new = {path.name for path in set((bench.root / OUT).iterdir()) - before}
    assert new == ({leaves} if leaves else set())


def test_a_malformed_answer_leaves_the_older_selection_alone(bench: Bench) -> None:
    before = (bench.root / OUT / "next.json").read_bytes()

    ran = bench.step("09", "gemini malformed")

    assert ran.returncode == 2
    assert (bench.root / OUT / "next.json").read_bytes() == before


def test_tasks_that_are_there_are_kept(bench: Bench) -> None:
    ran = bench.step("05")

    assert (ran.returncode, ran.stdout.splitlines()[0]) == (0, f"kept: {TASKS}")
    assert json.loads((bench.root / TASKS).read_text()) == GOOD_TASKS
    assert not (bench.tools / "calls.jsonl").exists()


def test_a_broken_tasks_file_is_not_overwritten(bench: Bench) -> None:
    bench.write(TASKS, "{")

    ran = bench.step("05")

    assert ran.returncode != 0
    assert (bench.root / TASKS).read_text() == "{"


def test_a_finished_selection_is_not_implemented_again(bench: Bench) -> None:
    bench.write(OUT / "next.json", NEXT | {"action_ids": ["T-1-A01"]})

    assert bench.step("10").stdout == "SKIP: everything that was selected is done\n"


def test_the_task_of_the_selected_ticket_goes_to_review(bench: Bench) -> None:
    assert bench.step("14").returncode == 0

    task = json.loads((bench.root / TASKS).read_text())["master"]["tasks"][0]
    assert task["status"] == "review"


@pytest.mark.parametrize("step", ["09", "16", "17"])
def test_codex_stands_in_for_gemini(bench: Bench, step: str) -> None:
    (bench.tools / "gemini").unlink()

    ran = bench.step(step)

    assert ran.returncode == 0, ran.stderr
    assert "wrote" in ran.stdout


def test_a_reviewer_who_is_not_there_leaves_a_note(bench: Bench) -> None:
    (bench.tools / "gemini").unlink()

    ran = bench.step("11")

    assert ran.returncode == 0, ran.stderr
    review = json.loads((bench.root / OUT / "gemini-review.json").read_text())
    assert (review["status"], "SKIP: gemini not found" in ran.stdout) == ("missing", True)
