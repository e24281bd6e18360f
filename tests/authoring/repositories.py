"""Repositories for tests, of several shapes, made with git in a temporary directory."""

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

_WHEN = "2026-03-04T10:00:00+00:00"


def git(root: Path, *words: str) -> str:
    """Run git with a fixed author and day: the same files give the same commit."""
    env = {
        "PATH": os.environ["PATH"],
        "HOME": str(root),
        "GIT_CONFIG_NOSYSTEM": "1",
        **{f"GIT_{who}_NAME": "A" for who in ("AUTHOR", "COMMITTER")},
        **{f"GIT_{who}_EMAIL": "a@example.org" for who in ("AUTHOR", "COMMITTER")},
        **{f"GIT_{who}_DATE": _WHEN for who in ("AUTHOR", "COMMITTER")},
    }
    ran = subprocess.run(
        ["git", *words], cwd=root, env=env, capture_output=True, text=True, check=True
    )
    return ran.stdout


def write(root: Path, files: Mapping[str, str | bytes]) -> None:
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())


def commit(root: Path, files: Mapping[str, str | bytes], message: str = "change") -> None:
    write(root, files)
    git(root, "add", "-A", "-f")
    git(root, "commit", "-q", "-m", message)


def a_repository(root: Path, *commits: Mapping[str, str | bytes]) -> Path:
    """A repository with these commits; without any it is empty."""
    root.mkdir(parents=True, exist_ok=True)
    git(root, "init", "-q", "-b", "main")
    for files in commits:
        commit(root, files)
    return root


SINGLE_FILE: dict[str, str | bytes] = {
    "tool.py": "def dump(value):\n    if value is None:\n        raise ValueError(value)\n"
    "    if value > 9:\n        return 'many'\n    return str(value)\n\n\n"
    "def load(text):\n    if not text:\n        raise ValueError(text)\n"
    "    if text == 'many':\n        return 10\n    return int(text)\n"
}
