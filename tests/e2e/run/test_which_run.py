"""Which run a command continues: the day plays no part, the commit does."""

import json
import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from oraclepack.pack.pack_files import read_pack
from oraclepack.run.request import RunRequest
from oraclepack.run.run import RunResult, run_pack
from tests.e2e.run.project import GIT, Project, Zygote, a_project

TWICE = "# 01) one\necho one >>log\n# 02) two\n[[ -e go ]] || exit 1\necho two >>log\n"


class ScriptedClock:
    """Starts at a moment and goes by a fixed step, which may lead back."""

    def __init__(self, start: datetime, step: timedelta) -> None:
        self._now = start
        self._step = step
        self._ticks = 0

    def now(self) -> datetime:
        self._now += self._step
        return self._now

    def monotonic_ns(self) -> int:
        self._ticks += 1_000_000
        return self._ticks


def at(project: Project, clock: ScriptedClock, monkeypatch: pytest.MonkeyPatch) -> RunResult:
    """Run the project's pack in this process, by that clock."""
    monkeypatch.chdir(project.root)
    for name, value in project.environment.items():
        monkeypatch.setenv(name, value)
    return run_pack(RunRequest(root=project.root, pack=read_pack(Path("pack.md"))), clock)


@pytest.fixture
def project(tmp_path: Path, zygote: Zygote) -> Project:
    return a_project(tmp_path, zygote, TWICE)


@pytest.mark.parametrize(
    ("later", "step"),
    [
        pytest.param(timedelta(minutes=4), timedelta(milliseconds=1), id="over midnight"),
        pytest.param(timedelta(days=400), timedelta(milliseconds=1), id="a year later"),
        pytest.param(timedelta(days=-3), timedelta(seconds=-5), id="the clock goes backwards"),
    ],
)
def test_a_run_is_continued_whatever_the_clock_says(
    project: Project, monkeypatch: pytest.MonkeyPatch, later: timedelta, step: timedelta
) -> None:
    start = datetime(2026, 3, 1, 23, 58, tzinfo=UTC)

    first = at(project, ScriptedClock(start, step), monkeypatch)
    (project.root / "go").touch()
    second = at(project, ScriptedClock(start + later, step), monkeypatch)

    assert (first.exit_code, second.exit_code) == (3, 0)
    assert project.run_dir.name.startswith("2026-03-01__")
    assert (project.root / "log").read_text() == "one\ntwo\n"
    assert all(entry["duration_ms"] >= 0 for entry in project.steps().values())
    assert project.journal.damage is None


def test_a_step_that_commits_does_not_orphan_its_run(tmp_path: Path, zygote: Zygote) -> None:
    commit = " ".join(f"'{word}'" for word in (*GIT, "commit", "-q", "--allow-empty", "-m", "x"))
    bash = f'# 01) commits\nbash -c "{commit}"\n# 02) fails once\n[[ -e go ]] || exit 1\n'
    project = a_project(tmp_path, zygote, bash)

    first = project.run()
    (project.root / "go").touch()
    second = project.run()

    assert (first.code, second.code) == (3, 0)
    assert second.data["done_steps"] == ["01"]
    heads = project.manifest()["heads"]
    assert len(heads) == 2
    assert heads[0] == project.manifest()["git_sha"]


def test_in_a_worktree_a_steps_commit_is_seen_too(tmp_path: Path, zygote: Zygote) -> None:
    project = a_project(tmp_path, zygote, "# 01) commits\ngit commit -q --allow-empty -m x\n")
    subprocess.run(["git", "worktree", "add", "-q", "../tree"], cwd=project.root, check=True)
    tree = Project(
        tmp_path / "tree",
        zygote,
        project.oracle,
        {
            f"GIT_{who}_{what}": "a@example.org"
            for who in ("AUTHOR", "COMMITTER")
            for what in ("NAME", "EMAIL")
        },
    )

    assert tree.run().code == 0
    assert len(tree.manifest()["heads"]) == 2


def test_another_commit_is_another_run_and_says_so(project: Project) -> None:
    project.run()
    sha = project.commit("elsewhere")

    ran = project.run()

    assert len(project.run_dirs) == 2
    assert any(sha[:7] in path.name for path in project.run_dirs)
    assert "HEAD is now elsewhere" in ran.envelope["warnings"][0]


def test_a_new_run_is_a_second_directory(project: Project) -> None:
    project.run()
    (first,) = project.run_dirs

    project.run("--new-run")
    project.run("--new-run")

    names = [path.name for path in project.run_dirs]
    assert names == [first.name, f"{first.name}__2", f"{first.name}__3"]
    manifests = [json.loads((path / "run.json").read_bytes()) for path in project.run_dirs]
    assert {manifest["pack_id"] for manifest in manifests} == {first.name}


def test_a_run_can_be_named(project: Project) -> None:
    project.run()
    (first,) = project.run_dirs
    project.run("--new-run")
    (project.root / "go").touch()

    ran = project.run("--run-id", first.name)

    assert (ran.code, ran.data["run_id"]) == (0, first.name)


@pytest.mark.parametrize("repository", [True, False], ids=["in a repository", "outside of one"])
def test_without_git_a_run_works_and_goes_on(
    tmp_path: Path, project: Project, repository: bool
) -> None:
    tools = tmp_path / "few"
    tools.mkdir()
    (tools / "bash").symlink_to("/bin/bash")
    if not repository:
        (project.root / ".git").rename(tmp_path / "git-away")

    first = project.run(PATH=str(tools))
    (project.root / "go").touch()
    second = project.run(PATH=str(tools))

    assert (first.code, second.code) == (3, 0)
    assert ("__nogit__" in project.run_dir.name) is not repository
    messages = [warning["message"] for warning in project.manifest()["warnings"]]
    assert ("git_sha is not known" in messages) is not repository
    assert "git_dirty is not known" in messages


def test_a_changed_pack_is_another_run(tmp_path: Path, zygote: Zygote) -> None:
    """The run itself goes on with the pack it has read."""
    change = "echo '<!-- later -->' >>pack.md\n"
    project = a_project(tmp_path, zygote, f"# 01) edits\n{change}# 02) two\necho two >two\n")

    first = project.run()

    assert (first.code, (project.root / "two").read_text()) == (0, "two\n")
    assert project.statuses() == ["ok", "ok"]
    assert "pack.md was changed since this command began" in warnings(project)
    project.run()
    assert len(project.run_dirs) == 2


def test_a_pack_deleted_while_it_runs_is_run_to_its_end(tmp_path: Path, zygote: Zygote) -> None:
    project = a_project(tmp_path, zygote, "# 01) deletes\nrm pack.md\n# 02) two\necho two >two\n")

    first = project.run()
    second = project.run()

    assert (first.code, project.statuses()) == (0, ["ok", "ok"])
    assert "pack.md is missing since this command began" in warnings(project)
    assert (second.code, second.envelope["error"]["code"]) == (2, "NOT_FOUND")


def warnings(project: Project) -> str:
    return " ".join(warning["message"] for warning in project.manifest()["warnings"])
