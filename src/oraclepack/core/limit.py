"""How often and how many at once a provider may be asked."""

from collections.abc import Mapping, Sequence

import msgspec

MINUTE = 60.0


class Limit(msgspec.Struct, frozen=True):
    """`[providers.<name>]`. None: no limit of ours."""

    max_concurrent: int | None = None
    requests_per_minute: int | None = None

    @property
    def is_none(self) -> bool:
        return self.max_concurrent is None and self.requests_per_minute is None


DEFAULTS: Mapping[str, Limit] = {"browser": Limit(max_concurrent=1)}
"""A browser profile can be driven by one at a time."""


def limit_for(name: str, given: Mapping[str, Limit]) -> Limit:
    """The limit of a provider, or of one browser profile (`browser-…`)."""
    family = "browser" if name.startswith("browser") else name
    return given.get(family) or DEFAULTS.get(family) or Limit()


def slot_reason(name: str, limit: Limit) -> str:
    """What a call waits for: `slot of browser, 1 at a time`."""
    words = [f"slot of {'browser' if name.startswith('browser') else name}"]
    words += [f"{limit.max_concurrent} at a time"] if limit.max_concurrent is not None else []
    per_minute = limit.requests_per_minute
    words += [f"{per_minute} per minute"] if per_minute is not None else []
    return ", ".join(words)


def lanes(parallel: int, limits: Sequence[Limit]) -> int | None:
    """How many steps get on at once; None where a number of calls per minute decides."""
    if any(limit.requests_per_minute is not None for limit in limits):
        return None
    caps = [limit.max_concurrent for limit in limits if limit.max_concurrent is not None]
    return max(min([parallel, *caps]), 1)


def recent(starts: Sequence[float], now: float) -> tuple[float, ...]:
    """The calls begun within the last minute; one from the future means a clock was set back."""
    return tuple(start for start in starts if now - MINUTE < start <= now)


def until_next(starts: Sequence[float], now: float, per_minute: int) -> float:
    """Seconds until one more call may begin, so that no minute sees more than its share."""
    last = sorted(recent(starts, now))
    if len(last) < per_minute:
        return 0.0
    return last[-per_minute] + MINUTE - now
