"""`trust`: what it says, when it asks, and what a kill leaves."""

import os
import pty
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path

import jsonschema
import pytest

from oraclepack.journal import events as j
from oraclepack.journal import run_dir
from oraclepack.journal.journal_file import load
from oraclepack.journal.run_dir import RunDir
from oraclepack.run.trust import find_candidate, trust_run
from oraclepack.system.ownership import ForeignReason
from oraclepack.system.trust_key import make_key
from oraclepack.view.report.schemas import schema_of
from tests.cli.answers import answer
from tests.e2e.program import Ran
from tests.events import a_step, created, numbered, session, unsigned
from tests.faults import killed_at, watched
from tests.runs_from_events import RUN_ID, an_ended_run

EVENTS = (created("01", "02"), session(), *a_step("01"), j.SessionFinished(exit_code=3))


def a_foreign_run(root: Path) -> RunDir:
    """A run as oraclepack 0.1.0 left it."""
    run = RunDir(root, RUN_ID)
    run.create()
    run.journal.write_bytes(unsigned(numbered(*EVENTS)))
    return run


def trust(capsys: pytest.CaptureFixture[str], root: Path, *args: str) -> Ran:
    got = answer(capsys, "trust", *args, "--cwd", str(root))
    if "--json" in args and got.code == 0:
        jsonschema.validate(got.envelope["data"], schema_of("trust-report"))
    return got


def foreign(run: RunDir) -> ForeignReason | None:
    found = run_dir.examine(run).foreign
    return found.kind if found else None


def test_a_run_is_taken_over_and_nothing_in_it_changes(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    run = a_foreign_run(tmp_path)
    before = run.journal.read_bytes()

    got = trust(capsys, tmp_path, "2026-03", "--yes", "--json")

    assert got.data["run_id"] == RUN_ID
    assert foreign(run) is None
    assert run.journal.read_bytes().startswith(before)
    assert load(run.journal).events[-1] == j.RunTrusted(
        seq=len(EVENTS) + 1, at=load(run.journal).events[-1].at, reason="unsigned"
    )


def test_without_a_terminal_trust_needs_an_option(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    run = a_foreign_run(tmp_path)

    got = trust(capsys, tmp_path, RUN_ID, "--json")

    error = got.envelope["error"]
    assert (got.code, error["suggestion"]) == (2, "--yes takes it over without asking")
    assert "1 of 2 steps ok" in error["detail"]
    assert "could have written anything" in " ".join(error["detail"].split())
    assert foreign(run) is ForeignReason.UNSIGNED


@pytest.mark.parametrize(
    ("typed", "kind"),
    [
        pytest.param(b"y\n", None, id="yes"),
        pytest.param(b"\n", ForeignReason.UNSIGNED, id="nothing"),
        pytest.param(b"no\n", ForeignReason.UNSIGNED, id="no"),
    ],
)
def test_on_a_terminal_it_asks(tmp_path: Path, typed: bytes, kind: ForeignReason | None) -> None:
    run = a_foreign_run(tmp_path)
    ours, theirs = pty.openpty()
    os.write(ours, typed)

    done = subprocess.run(
        [sys.executable, "-m", "oraclepack", "trust", RUN_ID, "--cwd", str(tmp_path)],
        stdin=theirs,
        stdout=subprocess.PIPE,
        stderr=theirs,
        check=False,
        timeout=60,
    )

    os.close(theirs)
    asked = os.read(ours, 1 << 16).decode()
    os.close(ours)
    assert "Take it over? [y/N]" in asked
    assert "it is not signed" in asked
    assert (done.returncode == 0) == (kind is None)
    assert foreign(run) is kind


@pytest.mark.parametrize(
    ("words", "message"),
    [
        pytest.param([], "give the name of a run, or --cache", id="nothing"),
        pytest.param([RUN_ID, "--cache"], "give the name of a run, or --cache", id="both"),
        pytest.param(["2025"], "there is no run 2025", id="no such run"),
    ],
)
def test_what_cannot_be_meant(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, words: list[str], message: str
) -> None:
    got = trust(capsys, tmp_path, *words, "--yes", "--json")

    assert (got.code, got.envelope["error"]["message"]) == (2, message)


def test_a_run_of_ones_own_is_left_as_it_is(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    run = an_ended_run(tmp_path)
    before = run.journal.read_bytes()

    got = trust(capsys, tmp_path, RUN_ID, "--yes", "--json")

    assert "is yours already" in got.envelope["error"]["message"]
    assert run.journal.read_bytes() == before


def test_a_damaged_one_is_not_taken_over(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    run = a_foreign_run(tmp_path)
    run.journal.write_bytes(run.journal.read_bytes().replace(b'"01"', b'"10"', 1))

    got = trust(capsys, tmp_path, RUN_ID, "--yes", "--json")

    assert "is damaged" in got.envelope["error"]["message"]


@pytest.mark.parametrize("place", [".oraclepack/runs", f".oraclepack/runs/{RUN_ID}"])
def test_nothing_is_taken_over_behind_a_link(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, place: str
) -> None:
    root = tmp_path / "project"
    a_foreign_run(root)
    moved = root / "moved"
    (root / place).rename(moved)
    (root / place).symlink_to(moved)
    before = {path: path.read_bytes() for path in moved.rglob("*") if path.is_file()}

    got = trust(capsys, root, RUN_ID, "--yes", "--json")

    assert got.code == 2
    assert f"{place} is a symbolic link" in got.envelope["error"]["message"]
    assert {path: path.read_bytes() for path in moved.rglob("*") if path.is_file()} == before


def test_what_changed_since_it_was_looked_at_is_not_taken_over(tmp_path: Path) -> None:
    run = a_foreign_run(tmp_path)
    found = find_candidate(tmp_path, RUN_ID)
    run.journal.write_bytes(unsigned(numbered(*EVENTS, j.WarningRecorded(message="more"))))

    with pytest.raises(Exception, match="has changed meanwhile"):
        trust_run(found)

    assert foreign(run) is ForeignReason.UNSIGNED


def test_killed_anywhere_it_stays_foreign_or_is_taken_over(tmp_path: Path) -> None:
    make_key()
    a_foreign_run(tmp_path / "whole")
    with watched() as operations:
        trust_run(find_candidate(tmp_path / "whole", RUN_ID))

    for number in range(1, len(operations) + 1):
        root = tmp_path / f"killed-{number}"
        run = a_foreign_run(root)
        found = find_candidate(root, RUN_ID)

        assert killed_at(number, partial(trust_run, found), torn=20) == -signal.SIGKILL

        assert load(run.journal).events[: len(EVENTS)] == tuple(numbered(*EVENTS))
        if foreign(run) is not None:
            trust_run(find_candidate(root, RUN_ID))
        assert foreign(run) is None
