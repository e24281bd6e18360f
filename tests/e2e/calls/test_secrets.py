"""A key in the environment, in argv, in a prompt, in an error: in nothing we write or print."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.calls.office import ask, step
from tests.e2e.run.project import Project, Zygote, a_project

SENTINEL = 'sk-Sentinel/"7f3a\\9c'
"""With characters that JSON and shells write in other ways."""
PLAIN = "Sentinel"
PACK = (
    step(1, ask("Use $OPENAI_API_KEY?", "out/1.md", "--base-url", '"http://x/$OPENAI_API_KEY"'))
    + step(2, ask("Why? [[fault=leak]]", "out/2.md", "--azure-endpoint", '"$OPENAI_API_KEY"'))
    + step(3, 'echo "$OPENAI_API_KEY" >&2; exit 3')
    + step(4, "up=$(printf ../..)", ask("How?", "$OPENAI_API_KEY/$up/x.md"))
    + step(5, 'codex exec -m "$OPENAI_API_KEY" -o out/5.md "$OPENAI_API_KEY"')
    + step(6, 'export OWN_TOKEN="Sentinel-own-123"', ask("$OWN_TOKEN", "out/6.md", "-m $OWN_TOKEN"))
    + step(7, 'OPENAI_API_KEY=Sentinel-late-1 oracle --write-output out/7.md -p "[[fault=leak]]"')
)
COMMANDS = (
    ("run", "pack.md", "--json", "--keep-going", f"--oracle-flag=--heartbeat={SENTINEL}"),
    ("run", "pack.md", "--keep-going", "--json-log"),
    ("run", "pack.md", "--keep-going", "--engine", "rehearsal"),
    *(("why", "pack.md", f"{number:02}", "--json") for number in range(1, 8)),
    *(("cache", "explain", f"{number:02}") for number in (1, 2, 6)),
    ("cache", "list", "--json"),
    ("runs", "list", "--json"),
    ("list", "pack.md", "--json"),
)


@pytest.fixture
def project(tmp_path: Path, zygote: Zygote) -> Project:
    made = a_project(tmp_path, zygote, PACK)
    made.variables["OPENAI_API_KEY"] = SENTINEL
    return made


def test_a_key_is_in_nothing_we_write_or_print(project: Project) -> None:
    for words in COMMANDS:
        ran = project.start(*words).wait()
        assert PLAIN not in ran.out, words
        assert PLAIN not in ran.err, words

    logs = [path for path in _written(project) if path.parent.name == "logs"]
    others = [path for path in _written(project) if path.parent.name != "logs"]
    assert any(PLAIN in log.read_text() for log in logs), "the steps did handle the key"
    assert [str(path) for path in others if PLAIN.encode() in path.read_bytes()] == []
    assert [log for log in logs if log.stat().st_mode & 0o077] == []


def _written(project: Project) -> Iterator[Path]:
    folders = (project.root / ".oraclepack", Path(os.environ["HOME"]), project.root / "out")
    yield from (path for folder in folders for path in folder.rglob("*") if path.is_file())
    yield from project.root.glob("*.json")
