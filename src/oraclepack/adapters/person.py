"""A question to the person at the terminal."""

import select
import sys
from collections.abc import Callable

_LOOK_AGAIN = 0.2
_YES = frozenset({"y", "yes"})


def can_ask() -> bool:
    """Somebody sits at a terminal: both what we say and what they type go through it."""
    try:
        return sys.stdin.isatty() and sys.stderr.isatty()
    except (AttributeError, ValueError):
        return False


def ask(question: str, pause: Callable[[float], bool]) -> bool:
    """Ask, and wait for a line; no when `pause` says that nobody waits for the answer any more."""
    sys.stderr.write(f"\n{question} [y/N] ")
    sys.stderr.flush()
    while not select.select([sys.stdin], [], [], 0)[0]:
        if not pause(_LOOK_AGAIN):
            return False
    return sys.stdin.readline().strip().lower() in _YES
