"""The quarantine: moved, never lost, and brought back."""

import errno
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from oraclepack.errors import MachineError, Refusal
from oraclepack.journal.statuses import Move
from oraclepack.run.quarantine import (
    QuarantineEntry,
    failed_folder,
    listed,
    move_to_quarantine,
    restore,
)
from oraclepack.system import disk, file_moves
from tests.faults import failing


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "out").mkdir()
    write(tmp_path, "out/05-a.md", b"first")
    return tmp_path


@pytest.fixture(params=["hard links", "no hard links"])
def any_disk(request: pytest.FixtureRequest) -> Iterator[None]:
    """The same on a disk that only copies: another file system, or one without links."""

    def refuse_links(operation: str, path: str) -> None:
        if operation == "link":
            raise OSError(errno.EXDEV, os.strerror(errno.EXDEV), path)

    disk.set_hook(refuse_links if request.param == "no hard links" else None)
    yield
    disk.set_hook(None)


def write(root: Path, path: str, data: bytes) -> Path:
    place = root / path
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_bytes(data)
    place.chmod(0o640)
    os.utime(place, ns=(1_000_000_001, 2_000_000_002))
    return place


def in_quarantine(project: Path) -> tuple[QuarantineEntry, ...]:
    return listed(project, project / "out/_failed")


def aside(root: Path, *paths: str, attempt: int = 1) -> tuple[Move, ...]:
    return move_to_quarantine(root, root / "out/_failed", "run-x", "05", attempt, paths)


@pytest.mark.usefixtures("any_disk")
def test_outputs_move_with_mode_and_times(project: Path) -> None:
    moves = aside(project, "out/05-a.md", "out/not-there.md")

    target = "out/_failed/run-x/step-05/1/05-a.md"
    assert moves == (Move(source="out/05-a.md", target=target),)
    assert not (project / "out/05-a.md").exists()
    found = (project / target).stat()
    assert (found.st_mode & 0o777, found.st_mtime_ns) == (0o640, 2_000_000_002)
    assert (project / target).read_bytes() == b"first"


@pytest.mark.usefixtures("any_disk")
def test_nothing_in_quarantine_is_overwritten(project: Path) -> None:
    aside(project, "out/05-a.md")
    write(project, "out/05-a.md", b"second")
    aside(project, "out/05-a.md")

    assert [
        (kept.attempt, (project / kept.path).read_bytes()) for kept in in_quarantine(project)
    ] == [
        ("1", b"first"),
        ("1-2", b"second"),
    ]


@pytest.mark.usefixtures("any_disk")
def test_links_are_moved_not_followed(project: Path) -> None:
    (project / "out/link.md").symlink_to("05-a.md")
    aside(project, "out/link.md")

    moved = project / "out/_failed/run-x/step-05/1/link.md"
    assert os.readlink(moved) == "05-a.md"  # the text, not the place
    assert (project / "out/05-a.md").exists()


def test_nothing_to_move_makes_no_directory(project: Path) -> None:
    assert aside(project, "gone.md", "out") == ()
    assert not (project / "out/_failed").exists()


def test_a_list_tells_where_everything_came_from(project: Path) -> None:
    write(project, "elsewhere/b.json", b"{}")
    aside(project, "out/05-a.md", "elsewhere/b.json", attempt=3)
    write(project, "out/_failed/notes.txt", b"mine")
    write(project, "out/_failed/run-x/step-5/1/x", b"mine")

    rows = [(kept.step_id, kept.attempt, kept.original) for kept in in_quarantine(project)]
    assert rows == [("05", "3", "out/05-a.md"), ("05", "3", "elsewhere/b.json")]
    assert listed(project, project / "gone") == ()


@pytest.mark.parametrize(
    ("path", "name"),
    [
        pytest.param("out/deep/b.md", "deep/b.md", id="below the out_dir"),
        pytest.param("./out/../out/b.md", "b.md", id="a detour"),
        pytest.param("link/b.md", "b.md", id="through a link to the out_dir"),
        pytest.param("notes/b.md", "notes/b.md", id="outside the out_dir"),
        pytest.param("outer/b.md", "outer/b.md", id="a longer name than the out_dir's"),
    ],
)
def test_the_path_in_quarantine_is_relative_to_the_out_dir(
    project: Path, path: str, name: str
) -> None:
    (project / "link").symlink_to("out")
    write(project, path, b"1")

    (move,) = aside(project, path)

    assert move.target == f"out/_failed/run-x/step-05/1/{name}"
    (kept,) = in_quarantine(project)
    assert kept.original == os.path.normpath(path)
    restore(project, kept)
    assert (project / path).read_bytes() == b"1"


def test_two_files_with_the_same_path_in_quarantine_both_come_back(project: Path) -> None:
    write(project, "out/docs/b.md", b"inside")
    write(project, "docs/b.md", b"outside")

    moves = aside(project, "out/docs/b.md", "docs/b.md")

    assert [move.target for move in moves] == [
        "out/_failed/run-x/step-05/1/docs/b.md",
        "out/_failed/run-x/step-05/1-2/docs/b.md",
    ]
    for kept in in_quarantine(project):
        restore(project, kept)
    assert (project / "out/docs/b.md").read_bytes() == b"inside"
    assert (project / "docs/b.md").read_bytes() == b"outside"


def test_a_quarantine_of_0_1_0_still_comes_back(project: Path) -> None:
    write(project, "out/_failed/run-x/step-05/1/out/05-b.md", b"old")
    aside(project, "out/05-a.md")

    old, new = sorted(in_quarantine(project), key=lambda kept: -len(kept.name))

    assert (old.original, new.original) == ("out/05-b.md", "out/05-a.md")
    restore(project, old)
    assert (project / "out/05-b.md").read_bytes() == b"old"


def test_a_damaged_record_of_origins_is_passed_over(project: Path) -> None:
    aside(project, "out/05-a.md")
    write(project, "out/_failed/run-x/step-05/1.origins.json", b'{"files": [')

    (kept,) = in_quarantine(project)

    assert kept.original == "05-a.md"


@pytest.mark.parametrize("place", ["/etc/x", "../x", ".git/config", ".oraclepack/runs/x"])
def test_a_forged_record_of_origins_restores_nothing_outside(project: Path, place: str) -> None:
    aside(project, "out/05-a.md")
    forged = b'{"files": {"05-a.md": {"original": "%s"}}}' % place.encode()
    write(project, "out/_failed/run-x/step-05/1.origins.json", forged)

    (kept,) = in_quarantine(project)

    assert isinstance(restore(project, kept), Refusal)


@pytest.mark.usefixtures("any_disk")
def test_a_file_comes_back(project: Path) -> None:
    aside(project, "out/05-a.md")
    (kept,) = in_quarantine(project)
    restore(project, kept)

    back = (project / "out/05-a.md").stat()
    assert (back.st_mode & 0o777, back.st_mtime_ns) == (0o640, 2_000_000_002)
    assert in_quarantine(project) == ()


def test_coming_back_overwrites_nothing(project: Path) -> None:
    aside(project, "out/05-a.md")
    write(project, "out/05-a.md", b"newer")
    (kept,) = in_quarantine(project)
    verdict = restore(project, kept)

    assert isinstance(verdict, Refusal)
    assert (project / "out/05-a.md").read_bytes() == b"newer"
    assert (project / kept.path).read_bytes() == b"first"


def test_by_force_the_two_change_places(project: Path) -> None:
    aside(project, "out/05-a.md")
    write(project, "out/05-a.md", b"newer")
    (kept,) = in_quarantine(project)
    restore(project, kept, force=True)

    assert (project / "out/05-a.md").read_bytes() == b"first"
    (other,) = in_quarantine(project)
    assert (other.attempt, (project / other.path).read_bytes()) == ("1-2", b"newer")
    assert other.original == "out/05-a.md"


def test_a_forged_quarantine_restores_nothing_outside(project: Path) -> None:
    (project / "leaves").symlink_to("/")
    write(project, "out/_failed/run-x/step-05/1/leaves/tmp/x", b"evil")
    write(project, "out/_failed/run-x/step-05/1/.git/hooks/post-commit", b"evil")

    verdicts = [restore(project, kept) for kept in in_quarantine(project)]
    assert [type(verdict) for verdict in verdicts] == [Refusal, Refusal]


@pytest.mark.parametrize("number", range(1, 20))
def test_a_refusing_disk_loses_nothing(project: Path, number: int) -> None:
    with failing(number), suppress(MachineError):
        aside(project, "out/05-a.md")

    copies = [
        project / "out/05-a.md",
        *(project / kept.path for kept in in_quarantine(project)),
    ]
    assert any(copy.exists() and copy.read_bytes() == b"first" for copy in copies)


def test_a_file_that_cannot_be_moved_leaves_nothing_in_quarantine(project: Path) -> None:
    answer = project / "out/05-a.md"
    for _ in range(2):
        with (
            failing(1, errno.EACCES, only="remove", below=str(answer)),
            pytest.raises(MachineError),
        ):
            aside(project, "out/05-a.md")

    assert answer.read_bytes() == b"first"
    assert in_quarantine(project) == ()


def test_copies_do_not_overwrite(project: Path) -> None:
    write(project, "b.md", b"other")

    with pytest.raises(FileExistsError):
        file_moves.copy(project / "out/05-a.md", project / "b.md")
    assert sorted(path.name for path in project.iterdir()) == ["b.md", "out"]


def test_where_the_quarantine_is(project: Path) -> None:
    run_dir = project / ".oraclepack/runs/x"

    assert failed_folder(project, None, run_dir) == run_dir / "_failed"
    assert failed_folder(project, "out/", run_dir) == project.resolve() / "out/_failed"
    with pytest.raises(MachineError, match="leads out"):
        failed_folder(project, "../elsewhere", run_dir)
