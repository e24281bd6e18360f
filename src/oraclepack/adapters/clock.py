"""Time as the machine tells it."""

import time
from datetime import UTC, datetime


class SystemClock:
    """The real clock: a steady one for durations, UTC for records."""

    def monotonic_ns(self) -> int:
        return time.monotonic_ns()

    def now(self) -> datetime:
        return datetime.now(UTC)
