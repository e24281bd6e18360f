"""The real Task Master, installed once, and what it says about a tasks file."""

import json
import os
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

from tests.real.install import ENV, NotToBeHadError, is_installed, programs_of

_PACKAGE = ("task-master", "task-master-ai@0.43.1")
WANTED = "ORACLEPACK_TEST_TASK_MASTER"
"""The variable that has it installed where it is not."""
_LONGEST = 300.0


@cache
def task_master_programs() -> Path:
    """The directory with the programs `task-master` and `node`. Raises NotToBeHadError."""
    if not is_installed(*_PACKAGE) and not ENV.get(WANTED):
        raise NotToBeHadError(f"it takes 1.3 GB and minutes to install; {WANTED}=1 does it")
    return programs_of(*_PACKAGE)


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
        path = f"{self._programs}:{ENV.get('PATH', os.defpath)}"
        return subprocess.run(
            [self._programs / "task-master", *args],
            cwd=self._folder,
            env=ENV | {"PATH": path, "HOME": str(self._folder), "CI": "1", "NO_COLOR": "1"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_LONGEST,
            check=False,
        )
