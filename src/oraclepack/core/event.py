"""What every event of a run has in common."""

import msgspec


class Event(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", omit_defaults=True):
    """One thing that happened. The journal gives it its number and its time."""

    seq: int = 0
    at: str = ""
    """UTC, RFC 3339."""
