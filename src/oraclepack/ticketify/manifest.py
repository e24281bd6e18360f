"""The manifest of the out dir, and what it tells about files on disk."""

from collections.abc import Mapping

import msgspec

from oraclepack.core.ticket import TicketManifest
from oraclepack.core.ticket_work import CheckedFile, FileState
from oraclepack.system.digests import sha256_bytes

_MARK = b"Made by `oraclepack ticketify`"


def read_manifest(data: bytes | None) -> TicketManifest | None:
    """The manifest, or None when it is missing or not one."""
    if data is None:
        return None
    try:
        return msgspec.json.decode(data, type=TicketManifest)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def is_ours(path: str, data: bytes, manifest: TicketManifest | None) -> bool:
    """A file stands as ticketify left it; without a manifest its own mark decides."""
    if manifest is None or path not in manifest.outputs:
        return _MARK in data
    return sha256_bytes(data) == manifest.outputs[path]


def changed_tickets(old: TicketManifest | None, now: Mapping[str, str]) -> tuple[str, ...]:
    """The tickets that came, went or changed since the manifest was written."""
    before = {} if old is None else dict(old.inputs)
    return tuple(sorted(p for p in {*before, *now} if before.get(p) != now.get(p)))


def compared(
    wanted: Mapping[str, bytes], found: Mapping[str, bytes | None], old: TicketManifest | None
) -> tuple[CheckedFile, ...]:
    """Each file as it should be against the file on disk."""
    return tuple(
        CheckedFile(path=path, state=_state(path, data, found.get(path), old))
        for path, data in sorted(wanted.items())
    )


def _state(path: str, data: bytes, there: bytes | None, old: TicketManifest | None) -> FileState:
    if there is None:
        return FileState.MISSING
    if there == data:
        return FileState.SAME
    if path.endswith("/manifest.json"):
        return FileState.STALE if old is not None else FileState.UNREADABLE
    return FileState.STALE if old is not None and is_ours(path, there, old) else FileState.CHANGED
