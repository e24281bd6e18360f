"""Time as the machine tells it."""

import time
from datetime import UTC, datetime
from typing import Protocol


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
