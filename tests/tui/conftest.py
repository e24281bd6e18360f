"""Projects for the screens."""

import os
import signal
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from oraclepack.run.project_records import ProjectRuns
from tests.packs import pack_text
from tests.scripted import Scripted, scripted_tool
from tests.view.example_runs import PACK, a_run

FAULTY = """\
# Faulty

```bash
# 01) Ask
oracle \\\x20
  -p 'What does it do?' --write-output out/01.md
# 02) Tell
oracle -p 'hello'
```
"""


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with a pack that has run, and one with faults."""
    root = tmp_path / "shop"
    root.mkdir()
    a_run(root)
    (root / "faulty.md").write_text(FAULTY)
    monkeypatch.chdir(root)
    return root


@pytest.fixture
def pack(shop: Path) -> Path:
    return shop / PACK


PROMPT = "Question {n}? [[fault=hold]]"


def a_step(n: int) -> str:
    call = (
        f"oracle -e api -m gpt-5.2 -f main.py -p '{PROMPT.format(n=n)}' --write-output out/{n}.md"
    )
    return f"# {n:02}) ROI={9 - n} question {n}\n{call}\n"


@pytest.fixture
def oracle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Scripted:
    tool = scripted_tool(tmp_path / "bin")
    monkeypatch.setenv("PATH", f"{tool.folder}:{os.environ['PATH']}")
    monkeypatch.setenv("ORACLEPACK_MAX_PARALLEL", "1")  # the scripts hold one question at a time
    os.mkfifo(f"{tool.program}.gate")
    return tool


@pytest.fixture
def project(tmp_path: Path, oracle: Scripted, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A project with a pack of two questions; a run that is left over is ended."""
    root = tmp_path / "project"
    root.mkdir()
    (root / "main.py").write_text("print('hello')\n")
    (root / "pack.md").write_text(pack_text(a_step(1) + a_step(2)))
    monkeypatch.chdir(root)
    yield root
    for run in ProjectRuns(root).list().runs:
        pid = ProjectRuns(root).status(run.name).pid
        if pid is not None:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def let_go(oracle: Scripted) -> None:
    """Let a call that holds answer."""
    with open(f"{oracle.program}.gate", "w") as gate:
        gate.write("go")
