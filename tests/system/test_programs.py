import os
from pathlib import Path

import pytest

from oraclepack.system.programs import find_bash, find_program, probe
from tests.killable import await_end


def test_an_answer_is_taken_from_both_streams() -> None:
    seen = probe(["bash", "-c", "echo out; echo err >&2"])

    assert (seen.exit_code, sorted(seen.answer.split()), seen.trouble) == (0, ["err", "out"], "")


@pytest.mark.parametrize(
    ("argv", "trouble"),
    [
        pytest.param(["bash", "-c", "exit 3"], "exit code 3", id="it fails"),
        pytest.param(["/no/such/program"], "cannot start", id="it is not there"),
        pytest.param(["/"], "cannot start", id="it is no program"),
    ],
)
def test_trouble_is_a_value(argv: list[str], trouble: str) -> None:
    assert trouble in probe(argv).trouble


def test_a_hanging_program_is_ended_with_its_children(tmp_path: Path) -> None:
    mark = tmp_path / "pid"
    seen = probe(["bash", "-c", f"sleep 60 & echo $! > {mark}; wait"], timeout=0.5)

    assert (seen.exit_code, seen.trouble) == (None, "no answer in 0.5 s")
    await_end(int(mark.read_text(encoding="utf-8")))


def test_stdin_is_empty() -> None:
    assert probe(["cat"], timeout=5).exit_code == 0


def test_programs_are_found_on_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tool = tmp_path / "tool"
    tool.write_text("#!/bin/sh\n", encoding="utf-8")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))

    assert find_program("tool") == str(tool)
    assert find_program("other") is None


def test_relative_directories_on_path_do_not_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("bash", "tool"):
        (tmp_path / name).write_text("#!/bin/sh\nexit 7\n", encoding="utf-8")
        (tmp_path / name).chmod(0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f":.:{os.environ['PATH']}")

    assert find_program("tool") is None
    assert probe(["tool"]).exit_code is None
    assert probe(["bash", "-c", "true"]).exit_code == 0
    assert find_bash(os.environ["PATH"]).startswith("/")
