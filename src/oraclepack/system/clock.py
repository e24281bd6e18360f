"""The system clock."""

import time
from datetime import UTC, datetime
from typing import Protocol


def draw() -> float:
    """A number from [0, 1)."""
    import random

    return random.random()  # noqa: S311 - spreads retries; nothing secret hangs on it


def rfc3339(moment: datetime) -> str:
    """UTC with milliseconds: `2026-03-01T10:00:00.123Z`. Sorts as text."""
    return f"{moment.astimezone(UTC).isoformat(timespec='milliseconds')[:23]}Z"


class SystemClock:
    """The real clock: a steady one for durations, UTC for records."""

    def monotonic_ns(self) -> int:
        return time.monotonic_ns()

    def now(self) -> datetime:
        return datetime.now(UTC)


class Clock(Protocol):
    """Time: a steady clock for durations, UTC for records."""

    def monotonic_ns(self) -> int: ...

    def now(self) -> datetime: ...
