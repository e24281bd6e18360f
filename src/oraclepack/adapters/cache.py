"""The cache: verified answers by the key of their question, safe with many processes."""

from collections.abc import Iterator
from pathlib import Path

import msgspec

from oraclepack.adapters import disk, files
from oraclepack.adapters.lock import turn
from oraclepack.core.cache_entry import CacheEntry
from oraclepack.core.digest import canonical_file, sha256_bytes
from oraclepack.core.errors import InputError

GOOD, CHANGED, TORN = "good", "changed", "torn"

_LOCK = "lock"
_ENTRY = msgspec.json.Decoder(CacheEntry)


class Cached(msgspec.Struct, frozen=True):
    """What the cache has for a key."""

    entry: CacheEntry
    data: bytes
    state: str
    """`good`, or `changed` when somebody has edited the answer since it was stored."""


class AnswerCache:
    """Answers in one directory: `<key>.md`, and `<key>.json` with what made the key."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def get(self, key: str) -> Cached | None:
        """The answer to a question, changed or not; None when there is none."""
        found = self._look(key)
        if found is None or found.state == GOOD:
            return found
        with turn(self.directory / _LOCK):  # perhaps it was being replaced just now
            return self._look(key)

    def put(self, entry: CacheEntry, data: bytes) -> None:
        """Keep an answer. One that was changed, or whose entry was lost, is set aside first."""
        files.make_private(self.directory)
        with turn(self.directory / _LOCK):
            answer, note = self._path(entry.key, ".md"), self._path(entry.key, ".json")
            found, there = self._look(entry.key), files.read(answer)
            is_proven = found is not None and found.state == GOOD
            if there is not None and there != data and not is_proven:
                aside = self._path(entry.key, ".changed.md")
                files.write_atomic(aside, there, mode=files.PRIVATE_FILE)
            # The entry last: an answer without one does not count yet. Nor does one without the
            # other after a power cut, whichever the disk has kept.
            mode = files.PRIVATE_FILE
            files.write_together([(answer, data, mode), (note, canonical_file(entry), mode)])

    def entries(self) -> Iterator[tuple[CacheEntry, str]]:
        """Every entry with its state, in the order of the keys."""
        for path in sorted(self.directory.glob("*.json")):
            entry = self._entry(path)
            if entry is None:
                continue
            data = files.read(self._path(entry.key, ".md"))
            yield entry, _state(entry, data)

    def find(self, beginning: str) -> tuple[str, ...]:
        """The keys that begin with these letters."""
        names = (path.stem for path in self.directory.glob("*.json"))
        return tuple(sorted(name for name in names if name.startswith(beginning)))

    def remove(self, key: str) -> None:
        """Forget an answer, and what was set aside of it."""
        with turn(self.directory / _LOCK):
            for ending in (".json", ".md", ".changed.md"):
                try:
                    disk.remove(self._path(key, ending))
                except FileNotFoundError:
                    continue
                except OSError as trouble:
                    raise files.cannot("remove", self._path(key, ending), trouble) from trouble

    def sweep(self) -> tuple[Path, ...]:
        """Remove answers without an entry and half-written files; tells which."""
        if not self.directory.is_dir():
            return ()
        with turn(self.directory / _LOCK):
            stray = [
                path
                for path in sorted(self.directory.glob("*.md"))
                if not self._path(path.name.partition(".")[0], ".json").exists()
            ]
            for path in stray:
                files.forget(path)
            return (*stray, *files.sweep(self.directory))

    def _look(self, key: str) -> Cached | None:
        entry = self._entry(self._path(key, ".json"))
        data = files.read(self._path(key, ".md"))
        if entry is None or data is None or entry.key != key:
            return None
        return Cached(entry, data, _state(entry, data))

    def _entry(self, path: Path) -> CacheEntry | None:
        """An entry that cannot be understood is none: its question is asked again."""
        try:
            return _ENTRY.decode(files.read(path) or b"")
        except (msgspec.MsgspecError, UnicodeDecodeError, InputError):
            return None

    def _path(self, key: str, ending: str) -> Path:
        return self.directory / f"{key}{ending}"


def _state(entry: CacheEntry, data: bytes | None) -> str:
    if data is None:
        return TORN
    return GOOD if sha256_bytes(data) == entry.sha256 else CHANGED
