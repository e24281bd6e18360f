"""The verdict on the outputs of a step."""

import msgspec


class OutputFailure(msgspec.Struct, frozen=True, kw_only=True):
    """An output that does not meet its contract, and in what."""

    path: str
    contract: str
    missing_sections: tuple[str, ...] = ()
    io_error: str | None = None
    reason: str | None = None
    """`unreadable`, `sections`, or `rehearsal`; null in the records of older versions."""


class OutputDoubt(msgspec.Struct, frozen=True, kw_only=True):
    """A sign that an output is not what it seems, though it meets its contract."""

    path: str
    code: str
    message: str
    line: int


class Verification(msgspec.Struct, frozen=True, kw_only=True):
    """The check of a step's outputs against their contracts."""

    passed: bool
    checked: int = 0
    """How many outputs were looked at."""
    failures: tuple[OutputFailure, ...] = ()
    doubts: tuple[OutputDoubt, ...] = ()
