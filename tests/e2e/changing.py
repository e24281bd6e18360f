"""A project with a step that changes the work tree."""

import os
import subprocess
from pathlib import Path

from tests.e2e.program import Ran, oraclepack
from tests.packs import pack_text

EDITS = """\
echo edited >> tracked.txt
printf 'new\\0binary' > made.bin
rm gone.txt
"""


def a_project(folder: Path, bash: str, codex: str) -> Path:
    """A repository with a pack, a scripted codex and a file of the user's that is not committed."""
    root = folder / "project"
    (root / "bin").mkdir(parents=True)
    tool = root / "bin" / "codex"
    tool.write_text(f"#!/bin/bash\n{codex}")
    tool.chmod(0o755)
    (root / "pack.md").write_text(pack_text(bash))
    for name in ("tracked.txt", "gone.txt", "mine.txt"):
        (root / name).write_text(f"{name}\n")
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "all"]):
        identity = ["-c", "user.name=t", "-c", "user.email=t@example.invalid"]
        subprocess.run(["git", *identity, *words], cwd=root, check=True)
    (root / "mine.txt").write_text("my own work\n")
    return root


def run(root: Path, *args: str) -> Ran:
    path = f"{root / 'bin'}:{os.environ['PATH']}"
    return oraclepack(root, *args, "--json", PATH=path)


def contents(root: Path) -> dict[str, bytes]:
    names = ("tracked.txt", "gone.txt", "mine.txt", "made.bin")
    return {name: (root / name).read_bytes() for name in names if (root / name).exists()}


STEP = "# 01) implement\ncommand -v codex || exit 0\ncodex exec 'do it' < /dev/null\n"
