"""Steps that change the work tree: what they changed is known, and can be taken back."""

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.changing import EDITS, STEP, a_project, contents, run
from tests.e2e.program import oraclepack


def test_a_failed_change_is_recorded_stops_the_rerun_and_is_taken_back(tmp_path: Path) -> None:
    root = a_project(tmp_path, STEP, f"{EDITS}exit 7\n")
    before = contents(root)

    first = run(root, "run", "pack.md")
    again = run(root, "run", "pack.md", "--cwd", ".")
    undone = run(root, "undo", "pack.md", "01", "--cwd", ".")

    assert first.code == 3
    assert again.code == 2
    assert again.envelope["error"]["code"] == "DIRTY_RERUN"
    assert "steps/01/changes.patch" in again.envelope["error"]["message"]
    assert "oraclepack step undo pack.md 01 --cwd . " in again.envelope["error"]["suggestion"]
    assert undone.code == 0
    assert undone.data["files"] == ["gone.txt", "made.bin", "tracked.txt"]
    assert contents(root) == before


def test_what_comes_before_a_rerun_is_said_at_once(tmp_path: Path) -> None:
    root = a_project(tmp_path, STEP, f"{EDITS}exit 7\n")
    way_out = "before it runs again: oraclepack step undo pack.md 01, or --allow-dirty-rerun"

    failed = run(root, "run", "pack.md").envelope["error"]["suggestion"]
    why = oraclepack(root, "why", "pack.md", "01").out
    run(root, "undo", "pack.md", "01")
    why_undone = oraclepack(root, "why", "pack.md", "01").out

    assert failed == f"step 01 changed files; {way_out}"
    assert f"it changed 3 files: gone.txt, made.bin, tracked.txt\n{way_out}\n" in why
    assert "before it runs again" not in why_undone


def test_a_rerun_may_go_over_the_leftovers_when_asked(tmp_path: Path) -> None:
    root = a_project(tmp_path, STEP, f"{EDITS}exit 7\n")
    run(root, "run", "pack.md")

    assert run(root, "run", "pack.md", "--allow-dirty-rerun").code == 3


def test_what_attempts_left_is_taken_back_one_after_another(tmp_path: Path) -> None:
    root = a_project(tmp_path, STEP, "echo edited >> tracked.txt\nexit 7\n")
    before = contents(root)
    run(root, "run", "pack.md")
    run(root, "run", "pack.md", "--allow-dirty-rerun")

    undone = [run(root, "undo", "pack.md", "01") for _ in range(3)]

    assert [one.code for one in undone] == [0, 0, 2]
    assert [one.data["patch"] for one in undone[:2]] == [
        "steps/01/changes.2.patch",
        "steps/01/changes.patch",
    ]
    assert contents(root) == before


def test_files_that_we_write_ourselves_are_no_change_of_the_step(tmp_path: Path) -> None:
    # The state file is rewritten while steps run; here the step itself does so, to be sure.
    root = a_project(tmp_path, STEP, f"{EDITS}echo >> pack.state.json\nexit 7\n")
    run(root, "run", "pack.md")

    assert run(root, "run", "pack.md").envelope["error"]["code"] == "DIRTY_RERUN"
    assert run(root, "undo", "pack.md", "01").code == 0


ANSWERING = STEP.replace("'do it'", "'do it' -o out/done.md")


def test_a_rollback_leaves_changes_that_stop_the_rerun_too(tmp_path: Path) -> None:
    root = a_project(tmp_path, ANSWERING, f"{EDITS}mkdir -p out; echo half > out/done.md; exit 7\n")
    before = contents(root)
    first = run(root, "run", "pack.md", "--rollback-on-failure")

    again = run(root, "run", "pack.md")
    undone = run(root, "undo", "pack.md", "01")

    assert first.data["rollback_status"] == "completed"
    assert not (root / "out/done.md").exists()
    assert again.envelope["error"]["code"] == "DIRTY_RERUN"
    assert undone.data["files"] == ["gone.txt", "made.bin", "tracked.txt"]
    assert contents(root) == before


def test_an_output_alone_does_not_stop_the_rerun(tmp_path: Path) -> None:
    root = a_project(tmp_path, ANSWERING, "mkdir -p out; echo half > out/done.md; exit 7\n")
    run(root, "run", "pack.md")

    again = run(root, "run", "pack.md")

    assert again.code == 3
    assert list(root.glob("**/_failed/*/step-01/1/done.md"))


def test_the_files_a_step_touched_are_reported(tmp_path: Path) -> None:
    root = a_project(tmp_path, STEP, f"{EDITS}exit 7\n")

    ran = run(root, "run", "pack.md")

    (step,) = ran.data["steps"]
    assert step["changed_files"] == ["gone.txt", "made.bin", "tracked.txt"]
    assert step["patch"] == "steps/01/changes.patch"
    assert "01  changed 3 files: gone.txt, made.bin, tracked.txt" in ran.err


def test_undo_names_runs_when_the_commit_has_none(tmp_path: Path) -> None:
    root = a_project(tmp_path, STEP, EDITS)
    run(root, "run", "pack.md")
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.invalid"]
    subprocess.run(["git", *identity, "commit", "-qam", "kept"], cwd=root, check=True)

    refused = run(root, "undo", "pack.md", "01")
    (run_dir,) = (root / ".oraclepack/runs").iterdir()

    assert "there is no run to undo a step of" in refused.envelope["error"]["message"]
    assert run(root, "undo", "pack.md", "01", "--run-id", run_dir.name).code == 0
    report = (root / "pack.report.json").read_text()
    assert '"changed_files": []' in report


def test_outside_of_git_it_is_said_that_nothing_is_recorded(tmp_path: Path) -> None:
    root = a_project(tmp_path, STEP, EDITS)
    shutil.rmtree(root / ".git")

    ran = run(root, "run", "pack.md")

    assert ran.code == 0
    assert "01  warning: outside of git what it changes is not recorded" in ran.err


def test_undo_refuses_when_the_files_have_changed_since(tmp_path: Path) -> None:
    root = a_project(tmp_path, STEP, f"{EDITS}exit 7\n")
    run(root, "run", "pack.md")
    (root / "tracked.txt").write_text("something else\n")
    before = contents(root)

    refused = run(root, "undo", "pack.md", "01")

    assert refused.code == 2
    assert "not in the work tree as it left them" in refused.envelope["error"]["message"]
    assert contents(root) == before


def test_a_change_of_a_step_that_went_well_stands_in_the_manifest(tmp_path: Path) -> None:
    root = a_project(tmp_path, STEP, EDITS)

    done = run(root, "run", "pack.md")

    assert done.code == 0
    (steps,) = (root / ".oraclepack/runs").glob("*/steps.json")
    assert '"gone.txt"' in steps.read_text()
    assert '"gone.txt"' in (root / "pack.report.json").read_text()
    shown = oraclepack(root, "runs", "show", steps.parent.name)
    assert "step 01 changed 3 files: gone.txt, made.bin, tracked.txt" in shown.out
    assert (steps.parent / "steps/01/changes.patch").read_bytes().startswith(b"diff --git")
    assert not (steps.parent / "steps/01/objects").exists()


def test_a_runner_killed_in_the_middle_leaves_the_same(tmp_path: Path) -> None:
    root = a_project(tmp_path, STEP, f"{EDITS}: >$'\\xff'; touch started; sleep 60\n")
    before = contents(root)
    path = f"{root / 'bin'}:{os.environ['PATH']}"
    runner = subprocess.Popen(
        [sys.executable, "-m", "oraclepack", "run", "pack.md", "--quiet"],
        cwd=root,
        env=os.environ | {"PATH": path},
        start_new_session=True,
        stderr=subprocess.DEVNULL,
    )
    deadline = os.times().elapsed + 30
    while not (root / "started").exists() and os.times().elapsed < deadline:
        os.sched_yield()
    os.kill(runner.pid, signal.SIGKILL)
    runner.wait()
    (root / "started").unlink()

    early = run(root, "undo", "pack.md", "01")
    again = run(root, "run", "pack.md")
    undone = run(root, "undo", "pack.md", "01")

    assert early.code == 2
    assert "oraclepack run pack.md records what it left" in early.envelope["error"]["suggestion"]
    assert again.envelope["error"]["code"] == "DIRTY_RERUN"
    assert "left over from a killed command and ended: codex" in again.err
    assert undone.code == 0
    assert contents(root) == before
    assert not (root / os.fsdecode(b"\xff")).exists()


@pytest.mark.parametrize(
    ("directive", "flags", "code", "expected"),
    [
        ("", (), 0, "files it does not own changed while it ran: tracked.txt"),
        ("", ("--strict", "--no-validate"), 3, "TREE_CHANGED"),
        ("# oraclepack: policy=owned\n", (), 3, "TREE_CHANGED"),
        ("# oraclepack: policy=unwatched\n", (), 0, ""),
    ],
)
def test_a_step_that_only_asks_must_not_change_the_tree(
    tmp_path: Path, directive: str, flags: tuple[str, ...], code: int, expected: str
) -> None:
    bash = f"# 01) ask\n{directive}oracle -p q --write-output a.md\necho more >> tracked.txt\n"
    root = a_project(tmp_path, bash, "exit 0\n")

    done = run(root, "run", "pack.md", "--engine", "rehearsal", *flags)

    assert done.code == code
    (manifest,) = (root / ".oraclepack/rehearsals").glob("*/run.json")
    assert expected in done.out + manifest.read_text()


CHANGING = {
    "a step of plain commands": "# 02) change\necho more >> tracked.txt\n",
    "a mutating step": "# 02) change\ncodex exec 'do it' < /dev/null\n",
}


@pytest.mark.parametrize("change", CHANGING.values(), ids=CHANGING)
def test_only_the_step_that_changed_the_tree_is_named(tmp_path: Path, change: str) -> None:
    ask = "oracle -p q --write-output a{0}.md\n"
    bash = "".join(
        (
            f"# 01) ask\n{ask.format(1)}",
            change,
            f"# 03) ask\n{ask.format(3)}",
            f"# 04) ask and change\n{ask.format(4)}echo more >> gone.txt\n",
            f"# 05) ask\n{ask.format(5)}",
        )
    )
    root = a_project(tmp_path, bash, "echo more >> tracked.txt\n")
    tool = root / "bin" / "oracle"
    tool.write_text('#!/bin/bash\nfor last; do :; done\necho answer >"$last"\n')
    tool.chmod(0o755)

    done = run(root, "run", "pack.md")

    assert done.code == 0
    (journal,) = (root / ".oraclepack/runs").glob("*/journal.jsonl")
    events = [json.loads(line)["e"] for line in journal.read_text().splitlines()]
    assert [
        (event["step"], event["message"])
        for event in events
        if event["kind"] == "warning" and event["code"] == "tree"
    ] == [("04", "files it does not own changed while it ran: gone.txt")]


def test_the_status_after_a_step_serves_the_next_one(tmp_path: Path) -> None:
    bash = "".join(f"# {n:02}) ask\noracle -p q{n} --write-output {n}.md\n" for n in range(1, 6))
    root = a_project(tmp_path, bash, "")
    for name, body in (
        ("oracle", 'for last; do :; done\necho answer >"$last"\n'),
        ("git", f'echo "$*" >>"{tmp_path}/calls"\nexec {shutil.which("git")} "$@"\n'),
    ):
        tool = root / "bin" / name
        tool.write_text(f"#!/bin/bash\n{body}")
        tool.chmod(0o755)

    assert run(root, "run", "pack.md").code == 0

    looks = (tmp_path / "calls").read_text().count("status --porcelain=v1")
    # One before the first and one after each; one more where the machine was slow.
    assert 6 <= looks < 10
