"""What `quarantine` tells: the files set aside, and those that came back."""

import msgspec

from oraclepack.journal.statuses import Move

ROLLED_BACK = "rolled_back"
"""The reason of a file whose step was ok and was taken back with its command."""


class KeptFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file in quarantine. Its paths are relative to the project root."""

    path: str
    original: str
    """Where it came from."""
    run_id: str
    step_id: str
    attempt: str
    bytes: int
    occupied: bool
    """Something stands at its old place now."""
    reason: str | None = None
    """`rolled_back`, or a sentence about a person's edit; null where its attempt failed."""


class QuarantineListed(msgspec.Struct, frozen=True, kw_only=True):
    """Everything in quarantine, in the order of the paths."""

    files: tuple[KeptFile, ...]


class QuarantineRestored(msgspec.Struct, frozen=True, kw_only=True):
    """What was moved, in the order it was moved."""

    moves: tuple[Move, ...]
