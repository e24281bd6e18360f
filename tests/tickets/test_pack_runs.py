"""The ticket action pack from end to end, in a real login shell."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from oraclepack.tickets.ticketify import TicketifyRequest, ticketify
from tests.e2e.program import Ran, oraclepack
from tests.tickets import agents
from tests.tickets.tickets import OPTIONS, TWO, put

OUT = OPTIONS.out_dir
PACK = f"{OUT}/ticket-action-pack.md"
OURS = ["01", "02", "03", "04", "15", "18", "19", "20"]
ALL = [f"{number:02}" for number in range(1, 21)]


@dataclass(frozen=True)
class Project:
    """A repository with tickets, and a PATH that login shells find too."""

    root: Path
    tools: Path
    path: str

    def run(self, *flags: str, fault: str = "") -> Ran:
        words = ("run", PACK, "--json", "--quiet", *flags)
        return oraclepack(self.root, *words, PATH=self.path, TOOL_FAULT=fault)

    def read(self, name: str) -> str:
        return (self.root / OUT / name).read_text()

    @property
    def calls(self) -> list[list[str]]:
        log = self.tools / "calls.jsonl"
        return [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []


def _project(tmp_path: Path, home: Path, *tools: str) -> Project:
    root = put(tmp_path / "project", TWO)
    bin_ = agents.install(tmp_path / "bin", *tools)
    path = f"{bin_}:/usr/bin:/bin"
    (home / ".bash_profile").write_text(f"export PATH='{path}'\n")
    for words in (("init", "-q"), ("add", "-A"), ("commit", "-qm", "tickets")):
        git = ["git", "-c", "user.name=a", "-c", "user.email=a@example.org", *words]
        subprocess.run(git, cwd=root, check=True, capture_output=True)
    ticketify(TicketifyRequest(root))
    return Project(root, bin_, path)


def test_without_any_tool_what_needs_one_is_skipped(tmp_path: Path, home: Path) -> None:
    project = _project(tmp_path, home)

    ran = project.run()

    assert ran.code == 0, ran.out
    assert ran.data["completed_steps"] == OURS
    assert ran.data["skipped_steps"] == [step for step in ALL if step not in OURS]
    assert json.loads(project.read("audit.json"))["ok"] is True
    assert "Nothing was selected." in project.read("close-out.md")


@pytest.mark.slow
def test_with_all_tools_a_failed_step_is_continued_and_nothing_is_done_twice(
    tmp_path: Path, home: Path
) -> None:
    project = _project(tmp_path, home, *agents.ALL)

    failed = project.run(fault="gemini malformed")

    assert (failed.code, failed.data["failed_step"]) == (3, "09")
    assert not (project.root / OUT / "next.json").exists()
    assert not any(call[0] == "codex" for call in project.calls)
    paid = project.calls

    ran = project.run()

    assert ran.code == 0, ran.out
    assert (ran.data["done_steps"], ran.data["completed_steps"]) == (ALL[:8], ALL[8:])
    assert [words for words in project.calls[len(paid) :] if "expand" in words] == []
    assert json.loads(project.read("next.json"))["task_id"] == "1"
    assert json.loads(project.read("acceptance.json"))["criteria"][0]["met"] == "yes"
    assert "1 of 1 criteria are met." in project.read("close-out.md")
    assert "work.txt" in project.read("changes.md")
    assert (project.root / "work.txt").read_text() == "by codex\n" * 3

    before = project.calls
    (expand,) = [words for words in before if "expand" in words]
    assert expand[-2:] == ["--complexity-report", f"{OUT}/tm-complexity.json"]
    again = project.run()

    assert again.code == 0, again.out
    assert again.data["done_steps"] == ALL
    assert project.calls == before


@pytest.mark.slow
def test_one_agent_alone(tmp_path: Path, home: Path) -> None:
    project = _project(tmp_path, home, "gemini")
    ticketify(TicketifyRequest(project.root, mode="gemini"))

    ran = project.run()

    assert ran.code == 0, ran.out
    assert ran.data["skipped_steps"] == ["05", "06", "07", "08", "14"]
    assert {call[0] for call in project.calls} == {"gemini"}


def test_rollback_leaves_the_prd_and_task_masters_results(tmp_path: Path, home: Path) -> None:
    project = _project(tmp_path, home, *agents.ALL)

    ran = project.run("--rollback-on-failure", fault="gemini malformed")

    assert (ran.code, ran.data["rollback_status"]) == (3, "completed")
    for path in (
        OPTIONS.prd_path,
        ".taskmaster/tasks/tasks.json",
        f"{OUT}/tm-complexity.json",
        "ticket-action-pack.state.json",
        "ticket-action-pack.report.json",
    ):
        assert (project.root / path).exists(), path
    assert not (project.root / OUT / "check.json").exists()


def test_killed_while_it_writes_the_next_step_never_sees_half_a_file(tmp_path: Path) -> None:
    root = put(tmp_path, TWO)
    ticketify(TicketifyRequest(root))
    good = '{"ticket_id": "T-1", "action_ids": ["T-1-A02"], "reason": "first"}'
    code = (
        "import sys; from tests.faults import die_at; "
        "from oraclepack.cli.error_boundary import run; "
        "die_at(int(sys.argv[1]), torn=7); "
        f"sys.exit(run(['tickets', 'take', 'select', '--cwd', {str(root)!r}]))"
    )
    here = Path(__file__).parent.parent.parent
    for at in range(1, 8):
        ran = subprocess.run(
            [sys.executable, "-c", code, str(at)],
            cwd=here,
            env=os.environ | {"PYTHONPATH": str(here)},
            input=good.encode(),
            capture_output=True,
            check=False,
            timeout=60,
        )
        written = root / OUT / "next.json"
        if written.exists():
            assert json.loads(written.read_text())["ticket_id"] == "T-1"
        if ran.returncode == 0:
            assert written.exists()
            return
    pytest.fail("it was never allowed to finish")
