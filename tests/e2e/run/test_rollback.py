"""`--rollback-on-failure`: how files come back, and what happens when they cannot."""

import json
import os
import shutil
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from oraclepack.journal.events import RollbackStarted, SessionStarted
from oraclepack.journal.journal_file import JournalFile
from oraclepack.system.clock import SystemClock
from tests.e2e.run.project import Project, Zygote, a_project, asking

FAILS = "# 04) fails\n[[ -e mended ]] || exit 7\n"
OLDER = b"an older answer\n"
MOMENT = 1_600_000_000_123_456_789


@pytest.fixture
def project(tmp_path: Path, zygote: Zygote) -> Project:
    """Three questions, the second of which replaces a file, and a step that fails."""
    steps = asking(1) + asking(2, after="echo scratch >out/scratch.txt\n") + asking(3)
    made = a_project(tmp_path, zygote, "mkdir -p out\n" + steps + FAILS)
    older = made.root / "out/02-topic-2.md"
    older.parent.mkdir()
    older.write_bytes(OLDER)
    older.chmod(0o640)
    (made.root / "out/mine.txt").write_text("mine\n")
    for file in (older, made.root / "out/mine.txt", made.pack):
        os.utime(file, ns=(MOMENT, MOMENT))
    return made


def look(path: Path) -> tuple[bytes, int, int]:
    found = path.stat()
    return path.read_bytes(), found.st_mode & 0o777, found.st_mtime_ns


def summary(data: dict[str, Any]) -> dict[str, Any]:
    names = ("completed_steps", "failed_step", "skipped_steps", "resume_from", "rollback_status")
    return {name: data[name] for name in names}


def test_a_rollback_brings_files_back(project: Project) -> None:
    out = project.root / "out"
    others = {path: look(path) for path in (out / "mine.txt", project.pack)}

    ran = project.run("--rollback-on-failure", "--take-over")

    assert (ran.code, ran.envelope["error"]["code"]) == (3, "PARTIAL_FAILURE")
    assert summary(ran.data) == {
        "completed_steps": ["01", "02", "03"],
        "failed_step": "04",
        "skipped_steps": [],
        "resume_from": "01",
        "rollback_status": "completed",
    }
    assert ran.data["rolled_back_steps"] == ["01", "02", "03"]
    assert look(out / "02-topic-2.md") == (OLDER, 0o640, MOMENT)
    assert {path: look(path) for path in others} == others
    assert (out / "scratch.txt").read_text() == "scratch\n"
    assert not (out / "01-topic-1.md").exists()
    kept = out / "_failed" / project.run_dir.name
    for number in (1, 2, 3):
        name = f"step-{number:02}/1/{number:02}-topic-{number}.md"
        assert "Direct answer" in (kept / name).read_text()
    assert project.statuses() == ["pending"] * 4
    assert (project.root / "pack.state.json").exists()
    assert project.manifest()["sessions"][0]["rollback"] == "completed"


def test_steps_run_again_that_a_rollback_of_a_whole_run_had_begun_to_take_back(
    tmp_path: Path, zygote: Zygote
) -> None:
    """By the plan before recovery nothing is left to run."""
    project = a_project(tmp_path, zygote, "mkdir -p out\n" + asking(1))
    assert project.run().code == 0
    with JournalFile(project.run_dir / "journal.jsonl", SystemClock()) as journal:
        command = SessionStarted(pid=1, host="a machine that is gone")
        for event in (command, RollbackStarted(steps=("01",))):
            journal.append(event)

    ran = project.run()

    assert (ran.code, project.statuses(), len(project.oracle.calls)) == (0, ["ok"], 1)
    assert ran.data["steps"][0]["decision"] == "run"


def test_the_quarantine_says_what_failed_and_what_was_only_taken_back(
    tmp_path: Path, zygote: Zygote
) -> None:
    fails = "# 02) fails\n# oraclepack: outputs=out/b.md\necho half >out/b.md\nexit 7\n"
    project = a_project(tmp_path, zygote, "mkdir -p out\n" + asking(1) + fails)

    for _ in range(2):
        assert project.run("--rollback-on-failure", "--take-over").code == 3
    ran = project.start("quarantine", "list", "--json").wait()

    found = {(one["path"].partition("step-")[2], one["reason"]) for one in ran.data["files"]}
    assert found == {
        ("01/1/01-topic-1.md", "rolled_back"),
        ("01/2/01-topic-1.md", "rolled_back"),
        ("02/1/b.md", None),
        ("02/2/b.md", None),
    }
    listing = project.start("quarantine", "list").wait().out
    assert (listing.count(" rolled back "), listing.count(" failed ")) == (2, 2)


WRITES = """\
# 01) {what}
# oraclepack: outputs=out/a.md
{does}
# 02) fails
exit 7
"""


@pytest.mark.parametrize(
    ("what", "before", "does", "kept"),
    [
        (
            "writes the same again, with another mode",
            "echo same >out/a.md; chmod 600 out/a.md",
            "echo same >out/a.md; chmod 666 out/a.md",
            {},
        ),
        (
            "writes through a link",
            "echo old >real.md; ln -s ../real.md out/a.md",
            "echo new >out/a.md",
            {"real.md": "new\n"},
        ),
        (
            "puts a file where a link was",
            "echo old >real.md; ln -s ../real.md out/a.md",
            "rm out/a.md; echo new >out/a.md",
            {"a.md": "new\n"},
        ),
        (
            "puts a link where a file was",
            "echo old >out/a.md; echo other >real.md",
            "ln -sf ../real.md out/a.md",
            {"a.md": "../real.md"},
        ),
        (
            "leaves nothing where a link was",
            "echo old >real.md; ln -s ../real.md out/a.md",
            "rm out/a.md; exit 5",
            {},
        ),
        (
            "changes nothing, and the copies are gone",
            "echo old >out/a.md",
            "rm -r .oraclepack/runs/*/blobs",
            {},
        ),
        (
            "puts a file where a link was, and the copies are gone",
            "echo old >real.md; ln -s ../real.md out/a.md",
            "rm -r out/a.md .oraclepack/runs/*/blobs; echo new >out/a.md",
            {"a.md": "new\n"},
        ),
    ],
)
def test_a_path_becomes_what_it_was(
    tmp_path: Path, zygote: Zygote, what: str, before: str, does: str, kept: dict[str, str]
) -> None:
    made = a_project(tmp_path, zygote, WRITES.format(what=what, does=does))
    prepare = f"mkdir out; {before}; touch -d 2020-02-02 *.md out/*"
    subprocess.run(["bash", "-ec", prepare], cwd=made.root, check=True)
    was = standing(made.root)

    ran = made.run("--rollback-on-failure", "--take-over")

    assert ran.data["rollback_status"] == "completed", ran.data["rollback_error"]
    assert standing(made.root) == was
    attempt = next(iter((made.root / "out").glob("_failed/*/step-01/1")), made.root / "nothing")
    assert {name: text for name, (text, *_) in standing(attempt).items()} == kept


@pytest.mark.parametrize("does", ["rm out/a.md", "rm real.md", "rm out/a.md real.md"])
def test_a_failed_step_leaves_a_link_a_link(tmp_path: Path, zygote: Zygote, does: str) -> None:
    """Without a rollback: where it left nothing, what stood there comes back."""
    made = a_project(tmp_path, zygote, WRITES.format(what="removes", does=f"{does}; exit 5"))
    prepare = "mkdir out; echo old >real.md; ln -s ../real.md out/a.md; touch -d 2020-02-02 *.md"
    subprocess.run(["bash", "-ec", prepare], cwd=made.root, check=True)
    was = standing(made.root)

    assert made.run("--take-over").code == 3
    assert standing(made.root) == was


@pytest.mark.parametrize(
    ("meanwhile", "why"),
    [
        (
            "for blob in .oraclepack/runs/*/blobs/*; do echo spoiled >$blob; done",
            "is no longer what was kept",
        ),
        ("rm -r .oraclepack/runs/*/blobs", "is gone"),
        ("ln -s ../../outside out/_failed", "it leads out of the project"),
        ("mv out away; ln -s ../outside out", "its directory leads out of the project"),
    ],
)
def test_what_cannot_be_rolled_back_is_reported(project: Project, meanwhile: str, why: str) -> None:
    outside = project.root.parent / "outside"
    outside.mkdir()
    (outside / "03-topic-3.md").symlink_to("nowhere")
    project.pack.write_text(
        project.pack.read_text().replace("# 04) fails", f"# 04) fails\n{meanwhile}")
    )

    ran = project.run("--rollback-on-failure", "--take-over")

    assert (ran.code, ran.data["rollback_status"]) == (3, "failed")
    assert why in ran.data["rollback_error"]
    assert [path.name for path in outside.iterdir()] == ["03-topic-3.md"]


def standing(root: Path) -> dict[str, tuple[str, int, int]]:
    """What the Markdown files below a directory say, their modes and times; of links the text."""
    found = {}
    for path in sorted(root.rglob("*.md")):
        name = path.relative_to(root).as_posix()
        if not name.startswith((".oraclepack", "out/_failed")):
            status = path.lstat()
            link = path.is_symlink()
            text = str(path.readlink()) if link else path.read_text()
            found[name] = (text, status.st_mode, 0 if link else status.st_mtime_ns)
    return found


def test_after_a_rollback_the_same_command_runs_everything(project: Project) -> None:
    project.run("--rollback-on-failure", "--take-over")
    (project.root / "mended").touch()

    ran = project.run("--rollback-on-failure", "--take-over")

    assert (ran.code, ran.data["rollback_status"]) == (0, "not_attempted")
    assert project.statuses() == ["ok"] * 4
    assert (project.root / "out/02-topic-2.md").read_bytes() != OLDER


STUCK: dict[str, object] = {"fail": 1, "only": "link", "path": "step-02"}
"""The answer of step 02 cannot be moved to quarantine, the others can."""


def test_a_rollback_that_fails_goes_on_and_tells_the_truth(
    project: Project, tmp_path: Path
) -> None:
    out = project.root / "out"

    ran = project.run(
        "--rollback-on-failure", "--take-over", fault=STUCK | {"notes": str(tmp_path / "notes")}
    )

    assert (ran.code, ran.data["rollback_status"]) == (3, "failed")
    assert "No space left on device" in ran.data["rollback_error"]
    assert ran.data["rollback_error"].endswith("; not rolled back: out/02-topic-2.md")
    assert ran.data["not_rolled_back"] == ["out/02-topic-2.md"]
    assert ran.data["completed_steps"] == ["01", "02", "03"]
    assert ran.data["rolled_back_steps"] == ["01", "03"]
    assert ran.data["resume_from"] == "01"
    assert project.statuses() == ["pending", "ok", "pending", "pending"]
    assert sorted(path.name for path in out.glob("0*.md")) == ["02-topic-2.md"]
    assert (out / "02-topic-2.md").read_bytes() != OLDER
    assert project.manifest()["sessions"][0]["rollback"] == "failed"


def test_the_same_command_finishes_a_failed_rollback(project: Project, tmp_path: Path) -> None:
    project.run(
        "--rollback-on-failure", "--take-over", fault=STUCK | {"notes": str(tmp_path / "notes")}
    )
    # What a person puts where a file was taken back is not touched by the second try.
    (project.root / "out/03-topic-3.md").write_text("mine\n")

    again = project.run("--rollback-on-failure", "--take-over", "--steps", "04")

    assert again.code == 3
    assert look(project.root / "out/02-topic-2.md") == (OLDER, 0o640, MOMENT)
    assert (project.root / "out/03-topic-3.md").read_text() == "mine\n"
    assert project.statuses() == ["pending"] * 4
    warned = [warning["message"] for warning in project.manifest()["warnings"]]
    assert "the rollback of the last command had failed; now it is completed" in warned


def test_a_rollback_that_fails_twice_runs_nothing(project: Project, tmp_path: Path) -> None:
    fault = STUCK | {"notes": str(tmp_path / "notes")}
    project.run("--rollback-on-failure", "--take-over", fault=fault)
    calls = len(project.oracle.calls)

    again = project.run("--rollback-on-failure", "--take-over", fault=fault)

    error = again.envelope["error"]
    assert (again.code, len(project.oracle.calls)) == (3, calls)
    assert "cannot be finished; nothing was run" in error["message"]
    assert "not rolled back: out/02-topic-2.md" in error["detail"]
    assert project.statuses() == ["pending", "ok", "pending", "pending"]
    (project.root / "mended").touch()
    third = project.run("--rollback-on-failure", "--take-over")
    assert (third.code, project.statuses()) == (0, ["ok"] * 4)


def test_without_the_flag_what_was_left_stays(project: Project, tmp_path: Path) -> None:
    project.run(
        "--rollback-on-failure", "--take-over", fault=STUCK | {"notes": str(tmp_path / "notes")}
    )
    calls = len(project.oracle.calls)
    (project.root / "mended").touch()

    ran = project.run()

    assert (ran.code, ran.data["done_steps"]) == (0, ["02"])
    assert len(project.oracle.calls) == calls  # what was taken back comes from the cache
    assert project.statuses() == ["ok"] * 4


@pytest.mark.parametrize("stuck", [False, True], ids=["completed", "failed"])
def test_a_step_that_was_taken_back_is_not_resumed_past(
    project: Project, tmp_path: Path, *, stuck: bool
) -> None:
    fault = STUCK | {"notes": str(tmp_path / "notes")} if stuck else None
    project.run("--rollback-on-failure", "--take-over", fault=fault)
    (project.root / "mended").touch()

    ran = project.run("--resume-from", "04", "--take-over")

    left_out = "01, 03" if stuck else "01, 02, 03"
    assert ran.code == 2
    message = f"--resume-from 04 leaves out step {left_out}, whose files were taken back"
    assert ran.envelope["error"]["message"] == message
    assert project.run("--resume-from", "01").code == 0


def operations(project: Project, tmp_path: Path) -> list[str]:
    notes = tmp_path / "counted"
    project.run("--rollback-on-failure", "--take-over", fault={"notes": str(notes)})
    return notes.read_text().splitlines()


def test_an_interrupted_rollback_is_finished_by_the_next_command(
    tmp_path: Path, zygote: Zygote, project: Project
) -> None:
    """Killed before each change that a rollback makes to the user's files, in turn."""
    out = project.root / "out"
    shutil.copytree(project.root, tmp_path / "before", symlinks=True)
    for only, number in [("link", 1), ("link", 3), ("remove", 1), ("remove", 2), ("utime", 1)]:
        again = Project(tmp_path / f"{only}-{number}", zygote, project.oracle)
        shutil.copytree(tmp_path / "before", again.root, symlinks=True)
        out = again.root / "out"
        fault: dict[str, object] = {"notes": str(tmp_path / "notes"), "kill": number}
        fault |= {"only": only, "after": "_failed"}  # which nothing but the rollback touches here

        killed = again.run("--rollback-on-failure", "--take-over", fault=fault)
        assert killed.code == -signal.SIGKILL, (only, number)
        (again.root / "mended").touch()
        dry = again.run("--steps", "04")

        assert dry.code == 0, (only, number, dry)
        assert look(out / "02-topic-2.md")[:2] == (OLDER, 0o640)
        assert not (out / "01-topic-1.md").exists()
        assert again.statuses() == ["pending"] * 3 + ["ok"]
        warned = [warning["message"] for warning in again.manifest()["warnings"]]
        assert "the rollback of an earlier command was interrupted; now completed" in warned
        assert json.loads((again.root / "pack.state.json").read_bytes())
