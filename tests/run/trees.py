"""Repositories, what a script does to their files, and how these stand."""

import os
import subprocess
from pathlib import Path

from oraclepack.run.patch_undo import PatchUndo
from oraclepack.run.worktree import Worktree

Picture = dict[str, tuple[int, bytes | str]]
_WHAT = ("NAME", "EMAIL")


def bash(root: Path, script: str) -> None:
    identity = {f"GIT_{who}_{what}": "a@b" for who in ("AUTHOR", "COMMITTER") for what in _WHAT}
    subprocess.run(["bash", "-euc", script], cwd=root, check=True, env=os.environ | identity)


def a_repository(made: Path) -> Path:
    """A repository with files of many kinds, and work of the user's that is not committed."""
    made.mkdir()
    bash(
        made,
        r"""
        git init -q
        echo one >a.txt; printf 'x\ny\n' >b.txt; printf '\0\1' >c.bin; ln -s b.txt link
        mkdir sub; echo s >sub/s.txt; echo ignored.txt >.gitignore
        git add -A; git commit -qm all
        echo mine >>b.txt; echo new >untracked.txt; echo staged >staged.txt; git add staged.txt
        """,
    )
    return made


def watched(root: Path, *own: str) -> Worktree:
    found = Worktree.around(root, root / ".oraclepack/step", dict(os.environ), own)
    assert found is not None
    return found


def picture(root: Path) -> Picture:
    """Every file outside of git's and our own folders: its mode, and what it holds."""
    found: Picture = {}
    for path in sorted(root.rglob("*")):
        relative = path.relative_to(root)
        if relative.parts[0] in {".git", ".oraclepack"}:
            continue
        if path.is_dir() and not path.is_symlink():
            continue
        held = str(path.readlink()) if path.is_symlink() else path.read_bytes()
        found[relative.as_posix()] = (path.lstat().st_mode, held)
    return found


def recorded(tree: Worktree, script: str) -> tuple[tuple[str, ...], Path]:
    """What a script touches, and its patch."""
    before = tree.snapshot()
    bash(tree.top, script)
    after = tree.snapshot()
    patch = tree.folder / "changes.patch"
    patch.write_bytes(tree.difference(before, after))
    touched = tree.changed_paths(before, after)
    tree.remove_objects()
    return touched, patch


def taken_back(tree: Worktree, patch: Path, *without: str) -> None:
    """Take a patch back in one go; nothing but the patch is left of it."""
    reversal = PatchUndo(tree, patch)
    reversal.begin(without)
    assert not reversal.changed_since()
    reversal.finish()
    reversal.forget()
    assert list(patch.parent.iterdir()) == [patch]
