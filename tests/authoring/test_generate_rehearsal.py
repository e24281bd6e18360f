"""The whole road from a repository to a backlog, without a model, a key or a network."""

from pathlib import Path

import pytest

from tests.authoring.fixture_repositories import build
from tests.e2e.program import oraclepack


def call(root: Path, *words: str) -> str:
    """A command of ours in a process of its own; it must succeed."""
    ran = oraclepack(root, *words, LANG="C.UTF-8")
    assert ran.code == 0, ran.out + ran.err
    return ran.out


@pytest.mark.parametrize("flags", [(), ("--chunked",)], ids=["single", "chunked"])
def test_a_generated_pack_rehearses_to_a_backlog(tmp_path: Path, flags: tuple[str, ...]) -> None:
    root = build("service", tmp_path / "r")
    pack = "docs/oracle-pack-2026-03-08.md"

    call(root, "generate", *flags)
    call(root, "validate", pack)
    call(root, "run", pack, "--engine", "rehearsal", "--max-parallel", "2")
    (run_dir,) = (root / ".oraclepack/rehearsals").iterdir()
    call(root, "actionize", "--run-dir", str(run_dir))

    assert "OP3-" in (run_dir / "actionizer/backlog.md").read_text(encoding="utf-8")
