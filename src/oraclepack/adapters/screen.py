"""The terminal we talk to, and the files a screen keeps an eye on."""

import os
import sys
from pathlib import Path

_USUAL = (80, 24)


def is_terminal() -> bool:
    """Somebody watches stderr on a terminal that can move its cursor."""
    try:
        return sys.stderr.isatty() and os.environ.get("TERM", "dumb") != "dumb"
    except (AttributeError, ValueError):
        return False


def screen_size() -> tuple[int, int]:
    """Columns and rows of the terminal behind stderr, as they are now."""
    try:
        found = os.get_terminal_size(sys.stderr.fileno())
    except (AttributeError, OSError, ValueError):
        return _USUAL
    return (found.columns or _USUAL[0], found.lines or _USUAL[1])


def log_size(path: Path) -> int:
    """Bytes in a log; none when it is not there yet."""
    try:
        return path.stat().st_size
    except OSError:
        return 0
