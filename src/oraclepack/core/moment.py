"""Moments as every file of ours writes them."""

from datetime import UTC, datetime


def rfc3339(moment: datetime) -> str:
    """UTC with milliseconds: `2026-03-01T10:00:00.123Z`. Sorts as text."""
    return f"{moment.astimezone(UTC).isoformat(timespec='milliseconds')[:23]}Z"
