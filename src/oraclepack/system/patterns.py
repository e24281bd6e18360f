"""Regular expressions that are compiled when they are first used.

A command loads modules with some hundred of them and uses few: compiling all of them would take a
tenth of its time.
"""

import functools
import re
from collections.abc import Callable
from typing import AnyStr


def late_pattern(pattern: AnyStr, flags: int = 0) -> Callable[[], re.Pattern[AnyStr]]:
    """A function that returns the compiled pattern, the same at each call."""
    return functools.cache(lambda: re.compile(pattern, flags))
