"""The terminal: whether there is one, its size, and questions to the user."""

import os
import select
import sys
from collections.abc import Callable
from pathlib import Path

_POLL_SECONDS = 0.2
_YES = frozenset({"y", "yes"})


def can_ask() -> bool:
    """Whether stderr and stdin are both a terminal."""
    try:
        return sys.stdin.isatty() and sys.stderr.isatty()
    except (AttributeError, ValueError):
        return False


def ask(question: str, pause: Callable[[float], bool]) -> bool:
    """Ask, and wait for a line; no when `pause` returns False."""
    sys.stderr.write(f"\n{question} [y/N] ")
    sys.stderr.flush()
    while not select.select([sys.stdin], [], [], 0)[0]:
        if not pause(_POLL_SECONDS):
            return False
    return sys.stdin.readline().strip().lower() in _YES


_USUAL = (80, 24)


def is_terminal() -> bool:
    """Whether stderr is a terminal that can move its cursor."""
    try:
        return sys.stderr.isatty() and os.environ.get("TERM", "dumb") != "dumb"
    except (AttributeError, ValueError):
        return False


def stdout_is_terminal() -> bool:
    """The answer goes to a person's screen."""
    try:
        return sys.stdout.isatty()
    except (AttributeError, ValueError):
        return False


def screen_size() -> tuple[int, int]:
    """Columns and rows of the terminal behind stderr, as they are now."""
    try:
        size = os.get_terminal_size(sys.stderr.fileno())
    except (AttributeError, OSError, ValueError):
        return _USUAL
    return (size.columns or _USUAL[0], size.lines or _USUAL[1])


def log_size(path: Path) -> int:
    """Bytes in a log; none when it is not there yet."""
    try:
        return path.stat().st_size
    except OSError:
        return 0
