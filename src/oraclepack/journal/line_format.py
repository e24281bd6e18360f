"""One line of the journal file: an event, its checksum, its signature, its place in the chain.

    {"crc":"<8 hex>","mac":"<32 hex>","e":{…canonical JSON of the event…}}

The checksum is the CRC-32 of the signature and the event's bytes, started from the checksum
of the line before it (0 for the first). So a line that is changed, lost, doubled or moved
by accident is noticed as damage.

The signature is a MAC with the user's key over the run's id, a digest of everything before the
line, and the event: one valid signature covers all lines up to it. So a journal is ours when
its last whole line has a valid one, whatever is before it. Lines of oraclepack 0.1.0 have no
signature:

    {"crc":"<8 hex>","e":{…}}
"""

import zlib
from enum import StrEnum
from functools import cache
from typing import TypeAlias

import msgspec

from oraclepack.journal.events import KINDS, SCHEMA_VERSION, EveryEvent, KnownEvent, RunCreated
from oraclepack.system.digests import canonical_line, chained_digest, keyed_digest, same_digest

_HEAD = b'{"crc":"'
_SIGNED = b'","mac":"'
_MIDDLE = b'","e":'
_TAIL = b"}\n"
_MAC_AT = len(_HEAD) + 8 + len(_SIGNED)
_MAC_LENGTH = 32


@cache
def _events() -> msgspec.json.Decoder[KnownEvent]:
    # Made when there is something to read: a new run has nothing, and shall not wait for it.
    return msgspec.json.Decoder(EveryEvent)


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


class Link(msgspec.Struct, frozen=True):
    """The end of a journal: what the next line is chained to."""

    crc: int = 0
    digest: bytes = b""
    """Of all lines so far."""


class Signer(msgspec.Struct, frozen=True):
    """Who signs the lines of a journal: the user's key, for one run."""

    key: bytes
    run_id: str

    def sign(self, after: Link, payload: bytes) -> str:
        """The signature of an event that follows the lines up to the link."""
        return keyed_digest(self.key, "journal", self.run_id.encode(), after.digest, payload)


class Signature(StrEnum):
    """What the signature of a journal's last whole line says about all of it."""

    VALID = "valid"
    ABSENT = "absent"
    """As in oraclepack 0.1.0; also that of a journal without a line."""
    INVALID = "invalid"
    """Made with another key, for another run, or invented."""


class Damage(msgspec.Struct, frozen=True):
    """Where a journal is damaged, and why."""

    line: int
    """Counted from 1."""
    reason: str
    newer_schema: int | None = None
    """Set when nothing is broken, but a newer oraclepack wrote it."""


class JournalContent(msgspec.Struct, frozen=True):
    """What a journal file says, as far as it can be trusted."""

    events: tuple[AnyEvent, ...]
    end: Link
    """Of the last good line: the next one is chained to it."""
    good_bytes: int
    """How much of the file the good lines take."""
    torn: bytes = b""
    """The end of a last line that was never fully written."""
    damage: Damage | None = None
    signature: Signature = Signature.ABSENT


class _Line(msgspec.Struct, frozen=True):
    event: AnyEvent
    mac: bytes | None
    payload: bytes
    crc: int


def encode_line(event: KnownEvent, after: Link, signer: Signer) -> tuple[bytes, Link]:
    """The line of an event that follows others, and the link for the line after it."""
    payload = canonical_line(event)
    mac = signer.sign(after, payload).encode()
    crc = zlib.crc32(payload, zlib.crc32(mac, after.crc))
    line = b"%s%08x%s%s%s%s%s" % (_HEAD, crc, _SIGNED, mac, _MIDDLE, payload, _TAIL)
    return line, Link(crc, chained_digest(after.digest, line))


def read_lines(data: bytes, signer: Signer | None = None) -> JournalContent:
    """Read a whole journal; what follows the first bad line is ignored.

    Only the very end may be torn: a write that a crash cut short. A bad line with
    others after it is damage, since nothing that was once synced may change.
    Without a signer no signature is valid.
    """
    events: list[AnyEvent] = []
    before = end = Link()
    last: _Line | None = None
    at = 0
    torn, damage = b"", None
    while at < len(data):
        stop = data.find(b"\n", at) + 1 or len(data)
        read = _read_line(data[at:stop], end.crc, len(events) + 1)
        if isinstance(read, Damage):
            if stop == len(data) and read.newer_schema is None and _is_one_line(data[at:]):
                torn = data[at:]
            else:
                damage = read
            break
        events.append(read.event)
        before, end = end, Link(read.crc, chained_digest(end.digest, data[at:stop]))
        last, at = read, stop
    return JournalContent(tuple(events), end, at, torn, damage, _signature(last, before, signer))


def read_next(line: bytes, after: Link, number: int) -> tuple[AnyEvent, Link] | Damage:
    """One whole line of a journal that is read as it grows; its signature is not looked at."""
    read = _read_line(line, after.crc, number)
    if isinstance(read, Damage):
        return read
    return read.event, Link(read.crc, chained_digest(after.digest, line))


def _signature(last: _Line | None, before: Link, signer: Signer | None) -> Signature:
    if last is None or last.mac is None:
        return Signature.ABSENT
    if signer is None:
        return Signature.INVALID
    fits = same_digest(signer.sign(before, last.payload), last.mac.decode("ascii", "replace"))
    return Signature.VALID if fits else Signature.INVALID


def _is_one_line(tail: bytes) -> bool:
    """A crash tears one line; two run together are a lost line end, which is damage."""
    return tail.count(_HEAD) <= 1


def _read_line(line: bytes, crc: int, number: int) -> _Line | Damage:
    mac: bytes | None = None
    start = len(_HEAD) + 8
    if line.startswith(_SIGNED, start):
        mac = line[_MAC_AT : _MAC_AT + _MAC_LENGTH]
        start, crc = _MAC_AT + _MAC_LENGTH, zlib.crc32(mac, crc)
    payload = line[start + len(_MIDDLE) : -len(_TAIL)]
    own = zlib.crc32(payload, crc)
    signed = b"" if mac is None else _SIGNED + mac
    if line != b"%s%08x%s%s%s%s" % (_HEAD, own, signed, _MIDDLE, payload, _TAIL):
        return Damage(number, "the checksum does not fit: the line was changed, lost or moved")
    event = _read_event(payload, number)
    if isinstance(event, Damage):
        return event
    if event.seq != number:
        return Damage(number, f"event {event.seq} stands where {number} belongs")
    return _Line(event, mac, payload, own)


def _read_event(payload: bytes, number: int) -> AnyEvent | Damage:
    try:
        event = _events().decode(payload)
    except (msgspec.MsgspecError, RecursionError) as problem:
        return _not_known(payload, number, str(problem))
    if isinstance(event, RunCreated) and event.schema_version > SCHEMA_VERSION:
        return _newer(number, event.schema_version)
    return event


def _not_known(payload: bytes, number: int, problem: str) -> AnyEvent | Damage:
    try:
        peeked = _PEEK.decode(payload)
        if peeked.schema_version > SCHEMA_VERSION:
            return _newer(number, peeked.schema_version)
        if peeked.kind not in KINDS:
            return _UNKNOWN.decode(payload)
    except (msgspec.MsgspecError, RecursionError):
        return Damage(number, problem)
    return Damage(number, f"{peeked.kind}: {problem}")


def _newer(number: int, version: int) -> Damage:
    reason = f"it is written in format {version}, and this oraclepack reads up to {SCHEMA_VERSION}"
    return Damage(number, reason, newer_schema=version)
