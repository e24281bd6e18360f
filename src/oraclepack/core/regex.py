"""Regular expressions that are compiled when one of them is first used.

Compiling takes longer than most uses: a command that loads eighty and needs twenty would spend a
tenth of its time on the others.
"""

import re
from typing import Any, AnyStr, cast

_USES = ("findall", "finditer", "fullmatch", "match", "search", "split", "sub", "subn")


class LateRegex:
    """Stands for a pattern until something is asked of it."""

    def __init__(self, source: str | bytes, flags: int) -> None:
        self._source = source
        self._flags = flags

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever a pattern has
        compiled = re.compile(self._source, self._flags)
        # From now on these are found here, and cost what they cost with the pattern itself.
        vars(self).update((use, getattr(compiled, use)) for use in _USES)
        return getattr(compiled, name)


def regex(source: AnyStr, flags: int = 0) -> "re.Pattern[AnyStr]":
    """As `re.compile`, but later."""
    return cast("re.Pattern[AnyStr]", LateRegex(source, flags))
