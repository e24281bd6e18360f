"""Figures as people read them: durations, sizes, times, amounts."""

from decimal import Decimal

from oraclepack.journal.costs import CostTotal, money
from oraclepack.system.printable import quantity

count = quantity
"""For the screens, which get their figures from here."""

_SECOND, _MINUTE, _HOUR, _DAY = 1_000, 60_000, 3_600_000, 86_400_000


def duration(ms: int | None) -> str:
    """`340 ms`, `3.4 s`, `12 min 5 s`, `1 h 12 min`, `2 d 3 h`; a dash where it is not known."""
    if ms is None:
        return "–"
    if ms < _SECOND:
        return f"{ms} ms" if ms else "0 s"
    if ms < _MINUTE:
        seconds = f"{ms / _SECOND:.1f}"
        return f"{seconds.removesuffix('.0')} s"
    if ms < _HOUR:
        return _two(ms, _MINUTE, "min", _SECOND, "s")
    if ms < _DAY:
        return _two(ms, _HOUR, "h", _MINUTE, "min")
    return _two(ms, _DAY, "d", _HOUR, "h")


def _two(ms: int, unit: int, name: str, lesser: int, lesser_name: str) -> str:
    rest = ms % unit // lesser
    return f"{ms // unit} {name}" + (f" {rest} {lesser_name}" if rest else "")


def size(count: int) -> str:
    """`812 B`, `3.2 kB`, `50.1 MB`."""
    if count < 1_000:
        return f"{count} B"
    if count < 1_000_000:
        return f"{count / 1_000:.1f} kB"
    return f"{count / 1_000_000:.1f} MB"


def moment(at: str | None) -> str:
    """`2026-03-01 10:00:07 UTC` of an RFC 3339 time."""
    return f"{at[:19].replace('T', ' ')} UTC" if at else "–"


def amount(value: Decimal | None) -> str:
    return money(value) if value is not None else "–"


def cost_cell(total: CostTotal) -> str:
    """`$1.20`, `$1.20 + 2 unknown`, `unknown`, or a dash where nothing was paid."""
    if total.cost is None:
        return f"unknown ({total.unknown_calls})" if total.unknown_calls else "–"
    unknown = f" + {total.unknown_calls} unknown" if total.unknown_calls else ""
    return money(total.cost) + unknown


def tokens(number: int | None) -> str:
    return f"{number:,}" if number is not None else "–"
