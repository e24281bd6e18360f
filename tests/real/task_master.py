"""Installs the real Task Master and the Node it needs, once, and asks it about a tasks file."""

import json
import os
import shutil
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

from tests.real.install import _ENV, _TOOLS, NODE, NotToBeHadError, _alone, _ask

TASK_MASTER = "0.43.1"
WANTED = "ORACLEPACK_TEST_TASK_MASTER"
"""The variable that has it installed where it is not."""
_LONGEST = 300.0


@cache
def task_master_programs() -> Path:
    """The directory with the programs `task-master` and `node`. Raises NotToBeHadError."""
    folder = _TOOLS / f"task-master-{TASK_MASTER}-node-{NODE}"
    programs = folder / "node_modules/.bin"
    if not (folder / "ready").exists():
        if not _ENV.get(WANTED):
            raise NotToBeHadError(f"it takes 1.3 GB and minutes to install; {WANTED}=1 does it")
        with _alone():
            if not (folder / "ready").exists():
                _install(folder)
                (folder / "ready").touch()
    return programs


def _install(folder: Path) -> None:
    npm = shutil.which("npm", path=_ENV.get("PATH"))
    if npm is None:
        raise NotToBeHadError("npm is not on PATH")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    (folder / "package.json").write_text('{"private": true}\n')
    options = ["--no-package-lock", "--no-audit", "--no-fund", "--loglevel=error"]
    _ask([npm, "install", *options, f"task-master-ai@{TASK_MASTER}", f"node@{NODE}"], folder)


class TaskMaster:
    """A project of Task Master that holds one tasks file."""

    def __init__(self, programs: Path, folder: Path, tasks: str) -> None:
        self._programs = programs
        self._folder = folder
        (folder / ".taskmaster/tasks").mkdir(parents=True)
        (folder / ".taskmaster/tasks/tasks.json").write_text(tasks, encoding="utf-8")
        # Else its first command prints a notice after the JSON.
        (folder / ".taskmaster/state.json").write_text('{"migrationNoticeShown": true}')

    def listed(self) -> list[dict[str, Any]]:
        """What `list` shows; it must end well."""
        said = self._run("list", "--with-subtasks", "-f", "json")
        assert said.returncode == 0, said.stderr
        found: list[dict[str, Any]] = json.loads(said.stdout)["tasks"]
        return found

    def validated(self) -> str:
        """What `validate-dependencies` says."""
        return self._run("validate-dependencies").stdout

    def _run(self, *args: str) -> subprocess.CompletedProcess[str]:
        path = f"{self._programs}:{_ENV.get('PATH', os.defpath)}"
        return subprocess.run(
            [self._programs / "task-master", *args],
            cwd=self._folder,
            env=_ENV | {"PATH": path, "HOME": str(self._folder), "CI": "1", "NO_COLOR": "1"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_LONGEST,
            check=False,
        )
