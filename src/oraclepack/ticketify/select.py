"""Which files are tickets: patterns over paths, in one fixed order."""

import re
from collections.abc import Iterable
from functools import cache

from oraclepack.core.ticket import TicketOptions

_SIGNS = re.compile(r"\*+|\?|\[[!^]?[^]/]+\]|.", re.DOTALL)


def chosen_paths(paths: Iterable[str], options: TicketOptions) -> tuple[str, ...]:
    """The paths that the patterns choose, sorted; all of them, whatever `top_n` says."""
    return tuple(sorted({path for path in paths if is_chosen(path, options)}))


def is_chosen(path: str, options: TicketOptions) -> bool:
    """The glob matches, some include does if there are any, and no exclude does."""
    if not matches(options.glob, path):
        return False
    if options.include and not any(matches(one, path) for one in options.include):
        return False
    return not any(matches(one, path) for one in options.exclude)


def matches(pattern: str, path: str) -> bool:
    """Whether a pattern names a path relative to the tickets directory.

    `*`, `?` and `[…]` stay inside one name, `**` is any number of directories. A pattern without a
    slash names files in any directory; one that ends in a slash names everything below.
    """
    return _compiled(pattern).fullmatch(path) is not None


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    anchored = pattern.removeprefix("./")
    if anchored.endswith("/"):
        anchored += "**"
    parts = anchored.split("/")
    if len(parts) == 1 and parts[0] != "**":
        parts = ["**", *parts]
    last = len(parts) - 1
    text = "".join(_part(part, is_last=at == last) for at, part in enumerate(parts))
    return re.compile(text, re.DOTALL)


def _part(part: str, *, is_last: bool) -> str:
    if part == "**":
        return ".*" if is_last else "(?:[^/]+/)*"
    inner = "".join(map(_sign, _SIGNS.findall(part)))
    return inner if is_last else f"{inner}/"


def _sign(sign: str) -> str:
    if set(sign) == {"*"}:
        return "[^/]*"
    if sign == "?":
        return "[^/]"
    if len(sign) > 1:
        inside = sign[1:-1]
        negated = inside[0] in "!^"
        letters = re.escape(inside[negated:]).replace(r"\-", "-")
        return f"[^/{letters}]" if negated else f"[{letters}]"
    return re.escape(sign)
