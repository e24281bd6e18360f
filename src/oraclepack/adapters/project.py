"""Where the project is that a command works in."""

import os
from pathlib import Path

from oraclepack.adapters.jail import refuse_link_out
from oraclepack.core.outpath import REHEARSALS, RUNS
from oraclepack.errors import UsageError


def project_root(pack_path: str | None, cwd_flag: str = "") -> Path:
    """`--cwd`, else the git top level of the pack, else the current directory.

    Without a pack the current directory stands in for it.
    """
    if cwd_flag:
        root = Path(cwd_flag).absolute()
        if not root.is_dir():
            raise UsageError(f"--cwd {cwd_flag}: no such directory")
        return root
    here = Path.cwd()
    start = here if pack_path is None else Path(pack_path).absolute()
    return _git_top(start) or here


def refuse_to_write_out(place: Path, cwd_flag: str = "") -> None:
    """Refuse a file to write that a link of its project puts outside of it.

    Its project is the one at hand, and every one that the path is written in: a command may be
    given from elsewhere.
    """
    refuse_link_out(project_root(None, cwd_flag), place)
    written = Path(os.path.normpath(place.absolute()))
    for folder in written.parents:
        if _is_git_top(folder):
            refuse_link_out(folder, place)


def has_runs(root: Path) -> bool:
    """Something has been run in a project."""
    return (root / RUNS).is_dir()


def project_of(run_dir: Path) -> Path | None:
    """The project that a run directory belongs to; None where it was moved elsewhere."""
    place = run_dir.resolve()
    homes = (f"/{RUNS}", f"/{REHEARSALS}")
    return place.parents[2] if place.parent.as_posix().endswith(homes) else None


def _git_top(start: Path) -> Path | None:
    # `.git` is a directory, or a file in worktrees and submodules; looking is far cheaper than git.
    try:
        resolved = start.resolve()
    except (OSError, RuntimeError):
        return None
    return next(filter(_is_git_top, (resolved, *resolved.parents)), None)


def _is_git_top(folder: Path) -> bool:
    try:
        return (folder / ".git").exists()
    except OSError:
        return False
