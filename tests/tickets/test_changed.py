"""What differs from the last commit."""

import os
import subprocess
from pathlib import Path

from oraclepack.system.git import changed_files
from oraclepack.tickets.steps_support import TicketSteps
from oraclepack.tickets.ticketify import TicketifyRequest, ticketify
from tests.tickets.tickets import OPTIONS, TWO, put


def _git(root: Path, *words: str) -> None:
    argv = ["git", "-c", "user.name=a", "-c", "user.email=a@example.org", *words]
    subprocess.run(argv, cwd=root, check=True, capture_output=True)


def _repository(root: Path) -> Path:
    put(root, TWO)
    (root / "old name.py").write_text("a long enough line to be known again\n" * 5)
    _git(root, "init", "-q")
    _git(root, "add", "-A")
    _git(root, "commit", "-qm", "first")
    return root


def test_new_changed_and_renamed_files_by_path(tmp_path: Path) -> None:
    root = _repository(tmp_path)
    _git(root, "mv", "old name.py", "renamed.py")
    (root / ".tickets" / "T-1.md").write_text("other\n")
    (root / "ü.txt").write_text("new\n")

    found = changed_files(root, os.environ)

    assert found == [("M", ".tickets/T-1.md"), ("R", "renamed.py"), ("??", "ü.txt")]


def test_outside_a_repository_nothing_is_known(tmp_path: Path) -> None:
    assert changed_files(tmp_path, {**os.environ, "GIT_CEILING_DIRECTORIES": "/"}) is None


def test_our_own_files_are_no_work(tmp_path: Path) -> None:
    root = _repository(tmp_path)
    ticketify(TicketifyRequest(root))
    (root / "work.py").write_text("new\n")

    reply = TicketSteps.at(root, OPTIONS.out_dir).report("changes")

    assert reply.text.startswith("1 file:")
