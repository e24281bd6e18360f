"""The cache in files: verified answers by the key of their question, safe with many processes.

Only entries that are signed with the user's key are served or removed. An entry behind a link or
tracked by git is foreign even if it is signed.
"""

import functools
import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import cast

import msgspec

from oraclepack.calls.cache import (
    CHANGED,
    FOREIGN,
    GOOD,
    SCHEMA_VERSION,
    TORN,
    CacheEntry,
    CacheLookup,
    ListedEntry,
    signature,
)
from oraclepack.errors import InputError, OraclePackError
from oraclepack.system import disk, files
from oraclepack.system.digests import canonical_file, same_digest, sha256_bytes
from oraclepack.system.locks import turn
from oraclepack.system.ownership import (
    Foreign,
    ForeignError,
    ForeignReason,
    foreign_folder,
    tracked,
)
from oraclepack.system.trust_key import find_key, make_key

_LOCK = "lock"
_UNMET = "unmet"
_KEY = re.compile(r"[0-9a-f]{64}")
_OWN_NAME = re.compile(r"([0-9a-f]{64})(?:\.changed)?\.md")
_UNSIGNED_VERSION = 1


class FileAnswerCache:
    """An `AnswerCache`: `<key>.md` in one directory, and `<key>.json` with what made the key."""

    def __init__(self, root: Path, directory: Path) -> None:
        self.directory = directory
        self._root = root
        self._relative = Path(os.path.relpath(directory, root)).as_posix()

    @property
    def foreign(self) -> Foreign | None:
        """Why the directory cannot be ours; then nothing is read from it or written to it."""
        return foreign_folder(self._root, self._relative)

    def get(self, key: str) -> CacheLookup | None:
        """The answer to a question, changed or foreign too; None when there is none."""
        if self.foreign is not None:
            return None
        lookup = self._lookup(key)
        if lookup is None or lookup.state != CHANGED:
            return lookup
        with turn(self.directory / _LOCK):  # perhaps it was being replaced just now
            return self._lookup(key)

    def put(self, entry: CacheEntry, data: bytes) -> None:
        """Store an answer. A changed, foreign or orphaned file at its place is renamed first.

        Raises ForeignError where our answer would not be found to be ours.
        """
        with self.making_room(entry, data) as writes:
            files.write_together(writes)

    @contextmanager
    def making_room(
        self, entry: CacheEntry, data: bytes
    ) -> Iterator[list[tuple[Path, bytes, int | None]]]:
        """The files to write for an answer, whose places are free while this is open."""
        place = self.foreign or self._tracked(entry.key)
        if place is not None:
            raise ForeignError(f"{self._relative} is not used: {place.reason}", hint=place.way_out)
        signed = self.signed(entry, make_key())
        files.make_private(self.directory)
        with turn(self.directory / _LOCK):
            answer, note = self._path(entry.key, ".md"), self._path(entry.key, ".json")
            lookup, there = self._lookup(entry.key), files.read(answer)
            if lookup is not None and lookup.state == FOREIGN:
                self._move_foreign(entry.key)
            elif there is not None and there != data and (lookup is None or lookup.state != GOOD):
                changed = self._path(entry.key, ".changed.md")
                files.write_atomic(changed, there, mode=files.PRIVATE_FILE)
            # The entry last: an answer without one does not count yet. Nor does one without the
            # other after a power cut, whichever the disk has kept.
            mode = files.PRIVATE_FILE
            yield [(answer, data, mode), (note, signed, mode)]

    def take_over(self, key: str) -> str | None:
        """Sign a foreign entry, since the user says that it is theirs; why not, if not."""
        with turn(self.directory / _LOCK):
            lookup = self._lookup(key)
            if lookup is None:
                return "its answer is gone"
            if lookup.foreign is None or not lookup.foreign.may_be_ours:
                return lookup.foreign.reason if lookup.foreign else "it is yours already"
            if _state(lookup.entry, lookup.data) != GOOD:
                return "its answer was changed since it was stored"
            entry = msgspec.structs.replace(lookup.entry, schema_version=SCHEMA_VERSION)
            signed = self.signed(entry, make_key())
            files.write_atomic(self._path(key, ".json"), signed, mode=files.PRIVATE_FILE)
            return None

    @property
    def unmet(self) -> "FileAnswerCache":
        """Whole answers that miss their contract, or that a person accepted: in a folder below."""
        return FileAnswerCache(self._root, self.directory / _UNMET)

    def entries(self) -> Iterator[ListedEntry]:
        """Every entry with its state, in the order of the keys."""
        trust = functools.cache(find_key)  # read once: there may be thousands of entries
        for key in self.find():
            if (listed := self.entry(key, trust)) is not None:
                yield listed

    def entry(self, key: str, trust: Callable[[], bytes | None] = find_key) -> ListedEntry | None:
        """One entry with its state; None where there is none that can be understood."""
        stored = self._read(key, trust)
        if stored is None:
            return None
        entry, foreign = stored
        data = files.read(self._path(key, ".md"))
        return ListedEntry(entry, FOREIGN if foreign else _state(entry, data), foreign)

    def find(self, beginning: str = "") -> tuple[str, ...]:
        """The keys that begin with these letters."""
        if self.foreign is not None:
            return ()
        try:
            names = os.listdir(self.directory)
        except OSError:
            return ()
        keys = (name.removesuffix(".json") for name in names if name.endswith(".json"))
        return tuple(
            sorted(key for key in keys if key.startswith(beginning) and _KEY.fullmatch(key))
        )

    def remove(self, key: str) -> None:
        """Remove an answer of ours, and its quarantined changed copy."""
        with turn(self.directory / _LOCK):
            entry = self._read(key)
            if entry is None or entry[1] is not None:
                return
            for ending in (".json", ".md", ".changed.md"):
                try:
                    disk.remove(self._path(key, ending))
                except FileNotFoundError:
                    continue
                except OSError as trouble:
                    raise files.cannot("remove", self._path(key, ending), trouble) from trouble

    def sweep(self) -> tuple[Path, ...]:
        """Remove answers without an entry and half-written files; returns their names."""
        if not self.directory.is_dir() or self.foreign is not None:
            return ()
        with turn(self.directory / _LOCK):
            orphans = [path for path in sorted(self.directory.glob("*.md")) if self._is_stray(path)]
            for path in orphans:
                files.forget(path)
            return (*orphans, *files.sweep(self.directory))

    def _is_stray(self, path: Path) -> bool:
        """A regular file with a name of ours that has no entry."""
        named = _OWN_NAME.fullmatch(path.name)
        if named is None or path.is_symlink() or not path.is_file():
            return False
        return not os.path.lexists(self._path(named[1], ".json")) and not self._tracked(named[1])

    def _lookup(self, key: str) -> CacheLookup | None:
        stored = self._read(key)
        if stored is None:
            return None
        entry, foreign = stored
        answer = self._path(key, ".md")
        data = None if answer.is_symlink() else files.read(answer)
        if data is None:
            return None
        return CacheLookup(entry, data, FOREIGN if foreign else _state(entry, data), foreign)

    def _read(
        self, key: str, trust: Callable[[], bytes | None] = find_key
    ) -> tuple[CacheEntry, Foreign | None] | None:
        """An entry, and why it is not ours; one that cannot be understood is none."""
        path = self._path(key, ".json")
        try:
            data = None if path.is_symlink() else files.read(path)
            fields = msgspec.json.decode(data or b"")
            entry = msgspec.convert(fields, CacheEntry)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError, InputError):
            return None
        if entry.key != key:
            return None
        return entry, self._tracked(key) or _unsigned(entry, fields, trust)

    def signed(self, entry: CacheEntry, key: bytes) -> bytes:
        fields = cast("dict[str, object]", msgspec.to_builtins(entry))
        return canonical_file(fields | {"mac": signature(fields, key)})

    def _move_foreign(self, key: str) -> None:
        """Rename foreign files to names that no command reads or removes."""
        for ending in (".json", ".md"):
            path, number = self._path(key, ending), 1
            while os.path.lexists(target := self._path(key, f".foreign-{number}{ending}")):
                number += 1
            try:
                disk.rename(path, target)
            except FileNotFoundError:
                continue
            except OSError as trouble:
                raise files.cannot("quarantine", path, trouble) from trouble

    def _tracked(self, key: str) -> Foreign | None:
        for ending in (".json", ".md"):
            paths = tracked(self._root, f"{self._relative}/{key}{ending}")
            if paths is not None:
                return paths
        return None

    def _path(self, key: str, ending: str) -> Path:
        return self.directory / f"{key}{ending}"


class SeveralCaches:
    """An `AnswerCache` in several places at once: an answer is written to all with one sync.

    The project's, which is the first, and the user's, which every checkout and worktree finds.
    """

    def __init__(self, caches: Sequence[FileAnswerCache]) -> None:
        self._caches = caches

    @property
    def foreign(self) -> Foreign | None:
        """Why none of them can be used."""
        whys = [cache.foreign for cache in self._caches]
        return None if None in whys else whys[0]

    def get(self, key: str) -> CacheLookup | None:
        """A good answer from the first that has one, else what the first has."""
        found = [one for cache in self._caches if (one := cache.get(key)) is not None]
        good = (one for one in found if one.state == GOOD)
        return next(good, found[0] if found else None)

    def put(self, entry: CacheEntry, data: bytes) -> None:
        """Store an answer wherever it can be. Raises the trouble of the first, if nowhere."""
        troubles: list[OraclePackError] = []
        with ExitStack() as stack:
            writes = []
            for cache in self._caches:
                try:
                    writes += stack.enter_context(cache.making_room(entry, data))
                except OraclePackError as trouble:
                    troubles.append(trouble)
            if not writes:
                raise troubles[0]
            files.write_together(writes)

    def entries(self) -> Iterator[ListedEntry]:
        """Those of the project."""
        return self._caches[0].entries()

    @property
    def unmet(self) -> "SeveralCaches":
        return SeveralCaches([cache.unmet for cache in self._caches])


def _unsigned(
    entry: CacheEntry, fields: dict[str, object], trust: Callable[[], bytes | None]
) -> Foreign | None:
    if not entry.mac and entry.schema_version <= _UNSIGNED_VERSION:
        return Foreign(ForeignReason.UNSIGNED)
    key = trust()
    is_ours = key is not None and same_digest(signature(fields, key), entry.mac)
    return None if is_ours else Foreign(ForeignReason.OTHER_KEY)


def _state(entry: CacheEntry, data: bytes | None) -> str:
    if data is None:
        return TORN
    return GOOD if sha256_bytes(data) == entry.sha256 else CHANGED
