"""Chance: the one source of it."""

import random


def draw() -> float:
    """A number from [0, 1)."""
    return random.random()  # noqa: S311 - spreads retries; nothing secret hangs on it
