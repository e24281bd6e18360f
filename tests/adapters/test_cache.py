"""The cache on disk: only whole, unchanged answers come out of it, whoever writes at once."""

import subprocess
import sys
from pathlib import Path

import pytest

from oraclepack.adapters.cache import AnswerCache
from oraclepack.core.cache_entry import CacheEntry, CallExplained, explained, row_of, to_prune
from oraclepack.core.digest import sha256_bytes
from oraclepack.core.invocation_key import PartChange

KEY = "a" * 64


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
def cache(tmp_path: Path) -> AnswerCache:
    return AnswerCache(tmp_path / ".oraclepack" / "cache")


def test_what_was_put_in_comes_out(cache: AnswerCache) -> None:
    cache.put(entry(), b"yes\n")

    found = cache.get(KEY)

    assert found is not None
    assert (found.entry, found.data, found.state) == (entry(), b"yes\n", "good")


def test_nothing_comes_out_of_an_empty_cache(cache: AnswerCache) -> None:
    assert cache.get(KEY) is None
    assert list(cache.entries()) == []
    assert cache.sweep() == ()


def test_only_its_owner_can_read_it(cache: AnswerCache) -> None:
    cache.put(entry(), b"yes\n")

    modes = {path.stat().st_mode & 0o077 for path in (cache.directory, *cache.directory.iterdir())}

    assert modes == {0}


def test_an_answer_changed_by_hand_is_noticed_and_kept(cache: AnswerCache) -> None:
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


def test_an_answer_whose_entry_was_damaged_is_kept(cache: AnswerCache) -> None:
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
    cache: AnswerCache, name: str, content: bytes | None
) -> None:
    cache.put(entry(), b"yes\n")
    (cache.directory / name).unlink()
    if content is not None:
        (cache.directory / name).write_bytes(content)

    assert cache.get(KEY) is None


def test_an_entry_under_another_key_does_not_count(cache: AnswerCache) -> None:
    cache.put(entry(), b"yes\n")
    for ending in (".md", ".json"):
        (cache.directory / f"{KEY}{ending}").rename(cache.directory / f"{'b' * 64}{ending}")

    assert cache.get("b" * 64) is None


def test_the_list_tells_every_state(cache: AnswerCache) -> None:
    for key in "abc":
        cache.put(entry(key), b"yes\n")
    (cache.directory / "b.md").write_bytes(b"no\n")
    (cache.directory / "c.md").unlink()
    (cache.directory / "d.json").write_bytes(b"{")

    rows = [row_of(found, state) for found, state in cache.entries()]

    assert [(row.key, row.state, row.files) for row in rows] == [
        ("a", "good", 1),
        ("b", "changed", 1),
        ("c", "torn", 1),
    ]


def test_find_and_remove(cache: AnswerCache) -> None:
    cache.put(entry("ab1"), b"yes\n")
    cache.put(entry("ab2"), b"yes\n")

    assert cache.find("ab") == ("ab1", "ab2")
    cache.remove("ab1")
    assert cache.find("ab") == ("ab2",)


def test_sweeping_takes_what_belongs_to_nobody(cache: AnswerCache) -> None:
    cache.put(entry("a"), b"yes\n")
    (cache.directory / "b.md").write_bytes(b"stray\n")

    assert [path.name for path in cache.sweep()] == ["b.md"]
    assert cache.get("a") is not None


WRITER = """
import sys
from pathlib import Path
from oraclepack.adapters.cache import AnswerCache
from tests.adapters.test_cache import entry
cache = AnswerCache(Path(sys.argv[1]))
bad = 0
for number in range(40):
    data = f"{sys.argv[2]} {number}\\n".encode() * 500
    cache.put(entry(data=data), data)
    found = cache.get("a" * 64)
    bad += found is None or found.state != "good"
sys.exit(bad)
"""


def test_many_processes_at_once_never_see_half_an_answer(cache: AnswerCache) -> None:
    argv = [sys.executable, "-c", WRITER, str(cache.directory)]
    root = Path(__file__).parents[2]
    writers = [subprocess.Popen([*argv, str(n)], cwd=root) for n in range(3)]

    assert [writer.wait() for writer in writers] == [0, 0, 0]
    assert [state for _, state in cache.entries()] == ["good"]


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


def asked(key: str | None, **parts: str) -> CallExplained:
    return CallExplained(call=1, cached=False, key=key, parts=parts)


def test_explained() -> None:
    stored = [entry("b", parts={"prompt": "1", "model": "x"}), entry("a", parts={"prompt": "9"})]

    hit = explained(asked("b", prompt="1"), None, stored)
    miss = explained(asked("c", prompt="2", model="x"), None, stored)

    assert hit.cached
    assert (miss.nearest, miss.changes) == ("b", (PartChange("prompt", "1", "2"),))
    assert explained(asked(None), None, stored).reason.startswith("the call has no key")
    assert explained(asked("c"), None, []).reason == "the cache is empty"
