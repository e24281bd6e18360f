"""The cache on disk: only whole, unchanged answers come out of it, also with several writers."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from oraclepack.calls.cache import (
    CacheEntry,
    CallExplanation,
    explained,
    row_of,
    to_prune,
)
from oraclepack.calls.file_cache import FileAnswerCache
from oraclepack.calls.file_store import project_cache
from oraclepack.calls.key import PartChange
from oraclepack.system.digests import canonical_file, sha256_bytes
from oraclepack.system.ownership import Foreign, ForeignError, ForeignReason

KEY, OTHER = "a" * 64, "b" * 64


def entry(
    key: str = KEY, data: bytes = b"yes\n", day: int = 1, parts: dict[str, str] | None = None
) -> CacheEntry:
    return CacheEntry(
        key=key,
        parts=parts or {"prompt": "1", "file:a.py": "2"},
        sha256=sha256_bytes(data),
        bytes=len(data),
        stored_at=f"2026-03-{day:02}T10:00:00.000Z",
        step="03",
        output_path="out/x.md",
        model="gpt-5.2",
    )


@pytest.fixture
def cache(tmp_path: Path) -> FileAnswerCache:
    return project_cache(tmp_path)


def test_what_was_put_in_comes_out(cache: FileAnswerCache) -> None:
    cache.put(entry(), b"yes\n")

    found = cache.get(KEY)

    assert found is not None
    assert (replace(found.entry, mac=""), found.data, found.state) == (entry(), b"yes\n", "good")


def test_nothing_comes_out_of_an_empty_cache(cache: FileAnswerCache) -> None:
    assert cache.get(KEY) is None
    assert list(cache.entries()) == []
    assert cache.sweep() == ()


def test_only_its_owner_can_read_it(cache: FileAnswerCache) -> None:
    cache.put(entry(), b"yes\n")

    modes = {path.stat().st_mode & 0o077 for path in (cache.directory, *cache.directory.iterdir())}

    assert modes == {0}


def test_an_answer_changed_by_hand_is_noticed_and_kept(cache: FileAnswerCache) -> None:
    cache.put(entry(), b"yes\n")
    (cache.directory / f"{KEY}.md").write_bytes(b"my own words\n")

    found = cache.get(KEY)
    assert found is not None
    assert found.state == "changed"
    cache.put(entry(), b"yes\n")

    again = cache.get(KEY)
    assert again is not None
    assert again.data == b"yes\n"
    assert (cache.directory / f"{KEY}.changed.md").read_bytes() == b"my own words\n"


def test_an_answer_whose_entry_was_damaged_is_kept(cache: FileAnswerCache) -> None:
    cache.put(entry(), b"yes\n")
    (cache.directory / f"{KEY}.json").write_bytes(b"{")

    cache.put(entry(data=b"no\n"), b"no\n")

    again = cache.get(KEY)
    assert again is not None
    assert again.data == b"no\n"
    assert (cache.directory / f"{KEY}.changed.md").read_bytes() == b"yes\n"


@pytest.mark.parametrize(
    ("name", "content"),
    [
        pytest.param(f"{KEY}.json", b"{", id="half an entry"),
        pytest.param(f"{KEY}.json", b'{"key": 1}', id="an entry of another shape"),
        pytest.param(f"{KEY}.json", b"\xff", id="no text"),
        pytest.param(f"{KEY}.json", None, id="an answer without an entry"),
        pytest.param(f"{KEY}.md", None, id="an entry without an answer"),
    ],
)
def test_what_is_not_whole_is_not_there(
    cache: FileAnswerCache, name: str, content: bytes | None
) -> None:
    cache.put(entry(), b"yes\n")
    (cache.directory / name).unlink()
    if content is not None:
        (cache.directory / name).write_bytes(content)

    assert cache.get(KEY) is None


def test_an_entry_under_another_key_does_not_count(cache: FileAnswerCache) -> None:
    cache.put(entry(), b"yes\n")
    for ending in (".md", ".json"):
        (cache.directory / f"{KEY}{ending}").rename(cache.directory / f"{'b' * 64}{ending}")

    assert cache.get("b" * 64) is None


def test_the_list_tells_every_state(cache: FileAnswerCache) -> None:
    keys = [letter * 64 for letter in "abcd"]
    for key in keys[:3]:
        cache.put(entry(key), b"yes\n")
    (cache.directory / f"{keys[1]}.md").write_bytes(b"no\n")
    (cache.directory / f"{keys[2]}.md").unlink()
    (cache.directory / f"{keys[3]}.json").write_bytes(b"{")

    rows = [row_of(one.entry, one.state, one.foreign) for one in cache.entries()]

    assert [(row.key, row.state, row.files) for row in rows] == [
        (keys[0], "good", 1),
        (keys[1], "changed", 1),
        (keys[2], "torn", 1),
    ]


def test_find_and_remove(cache: FileAnswerCache) -> None:
    one, two = f"ab1{'0' * 61}", f"ab2{'0' * 61}"
    cache.put(entry(one), b"yes\n")
    cache.put(entry(two), b"yes\n")

    assert cache.find("ab") == (one, two)
    cache.remove(one)
    assert cache.find("ab") == (two,)


def test_sweeping_removes_files_without_an_owner(cache: FileAnswerCache) -> None:
    cache.put(entry(), b"yes\n")
    (cache.directory / f"{OTHER}.md").write_bytes(b"stray\n")
    (cache.directory / "README.md").write_bytes(b"not a name that we give\n")

    assert [path.name for path in cache.sweep()] == [f"{OTHER}.md"]
    assert cache.get(KEY) is not None
    assert (cache.directory / "README.md").exists()


def shipped(cache: FileAnswerCache, mac: str = "", **changes: Any) -> bytes:
    """A foreign entry, as a repository may contain it."""
    fields = msgspec.to_builtins(entry()) | {"schema_version": 1, "mac": mac} | changes
    cache.directory.mkdir(parents=True, exist_ok=True)
    (cache.directory / f"{KEY}.md").write_bytes(b"yes\n")
    (cache.directory / f"{KEY}.json").write_bytes(canonical_file(fields))
    return (cache.directory / f"{KEY}.json").read_bytes()


@pytest.mark.parametrize(
    ("changes", "kind"),
    [
        pytest.param({}, ForeignReason.UNSIGNED, id="as of oraclepack 0.1.0"),
        pytest.param({"mac": "0" * 32}, ForeignReason.OTHER_KEY, id="an invented signature"),
        pytest.param({"schema_version": 2}, ForeignReason.OTHER_KEY, id="a signature left out"),
    ],
)
def test_what_is_not_signed_is_foreign_until_the_user_takes_it_over(
    cache: FileAnswerCache, changes: dict[str, Any], kind: ForeignReason
) -> None:
    shipped(cache, **changes)

    found = cache.get(KEY)
    assert found is not None
    assert (found.state, found.foreign) == ("foreign", Foreign(kind))

    assert cache.take_over(KEY) is None
    found = cache.get(KEY)
    assert found is not None
    assert (found.state, found.foreign) == ("good", None)


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"sha256": sha256_bytes(b"no\n")}, id="another answer"),
        pytest.param({"parts": {"prompt": "other"}}, id="another question"),
        pytest.param({"session": "mine"}, id="another session"),
        pytest.param({"new_field": 1}, id="an unknown field"),
    ],
)
def test_every_field_of_an_entry_is_signed(
    cache: FileAnswerCache, change: dict[str, object]
) -> None:
    cache.put(entry(), b"yes\n")
    note = cache.directory / f"{KEY}.json"
    fields = msgspec.json.decode(note.read_bytes())
    (cache.directory / f"{KEY}.md").write_bytes(b"no\n" if "sha256" in change else b"yes\n")
    note.write_bytes(canonical_file(fields | change))

    found = cache.get(KEY)

    assert found is not None
    assert found.state == "foreign"


def test_an_answer_of_ours_replaces_a_foreign_one_which_is_kept(cache: FileAnswerCache) -> None:
    before = shipped(cache)

    cache.put(entry(data=b"no\n"), b"no\n")

    found = cache.get(KEY)
    assert found is not None
    assert (found.state, found.data) == ("good", b"no\n")
    assert (cache.directory / f"{KEY}.foreign-1.json").read_bytes() == before
    assert (cache.directory / f"{KEY}.foreign-1.md").read_bytes() == b"yes\n"


def test_foreign_entries_are_never_removed(cache: FileAnswerCache) -> None:
    shipped(cache)

    cache.remove(KEY)
    cache.sweep()

    assert {path.suffix for path in cache.directory.iterdir()} >= {".json", ".md"}


def test_a_name_inside_an_entry_removes_nothing_elsewhere(cache: FileAnswerCache) -> None:
    victim = cache.directory.parent / "notes.md"
    shipped(cache, key="../notes")
    victim.write_text("mine\n")

    assert list(cache.entries()) == []
    assert victim.read_text() == "mine\n"


@pytest.mark.parametrize("place", [".oraclepack", ".oraclepack/cache"])
def test_nothing_is_read_written_or_removed_behind_a_link(tmp_path: Path, place: str) -> None:
    elsewhere = tmp_path / "elsewhere"
    (elsewhere / "cache").mkdir(parents=True)
    for folder in (elsewhere, elsewhere / "cache"):
        (folder / f"{KEY}.md").write_text("mine\n")
    root = tmp_path / "project"
    (root / place).parent.mkdir(parents=True)
    (root / place).symlink_to(elsewhere)
    cache = project_cache(root)
    before = sorted(elsewhere.rglob("*"))

    with pytest.raises(ForeignError, match=f"{place} is a symbolic link"):
        cache.put(entry(), b"yes\n")
    assert (cache.get(KEY), list(cache.entries()), cache.sweep()) == (None, [], ())
    assert sorted(elsewhere.rglob("*")) == before


def test_an_answer_that_is_a_link_does_not_count(cache: FileAnswerCache, tmp_path: Path) -> None:
    cache.put(entry(), b"yes\n")
    (tmp_path / "elsewhere").write_bytes(b"yes\n")
    (cache.directory / f"{KEY}.md").unlink()
    (cache.directory / f"{KEY}.md").symlink_to(tmp_path / "elsewhere")

    assert cache.get(KEY) is None


@pytest.mark.parametrize("version", ["2", "4"], ids=["a plain index", "a packed index"])
def test_what_git_tracks_is_foreign_although_it_is_signed(
    cache: FileAnswerCache, tmp_path: Path, version: str
) -> None:
    cache.put(entry(), b"yes\n")
    found = cache.get(KEY)
    assert found is not None
    assert found.state == "good"
    for words in (["init", "-q"], ["-c", f"index.version={version}", "add", "-f", "."]):
        subprocess.run(["git", *words], cwd=tmp_path, check=True)

    found = cache.get(KEY)

    assert found is not None
    assert found.foreign == Foreign(ForeignReason.TRACKED, f".oraclepack/cache/{KEY}.json")
    assert cache.take_over(KEY) == found.foreign.reason
    with pytest.raises(ForeignError):
        cache.put(entry(), b"yes\n")
    cache.remove(KEY)
    assert (cache.directory / f"{KEY}.md").exists()


WRITER = """
import sys
from pathlib import Path
from oraclepack.calls.file_store import project_cache
from tests.calls.test_cache import entry
cache = project_cache(Path(sys.argv[1]).parents[1])
bad = 0
for number in range(40):
    data = f"{sys.argv[2]} {number}\\n".encode() * 500
    cache.put(entry(data=data), data)
    found = cache.get("a" * 64)
    bad += found is None or found.state != "good"
sys.exit(bad)
"""


def test_many_processes_at_once_never_see_half_an_answer(cache: FileAnswerCache) -> None:
    argv = [sys.executable, "-c", WRITER, str(cache.directory)]
    root = Path(__file__).parents[2]
    writers = [subprocess.Popen([*argv, str(n)], cwd=root) for n in range(3)]

    assert [writer.wait() for writer in writers] == [0, 0, 0]
    assert [one.state for one in cache.entries()] == ["good"]


A, B, C = (entry(key, b"x" * 10, day) for key, day in (("a", 1), ("b", 2), ("c", 3)))


@pytest.mark.parametrize(
    ("before", "max_bytes", "expected"),
    [
        pytest.param(None, None, "", id="nothing asked, nothing removed"),
        pytest.param("2026-03-02T10:00:00.000Z", None, "a", id="older than a moment"),
        pytest.param(None, 20, "a", id="the oldest until it fits"),
        pytest.param(None, 0, "abc", id="everything"),
        pytest.param("2026-03-02T10:00:00.000Z", 10, "ab", id="both"),
        pytest.param(None, 30, "", id="it fits already"),
    ],
)
def test_to_prune(before: str | None, max_bytes: int | None, expected: str) -> None:
    gone = to_prune([C, A, B], before=before, max_bytes=max_bytes)

    assert "".join(found.key for found in gone) == expected


def asked(key: str | None, **parts: str) -> CallExplanation:
    return CallExplanation(call=1, cached=False, key=key, parts=parts)


def test_explained() -> None:
    stored = [entry("b", parts={"prompt": "1", "model": "x"}), entry("a", parts={"prompt": "9"})]

    hit = explained(asked("b", prompt="1"), None, stored)
    miss = explained(asked("c", prompt="2", model="x"), None, stored)

    assert hit.cached
    assert (miss.nearest, miss.changes) == ("b", (PartChange("prompt", "1", "2"),))
    assert explained(asked(None), None, stored).reason.startswith("the call has no key")
    assert explained(asked("c"), None, []).reason == "the cache is empty"


@pytest.mark.parametrize(
    ("parts", "nearest"),
    [
        pytest.param({"prompt": "1", "file:b": "5"}, "a", id="the same prompt"),
        pytest.param({"prompt": "2", "file:a": "5"}, "a", id="the same file, changed"),
        pytest.param({"prompt": "2", "file:b": "5"}, None, id="another question about other files"),
        pytest.param({"prompt": "2"}, None, id="another question without files"),
    ],
)
def test_only_related_questions_are_compared(parts: dict[str, str], nearest: str | None) -> None:
    stored = [entry("a", parts={"prompt": "1", "file:a": "4"})]

    got = explained(asked("c", **parts), None, stored)

    assert (got.nearest, got.reason) == (nearest, "")
