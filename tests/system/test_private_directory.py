"""The private directory: ours alone, gone at the end, swept after a kill."""

import stat
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from oraclepack.errors import MachineError
from oraclepack.system.environment import forget_private, private_directory


@pytest.fixture(autouse=True)
def place(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    # Not `tmp_path`, whose names are too long for a socket.
    with TemporaryDirectory() as folder:
        monkeypatch.setenv("TMPDIR", folder)
        yield Path(folder)


def test_it_is_private_and_gone_at_the_end(place: Path) -> None:
    with private_directory() as path:
        assert stat.S_IMODE(path.stat().st_mode) == 0o700
        assert path.parent == place
        (path / "inner").mkdir()
        (path / "inner/file").touch()

    assert list(place.iterdir()) == []


def test_what_a_killed_command_left_is_removed_by_its_name(place: Path) -> None:
    left, other = place / "op-0123456789ab", place / "op-other"
    for folder in (left, other):
        folder.mkdir()
        (folder / "prelude.snapshot").touch()

    for name in (left.name, other.name, "../x", "op-fedcba987654"):
        forget_private(name)

    assert list(place.iterdir()) == [other]


def test_another_place_serves_when_the_first_does_not(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(place / "missing"))
    with private_directory() as path:
        assert path.is_dir()


@pytest.mark.parametrize("name", ["long" * 20, "with:colon"])
def test_a_place_where_nothing_could_lie_is_passed_over(
    place: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    (place / name).mkdir()
    monkeypatch.setenv("TMPDIR", str(place / name))
    with private_directory() as path:
        assert path.parent != place / name


def test_no_place_at_all_is_reported(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("oraclepack.system.environment._places", lambda: [place / "missing"])
    with pytest.raises(MachineError, match="no directory for temporary files"), private_directory():
        pass
