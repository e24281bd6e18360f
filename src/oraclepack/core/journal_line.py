"""One line of the journal file: an event, its checksum, and its place in the chain.

    {"crc":"<8 hex>","e":{…canonical JSON of the event…}}

The checksum is the CRC-32 of the event's bytes, started from the checksum of the
line before it (0 for the first). So a line that is changed, lost, doubled or moved
is noticed, and appending needs only the last checksum.
"""

import zlib
from functools import cache
from typing import TypeAlias, get_args

import msgspec

from oraclepack.core.digest import canonical_line
from oraclepack.core.journal import SCHEMA_VERSION, KnownEvent, RunCreated

_HEAD = b'{"crc":"'
_MIDDLE = b'","e":'
_TAIL = b"}\n"
_PAYLOAD_AT = len(_HEAD) + 8 + len(_MIDDLE)


@cache
def _events() -> msgspec.json.Decoder[KnownEvent]:
    # Made when there is something to read: a new run has nothing, and shall not wait for it.
    return msgspec.json.Decoder(KnownEvent)


class Unknown(msgspec.Struct, frozen=True, kw_only=True):
    """An event of a kind that a newer oraclepack writes: kept, but not understood."""

    kind: str
    seq: int = 0
    at: str = ""


AnyEvent: TypeAlias = KnownEvent | Unknown


class _Peek(msgspec.Struct, frozen=True, kw_only=True):
    kind: str
    schema_version: int = 0


_PEEK = msgspec.json.Decoder(_Peek)
_UNKNOWN = msgspec.json.Decoder(Unknown)
_KINDS = frozenset(str(kind.__struct_config__.tag) for kind in get_args(KnownEvent))


class Damage(msgspec.Struct, frozen=True):
    """Where a journal stops making sense, and why."""

    line: int
    """Counted from 1."""
    reason: str
    newer_schema: int | None = None
    """Set when nothing is broken, but a newer oraclepack wrote it."""


class Reading(msgspec.Struct, frozen=True):
    """What a journal file says, as far as it can be trusted."""

    events: tuple[AnyEvent, ...]
    crc: int
    """The checksum of the last good line: the next one is chained to it."""
    good_bytes: int
    """How much of the file the good lines take."""
    torn: bytes = b""
    """The end of a last line that was never fully written."""
    damage: Damage | None = None


def encode_line(event: KnownEvent, crc: int) -> tuple[bytes, int]:
    """The line of an event that follows the line with this checksum, and its own checksum."""
    payload = canonical_line(event)
    own = zlib.crc32(payload, crc)
    return b"%s%08x%s%s%s" % (_HEAD, own, _MIDDLE, payload, _TAIL), own


def read_lines(data: bytes) -> Reading:
    """Read a whole journal; what follows the first bad line is not believed.

    Only the very end may be torn: a write that a crash cut short. A bad line with
    others after it is damage, since nothing that was once synced may change.
    """
    events: list[AnyEvent] = []
    crc = at = 0
    while at < len(data):
        end = data.find(b"\n", at) + 1 or len(data)
        read = _read_line(data[at:end], crc, len(events) + 1)
        if isinstance(read, Damage):
            torn = end == len(data) and read.newer_schema is None and _is_one_line(data[at:])
            if torn:
                return Reading(tuple(events), crc, at, torn=data[at:])
            return Reading(tuple(events), crc, at, damage=read)
        event, crc = read
        events.append(event)
        at = end
    return Reading(tuple(events), crc, at)


def _is_one_line(tail: bytes) -> bool:
    """A crash tears one line; two run together are a lost line end, which is damage."""
    return tail.count(_HEAD) <= 1


def _read_line(line: bytes, crc: int, number: int) -> tuple[AnyEvent, int] | Damage:
    payload = line[_PAYLOAD_AT : -len(_TAIL)]
    own = zlib.crc32(payload, crc)
    if line != b"%s%08x%s%s%s" % (_HEAD, own, _MIDDLE, payload, _TAIL):
        return Damage(number, "the checksum does not fit: the line was changed, lost or moved")
    event = _read_event(payload, number)
    if not isinstance(event, Damage) and event.seq != number:
        return Damage(number, f"event {event.seq} stands where {number} belongs")
    return event if isinstance(event, Damage) else (event, own)


def _read_event(payload: bytes, number: int) -> AnyEvent | Damage:
    try:
        event = _events().decode(payload)
    except msgspec.MsgspecError as problem:
        return _not_known(payload, number, str(problem))
    if isinstance(event, RunCreated) and event.schema_version > SCHEMA_VERSION:
        return _newer(number, event.schema_version)
    return event


def _not_known(payload: bytes, number: int, problem: str) -> AnyEvent | Damage:
    try:
        peek = _PEEK.decode(payload)
        if peek.schema_version > SCHEMA_VERSION:
            return _newer(number, peek.schema_version)
        if peek.kind not in _KINDS:
            return _UNKNOWN.decode(payload)
    except msgspec.MsgspecError:
        return Damage(number, problem)
    return Damage(number, f"{peek.kind}: {problem}")


def _newer(number: int, version: int) -> Damage:
    reason = f"it is written in format {version}, and this oraclepack reads up to {SCHEMA_VERSION}"
    return Damage(number, reason, newer_schema=version)
