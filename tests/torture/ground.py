"""The ground of a trial: a project, a home, and a provider that counts what it bills."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tests import scripted
from tests.e2e.run.project import GIT, Project, Zygote
from tests.packs import pack_text
from tests.scripted import Scripted
from tests.torture.store_grounds import give_database, store_of, take_database

MARK = "TORTURE_MARK"
"""A variable in the environment of every process of a trial; its value is the trial's folder."""
_PROGRAM = Path(__file__).with_name("scripted_provider.py")
_ORACLE = Path(scripted.__file__).with_name("oracle.py")


@dataclass(frozen=True)
class Ground:
    """A folder of its own with `project/`, `home/`, `provider/` and `tmp/`, and what happens there.

    `tools/` is shared by all copies.
    """

    folder: Path
    tools: Path
    zygote: Zygote
    settings: dict[str, str] = field(default_factory=dict)
    """Further variables of every command, such as `PROVIDER_FAULTS`."""

    @property
    def project(self) -> Project:
        """To run commands in; see `Project`."""
        home = self.folder / "home"
        variables = {
            "HOME": str(home),
            "XDG_STATE_HOME": str(home / ".local/state"),
            "ORACLE_HOME_DIR": str(home / ".oracle"),
            "PROVIDER": str(self.provider),
            "TMPDIR": str(self.temporary),
            MARK: str(self.folder),
        }
        if store := store_of(self.folder):
            variables["ORACLEPACK_STORE"] = store
        program = Scripted(self.tools / "oracle")
        return Project(self.folder / "project", self.zygote, program, variables | self.settings)

    @property
    def root(self) -> Path:
        return self.folder / "project"

    @property
    def home(self) -> Path:
        return self.folder / "home"

    @property
    def provider(self) -> Path:
        return self.folder / "provider"

    @property
    def temporary(self) -> Path:
        """For the private directories of commands, as long as its path is short enough."""
        return self.folder / "tmp"

    @property
    def billed(self) -> list[dict[str, Any]]:
        """Every answer that was paid for: `prompt`, `output`, `answer`, whether it is `good`."""
        return _lines(self.provider / "billed.jsonl")

    @property
    def asked(self) -> list[dict[str, Any]]:
        """Every question that reached the provider, in order."""
        return _lines(self.provider / "asked.jsonl")

    def copy(self, folder: Path) -> "Ground":
        """The same ground once more, at another place."""
        shutil.copytree(self.folder, folder, symlinks=True)
        give_database(folder, self.folder)
        return replace(self, folder=folder)

    def knowing(self, **settings: str) -> "Ground":
        return replace(self, settings=self.settings | settings)

    def remove(self) -> None:
        take_database(self.folder)
        shutil.rmtree(self.folder)


def a_ground(
    folder: Path, zygote: Zygote, bash: str, files: dict[str, str] | None = None
) -> Ground:
    """A committed project with this bash in its pack, and some more files."""
    ground = Ground(folder, folder.parent / f"{folder.name}-tools", zygote)
    for place in (ground.root, ground.home, ground.provider, ground.temporary, ground.tools):
        place.mkdir(parents=True)
    give_database(folder)
    _install(ground.tools)
    # As in many a real home: the machine's login profile sets PATH anew, the user's adds to it.
    (ground.home / ".bash_profile").write_text("PATH=$TOOLS:$PATH\n")
    _git(ground, "init", "-q", "-b", "main", "--template=")
    given = {"pack.md": pack_text(bash), ".gitignore": IGNORED, "notes.txt": "mine\n"}
    for name, text in (given | (files or {})).items():
        place = ground.root / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
    _git(ground, "add", "-A")
    _git(ground, "commit", "-q", "-m", "work")
    return ground


IGNORED = ".oraclepack/\n*.state.json\n*.report.json\nout/\n"


def _install(tools: Path) -> None:
    (tools / "scripted_oracle.py").write_text(_ORACLE.read_text())
    program = tools / "oracle"
    # Isolated and without site: it starts in a third of the time.
    program.write_text(f"#!{sys.executable} -IS\n{_PROGRAM.read_text()}")
    program.chmod(0o755)


def _git(ground: Ground, *words: str) -> None:
    own = os.environ | {"HOME": str(ground.home)}
    subprocess.run([*GIT, *words], cwd=ground.root, check=True, env=own)


def _lines(path: Path) -> list[dict[str, Any]]:
    if not path.exists():
        return []
    lines: Iterable[str] = path.read_text().splitlines()
    return [json.loads(line) for line in lines]
