"""The identity of a process, as records keep it."""

import msgspec


class Process(msgspec.Struct, frozen=True, kw_only=True):
    """A process in such words that it cannot be mistaken for a later one with its number."""

    pid: int
    pgid: int | None = None
    start_time: str | None = None
    token: str | None = None
    """The mark in its environment by which its descendants are known."""
