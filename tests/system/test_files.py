"""Whole files, and what is left when the disk refuses."""

import errno
import os
import signal
import stat
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from oraclepack.errors import InputError, MachineError
from oraclepack.system import disk, files
from tests.faults import failing, watched

WHOLE = ["create", "write", "sync", "rename", "sync_directory"]


def names(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_file_is_written_whole_and_synced(tmp_path: Path) -> None:
    with watched() as operations:
        files.write_atomic(tmp_path / "a.md", b"text")

    assert (tmp_path / "a.md").read_bytes() == b"text"
    assert operations == WHOLE


def test_what_can_be_computed_again_need_not_be_synced(tmp_path: Path) -> None:
    with watched() as operations:
        files.write_atomic(tmp_path / "a.md", b"text", durable=False)

    assert operations == ["create", "write", "rename"]


def test_files_written_together_are_all_there_before_the_first_is_synced(tmp_path: Path) -> None:
    wanted = [(tmp_path / name, name.encode(), None) for name in ("a", "b")]

    with watched() as operations:
        files.write_together(wanted)

    assert [path.read_bytes() for path, _, _ in wanted] == [b"a", b"b"]
    first = ["create", "write"] * 2
    assert operations == [*first, "sync", "sync", "rename", "rename", "sync_directory"]


@pytest.mark.parametrize("at", range(1, 10))
def test_files_written_together_are_whole_wherever_the_disk_is_full(
    tmp_path: Path, at: int
) -> None:
    wanted = [(tmp_path / name, b"new", None) for name in ("a", "b")]
    for path, _, _ in wanted:
        path.write_bytes(b"old")

    with failing(at), pytest.raises(MachineError, match="cannot write"):
        files.write_together(wanted)

    files.sweep(tmp_path)
    assert {path.read_bytes() for path, _, _ in wanted} <= {b"old", b"new"}


@pytest.mark.parametrize(
    ("before", "asked", "expected"),
    [
        pytest.param(None, None, 0o640, id="a new file obeys the umask"),
        pytest.param(0o755, None, 0o755, id="an old file keeps its mode"),
        pytest.param(0o755, 0o600, 0o600, id="by default"),
        pytest.param(None, 0o666, 0o666, id="a mode is exact"),
    ],
)
def test_modes(tmp_path: Path, before: int | None, asked: int | None, expected: int) -> None:
    path = tmp_path / "a.md"
    if before is not None:
        path.write_bytes(b"old")
        path.chmod(before)
    umask = os.umask(0o027)
    try:
        files.write_atomic(path, b"new", mode=asked)
    finally:
        os.umask(umask)

    assert mode(path) == expected


def test_a_link_is_replaced_not_written_through(tmp_path: Path) -> None:
    (tmp_path / "real").write_bytes(b"mine")
    (tmp_path / "link").symlink_to("real")

    files.write_atomic(tmp_path / "link", b"new")

    assert (tmp_path / "real").read_bytes() == b"mine"
    assert not (tmp_path / "link").is_symlink()


def test_a_link_is_followed_when_asked(tmp_path: Path) -> None:
    (tmp_path / "real").write_bytes(b"mine")
    (tmp_path / "link").symlink_to("real")

    files.write_atomic(tmp_path / "link", b"new", follow=True)

    assert (tmp_path / "real").read_bytes() == b"new"
    assert (tmp_path / "link").is_symlink()


@pytest.mark.parametrize("number", range(1, len(WHOLE) + 1), ids=WHOLE)
@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EROFS, errno.EACCES, errno.EIO])
def test_a_refusal_leaves_the_old_or_the_new_file(tmp_path: Path, number: int, code: int) -> None:
    path = tmp_path / "a.md"
    path.write_bytes(b"old")
    with failing(number, code), pytest.raises(MachineError, match="cannot write") as caught:
        files.write_atomic(path, b"new", mode=None)

    assert path.read_bytes() in {b"old", b"new"}
    assert caught.value.detail == errno.errorcode[code]
    files.write_atomic(path, b"new")
    assert path.read_bytes() == b"new"


def test_one_failure_leaves_no_temporary_file(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()

    with pytest.raises(MachineError):
        files.write_atomic(tmp_path / "a", b"new")

    assert names(tmp_path) == ["a"]


def test_an_interrupted_write_leaves_no_temporary_file(tmp_path: Path) -> None:
    def interrupt(operation: str, _path: str) -> None:
        if operation == "sync":
            raise KeyboardInterrupt

    disk.set_hook(interrupt)
    try:
        with pytest.raises(KeyboardInterrupt):
            files.write_atomic(tmp_path / "a.md", b"new")
    finally:
        disk.set_hook(None)

    assert names(tmp_path) == []


def test_a_missing_directory_is_reported(tmp_path: Path) -> None:
    with pytest.raises(MachineError, match="No such file") as caught:
        files.write_atomic(tmp_path / "gone" / "a.md", b"new")

    assert "directory is gone" in caught.value.hint


def test_the_longest_name_can_be_written(tmp_path: Path) -> None:
    files.write_atomic(tmp_path / ("x" * 255), b"new")

    assert names(tmp_path) == ["x" * 255]


def test_the_leftover_of_a_process_with_our_number_is_no_obstacle(tmp_path: Path) -> None:
    following = files.temporary_beside(tmp_path / "a.md")
    number = int(following.stem.rpartition("-")[2]) + 1
    leftover = tmp_path / f".oraclepack-{os.getpid()}-{number}.tmp"
    leftover.write_bytes(b"")

    files.write_atomic(tmp_path / "a.md", b"new")

    assert names(tmp_path) == sorted([leftover.name, "a.md"])


def test_directories_of_ours_are_private(tmp_path: Path) -> None:
    files.make_private(tmp_path / "a" / "b")
    files.make_private(tmp_path / "a" / "b")

    assert [mode(tmp_path / "a"), mode(tmp_path / "a" / "b")] == [0o700, 0o700]


def test_a_place_where_several_directories_are_made_is_synced_once(tmp_path: Path) -> None:
    with watched() as operations:
        files.make_private(tmp_path / "a" / "b", tmp_path / "a" / "c")

    assert operations == ["mkdir"] * 3 + ["sync_directory"] * 2


def test_what_was_made_is_synced_although_the_next_is_in_the_way(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")

    with watched() as operations, pytest.raises(MachineError, match="cannot make the directory"):
        files.make_private(tmp_path / "a" / "b", tmp_path / "file" / "c")

    assert operations[-2:] == ["sync_directory"] * 2


def test_a_file_in_the_way_of_a_directory_is_reported(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"")

    with pytest.raises(MachineError, match="cannot make the directory"):
        files.make_directories(tmp_path / "a" / "b")


def test_reading_what_is_not_there_gives_nothing(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"x")

    assert files.read(tmp_path / "gone") is None
    assert files.read(tmp_path / "f" / "below") is None
    assert files.read(tmp_path / "f") == b"x"
    with pytest.raises(InputError, match="cannot read"):
        files.read(tmp_path)


KILLED = """
import sys
from pathlib import Path
from tests.faults import die_at
from oraclepack.system.files import write_atomic
die_at(int(sys.argv[2]), torn=7)
write_atomic(Path(sys.argv[1]), b"new" * 100)
"""


@pytest.mark.parametrize("moment", range(1, len(WHOLE) + 3))
def test_a_process_killed_while_writing_leaves_the_old_or_the_new_file(
    tmp_path: Path, moment: int
) -> None:
    path = tmp_path / "a.md"
    path.write_bytes(b"old")
    ran = subprocess.run(
        [sys.executable, "-c", KILLED, str(path), str(moment)],
        cwd=Path(__file__).parents[2],
        check=False,
        capture_output=True,
    )

    # One operation more than for a new file: the old one's mode is kept.
    assert ran.returncode == (0 if moment > len(WHOLE) + 1 else -signal.SIGKILL)
    assert path.read_bytes() in {b"old", b"new" * 100}
    files.sweep(tmp_path)
    assert names(tmp_path) == ["a.md"]


def test_only_stale_files_of_ours_are_swept(tmp_path: Path) -> None:
    dead = subprocess.Popen([sys.executable, "-c", "pass"])
    dead.wait()
    mine, stale = f".oraclepack-{os.getpid()}-1.tmp", f".oraclepack-{dead.pid}-1.tmp"
    alien, huge, first = "x.tmp", f".oraclepack-{10**30}-1.tmp", ".oraclepack-1-1.tmp"
    for name in (mine, stale, alien, huge, first):
        (tmp_path / name).write_bytes(b"")

    swept = files.sweep(tmp_path)

    assert sorted(path.name for path in swept) == sorted([stale, huge])
    assert names(tmp_path) == sorted([mine, alien, first])
    assert files.sweep(tmp_path / "gone") == ()


@pytest.mark.parametrize(
    ("size", "largest", "expected"),
    [
        pytest.param(5, 5, None, id="as large as allowed"),
        pytest.param(0, 5, None, id="empty"),
        pytest.param(6, 5, "it is larger than 5 bytes", id="too large"),
    ],
)
def test_a_file_is_read_up_to_its_limit(
    tmp_path: Path, size: int, largest: int, expected: str | None
) -> None:
    (tmp_path / "a").write_bytes(b"x" * size)

    if expected is None:
        assert files.read(tmp_path / "a", largest) == b"x" * size
    else:
        with pytest.raises(InputError, match=expected):
            files.read(tmp_path / "a", largest)


def test_a_file_without_a_known_size_is_read_to_its_end() -> None:
    assert files.read_regular("/proc/self/status").startswith(b"Name:")


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a")

    with pytest.raises(InputError, match="it is not a regular file"):
        files.read(tmp_path / "a")


def ignored(place: Path) -> str | None:
    file = place / ".oraclepack/.gitignore"
    return file.read_text() if file.exists() else None


def test_what_is_ours_is_hidden_from_git(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", tmp_path], check=True)

    files.make_private(tmp_path / ".oraclepack/runs/a", tmp_path / ".oraclepack/cache")
    (tmp_path / ".oraclepack/runs/a/journal.jsonl").touch()
    status = subprocess.run(
        ["git", "-C", tmp_path, "status", "--porcelain", "-uall"], check=True, capture_output=True
    )

    assert ignored(tmp_path) == "*\n"
    assert status.stdout == b""


@pytest.mark.parametrize(
    ("there", "expected"),
    [
        pytest.param({}, "*\n", id="an empty one, whose maker was killed"),
        pytest.param({".oraclepack-1-1.tmp": ""}, "*\n", id="one with half a file in it"),
        pytest.param({".gitignore": "runs\n"}, "runs\n", id="a person's own"),
        pytest.param({"cache/x.md": ""}, None, id="one whose .gitignore was removed"),
    ],
)
def test_a_directory_that_is_there_already(
    tmp_path: Path, there: dict[str, str], expected: str | None
) -> None:
    for name, content in {**there}.items():
        path = tmp_path / ".oraclepack" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    (tmp_path / ".oraclepack").mkdir(exist_ok=True)

    files.make_private(tmp_path / ".oraclepack/runs")

    assert ignored(tmp_path) == expected


@pytest.mark.parametrize("at", range(1, 12))
def test_killed_anywhere_the_next_command_hides_it(tmp_path: Path, at: int) -> None:
    with suppress(MachineError), failing(at):
        files.make_private(tmp_path / ".oraclepack/runs")

    files.make_private(tmp_path / ".oraclepack/runs")

    assert ignored(tmp_path) == "*\n"


def test_half_a_gitignore_of_a_killed_process_is_removed(tmp_path: Path) -> None:
    dead = subprocess.Popen(["true"])
    dead.wait()
    half = tmp_path / f".oraclepack/.oraclepack-{dead.pid}-1.tmp"
    half.parent.mkdir()
    half.write_text("")

    files.make_private(tmp_path / ".oraclepack/runs")

    assert not half.exists()
