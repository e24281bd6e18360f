"""Uncaught exceptions of Node and Python programs: the line that tells why, without its frames.

Frames and source excerpts name files and functions (`rate-limit.js`, `ENOTFOUND_RETRIES`), which
say nothing about the failure; so neither messages nor failure classes are taken from them.
"""

from oraclepack.system.text_limits import regex

_NODE_FRAME = regex(r"^\s+(?:at \S.*|\.\.\. \d+ lines matching cause stack trace \.\.\.)$")
_NODE_ERROR = regex(r"^(?:Uncaught )?[\w$.]*(?:Error|Exception)\b")
_NODE_CAUSE = regex(r"^\s*\[?cause\]?: (?P<error>\S.*)")
_NODE_VERSION = regex(r"^Node\.js v\d+\.\d+\.\d+\s*$")
_LOCATION = regex(r"^\S.*:\d+$")
_CARET = regex(r"^\s*[\^~]+\s*$")
_PYTHON_START = regex(r"^(?:\s*\+ (?:Exception Group )?)?Traceback \(most recent call last\):$")
_PYTHON_LINKS = (
    "The above exception was the direct cause of the following exception:",
    "During handling of the above exception, another exception occurred:",
)
_GROUP_BAR = regex(r"^\s*\| ?")

_EXCERPT_LINES = 3
"""Node shows where it threw in at most so many lines before the caret."""


def crash_line(text: str) -> str | None:
    """The line of an uncaught exception that tells why; None where there is no stack trace."""
    lines = text.splitlines()
    return _python_error(lines) or _node_error(lines)


def without_frames(text: str) -> str:
    """The text without stack frames and the source lines that stand beside them."""
    lines = text.splitlines()
    drop = _python_frames(lines) | _node_frames(lines)
    return "\n".join(line for at, line in enumerate(lines) if at not in drop)


def _python_error(lines: list[str]) -> str | None:
    """The error line below the last traceback: the one that ended the program."""
    starts = [at for at, line in enumerate(lines) if _PYTHON_START.match(line)]
    if not starts:
        return None
    for line in lines[starts[-1] + 1 :]:
        bare = _GROUP_BAR.sub("", line)
        if bare.strip() and not bare[0].isspace():
            return bare.strip()
    return None


def _python_frames(lines: list[str]) -> set[int]:
    drop: set[int] = set()
    inside = False
    for at, line in enumerate(lines):
        bare = _GROUP_BAR.sub("", line)
        if _PYTHON_START.match(line) or line.strip() in _PYTHON_LINKS:
            inside = True
            drop.add(at)
        elif inside and (not bare.strip() or bare[0].isspace()):
            drop.add(at)
        else:
            inside = False
    return drop


def _node_error(lines: list[str]) -> str | None:
    """The error line above the first frame, with the innermost cause where one is given."""
    first = next((at for at, line in enumerate(lines) if _NODE_FRAME.match(line)), None)
    if first is None:
        return None
    # Its message may have several lines, so the frame need not stand directly below it.
    above = [line.strip() for line in lines[:first] if _NODE_ERROR.match(line)]
    if not above:
        return None
    causes = [found["error"] for line in lines[first:] if (found := _NODE_CAUSE.match(line))]
    return f"{above[-1]} (cause: {causes[-1].rstrip(' {')})" if causes else above[-1]


def _node_frames(lines: list[str]) -> set[int]:
    drop = {at for at, line in enumerate(lines) if _NODE_FRAME.match(line)}
    if not drop:
        return drop
    drop |= {at for at, line in enumerate(lines) if _NODE_VERSION.match(line)}
    for at, line in enumerate(lines):
        if _CARET.match(line):
            above = range(max(0, at - _EXCERPT_LINES), at)
            start = next((one for one in reversed(above) if _LOCATION.match(lines[one])), None)
            if start is not None:
                drop.update(range(start, at + 1))
    return drop
