"""An `undo` that was killed: the next command knows how far it came."""

import os
from pathlib import Path

import pytest

from oraclepack.journal import events as j
from oraclepack.journal.journal_file import JournalFile
from oraclepack.run.patch_undo import PatchUndo
from oraclepack.run.worktree import Worktree
from oraclepack.system.clock import SystemClock
from oraclepack.system.secrets import NOTHING_SECRET
from tests.e2e.changing import EDITS, STEP, a_project, contents, run


def cut_off(root: Path) -> Path:
    """An undo that was killed when one of its files was back; the folder it left."""
    (patch,) = (root / ".oraclepack/runs").glob("*/steps/01/changes.patch")
    tree = Worktree.around(root, patch.parent, dict(os.environ))
    assert tree is not None
    reversal = PatchUndo(tree, patch)
    reversal.begin()
    (root / "gone.txt").write_text("gone.txt\n")
    return reversal.place


def done_but_for_the_cleaning(root: Path, attempt: str = "") -> Path:
    """An undo that was killed when all was back and written down; the folder it left."""
    (patch,) = (root / ".oraclepack/runs").glob(f"*/steps/01/changes{attempt}.patch")
    assert run(root, "undo", "pack.md", "01").code == 0
    place = patch.with_name(f"{patch.name}.undo")
    (place / "before").mkdir(parents=True)
    (place / "before/tracked.txt").write_text("edited\n")
    return place


@pytest.mark.parametrize("code", [7, 0], ids=["of a failed step", "of a step that went well"])
def test_an_undo_that_was_cut_off_is_reported_and_finished(tmp_path: Path, code: int) -> None:
    root = a_project(tmp_path, STEP, f"{EDITS}exit {code}\n")
    before = contents(root)
    run(root, "run", "pack.md")
    place = cut_off(root)

    again = run(root, "run", "pack.md", "--cwd", ".")
    undone = run(root, "undo", "pack.md", "01")

    assert again.envelope["error"]["code"] == "DIRTY_RERUN"
    assert "an undo of step 01 was cut off" in again.envelope["error"]["message"]
    assert "oraclepack step undo pack.md 01 --cwd . " in again.envelope["error"]["suggestion"]
    assert undone.data["files"] == ["gone.txt", "made.bin", "tracked.txt"]
    assert contents(root) == before
    assert not place.exists()


def test_an_undo_is_not_finished_over_edited_files(tmp_path: Path) -> None:
    root = a_project(tmp_path, STEP, f"{EDITS}exit 7\n")
    run(root, "run", "pack.md")
    place = cut_off(root)
    (root / "tracked.txt").write_text("something else\n")
    before = contents(root)

    refused = run(root, "undo", "pack.md", "01")

    assert refused.code == 2
    assert "since the undo was cut off: tracked.txt" in refused.envelope["error"]["message"]
    assert f"is in {place.relative_to(root)}" in refused.envelope["error"]["suggestion"]
    assert contents(root) == before


def test_no_flag_lets_a_step_run_over_half_of_a_change(tmp_path: Path) -> None:
    root = a_project(tmp_path, STEP, f"{EDITS}exit 7\n")
    run(root, "run", "pack.md")
    place = cut_off(root)
    before = contents(root)

    refused = run(root, "run", "pack.md", "--allow-dirty-rerun")

    assert refused.envelope["error"]["code"] == "DIRTY_RERUN"
    assert "an undo of step 01 was cut off" in refused.envelope["error"]["message"]
    assert contents(root) == before
    assert place.is_dir()
    assert run(root, "undo", "pack.md", "01").code == 0
    assert run(root, "run", "pack.md", "--allow-dirty-rerun").code == 3


@pytest.mark.parametrize("flags", [(), ("--allow-dirty-rerun",)], ids=["", "allowed"])
def test_a_run_goes_on_after_an_undo_that_was_killed_at_its_end(
    tmp_path: Path, flags: tuple[str, ...]
) -> None:
    root = a_project(tmp_path, STEP, f"{EDITS}exit 7\n")
    before = contents(root)
    run(root, "run", "pack.md")
    place = done_but_for_the_cleaning(root)

    result = run(root, "undo", "pack.md", "01")
    assert "left no recorded change" in result.envelope["error"]["message"]
    assert contents(root) == before
    again = run(root, "run", "pack.md", *flags)

    assert again.code == 3
    assert again.data["steps"][0]["patch"] == "steps/01/changes.2.patch"
    assert not place.exists()


def test_the_next_undo_removes_what_one_that_was_done_has_left(tmp_path: Path) -> None:
    root = a_project(tmp_path, STEP, "echo edited >> tracked.txt\nexit 7\n")
    before = contents(root)
    run(root, "run", "pack.md")
    run(root, "run", "pack.md", "--allow-dirty-rerun")
    place = done_but_for_the_cleaning(root, ".2")

    undone = run(root, "undo", "pack.md", "01")

    assert undone.data["patch"] == "steps/01/changes.patch"
    assert contents(root) == before
    assert not place.exists()


def test_no_older_change_is_taken_back_before_the_last_one_is_recorded(tmp_path: Path) -> None:
    root = a_project(tmp_path, STEP, f"{EDITS}exit 7\n")
    run(root, "run", "pack.md")
    before = contents(root)
    (place,) = (root / ".oraclepack/runs").glob("*/journal.jsonl")
    journal = JournalFile(place, SystemClock(), NOTHING_SECRET)
    journal.append(j.TreeRecorded(step="01", attempt=2, tree="the killed attempt found this one"))
    journal.close()

    refused = run(root, "undo", "pack.md", "01")

    assert refused.code == 2
    assert "step 01 changed is not recorded yet" in refused.envelope["error"]["message"]
    assert "oraclepack run pack.md records what it left" in refused.envelope["error"]["suggestion"]
    assert contents(root) == before
