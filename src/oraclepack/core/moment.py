"""Moments as every file of ours writes them."""

from datetime import UTC, datetime


def rfc3339(moment: datetime) -> str:
    """UTC with milliseconds: `2026-03-01T10:00:00.123Z`. Sorts as text."""
    utc = moment.astimezone(UTC)
    return f"{utc:%Y-%m-%dT%H:%M:%S}.{utc.microsecond // 1000:03}Z"
