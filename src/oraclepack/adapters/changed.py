"""What differs from the last commit, as git tells it."""

import subprocess
from collections.abc import Mapping
from pathlib import Path

TIMEOUT = 60.0
_PAIR = "RC"
"""Renames and copies: a second path follows, the one it came from."""


def changed_files(root: Path, environment: Mapping[str, str]) -> list[tuple[str, str]] | None:
    """Git's two letters and the path of every changed or untracked file, sorted by path.

    None outside a repository, or where there is no git.
    """
    # fsmonitor off: it names a program to run, and looking must not run anything.
    argv = ["git", "-c", "core.fsmonitor=false", "status", "--porcelain=v1", "-z", "-uall"]
    try:
        ran = subprocess.run(
            argv,
            cwd=root,
            env={**environment, "GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=TIMEOUT,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    if ran.returncode != 0:
        return None
    found: list[tuple[str, str]] = []
    entries = iter(ran.stdout.decode("utf-8", "backslashreplace").split("\0"))
    for entry in entries:
        if not entry:
            continue
        state, path = entry[:2], entry[3:]
        if state[0] in _PAIR:
            next(entries, None)
        found.append((state.strip(), path))
    return sorted(found, key=lambda pair: pair[1])
