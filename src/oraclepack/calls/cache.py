"""The file format of a cached answer (`CacheEntry`), its signature, pruning, and reply types."""

from collections.abc import Iterable, Mapping, Sequence

import msgspec
from msgspec.structs import replace

from oraclepack.calls.key import PartChange, differences
from oraclepack.system.digests import (
    canonical_line,
    keyed_digest,
)
from oraclepack.system.ownership import Foreign
from oraclepack.system.paging import Paged
from oraclepack.tools.usage import Usage

SCHEMA_VERSION = 2
"""Entries of version 1, of oraclepack 0.1.0, are not signed."""


class CacheEntry(msgspec.Struct, frozen=True, kw_only=True):
    """`<key>.json`, beside the answer itself in `<key>.md`."""

    schema_version: int = SCHEMA_VERSION
    key: str
    parts: dict[str, str]
    """What made the key."""
    sha256: str
    """Of the answer, as it was verified."""
    bytes: int
    stored_at: str
    """UTC, RFC 3339."""
    step: str | None = None
    pack_id: str | None = None
    output_path: str | None = None
    provider: str | None = None
    model: str | None = None
    session: str | None = None
    usage: Usage | None = None
    tool_version: str | None = None
    """Not part of the key: after a patch release of the tool no answer is paid for again."""
    missing_sections: tuple[str, ...] = ()
    """What it lacks of its contract. Such an answer lies apart, and is not served as verified."""
    accepted: str | None = None
    """A person took it as it is: the reason, perhaps empty."""
    mac: str = ""
    """The signature: a MAC with the user's key over all other fields."""


class CacheRow(msgspec.Struct, frozen=True, kw_only=True):
    """An entry as `cache list` shows it."""

    key: str
    stored_at: str
    bytes: int
    step: str | None
    output_path: str | None
    model: str | None
    files: int
    state: str
    """`good`, `changed` when the answer is not the one that was stored, `torn`, or `foreign`."""
    foreign: str | None = None
    """Why it does not count as the user's own; such an entry is never served and never removed."""


class CacheList(Paged, frozen=True, kw_only=True):
    """What `cache list` answers."""

    directory: str
    entries: tuple[CacheRow, ...]
    bytes: int


class CacheDetails(msgspec.Struct, frozen=True, kw_only=True):
    """What `cache show` answers."""

    entry: CacheEntry
    state: str
    answer: str


class CallExplanation(msgspec.Struct, frozen=True, kw_only=True):
    """One call of a step and what the cache knows about its question."""

    call: int
    key: str | None
    parts: dict[str, str]
    cached: bool
    how: str = ""
    """What became of the call: asked, answered from the cache, adopted, failed."""
    nearest: str | None = None
    """The most similar stored question; for a cached one, the one that was asked earlier."""
    changes: tuple[PartChange, ...] = ()
    """The parts in which it differs from that one."""
    reason: str = ""


class CacheExplanation(msgspec.Struct, frozen=True, kw_only=True):
    """What `cache explain` answers."""

    step: str
    run_id: str
    calls: tuple[CallExplanation, ...]


class CachePruneReport(msgspec.Struct, frozen=True, kw_only=True):
    """What `cache prune` answers."""

    removed: tuple[str, ...]
    """With `dry_run`: what would be."""
    bytes: int
    kept: int
    foreign: int = 0
    """How many of the remaining entries are foreign; these are never removed."""
    dry_run: bool = False


def signature(fields: Mapping[str, object], key: bytes) -> str:
    """The signature of an entry: over every field it has, also those of a newer oraclepack."""
    signed = {name: value for name, value in fields.items() if name != "mac"}
    return keyed_digest(key, "cache entry", canonical_line(signed))


def row_of(entry: CacheEntry, state: str, foreign: Foreign | None = None) -> CacheRow:
    return CacheRow(
        key=entry.key,
        stored_at=entry.stored_at,
        bytes=entry.bytes,
        step=entry.step,
        output_path=entry.output_path,
        model=entry.model,
        files=sum(name.startswith("file:") for name in entry.parts),
        state=state,
        foreign=foreign.reason if foreign else None,
    )


def to_prune(
    entries: Iterable[CacheEntry], *, before: str | None, max_bytes: int | None
) -> tuple[CacheEntry, ...]:
    """Which entries go: those stored before a moment, then the oldest until the rest fits."""
    ordered = sorted(entries, key=lambda entry: (entry.stored_at, entry.key))
    removed = [entry for entry in ordered if before is not None and entry.stored_at < before]
    left = ordered[len(removed) :]
    size = sum(entry.bytes for entry in left)
    for entry in left:
        if max_bytes is None or size <= max_bytes:
            break
        removed.append(entry)
        size -= entry.bytes
    return tuple(removed)


def explained(
    call: CallExplanation, output: str | None, entries: Sequence[CacheEntry]
) -> CallExplanation:
    """A call of a run against the cache: in which parts the nearest other question differs.

    Nearest is what was asked for the same output before, else what differs in the fewest parts
    among those with the same prompt or an attached file of the same name.
    """
    if call.key is None:
        return replace(call, reason="the call has no key, so nothing is cached for it")
    cached = any(entry.key == call.key for entry in entries)
    others = [entry for entry in entries if entry.key != call.key]
    same = [entry for entry in others if output is not None and entry.output_path == output]
    candidates = same if cached else same or [one for one in others if _is_related(one, call.parts)]
    compared = [(differences(entry.parts, call.parts), entry.key) for entry in candidates]
    nearest = min(compared, key=lambda pair: (len(pair[0]), pair[1]), default=None)
    if nearest is None:
        reason = "" if cached or entries else "the cache is empty"
        return replace(call, cached=cached, reason=reason)
    changes, other = nearest
    return replace(call, cached=cached, nearest=other, changes=changes)


def _is_related(entry: CacheEntry, parts: Mapping[str, str]) -> bool:
    """Whether a cached question has the same prompt or an attached file of the same name."""
    if entry.parts.get("prompt") == parts.get("prompt"):
        return True
    stored, attached = (
        {name for name in some if name.startswith("file:")} for some in (entry.parts, parts)
    )
    return stored == attached or not stored.isdisjoint(attached)


GOOD, CHANGED, TORN, FOREIGN = "good", "changed", "torn", "foreign"


class CacheLookup(msgspec.Struct, frozen=True):
    """What the cache has for a key."""

    entry: CacheEntry
    data: bytes
    state: str
    """`good`, `changed` when the answer was edited after it was stored, or `foreign`."""
    foreign: Foreign | None = None


class ListedEntry(msgspec.Struct, frozen=True):
    """An entry with the state of its answer."""

    entry: CacheEntry
    state: str
    foreign: Foreign | None = None
