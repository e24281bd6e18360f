"""A patch is reverted whole, whatever is killed meanwhile, and never over edited files."""

import os
import shutil
import signal
from contextlib import suppress
from functools import partial
from pathlib import Path

import msgspec
import pytest

from oraclepack.errors import MachineError
from oraclepack.run.patch_undo import PatchUndo, is_begun, remove_left_over
from oraclepack.run.worktree import WorktreeError
from oraclepack.system.trust_key import make_key
from tests.faults import failing, failing_once, killed_at
from tests.faults import watched as counted
from tests.run.trees import a_repository, bash, picture, recorded, taken_back, watched

CHANGES = """
echo more >>b.txt; rm a.txt; mkdir a.txt; echo x >a.txt/x; rm link sub/s.txt
ln -s untracked.txt link; echo other >staged.txt; mkdir -p new/er; echo n >new/er/n.txt
"""
AROUND = """
mkdir -p ../outside/deep; echo theirs >../outside/s.txt; ln -s ../outside out; ln -s sub in
"""
"""What lies beside the project, and links of the user's."""
TO_OUTSIDE = 'ln -s "$(realpath ../outside)"'
LINKS = [
    pytest.param("mv sub sub2; ln -s sub2 sub", id="a directory became a link to where it is now"),
    pytest.param(f"rm -r sub; {TO_OUTSIDE} sub", id="a link to files of the same names"),
    pytest.param(f"rm -r sub; {TO_OUTSIDE}/deep sub", id="a link to an empty directory"),
    pytest.param("rm out; mkdir -p out/deep; echo x >out/deep/x", id="a link became a directory"),
    pytest.param("rm in; mkdir in; mv sub/s.txt in; rmdir sub", id="a link changed its place"),
]
STRIDE = 3
"""Every third operation: the files are alike, so each kind of moment is still met."""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return a_repository(tmp_path / "project")


def a_change(root: Path, script: str = CHANGES) -> PatchUndo:
    """What a step did, recorded and still in the tree."""
    tree = watched(root)
    _, patch = recorded(tree, script)
    return PatchUndo(tree, patch)


def take_back(reversal: PatchUndo) -> None:
    """What every `undo` does, the first one and the one after a kill."""
    if not is_begun(reversal.patch):
        reversal.begin()
    reversal.finish()


def outside(root: Path) -> list[tuple[str, bool]]:
    return sorted((str(path), path.is_dir()) for path in (root.parent / "outside").rglob("*"))


@pytest.mark.parametrize("script", [pytest.param(CHANGES, id="changes of many kinds"), *LINKS])
def test_killed_anywhere_it_leaves_what_the_next_one_finishes(
    root: Path, tmp_path: Path, script: str
) -> None:
    make_key()
    bash(root, AROUND)
    before, beside = picture(root), outside(root)
    a_change(root, script)
    changed = picture(root)
    operations: list[str] = []
    for number in range(0, 10_000, STRIDE):
        copy = tmp_path / f"killed-{number}"
        shutil.copytree(root, copy, symlinks=True)
        reversal = PatchUndo(watched(copy), copy / ".oraclepack/step/changes.patch")
        if number == 0:
            with counted() as operations:
                take_back(reversal)
        elif number > len(operations):
            break
        else:
            assert killed_at(number, partial(take_back, reversal), torn=1) == -signal.SIGKILL
            for path, seen in picture(copy).items():
                assert seen in {before.get(path), changed.get(path)} or path.endswith(".tmp")
            assert not is_begun(reversal.patch) or not reversal.changed_since()
            take_back(reversal)
        assert picture(copy) == before, (number, operations[number - 1])
        assert outside(root) == beside
        shutil.rmtree(copy)
    assert len(operations) > (50 if script == CHANGES else 10)


@pytest.mark.parametrize(
    "script",
    [
        pytest.param("rm -r sub; ln -s nowhere sub", id="a link to nothing"),
        pytest.param(
            "rm -r sub; ln -s ../outside sub", id="one that means another place in a copy"
        ),
        pytest.param("rm out; ln -s sub out", id="a link became another"),
        pytest.param("rm out; echo o >out", id="a link became a file"),
        pytest.param("rm out in; mkdir out; ln -s ../sub out/in", id="a link became one below it"),
        pytest.param("rm out; mkdir -p out/deep; : >out/deep/x", id="a link became a directory"),
    ],
)
def test_links_are_taken_back_as_what_they_say(root: Path, script: str) -> None:
    bash(root, AROUND)
    before, beside = picture(root), outside(root)
    reversal = a_change(root, script)
    reversal.begin()

    for _ in range(2):  # a kill may come when all is in place and not yet recorded
        assert not reversal.changed_since()
        reversal.finish()
        assert picture(root) == before
        assert outside(root) == beside


def test_a_git_that_is_killed_has_touched_nothing(root: Path, tmp_path: Path) -> None:
    reversal = a_change(root)
    changed = picture(root)
    (tmp_path / "bin").mkdir()
    wrapper = tmp_path / "bin/git"
    # As git does it: first all files of the patch go, then the new ones come.
    wrapper.write_text(
        "#!/bin/bash\n"
        'case "$*" in *numstat*) ;; *apply*) rm -rf b.txt a.txt link; kill -9 $$ ;; esac\n'
        f'exec {shutil.which("git")} "$@"\n'
    )
    wrapper.chmod(0o755)
    environment = {**os.environ, "PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}"}
    killing = msgspec.structs.replace(reversal.tree, environment=environment)

    with pytest.raises(WorktreeError, match="git was ended by signal 9"):
        PatchUndo(killing, reversal.patch).begin()

    assert picture(root) == changed
    assert not is_begun(reversal.patch)


def test_a_full_disk_stops_it_and_the_next_one_goes_on(root: Path) -> None:
    before = picture(root)
    reversal = a_change(root)
    reversal.begin()

    with failing(2, only="write"), pytest.raises(MachineError, match="No space left"):
        reversal.finish()
    assert picture(root) != before
    reversal.finish()

    assert picture(root) == before


def test_one_refusal_of_the_disk_puts_nothing_else_into_the_tree(
    root: Path, tmp_path: Path
) -> None:
    before = picture(root)
    a_change(root)
    refused = [("remove", "/after/"), ("sync", "/after/"), ("rename", ".undo")]
    for operation, at in [*refused, ("mkdir", ""), ("rmdir", ""), ("symlink", ""), ("remove", "")]:
        copy = tmp_path / f"{operation}-{len(at)}"
        shutil.copytree(root, copy, symlinks=True)
        reversal = PatchUndo(watched(copy), copy / ".oraclepack/step/changes.patch")
        with failing_once(operation, at), suppress(MachineError):
            take_back(reversal)
        take_back(reversal)
        assert picture(copy) == before, (operation, at)


@pytest.mark.parametrize(
    ("meanwhile", "strange"),
    [
        pytest.param("echo mine >>b.txt", ("b.txt",), id="edited"),
        pytest.param("rm b.txt", ("b.txt",), id="removed"),
        pytest.param("chmod +x b.txt", ("b.txt",), id="made a program"),
        pytest.param("rm staged.txt; ln -s b.txt staged.txt", ("staged.txt",), id="made a link"),
        pytest.param("mv new away; ln -s away new", ("new/er/n.txt",), id="behind a link"),
        pytest.param(
            "rmdir sub; ln -s new/er sub", ("sub/s.txt",), id="to come back behind a link"
        ),
        pytest.param("mkdir -p sub; echo s >sub/s.txt", (), id="taken back by hand"),
        pytest.param("echo mine >>untracked.txt; touch c.bin", (), id="other files"),
    ],
)
def test_a_file_that_was_changed_meanwhile_is_reported(
    root: Path, meanwhile: str, strange: tuple[str, ...]
) -> None:
    reversal = a_change(root)
    reversal.begin()

    bash(root, meanwhile)

    assert reversal.changed_since() == strange


def test_a_changed_link_of_the_step_is_reported(root: Path) -> None:
    reversal = a_change(root, "rm -r sub; ln -s nowhere sub")
    reversal.begin()

    bash(root, "ln -sfn elsewhere sub")

    assert reversal.changed_since() == ("sub",)


def test_files_behind_a_link_of_the_step_are_ignored(root: Path) -> None:
    bash(root, f"{AROUND} mkdir sub/deep; echo d >sub/deep/d.txt")
    reversal = a_change(root, f"rm -r sub; {TO_OUTSIDE} sub")
    reversal.begin()

    bash(root, "rmdir ../outside/deep; ln -s /nowhere ../outside/deep; echo x >>../outside/s.txt")

    assert reversal.changed_since() == ()


def test_nothing_is_written_behind_a_link_that_came_meanwhile(root: Path) -> None:
    bash(root, AROUND)
    beside = outside(root)
    reversal = a_change(root, "rm -r sub")
    reversal.begin()
    bash(root, f"{TO_OUTSIDE}/deep sub")

    with pytest.raises(MachineError, match="it has become a symbolic link"):
        reversal.finish()

    assert outside(root) == beside


@pytest.mark.parametrize(
    "attributes",
    [
        pytest.param("*.txt text eol=crlf", id="line ends of another system"),
        pytest.param("*.txt ident", id="marks that git fills in"),
    ],
)
def test_git_writes_as_it_would_in_the_work_tree(root: Path, attributes: str) -> None:
    bash(
        root,
        f"echo '{attributes}' >.gitattributes; echo '$Id$' >sub/s.txt; git add -A;"
        "git commit -qm as; rm *.txt sub/*.txt; git checkout -q .",
    )
    before = picture(root)
    reversal = a_change(root, "rm a.txt; for f in b.txt sub/s.txt; do tac $f >x; mv x $f; done")

    taken_back(reversal.tree, reversal.patch)

    assert picture(root) == before


def test_what_git_does_not_know_of_a_mode_stays(root: Path) -> None:
    (root / "b.txt").chmod(0o600)
    before = picture(root)
    reversal = a_change(root, "echo more >>b.txt")

    taken_back(reversal.tree, reversal.patch)

    assert picture(root) == before


@pytest.mark.parametrize(
    ("listed", "kept"),
    [
        pytest.param((), [], id="all were taken back"),
        pytest.param(("steps/01/changes.patch",), ["changes.patch.undo"], id="one was not"),
        pytest.param(("steps/01/changes.2.patch",), ["changes.2.patch.undo"], id="the other"),
        pytest.param(("steps/02/changes.patch",), [], id="one of another step was not"),
    ],
)
def test_only_whole_copies_of_changes_still_listed_are_kept(
    tmp_path: Path, listed: tuple[str, ...], kept: list[str]
) -> None:
    step = tmp_path / "steps/01"
    for name in ("changes.patch", "changes.2.patch"):
        for ending in (".undo", ".undo-12"):
            (step / f"{name}{ending}/before").mkdir(parents=True)
        (step / name).touch()

    remove_left_over(tmp_path, listed)

    assert sorted(path.name for path in step.glob("*.undo*")) == kept
    assert len(list(step.glob("*.patch"))) == 2
