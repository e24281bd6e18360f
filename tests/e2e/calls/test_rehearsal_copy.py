"""A rehearsal runs in a throw-away copy of the project, which it cannot leave by accident."""

import os
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from oraclepack.errors import InputError
from oraclepack.pack.answer_sections import NOTICE
from oraclepack.run import project_copy
from tests.e2e.calls.office import ask, step, until
from tests.e2e.run.project import GIT, Project, Zygote, a_project

REHEARSAL = ("--engine", "rehearsal", "--no-validate")


def git(root: Path, *words: str) -> str:
    done = subprocess.run([*GIT, *words], cwd=root, check=True, capture_output=True, text=True)
    return done.stdout


@pytest.fixture
def temporary() -> Iterator[Path]:
    """A directory with a path that is short enough for sockets."""
    with tempfile.TemporaryDirectory(prefix="r") as place:
        yield Path(place)


def rehearsed(tmp_path: Path, zygote: Zygote, *lines: str, **env: Any) -> tuple[Project, str]:
    """A rehearsal of one step in a project with some files; what the step printed."""
    project = a_project(tmp_path, zygote, step(1, *lines))
    (project.root / "src").mkdir()
    (project.root / "src/a.py").write_text("a = 1\n")
    (project.root / "run.sh").write_text("#!/bin/sh\n")
    (project.root / "run.sh").chmod(0o755)
    project.commit()
    (project.root / "build").mkdir()
    (project.root / "build/kept").write_text("kept\n")
    (project.root / "new.txt").write_text("new\n")
    (project.root / "out").mkdir()
    (project.root / "out/ignored.md").write_text("ignored\n")
    ran = project.run(*REHEARSAL, **env)
    assert ran.code == 0, ran
    log = project.root / ran.data["run_dir"] / ran.data["steps"][0]["stdout_log"]
    return project, log.read_text()


@pytest.mark.parametrize(
    ("line", "said"),
    [
        pytest.param("cat src/a.py", "a = 1\n", id="tracked files are there"),
        pytest.param("cat new.txt", "new\n", id="untracked ones too"),
        pytest.param("ls out/ignored.md 2>/dev/null || echo no", "no\n", id="ignored ones not"),
        pytest.param("stat -c %a run.sh", "755\n", id="modes are kept"),
        pytest.param('basename "$PWD"', "project\n", id="the name is kept"),
        pytest.param("git ls-files src", "src/a.py\n", id="git lists the files"),
        pytest.param("git log --format=%s", "work\nwork\n", id="git knows the history"),
        pytest.param("git status --porcelain", "?? build/\n?? new.txt\n", id="git sees the state"),
        pytest.param("git branch --show-current", "main\n", id="git is on its branch"),
        pytest.param("git show HEAD:src/a.py", "a = 1\n", id="git reads the objects"),
        pytest.param("echo $ORACLEPACK_ENGINE", "rehearsal\n", id="what it starts rehearses too"),
    ],
)
def test_the_copy_is_what_the_project_is(
    tmp_path: Path, zygote: Zygote, line: str, said: str
) -> None:
    assert rehearsed(tmp_path, zygote, line)[1] == said


@pytest.mark.parametrize(
    "line",
    [
        pytest.param("rm -rf build src", id="files are removed"),
        pytest.param("echo x > src/a.py; sed -i s/n/m/ new.txt", id="files are changed"),
        pytest.param("chmod 000 run.sh", id="a mode is changed"),
        pytest.param('oracle -p "What does `rm -rf build` break?"', id="a prompt runs a command"),
        pytest.param(
            "git -c user.name=t -c user.email=t@example.org commit -qam x --allow-empty; "
            "git branch other; git tag t; git update-ref -d refs/heads/main; git config a.b c; "
            "git gc -q --prune=now; git stash list",
            id="git writes",
        ),
        pytest.param('cd "$PROJECT" && rm -rf build', id="a variable names the project"),
        pytest.param("git rm -qr src; git clean -fdxq", id="git with GIT_DIR of the project"),
        pytest.param("mkdir -p x/y && touch x/y/z && chmod 555 x/y x", id="a closed directory"),
    ],
)
def test_what_a_step_does_stays_in_the_copy(
    tmp_path: Path, zygote: Zygote, temporary: Path, line: str
) -> None:
    root = tmp_path / "project"

    project, _ = rehearsed(
        tmp_path,
        zygote,
        f"{line} || true",
        PROJECT=str(root),
        GIT_DIR=str(root / ".git"),
        GIT_WORK_TREE=str(root),
        TMPDIR=str(temporary),
    )

    assert (project.root / "build/kept").read_text() == "kept\n"
    assert (project.root / "src/a.py").read_text() == "a = 1\n"
    assert (project.root / "new.txt").read_text() == "new\n"
    assert (project.root / "run.sh").stat().st_mode & 0o777 == 0o755
    assert git(root, "status", "--porcelain") == "?? build/\n?? new.txt\n"
    assert git(root, "branch", "--list", "--format=%(refname:short)") == "main\n"
    assert git(root, "tag", "--list") == ""
    assert git(root, "fsck", "--no-dangling") == ""
    assert list(temporary.iterdir()) == []


def test_a_push_leads_nowhere(tmp_path: Path, zygote: Zygote) -> None:
    remote = tmp_path / "remote.git"
    subprocess.run(["git", "init", "-q", "--bare", str(remote)], check=True)
    body = step(1, "git remote get-url origin", "git push origin HEAD:main || echo refused")
    project = a_project(tmp_path, zygote, body)
    git(project.root, "remote", "add", "origin", str(remote))

    ran = project.run(*REHEARSAL)

    log = project.root / ran.data["run_dir"] / ran.data["steps"][0]["stdout_log"]
    assert log.read_text() == f"{remote}\nrefused\n"
    assert git(remote, "branch", "--list") == ""


def test_no_hook_of_the_project_runs(tmp_path: Path, zygote: Zygote) -> None:
    mark = tmp_path / "hooked"
    commit = "git -c user.name=t -c user.email=t@example.org commit -q --allow-empty -m x"
    project = a_project(tmp_path, zygote, step(1, commit))
    hook = project.root / ".git/hooks/pre-commit"
    hook.write_text(f"#!/bin/sh\ntouch {mark}\n")
    hook.chmod(0o755)

    assert project.run(*REHEARSAL).code == 0
    assert not mark.exists()


@pytest.mark.parametrize(
    ("link", "line", "said"),
    [
        pytest.param("src/a.py", "cat link", "a = 1\n", id="inside"),
        pytest.param("{root}/src/a.py", "cat link; echo x > link", "a = 1\n", id="by the place"),
        pytest.param("{outside}/file", "cat link; echo x > link", "out\n", id="a file outside"),
        pytest.param(
            "src/one/two/up/../../outside/file",
            "cat link; echo x > link",
            "out\n",
            id="a file outside, behind another link",
        ),
        pytest.param("{outside}", "ls link || echo none", "none\n", id="a directory outside"),
    ],
)
def test_a_link_does_not_lead_out_of_the_copy(
    tmp_path: Path, zygote: Zygote, link: str, line: str, said: str
) -> None:
    project = a_project(tmp_path, zygote, step(1, line))
    (project.root / "src").mkdir()
    (project.root / "src/a.py").write_text("a = 1\n")
    (project.root / "src/one/two").mkdir(parents=True)
    (project.root / "src/one/two/up").symlink_to("../../../src")
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "file").write_text("out\n")
    text = link.replace("{root}", str(project.root)).replace("{outside}", str(outside))
    (project.root / "link").symlink_to(text)

    ran = project.run(*REHEARSAL)

    log = project.root / ran.data["run_dir"] / ran.data["steps"][0]["stdout_log"]
    assert log.read_text() == said
    assert (outside / "file").read_text() == "out\n"
    assert (project.root / "src/a.py").read_text() == "a = 1\n"


@pytest.mark.parametrize(
    "spelled", ["{root}/build", "cd {root} && ls", "$HOME/project/build", "~/project"]
)
def test_a_pack_that_names_the_place_of_the_project_is_refused(
    tmp_path: Path, zygote: Zygote, spelled: str
) -> None:
    line = f"rm -rf {spelled}".replace("{root}", str(tmp_path / "project"))
    project = a_project(tmp_path, zygote, step(1, "true", line))

    ran = project.run(*REHEARSAL, HOME=str(tmp_path))

    assert ran.code == 2
    assert "names the project by its place" in ran.envelope["error"]["message"]
    assert "--in-place" in ran.envelope["error"]["suggestion"]
    assert not (project.root / ".oraclepack").exists()


@pytest.mark.parametrize(("limit", "value"), [("MOST_FILES", 2), ("MOST_BYTES", 200)])
def test_a_project_that_is_too_large_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str, value: int
) -> None:
    for number in range(3):
        (tmp_path / f"{number}.txt").write_text("x" * 100)
    monkeypatch.setattr(project_copy, limit, value)

    with pytest.raises(InputError, match="too large to copy") as refused:
        project_copy.plan_copy(tmp_path, os.environ)

    assert "--in-place" in refused.value.hint


def test_a_link_to_a_file_that_is_too_large_is_refused_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "large").write_text("x" * 300)
    (tmp_path / "project").mkdir()
    (tmp_path / "project/link").symlink_to("../large")
    monkeypatch.setattr(project_copy, "MOST_BYTES", 200)

    with pytest.raises(InputError, match="too large to copy"):
        project_copy.plan_copy(tmp_path / "project", os.environ)


def test_a_work_tree_that_is_configured_elsewhere_is_not_copied(
    tmp_path: Path, zygote: Zygote
) -> None:
    project = a_project(tmp_path, zygote, step(1, "ls elsewhere.txt || pwd"))
    elsewhere = tmp_path / "a/b/c/d/e/f"
    elsewhere.mkdir(parents=True)
    (elsewhere / "elsewhere.txt").write_text("mine\n")
    git(project.root, "config", "core.worktree", str(elsewhere))

    ran = project.run(*REHEARSAL)

    log = project.root / ran.data["run_dir"] / ran.data["steps"][0]["stdout_log"]
    assert ran.code == 0
    assert log.read_text().endswith("/copy/project\n")


def test_what_git_keeps_is_copied_from_regular_files_only(tmp_path: Path, zygote: Zygote) -> None:
    project = a_project(tmp_path, zygote, step(1, "true"))
    (project.root / ".git/sharedindex.x").symlink_to("/dev/zero")

    ran = project.run(*REHEARSAL)

    assert ran.code == 3
    assert "not a regular file" in ran.envelope["error"]["message"]


def test_a_pack_in_our_own_folder_is_in_the_copy(tmp_path: Path, zygote: Zygote) -> None:
    project = a_project(tmp_path, zygote, step(1, "ls .oraclepack/ticketify"))
    (project.root / ".oraclepack/ticketify").mkdir(parents=True)
    project.pack.rename(project.root / ".oraclepack/ticketify/pack.md")

    words = ("run", ".oraclepack/ticketify/pack.md", "--json", *REHEARSAL)
    ran = project.start(*words).wait()

    log = project.root / ran.data["run_dir"] / ran.data["steps"][0]["stdout_log"]
    assert (ran.code, log.read_text()) == (0, "pack.md\n")


@pytest.mark.parametrize("odd", ["a pipe", "a directory"])
def test_a_rehearsal_whose_journal_cannot_be_read_is_not_cleared(
    tmp_path: Path, zygote: Zygote, odd: str
) -> None:
    project = a_project(tmp_path, zygote, step(1, "true"))
    first = project.root / project.run(*REHEARSAL).data["run_dir"]
    (first / "journal.jsonl").unlink()
    (os.mkfifo if odd == "a pipe" else os.mkdir)(first / "journal.jsonl")
    (first / "theirs").write_text("theirs\n")

    ran = project.run(*REHEARSAL)

    assert ran.code == 0
    assert (first / "theirs").read_text() == "theirs\n"


def test_outside_of_git_everything_is_copied(tmp_path: Path, zygote: Zygote) -> None:
    project = a_project(tmp_path, zygote, step(1, "rm -rf .oraclepack", "cat deep/file", "rm -r *"))
    subprocess.run(["rm", "-rf", ".git"], cwd=project.root, check=True)
    (project.root / "deep").mkdir()
    (project.root / "deep/file").write_text("deep\n")

    ran = project.run(*REHEARSAL)

    log = project.root / ran.data["run_dir"] / ran.data["steps"][0]["stdout_log"]
    assert (ran.code, log.read_text()) == (0, "deep\n")
    assert (project.root / "deep/file").exists()


def test_a_directory_below_the_top_is_rehearsed_in_the_whole_copy(
    tmp_path: Path, zygote: Zygote
) -> None:
    project = a_project(tmp_path, zygote, step(1, "cat ../top.txt", "rm ../top.txt", "pwd"))
    (project.root / "top.txt").write_text("top\n")
    (project.root / "below").mkdir()
    (project.root / "below/file").write_text("x\n")

    ran = project.run(*REHEARSAL, "--cwd", "below")

    place = project.root / "below" / ran.data["run_dir"]
    log = (place / ran.data["steps"][0]["stdout_log"]).read_text()
    assert (ran.code, log.startswith("top\n"), log.endswith("/project/below\n")) == (0, True, True)
    assert (project.root / "top.txt").exists()


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param((), ("run", *REHEARSAL), id="by the next"),
        pytest.param(("run",), ("plan",), id="by a plan that has nothing to rehearse"),
    ],
)
def test_what_a_killed_rehearsal_leaves_is_removed(
    tmp_path: Path,
    zygote: Zygote,
    temporary: Path,
    before: tuple[str, ...],
    after: tuple[str, ...],
) -> None:
    project = a_project(tmp_path, zygote, step(1, "touch ../../begun", 'read -r _ < "$PIPE"'))
    os.mkfifo(tmp_path / "pipe")
    variables: dict[str, Any] = {"TMPDIR": str(temporary), "PIPE": str(tmp_path / "pipe")}
    (project.root / "other.md").write_text(project.pack.read_text().replace("read", ": #"))
    for command in before:
        assert project.start(command, "other.md", **variables).wait().code == 0

    program = project.start("run", "pack.md", *REHEARSAL, **variables)
    until(lambda: bool(list(temporary.glob("*/begun"))))
    program.signal(signal.SIGKILL)
    program.wait()
    assert len(list(temporary.iterdir())) == 1

    command, *flags = after
    ran = project.start(command, "other.md", *flags, **variables).wait()

    assert ran.code == 0
    assert list(temporary.iterdir()) == []


def test_in_place_runs_in_the_project_and_starts_no_tool(tmp_path: Path, zygote: Zygote) -> None:
    project = a_project(tmp_path, zygote, step(1, ask("Why?", "out/1.md"), "touch here"))

    ran = [project.run(*REHEARSAL, "--in-place") for _ in range(2)]

    assert [one.code for one in ran] == [0, 0]
    assert (project.root / "here").exists()
    assert (project.root / "out/1.md").read_text().startswith(NOTICE)
    assert project.oracle.calls == []
    assert project.run_dirs == []
    assert len(project.rehearsals) == 2


def test_in_place_does_not_replace_an_answer(tmp_path: Path, zygote: Zygote) -> None:
    hidden = 'oracle -p "Why?" --write-output "$(echo out/2.md)"'
    project = a_project(tmp_path, zygote, step(1, ask("Why?", "out/1.md")) + step(2, hidden))
    (project.root / "out").mkdir()
    for name in ("1", "2"):
        (project.root / f"out/{name}.md").write_text("a paid answer\n")

    declared = project.run(*REHEARSAL, "--in-place")
    computed = project.run(*REHEARSAL, "--in-place", "--steps", "02")

    assert (declared.code, computed.code) == (2, 3)
    assert "out/1.md is there and is not a rehearsed answer" in declared.out
    assert "out/2.md: it is there and is not a rehearsed answer" in computed.out
    for name in ("1", "2"):
        assert (project.root / f"out/{name}.md").read_text() == "a paid answer\n"


def test_in_place_is_about_rehearsals(tmp_path: Path, zygote: Zygote) -> None:
    project = a_project(tmp_path, zygote, step(1, "true"))

    ran = project.run("--in-place")

    assert (ran.code, (project.root / ".oraclepack").exists()) == (2, False)
    assert "--engine rehearsal" in ran.envelope["error"]["suggestion"]


def test_a_failed_rehearsal_is_taken_back_in_the_copy(tmp_path: Path, zygote: Zygote) -> None:
    body = step(1, ask("Why?", "out/1.md")) + step(2, "exit 7")
    project = a_project(tmp_path, zygote, body)
    (project.root / "out").mkdir()
    (project.root / "out/1.md").write_text("a paid answer\n")

    ran = project.run(*REHEARSAL, "--rollback-on-failure")

    assert (ran.code, ran.data["rollback_status"]) == (3, "completed")
    assert (project.root / "out/1.md").read_text() == "a paid answer\n"
    assert sorted(path.name for path in (project.root / "out").iterdir()) == ["1.md"]


def test_a_rehearsal_is_rebuilt_where_it_is(tmp_path: Path, zygote: Zygote) -> None:
    project = a_project(tmp_path, zygote, step(1, ask("Why?", "out/1.md")))
    project.run(*REHEARSAL)
    (project.run_dir / "steps.json").unlink()

    name = f"rehearsals/{project.run_dir.name}"
    rebuilt = project.start("doctor", "--rebuild", "--run-id", name).wait()

    assert rebuilt.code == 0, rebuilt
    assert (project.run_dir / "steps.json").exists()
    assert list(project.root.glob("*.json")) == []


def test_a_rehearsal_that_a_clone_brings_is_left_alone(tmp_path: Path, zygote: Zygote) -> None:
    project = a_project(tmp_path, zygote, step(1, "true"))
    project.run(*REHEARSAL)
    (brought,) = project.rehearsals
    (brought / "mine.txt").write_text("mine\n")
    git(project.root, "add", "-f", str(brought / "mine.txt"))

    ran = project.run(*REHEARSAL)

    assert (ran.code, ran.data["run_id"]) == (0, f"{brought.name}__2")
    assert (brought / "mine.txt").read_text() == "mine\n"


def test_runs_show_and_list_mark_rehearsals(tmp_path: Path, zygote: Zygote) -> None:
    project = a_project(tmp_path, zygote, step(1, ask("Why?", "out/1.md")))
    for words in (REHEARSAL, ()):
        assert project.run(*words).code == 0
    (real,), (rehearsal,) = project.run_dirs, project.rehearsals

    listed = project.start("runs", "list", "--json").wait().data["runs"]
    said = project.start("runs", "list").wait().out
    shown = project.start("runs", "show", f"rehearsals/{rehearsal.name}").wait()
    plain = project.start("runs", "show", real.name, "--json").wait()

    assert {(one["run_id"], one["rehearsal"]) for one in listed} == {
        (real.name, False),
        (rehearsal.name, True),
    }
    assert f"rehearsals/{rehearsal.name}" in said
    assert said.count("rehearsal\n") == 1
    assert (shown.code, "a rehearsal: no model was asked" in shown.out) == (0, True)
    assert plain.data["run"]["rehearsal"] is False
