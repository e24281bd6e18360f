"""Pipes, devices, directories and huge files where a command reads: an error, at once."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.packs import pack_text

RUN = ".oraclepack/runs/2026-01-09__3f2c1ab__b7a0cf10"
MEMORY = 1_000_000
"""KiB that a command may take, address space included."""

PLACES = {
    "oraclepack.toml": ("list", "pack.md"),
    "pyproject.toml": ("list", "pack.md"),
    ".env": ("list", "pack.md"),
    "pack.md": ("validate", "pack.md"),
    f"{RUN}/journal.jsonl": ("runs", "list"),
    f"{RUN}/lock": ("runs", "list"),
    f"{RUN}/run.json": ("verify-outputs", "--run-dir", RUN),
    ".tickets/a.md": ("ticketify",),
    "answers/01-a.md": ("actionize", "--answers", "answers", "--pack", "pack.md"),
    ".git/HEAD": ("runs", "list"),
    ".git/packed-refs": ("runs", "list"),
    ".git/index": ("runs", "list"),
}
"""What is read, and a command that reads it."""


def pipe(path: Path) -> None:
    os.mkfifo(path)


def endless(path: Path) -> None:
    path.symlink_to("/dev/zero")


def terminal(path: Path) -> None:
    path.symlink_to("/dev/tty")


def directory(path: Path) -> None:
    path.mkdir()


def huge(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(8 * 1024**3)


def bounded(root: Path, *args: str) -> subprocess.CompletedProcess[str]:
    script = f'ulimit -v {MEMORY}; exec "$@"'
    return subprocess.run(
        ["bash", "-c", script, "bash", sys.executable, "-m", "oraclepack", *args],
        cwd=root,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize(
    "odd", [pipe, endless, terminal, directory, huge], ids=lambda f: f.__name__
)
@pytest.mark.parametrize("place", PLACES)
def test_a_special_file_is_reported_and_not_waited_for(
    tmp_path: Path, place: str, odd: Callable[[Path], None]
) -> None:
    (tmp_path / ".git/refs").mkdir(parents=True)
    (tmp_path / ".git/HEAD").write_text("ref: refs/heads/main\n")
    (tmp_path / "pack.md").write_text(pack_text("# 01) x\ntrue\n"))
    (tmp_path / RUN).mkdir(parents=True)
    (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / place).unlink(missing_ok=True)
    odd(tmp_path / place)

    ran = bounded(tmp_path, *PLACES[place])

    assert ran.returncode != 1, ran.stderr
    assert "Traceback" not in ran.stderr
    if place in {"oraclepack.toml", "pyproject.toml", ".env"}:
        assert ran.returncode == 2
        assert f"{place}: cannot be read: " in ran.stderr


@pytest.mark.parametrize(
    ("command", "code", "said"),
    [
        pytest.param(("validate", "."), 0, "", id="validate"),
        pytest.param(("ticketify", "--tickets-dir", "."), 0, "", id="ticketify"),
        pytest.param(("quarantine", "list"), 0, "", id="quarantine"),
        pytest.param(("run", "pack.md", "--engine", "rehearsal"), 2, "levels of", id="a rehearsal"),
    ],
)
def test_directories_without_end_are_no_fault_of_ours(
    tmp_path: Path, command: tuple[str, ...], code: int, said: str
) -> None:
    (tmp_path / "pack.md").write_text(pack_text("# 01) x\ntrue\n"))
    folder = tmp_path / "out/_failed"
    folder.mkdir(parents=True)
    for _ in range(1400):
        folder /= "d"
        folder.mkdir()
    (folder / "f.md").write_text("x\n")

    ran = bounded(tmp_path, *command)

    assert (ran.returncode, "Error" in ran.stderr) == (code, False), ran.stderr
    assert said in ran.stderr
    subprocess.run(["rm", "-rf", tmp_path / "out"], check=True)
