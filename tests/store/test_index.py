"""The index of files: it spares reading, and never says what the files do not."""

from collections.abc import Callable
from pathlib import Path

import pytest

from oraclepack.store.index import indexed, version_of
from oraclepack.store.sqlite import SqliteDatabase
from oraclepack.system.trust_key import make_key
from tests.authoring.repositories import git


class Folder:
    """Forty files of a project, and how often each was read."""

    def __init__(self, root: Path) -> None:
        self.root, self.path = root, root / "records"
        self.path.mkdir()
        self.reads: list[str] = []
        self.unkept: set[str] = set()
        for number in range(40):
            (self.path / f"{number:02}").write_text(f"text {number}")

    def facts(self, *, is_whole: bool = True, below: str = "99") -> dict[str, str]:
        names = sorted(path.name for path in self.path.iterdir() if path.name < below)
        versions = {name: version_of(str(self.path / name)) for name in names}
        database = SqliteDatabase(self.root / "state")
        self.reads.clear()
        return indexed(
            *(self.root, "records", versions, str, self._read),
            is_whole=is_whole,
            database=database,
        )

    def _read(self, name: str) -> tuple[str | None, bool]:
        self.reads.append(name)
        text = (self.path / name).read_text()
        return text or None, name not in self.unkept


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    make_key()
    return Folder(tmp_path)


def test_what_did_not_change_is_read_once(folder: Folder) -> None:
    first = folder.facts()
    assert len(folder.reads) == 40

    assert folder.facts() == first
    assert folder.reads == []


def _replace(folder: Folder) -> None:
    new = folder.root / "new"
    new.write_text("text X")
    new.replace(folder.path / "07")


def _edit(folder: Folder) -> None:
    (folder.path / "07").write_text("text X")


@pytest.mark.parametrize("change", [_replace, _edit])
def test_a_changed_file_is_read_again(folder: Folder, change: Callable[[Folder], None]) -> None:
    folder.facts()
    change(folder)

    assert folder.facts()["07"] == "text X"
    assert folder.reads == ["07"]


def test_files_come_and_go(folder: Folder) -> None:
    folder.facts()
    (folder.path / "07").unlink()
    (folder.path / "40").write_text("")

    facts = folder.facts()
    assert "07" not in facts
    assert "40" not in facts, "it says nothing"
    assert len(facts) == 39
    rows = SqliteDatabase(folder.root / "state").rows("select name from file_index")
    assert ("07",) not in rows


def test_a_part_of_a_folder_leaves_the_rest_in_the_index(folder: Folder) -> None:
    folder.facts()
    assert len(folder.facts(is_whole=False, below="35")) == 35
    folder.facts()
    assert folder.reads == []


def test_what_depends_on_more_than_the_file_is_read_each_time(folder: Folder) -> None:
    folder.unkept = {"03", "05"}
    folder.facts()
    folder.facts()
    assert folder.reads == ["03", "05"]


def test_what_git_tracks_is_read_each_time(folder: Folder) -> None:
    folder.facts()
    git(folder.root, "init", "-q")
    (folder.root / ".oraclepack").mkdir()
    kept = folder.path.rename(folder.root / ".oraclepack/records")
    git(folder.root, "add", "-f", ".oraclepack/records/05")

    names = {path.name: version_of(str(path)) for path in kept.iterdir()}
    read = indexed(folder.root, ".oraclepack/records", names, str, lambda name: (name, True))
    assert read == {name: name for name in names}
    assert not SqliteDatabase().path.exists()


def test_a_damaged_store_is_only_slower(folder: Folder) -> None:
    first = folder.facts()
    (folder.root / "state/store.db").write_bytes(b"no database")

    assert folder.facts() == first
    assert len(folder.reads) == 40


def test_few_files_need_no_store(folder: Folder) -> None:
    assert len(folder.facts(below="05")) == 5
    assert not (folder.root / "state").exists()

    (folder.path / "03").write_bytes(b"x" * 1_000_000)
    folder.facts(below="05")
    folder.facts(below="05")
    assert folder.reads == [], "a large one is worth it"


def test_rows_of_another_key_do_not_count(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    folder.facts()
    monkeypatch.setenv("ORACLEPACK_TRUST_KEY", "k" * 64)
    folder.facts()
    assert len(folder.reads) == 40
