"""`runs prune` on real runs: what goes, what stays and why, and what a kill leaves."""

import json
import os
import shutil
import signal
from pathlib import Path

import pytest

from oraclepack.errors import MachineError
from oraclepack.journal import run_dir
from oraclepack.journal.run_dir import RunDir
from oraclepack.run.prune_runs import finish_removals, remove_run
from tests.e2e.program import Ran, tree
from tests.e2e.run.meeting import Meeting
from tests.e2e.run.project import Project, Zygote, a_project, asking
from tests.faults import failing
from tests.packs import ANSWER_FORMAT

WAYS = {"accepted": "what a person accepted", "corrected": "an answer that was corrected"}


@pytest.fixture
def project(tmp_path: Path, zygote: Zygote) -> Project:
    """Two finished runs of one question."""
    made = a_project(tmp_path, zygote, "mkdir -p out\n" + asking(1))
    assert made.run().code == 0
    assert made.run("--new-run").code == 0
    return made


def prune(project: Project, *args: str) -> Ran:
    return project.start("runs", "prune", "--json", *args).wait()


def removed(ran: Ran) -> list[str]:
    return [one["run_id"] for one in ran.data["removed"]]


def reasons(ran: Ran) -> list[str]:
    return [one["reason"] for one in ran.data["kept"]]


def test_what_is_in_the_cache_may_go_and_nothing_is_paid_again(project: Project) -> None:
    runs = [one.name for one in project.run_dirs]

    ran = prune(project, "--keep", "0")

    assert (ran.code, removed(ran), ran.data["kept"]) == (0, sorted(runs), [])
    assert ran.data["bytes"] > 0
    assert [*(project.root / ".oraclepack/runs").iterdir()] == []
    assert (project.run().code, len(project.oracle.calls)) == (0, 1)


@pytest.mark.parametrize("way", ["accepted", "corrected"])
def test_an_answer_that_missed_its_contract_is_not_paid_again(
    tmp_path: Path, zygote: Zygote, way: str
) -> None:
    prompt = f"Why? [[fault=short]]\n\n{ANSWER_FORMAT}"
    bash = f"mkdir -p out\n# 01) ask\noracle --write-output out/01.md -p '{prompt}'\n"
    project = a_project(tmp_path, zygote, bash)
    assert project.run().code == 3
    answer = project.root / "out/01.md"
    if way == "accepted":
        assert project.start("accept", "pack.md", "01", "--reason", "x").wait().code == 0
    else:
        answer.write_text(answer.read_text().replace("## Worries", "## Risks/unknowns"))
    assert project.run().code == 0

    ran = prune(project, "--keep", "0")

    assert (removed(ran), len(reasons(ran))) == ([], 1)
    assert f"the next run would ask again: no cache has {WAYS[way]}" in reasons(ran)[0]
    assert (project.run().code, len(project.oracle.calls)) == (0, 1)


def test_a_dry_run_changes_nothing(project: Project) -> None:
    before = tree(project.root)

    ran = prune(project, "--keep", "1", "--dry-run")

    assert len(removed(ran)) == 1
    assert reasons(ran) == ["among the newest 1 of its pack"]
    assert tree(project.root) == before


def test_as_text_every_run_has_its_line(project: Project) -> None:
    old, new = sorted(one.name for one in project.run_dirs)

    ran = project.start("runs", "prune", "--keep", "1", "--dry-run").wait()

    lines = ran.out.splitlines()
    assert lines[0].startswith(f"would remove {old}, ")
    assert lines[1] == f"would keep {new}: among the newest 1 of its pack"
    assert lines[2].startswith("would remove 1 run, ")


def test_young_runs_stay(project: Project) -> None:
    assert reasons(prune(project, "--older-than", "1h")) == ["not old enough"] * 2
    assert len(removed(prune(project, "--older-than", "0"))) == 2


@pytest.mark.parametrize("lost", ["cache", "both"])
def test_the_only_copy_of_an_answer_stays(project: Project, lost: str) -> None:
    shutil.rmtree(project.root / ".oraclepack/cache")
    if lost == "both":
        shutil.rmtree(project.root / "out")

    ran = prune(project, "--keep", "0")

    # The newest run would be asked for again; its copy is enough for the older one.
    assert len(removed(ran)) == 1
    assert "would ask again" in reasons(ran)[0]
    assert "Direct answer" in (project.run_dirs[0] / "outputs/01-topic-1.md").read_text()
    if lost == "cache":
        assert (project.run().code, len(project.oracle.calls)) == (0, 1)


def test_a_unique_answer_of_an_older_run_stays(project: Project) -> None:
    old = min(project.run_dirs)
    (old / "outputs/01-topic-1.md").write_text("an earlier answer\n")

    ran = prune(project, "--keep", "1")

    assert removed(ran) == []
    assert "the only copy of outputs/01-topic-1.md" in reasons(ran)


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        pytest.param("notes.md", "mine", "it holds notes.md", id="a foreign file"),
        pytest.param(
            "actionizer/backlog.md",
            "<!-- keep: notes -->\nmine\n<!-- /keep -->\n",
            "its backlog holds text of yours",
            id="own words in the backlog",
        ),
        pytest.param("backups/01.1/x.md", "old", "the only copy of backups/", id="a backup"),
    ],
)
def test_what_a_person_made_stays(project: Project, name: str, content: str, reason: str) -> None:
    file = min(project.run_dirs) / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(content)

    ran = prune(project, "--keep", "1")

    assert removed(ran) == []
    assert any(reason in line for line in reasons(ran))
    assert file.read_text() == content


def test_runs_that_are_in_use_or_unfinished_stay(tmp_path: Path, zygote: Zygote) -> None:
    project = a_project(tmp_path, zygote, "# 01) waits\necho $$ >meet\nsleep 600\n")
    meeting = Meeting(project.root / "meet")
    program = project.start("run", "pack.md", "--json")
    shell = int(meeting.wait())

    during = prune(project, "--keep", "0")
    program.signal(signal.SIGKILL)
    program.wait()
    os.killpg(shell, signal.SIGKILL)
    after = prune(project, "--keep", "0")

    assert (reasons(during), reasons(after)) == (["in use"], ["unfinished: interrupted"])
    assert project.run_dir.is_dir()


def test_names_that_are_not_ours_are_not_touched(project: Project) -> None:
    runs = project.root / ".oraclepack/runs"
    (runs / "mine").mkdir()
    (runs / ".pruned-0000-.2026-01-01__nogit__00000000").mkdir()
    outside = project.root / "outside"
    outside.mkdir()
    (runs / "2026-01-01__nogit__11111111").symlink_to(outside)

    ran = prune(project, "--keep", "0")

    assert len(removed(ran)) == 2
    assert sorted(path.name for path in runs.iterdir()) == [
        ".pruned-0000-.2026-01-01__nogit__00000000",
        "2026-01-01__nogit__11111111",
        "mine",
    ]
    assert outside.is_dir()


def test_a_foreign_run_is_not_removed(project: Project) -> None:
    project.commit()
    run = min(project.run_dirs)
    lines = (run / "journal.jsonl").read_text().splitlines()
    unsigned = [json.loads(line) for line in lines]
    for line in unsigned:
        line["mac"] = "0" * 32
    (run / "journal.jsonl").write_text("".join(json.dumps(one) + "\n" for one in unsigned))

    ran = prune(project, "--keep", "0")

    assert run.name not in removed(ran)
    assert run.is_dir()


@pytest.mark.parametrize("at", [1, 2, 3, 5, 8])
def test_a_removal_that_is_cut_off_is_finished_later(project: Project, at: int) -> None:
    run = RunDir(project.root, min(project.run_dirs).name)
    before = tree(run.path)

    with pytest.raises(MachineError), failing(at):
        remove_run(run)
    is_whole = run.run_id in run_dir.run_ids(project.root) and tree(run.path) == before
    is_gone = run.run_id not in run_dir.run_ids(project.root)
    finish_removals(project.root)

    assert is_whole or is_gone
    assert not list((project.root / ".oraclepack/runs").glob(".pruned-*"))


def test_something_to_go_by_is_needed(project: Project) -> None:
    ran = project.start("runs", "prune").wait()

    assert ran.code == 2
    assert "give --older-than, --keep or both" in ran.err


def test_rehearsals_go_whatever_became_of_them(tmp_path: Path, zygote: Zygote) -> None:
    project = a_project(tmp_path, zygote, "mkdir -p out\n" + asking(1) + "# 02) x\nfalse\n")
    assert project.run("--engine", "rehearsal").code == 3
    (name,) = [one["run_id"] for one in prune(project, "--keep", "1").data["kept"]]

    ran = prune(project, "--keep", "0")

    assert name.startswith("rehearsals/")
    assert removed(ran) == [name]
    assert [*(project.root / ".oraclepack/rehearsals").iterdir()] == []
