import json
import signal
import subprocess
from pathlib import Path

import jsonschema
import msgspec
import pytest

from oraclepack.journal import events as j
from oraclepack.journal import journal_file
from oraclepack.journal.run_dir import RunDir
from oraclepack.journal.run_state import fold
from oraclepack.journal.statuses import Status
from oraclepack.pack.parse.read_pack import parse_pack
from oraclepack.shell.attempt import ProcessIdentity
from oraclepack.shell.processes import start_time
from oraclepack.system import locks
from oraclepack.system.machine import this_machine
from oraclepack.view.manifests import write_manifests
from oraclepack.view.report.schemas import schema_of
from tests.cli.answers import answer
from tests.e2e.program import Ran
from tests.events import created, numbered, session, started
from tests.packs import pack_text, some_steps
from tests.runs_from_events import RUN_ID, a_run, a_run_of, an_ended_run

TEXT = pack_text(some_steps(["true", "false"]))


def rebuild(capsys: pytest.CaptureFixture[str], root: Path, *args: str) -> Ran:
    got = answer(capsys, "runs", "repair", "--cwd", str(root), *args)
    if "--json" in args:
        jsonschema.validate(got.envelope["data"], schema_of("doctor"))
    return got


def tree(folder: Path) -> dict[str, bytes]:
    """Every file below a folder, but the lock, which is only a note."""
    found = (path for path in sorted(folder.rglob("*")) if path.is_file() and path.name != "lock")
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in found}


def a_finished_run(root: Path) -> tuple[RunDir, dict[str, bytes]]:
    """A run with everything in place, and what its files hold."""
    (root / "pack.md").write_text(TEXT)
    pack = parse_pack(TEXT, "pack.md")
    run = a_run_of(root, pack, ("01", Status.OK), ("02", Status.FAILED))
    state = fold(journal_file.load(run.journal).events)
    write_manifests(run, pack, state, legacy=True)
    return run, tree(root)


def test_lost_files_come_back_byte_for_byte(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    run, before = a_finished_run(tmp_path)
    for path in ("run.json", "steps.json"):
        (run.path / path).unlink()
    (tmp_path / "pack.state.json").write_text("{broken")
    (tmp_path / "pack.report.json").unlink()

    got = rebuild(capsys, tmp_path)

    assert got.code == 0
    assert tree(tmp_path) == before
    assert got.out.splitlines() == [
        f"rebuilt {run.run_id}: 8 intact events",
        f"  {run.relative}/run.json",
        f"  {run.relative}/steps.json",
        "  pack.state.json",
        "  pack.report.json",
    ]


def test_without_its_pack_a_run_keeps_what_the_pack_said(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    run, before = a_finished_run(tmp_path)
    (tmp_path / "pack.md").write_text(TEXT + "\nmore\n")

    got = rebuild(capsys, tmp_path)

    assert got.code == 0
    assert "pack.md is gone or has changed" in got.err
    assert tree(run.path)["steps.json"] == before[f"{run.relative}/steps.json"]


def test_of_a_damaged_run_nothing_is_touched(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    run, _ = a_finished_run(tmp_path)
    lines = run.journal.read_bytes().splitlines(keepends=True)
    run.journal.write_bytes(b"".join([*lines[:3], *lines[4:]]))
    (run.path / "run.json").write_text("{broken")
    before = tree(tmp_path)

    got = rebuild(capsys, tmp_path, "--json")

    assert got.code == 2
    assert got.envelope["error"]["code"] == "INVALID_INPUT"
    (report,) = got.envelope["data"]["runs"]
    assert (report["result"], report["events"], report["files"]) == ("damaged", 3, [])
    assert report["problem"].startswith("line 4 of the journal: the checksum does not fit")
    assert tree(tmp_path) == before


def test_a_torn_last_line_is_reported_and_left_where_it_is(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    run, _ = a_finished_run(tmp_path)
    torn = run.journal.read_bytes() + b'{"crc":"0000'
    run.journal.write_bytes(torn)

    got = rebuild(capsys, tmp_path)

    assert got.code == 0
    assert "8 intact events; a last line that a crash cut short was left out" in got.out
    assert run.journal.read_bytes() == torn


def test_a_run_in_use_is_left_alone(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    run, before = a_finished_run(tmp_path)
    other = an_ended_run(tmp_path)
    held = locks.acquire(run.path, locks.Holder(pid=7, host="box"))
    assert isinstance(held, locks.RunLock)

    with held:
        got = rebuild(capsys, tmp_path)
        one = rebuild(capsys, tmp_path, "--run-id", run.run_id, "--json")

    assert (got.code, one.code) == (6, 6)
    assert one.envelope["error"]["retry_after"] == 30.0
    assert "in use by process 7 on box" in got.out
    assert (other.path / "run.json").exists(), "the others are rebuilt nevertheless"
    assert {k: v for k, v in tree(tmp_path).items() if k in before} == before


def test_only_one_run(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    first = an_ended_run(tmp_path)
    second = an_ended_run(tmp_path, f"{RUN_ID}__2")

    got = rebuild(capsys, tmp_path, "--run-id", f"{RUN_ID}__2")

    assert got.code == 0
    assert not (first.path / "run.json").exists()
    assert json.loads((second.path / "run.json").read_bytes())["status"] == "failed"


def test_the_state_file_belongs_to_the_run_that_worked_last(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    older = an_ended_run(tmp_path)
    late = numbered(created("01", pack_id=f"{RUN_ID}__2", at="2026-05-01T00:00:00Z"))
    newer = a_run(tmp_path, *late, run_id=f"{RUN_ID}__2")

    rebuild(capsys, tmp_path)

    assert (older.path / "run.json").exists()
    assert json.loads((tmp_path / "pack.state.json").read_bytes())["run_dir"] == newer.relative


def test_who_wanted_no_state_file_gets_none(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    quiet = msgspec.structs.replace(session(), settings={"legacy_files": False})
    a_run(tmp_path, created("01"), quiet)

    rebuild(capsys, tmp_path)

    assert not (tmp_path / "pack.state.json").exists()


def test_a_run_that_never_began(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    a_run(tmp_path)

    got = rebuild(capsys, tmp_path)

    assert got.code == 0
    assert got.out == f"empty {RUN_ID}: 0 intact events: it was stopped before it began\n"


def test_an_unreadable_journal_is_damage(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    RunDir(tmp_path, RUN_ID).journal.mkdir(parents=True)

    got = rebuild(capsys, tmp_path)

    assert got.code == 2
    assert "Is a directory" in got.out


def test_no_runs_and_a_run_that_is_not_there(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert rebuild(capsys, tmp_path).code == 0
    assert rebuild(capsys, tmp_path, "--run-id", RUN_ID).code == 2
    assert answer(capsys, "doctor", "--run-id", RUN_ID).code == 2


def test_what_a_killed_command_left_is_cleaned_up(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "pack.md").write_text(TEXT)
    pack = parse_pack(TEXT, "pack.md")
    left = subprocess.Popen(["sleep", "60"], start_new_session=True)
    process = ProcessIdentity(
        pid=left.pid,
        pgid=left.pid,
        start_time=start_time(left.pid),
        machine=this_machine(),
    )
    about = created("01", "02", pack_path="pack.md", pack_hash=pack.pack_hash, git_sha=None)
    spawned = j.StepSpawned(step="01", attempt=1, process=process)
    run = a_run(tmp_path, about, session(), started("01"), spawned)
    half = run.path / f".oraclepack-{an_ended_process()}-1.tmp"
    half.write_bytes(b"{")

    got = rebuild(capsys, tmp_path)

    assert got.code == 0
    assert left.wait(5) == -signal.SIGINT
    assert "left over from a killed command and ended: sleep" in got.err
    assert not half.exists()
    again = rebuild(capsys, tmp_path)
    assert (again.code, again.err) == (0, "")


def an_ended_process() -> int:
    ended = subprocess.Popen(["true"])
    ended.wait()
    return ended.pid
