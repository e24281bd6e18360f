"""The content of a file, as a value."""

import msgspec


class Content(msgspec.Struct, frozen=True):
    """What stands at a path: its bytes, or why they cannot be had."""

    data: bytes | None = None
    trouble: str | None = None
