"""The run directory."""

import json
import os
import stat
from pathlib import Path

import pytest

from oraclepack.journal import events as j
from oraclepack.journal.journal_file import JournalFile
from oraclepack.journal.run_dir import RunDir, RunSummary, choose_run, log_names, run_ids
from oraclepack.journal.run_state import fold
from oraclepack.view.manifests import write_manifests
from oraclepack.view.past_runs import summaries
from tests import events as e
from tests.clocks import SteppingClock

RUN_ID = "2026-03-01__aaaaaaa__55555555"


def a_run(root: Path, *events: j.KnownEvent, run_id: str = RUN_ID) -> RunDir:
    run = RunDir(root, run_id)
    run.create()
    with JournalFile(run.journal, SteppingClock()) as journal:
        for event in events:
            journal.append(event)
    return run


def test_a_run_directory_is_private(tmp_path: Path) -> None:
    run = a_run(tmp_path)
    run.create()

    paths = (tmp_path / ".oraclepack", run.path, run.outputs, run.logs)
    assert [stat.S_IMODE(path.stat().st_mode) for path in paths] == [0o700] * 4
    assert run.relative == f".oraclepack/runs/{RUN_ID}"


def test_logs_are_named_by_step_and_attempt() -> None:
    assert log_names("07", 2) == ("logs/07.2.stdout.log", "logs/07.2.stderr.log")


def test_only_runs_are_listed(tmp_path: Path) -> None:
    a_run(tmp_path)
    (tmp_path / ".oraclepack/runs/notes").mkdir()

    assert run_ids(tmp_path) == (RUN_ID,)
    assert run_ids(tmp_path / "gone") == ()


def test_a_summary_of_a_run(tmp_path: Path) -> None:
    head = j.HeadRecorded(sha="c" * 40)
    a_run(tmp_path, e.created("01"), head, *e.a_step("01"), j.RunFinished(ok=True))

    assert list(summaries(tmp_path)) == [
        RunSummary(
            run_id=RUN_ID,
            pack_hash=e.PACK_HASH,
            git_sha="a" * 40,
            heads=("a" * 40, "c" * 40),
            created_at="2026-03-01T10:00:01.000Z",
            finished=True,
        )
    ]


def test_summaries_of_one_pack_do_not_open_the_others(tmp_path: Path) -> None:
    other = a_run(tmp_path, run_id="2026-03-01__aaaaaaa__66666666")
    other.journal.unlink()
    other.journal.mkdir()

    assert list(summaries(tmp_path, pack_hash="5" * 64)) == []
    assert [run.damage is not None for run in summaries(tmp_path)] == [True]


def test_a_damaged_run_is_still_known(tmp_path: Path) -> None:
    run = a_run(tmp_path, e.created("01"), e.session(), *e.a_step("01"))
    lines = run.journal.read_bytes().splitlines(keepends=True)
    run.journal.write_bytes(b"".join([lines[0], *lines[2:]]))

    (found,) = summaries(tmp_path)
    assert (found.pack_hash, found.damage is not None) == (e.PACK_HASH, True)


def test_a_run_killed_before_its_first_event_goes_on(tmp_path: Path) -> None:
    a_run(tmp_path)

    choice = choose_run(summaries(tmp_path), "5" * 64, "a" * 40)
    assert choice.run is not None
    assert choice.run.damage is None


def test_manifests_are_written_and_rewritten(tmp_path: Path) -> None:
    run = a_run(tmp_path)
    events = e.numbered(e.created("01", "02"), e.session(), *e.a_step("01"))
    for durable in (False, True):
        write_manifests(run, None, fold(events), legacy=True, durable=durable)

    steps = json.loads((run.path / "steps.json").read_bytes())["steps"]
    assert [step["status"] for step in steps] == ["ok", "pending"]
    assert json.loads((run.path / "run.json").read_bytes())["status"] == "running"
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        ".oraclepack",
        "pack.report.json",
        "pack.state.json",
    ]
    assert stat.S_IMODE((run.path / "run.json").stat().st_mode) == 0o600


def test_files_of_the_older_tool_can_be_left_out(tmp_path: Path) -> None:
    run = a_run(tmp_path)
    write_manifests(run, None, fold(e.numbered(e.created("01"))), legacy=False)

    assert [path.name for path in tmp_path.iterdir()] == [".oraclepack"]


def test_what_a_killed_command_left_is_swept(tmp_path: Path) -> None:
    run = a_run(tmp_path)
    (run.outputs / f".oraclepack-{10**12}-1.tmp").write_bytes(b"half")
    run.sweep()

    assert list(run.outputs.iterdir()) == []
    assert run.step("07").parent.name == "steps"
    assert run.failed.parent == run.path


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077, 0o177, 0o777])
def test_the_modes_of_what_is_written_do_not_depend_on_the_umask(
    tmp_path: Path, umask: int
) -> None:
    before = os.umask(umask)
    try:
        run = a_run(tmp_path, e.created("01", pack_path="pack.md"))
        write_manifests(run, None, fold(e.numbered(e.created("01"))), legacy=True)
    finally:
        os.umask(before)

    modes = {
        path.name: stat.S_IMODE(path.stat().st_mode)
        for path in (
            *tmp_path.glob("pack.*"),
            *tmp_path.glob(".oraclepack/.git*"),
            *run.path.glob("*.json*"),
        )
    }
    assert modes == {
        ".gitignore": 0o600,
        "pack.state.json": 0o600,
        "pack.report.json": 0o644,
        "journal.jsonl": 0o600,
        "run.json": 0o600,
        "steps.json": 0o600,
    }
