"""Commands that write several files or none: what is kept, rolled back and reported."""

import errno
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from oraclepack.cli.reply import partial_failure
from oraclepack.errors import InputError, MachineError
from oraclepack.journal.statuses import RollbackStatus
from oraclepack.run.transaction import FileWrite, Transaction
from oraclepack.system import disk
from oraclepack.system.digests import sha256_bytes
from tests.authoring import repositories as repos
from tests.cli.answers import answer
from tests.faults import failing, failing_once, killed_at


def test_all_pieces_are_written(tmp_path: Path) -> None:
    pieces = [
        FileWrite("one", tmp_path / "a/b.md", b"1"),
        FileWrite("two", tmp_path / "c.md", b"2"),
    ]

    report = Transaction(tmp_path, "test", undo=True).carry_out(pieces)

    assert (report.ok, report.completed_steps) == (True, ("one", "two"))
    assert (tmp_path / "a/b.md").read_bytes() == b"1"


def test_files_are_restored_and_new_ones_are_quarantined(tmp_path: Path) -> None:
    (tmp_path / "old.md").write_bytes(b"old")
    pieces = [
        FileWrite("new", tmp_path / "a/b/new.md", b"1"),
        FileWrite("old", tmp_path / "old.md", b"2"),
        FileWrite("last", tmp_path / "last.md", b"3"),
        FileWrite("never", tmp_path / "never.md", b"4"),
    ]

    with failing_once("rename", "last.md"):
        report = Transaction(tmp_path, "test", undo=True).carry_out(pieces)

    assert report.rollback_status is RollbackStatus.COMPLETED
    assert (report.failed_step, report.skipped_steps) == ("last", ("never",))
    assert (report.completed_steps, report.resume_from) == (("new", "old"), "new")
    assert (report.rolled_back_steps, report.standing) == (("new", "old"), ())
    assert [*tmp_path.glob("*.md")] == [tmp_path / "old.md"]
    assert (tmp_path / "old.md").read_bytes() == b"old"
    assert not (tmp_path / "a").exists()
    place = ".oraclepack/_failed/test/1"
    assert report.quarantined == (f"{place}/old.md", f"{place}/a/b/new.md")
    assert (tmp_path / place / "a/b/new.md").read_bytes() == b"1"


def test_what_is_to_stay_is_not_rolled_back(tmp_path: Path) -> None:
    (tmp_path / "stays.md").write_bytes(b"old")
    pieces = [
        FileWrite("one", tmp_path / "a.md", b"1"),
        FileWrite("stays", tmp_path / "stays.md", b"2", stays=True),
        FileWrite("fails", tmp_path / "b/c.md", b"3", stays=True),
    ]

    with failing_once("rename", "c.md"):
        report = Transaction(tmp_path, "test", undo=True).carry_out(pieces)

    assert report.rollback_status is RollbackStatus.COMPLETED
    assert (report.completed_steps, report.resume_from) == (("one", "stays"), "one")
    assert (report.rolled_back_steps, report.standing) == (("one",), ("stays",))
    assert (tmp_path / "stays.md").read_bytes() == b"2"
    assert report.quarantined == (".oraclepack/_failed/test/1/a.md",)
    assert not (tmp_path / "b").exists()


def test_a_file_that_cannot_be_taken_back_does_not_keep_the_others(tmp_path: Path) -> None:
    names = ("a.md", "b.md", "c.md", "d.md")
    pieces = [FileWrite(name[0], tmp_path / name, b"new") for name in names]

    def refuse(done: str, path: str) -> None:
        last = done == "rename" and path.endswith("d.md")
        aside = done == "link" and path.endswith("_failed/test/1/b.md")
        if last or aside:
            raise OSError(errno.EIO, "I/O error", path)

    disk.set_hook(refuse)
    report = Transaction(tmp_path, "test", undo=True).carry_out(pieces)
    disk.set_hook(None)

    assert report.rollback_status is RollbackStatus.FAILED
    assert report.rollback_error is not None
    assert "I/O error" in report.rollback_error
    assert report.rollback_error.endswith("; not rolled back: b.md")
    assert report.completed_steps == ("a", "b", "c")
    assert (report.rolled_back_steps, report.not_rolled_back) == (("a", "c"), ("b.md",))
    assert report.resume_from == "a"
    assert sorted(path.name for path in tmp_path.glob("*.md")) == ["b.md"]


@contextmanager
def stuck(name: str) -> Iterator[None]:
    """`d.md` cannot be written, and another file not be taken back."""

    def refuse(done: str, path: str) -> None:
        last = done == "rename" and path.endswith("/d.md")
        aside = done == "link" and path.endswith(f"_failed/test/1/{name}")
        if last or aside:
            raise OSError(errno.EIO, "I/O error", path)

    disk.set_hook(refuse)
    try:
        yield
    finally:
        disk.set_hook(None)


def a_failed_rollback(root: Path) -> list[FileWrite]:
    """Of three files the one in the middle is stuck; it replaced one of the user's."""
    (root / "b.md").write_bytes(b"old")
    (root / "b.md").chmod(0o640)
    pieces = [FileWrite(name[0], root / name, b"new") for name in ("a.md", "b.md", "c.md", "d.md")]
    with stuck("b.md"):
        report = Transaction(root, "test", undo=True).carry_out(pieces)
    assert (report.rollback_status, report.not_rolled_back) == (RollbackStatus.FAILED, ("b.md",))
    return pieces


def test_the_same_command_finishes_a_failed_rollback(tmp_path: Path) -> None:
    pieces = a_failed_rollback(tmp_path)
    (tmp_path / "a.md").write_bytes(b"mine")

    Transaction(tmp_path, "test", undo=True)

    assert (tmp_path / "b.md").read_bytes() == b"old"
    assert (tmp_path / "b.md").stat().st_mode & 0o777 == 0o640
    assert (tmp_path / "a.md").read_bytes() == b"mine"
    place = tmp_path / ".oraclepack/_failed/test/1"
    assert sorted(path.name for path in place.iterdir()) == ["a.md", "b.md", "c.md"]
    again = Transaction(tmp_path, "test", undo=True).carry_out(pieces)
    assert (again.ok, again.finished_rollback) == (True, False)


def test_it_is_said_once(tmp_path: Path) -> None:
    pieces = a_failed_rollback(tmp_path)

    first = Transaction(tmp_path, "test", undo=True).carry_out(pieces)
    second = Transaction(tmp_path, "test", undo=True).carry_out(pieces)

    assert (first.finished_rollback, second.finished_rollback) == (True, False)
    assert (tmp_path / "b.md").read_bytes() == b"new"


def test_a_rollback_that_still_cannot_be_finished_stops_the_command(tmp_path: Path) -> None:
    a_failed_rollback(tmp_path)

    with stuck("b.md"), pytest.raises(MachineError, match="cannot be finished") as raised:
        Transaction(tmp_path, "test", undo=True)

    assert raised.value.detail.endswith("not rolled back: b.md")
    Transaction(tmp_path, "test", undo=True)
    assert (tmp_path / "b.md").read_bytes() == b"old"


def test_a_file_that_was_changed_since_is_left_alone(tmp_path: Path) -> None:
    a_failed_rollback(tmp_path)
    (tmp_path / "b.md").write_bytes(b"newer")

    Transaction(tmp_path, "test", undo=True)

    assert (tmp_path / "b.md").read_bytes() == b"newer"


def test_without_the_wish_the_files_stay_and_the_copy_too(tmp_path: Path) -> None:
    a_failed_rollback(tmp_path)

    Transaction(tmp_path, "test")
    Transaction(tmp_path, "test", undo=True)

    assert (tmp_path / "b.md").read_bytes() == b"new"
    kept = tmp_path / ".oraclepack/_failed/test/1/_before/2-b.md"
    assert kept.read_bytes() == b"old"


def test_a_command_that_ends_well_leaves_no_copies(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_bytes(b"old")

    Transaction(tmp_path, "test", undo=True).carry_out([FileWrite("a", tmp_path / "a.md", b"new")])

    assert (tmp_path / "a.md").read_bytes() == b"new"
    assert [*tmp_path.rglob("_*")] == []


@pytest.mark.parametrize("path", ["../x.md", "/tmp/x.md", ".git/config"])
def test_a_forged_record_takes_nothing_back_elsewhere(tmp_path: Path, path: str) -> None:
    place = tmp_path / "root/.oraclepack/_failed/test/1"
    (place / "_before").mkdir(parents=True)
    (place / "_before/evil").write_bytes(b"evil")
    left = f'{{"files":[{{"path":"{path}","written":"","before":"_before/evil"}}]}}'
    (place / "_unfinished.json").write_text(left)

    Transaction(tmp_path / "root", "test", undo=True)

    assert not (tmp_path / "x.md").exists()
    assert not (tmp_path / "root/.git").exists()


def test_a_foreign_record_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("mine\n")
    place = tmp_path / ".oraclepack/_failed/generate/1"
    (place / "_before").mkdir(parents=True)
    (place / "_before/1-a.txt").write_text("theirs\n")
    left = {"path": "a.txt", "written": sha256_bytes(b"mine\n"), "before": "_before/1-a.txt"}
    record = place / "_unfinished.json"
    record.write_text(json.dumps({"files": [left], "version": 1}))
    before = record.read_bytes()

    for undo in (True, False):
        report = Transaction(tmp_path, "generate", undo=undo).carry_out([])

        assert not report.finished_rollback
        assert (tmp_path / "a.txt").read_text() == "mine\n"
        assert record.read_bytes() == before
        assert (place / "_before/1-a.txt").exists()


def test_the_earlier_file_is_on_disk_when_the_process_dies(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_bytes(b"old")
    pieces = [FileWrite("a", tmp_path / "a.md", b"new"), FileWrite("b", tmp_path / "b.md", b"new")]

    for number in range(1, 40):
        Path(tmp_path / "a.md").write_bytes(b"old")
        killed_at(number, lambda: Transaction(tmp_path, "test", undo=True).carry_out(pieces))
        held = [path.read_bytes() for path in tmp_path.rglob("*.md")]
        assert b"old" in held or (tmp_path / "b.md").exists(), number


def test_a_second_rollback_has_a_place_of_its_own(tmp_path: Path) -> None:
    pieces = [FileWrite("one", tmp_path / "a.md", b"1"), FileWrite("two", tmp_path / "b.md", b"2")]

    for _ in range(2):
        with failing_once("rename", "b.md"):
            Transaction(tmp_path, "test", undo=True).carry_out(pieces)

    assert (tmp_path / ".oraclepack/_failed/test/2/a.md").read_bytes() == b"1"


def test_a_file_outside_the_project_is_quarantined_inside(tmp_path: Path) -> None:
    root = tmp_path / "project"
    root.mkdir()
    pieces = [FileWrite("one", tmp_path / "x.md", b"1"), FileWrite("two", root / "b.md", b"2")]

    with failing_once("rename", "b.md"):
        report = Transaction(root, "test", undo=True).carry_out(pieces)

    assert report.quarantined[0].startswith(".oraclepack/_failed/test/1/outside/")
    assert not (tmp_path / "x.md").exists()


def test_ctrl_c_in_the_middle_takes_back_too(tmp_path: Path) -> None:
    pieces = [FileWrite("one", tmp_path / "a.md", b"1"), FileWrite("two", tmp_path / "b.md", b"2")]

    def interrupt(done: str, path: str) -> None:
        if done == "rename" and path.endswith("b.md"):
            disk.set_hook(None)
            raise KeyboardInterrupt

    disk.set_hook(interrupt)
    with pytest.raises(KeyboardInterrupt):
        Transaction(tmp_path, "test", undo=True).carry_out(pieces)

    assert not (tmp_path / "a.md").exists()


def test_a_link_is_not_written_through(tmp_path: Path) -> None:
    (tmp_path / "a.md").symlink_to("elsewhere.md")

    with pytest.raises(InputError, match="not a plain file"):
        Transaction(tmp_path, "test").write(tmp_path / "a.md", b"1")


@pytest.mark.parametrize(
    ("code", "undo", "retryable"),
    [
        pytest.param(errno.ENOSPC, False, True, id="a full disk: the same command may succeed"),
        pytest.param(errno.EROFS, False, False, id="a read-only disk stays one"),
        pytest.param(errno.EIO, False, False, id="a broken disk stays broken"),
        pytest.param(errno.ENOSPC, True, False, id="full, and not all could be taken back"),
    ],
)
def test_half_written_files_are_reported_as_they_are(
    tmp_path: Path, code: int, undo: bool, retryable: bool
) -> None:
    (tmp_path / "old.md").write_bytes(b"old")
    pieces = [FileWrite("a", tmp_path / "old.md", b"1"), FileWrite("b", tmp_path / "b.md", b"2")]

    # With the copy of the earlier file comes a .gitignore.
    with failing(3 if undo else 2, code, only="rename"):
        report = Transaction(tmp_path, "test", undo=undo).carry_out(pieces)
    error = partial_failure(report, "cannot write b").error

    assert error is not None
    assert (error.code, error.retryable) == ("PARTIAL_FAILURE", retryable)


@pytest.mark.parametrize(
    ("flags", "status"),
    [
        pytest.param((), "not_attempted", id="without the flag"),
        pytest.param(("--rollback-on-failure",), "completed", id="taken back"),
        pytest.param(
            ("--rollback-on-failure", "blocked"),
            "completed",
            id="without a copy nothing is touched",
        ),
    ],
)
def test_a_pack_that_cannot_be_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], flags: tuple[str, ...], status: str
) -> None:
    root = repos.a_repository(tmp_path / "r", repos.SINGLE_FILE)
    pack = root / "docs/oracle-pack-2026-03-04.md"
    repos.write(root, {"docs/oracle-pack-2026-03-04.md": "mine\n"})
    if "blocked" in flags:
        repos.write(root, {".oraclepack": "a file where the quarantine should be\n"})

    # The new file is in place when the disk fails to say that it will stay there.
    words = [flag for flag in flags if flag != "blocked"]
    with failing_once("sync_directory"):
        got = answer(capsys, "generate", "--force", *words, "--cwd", str(root), "--json")

    data = got.envelope["data"]
    assert got.code == 3
    assert got.envelope["error"]["code"] == "PARTIAL_FAILURE"
    assert (data["failed_step"], data["rollback_status"]) == ("write", status)
    assert (data["rollback_error"] is not None) == (status == "failed")
    assert (pack.read_text() == "mine\n") == (status == "completed")
