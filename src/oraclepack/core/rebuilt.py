"""What `doctor --rebuild` tells about each run."""

from enum import StrEnum

import msgspec


class Rebuilding(StrEnum):
    """What became of one run."""

    REBUILT = "rebuilt"
    DAMAGED = "damaged"
    """Its journal cannot be believed to the end; nothing of it was touched."""
    LOCKED = "locked"
    """Another process works on it."""
    FOREIGN = "foreign"
    """It cannot be proven to be ours; nothing of it was touched."""
    EMPTY = "empty"
    """Its journal says nothing, so there is nothing to compute."""


class RunRebuilt(msgspec.Struct, frozen=True, kw_only=True):
    """One run."""

    run_id: str
    result: Rebuilding
    events: int
    """How many events of its journal are intact."""
    files: tuple[str, ...]
    """What was written, relative to the project root."""
    problem: str | None
    """What is damaged and where, or who has the run."""
    torn: bool
    """The last line was cut short by a crash; it counts as never written."""
    notices: tuple[str, ...]


class Rebuilt(msgspec.Struct, frozen=True, kw_only=True):
    """Every run that was looked at, by name."""

    runs: tuple[RunRebuilt, ...]

    def count(self, result: Rebuilding) -> int:
        return sum(run.result is result for run in self.runs)
