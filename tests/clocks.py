"""A clock for tests: it moves only when it is read."""

from datetime import UTC, datetime, timedelta


class SteppingClock:
    """Each look at it is one second later than the last."""

    def __init__(self, start: datetime | None = None) -> None:
        self._now = start or datetime(2026, 3, 1, 10, tzinfo=UTC)

    def now(self) -> datetime:
        self._now += timedelta(seconds=1)
        return self._now

    def monotonic_ns(self) -> int:
        return int(self.now().timestamp() * 1_000_000_000)
