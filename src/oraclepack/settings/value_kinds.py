"""The kinds of value a setting may have: how each is read from text or TOML."""

import math
import re
from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from typing import Final, Literal, Protocol, TypeVar

import msgspec

from oraclepack.errors import UsageError
from oraclepack.tools.prices import TokenPrice

T_co = TypeVar("T_co", covariant=True)

BOOLEANS = {
    "true": True,
    "1": True,
    "yes": True,
    "on": True,
    "false": False,
    "0": False,
    "no": False,
    "off": False,
}
"""How a truth value may be spelled after `--flag=` and in variables."""

_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_NAME = r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}"
_URL = r"https?://[^\s\"'<>\\^`{|}\x00-\x20\x7f-\uffff]+"
_DURATION = r"(\d+(?:\.\d+)?)(ms|s|m|h|d)"
"""Patterns are compiled when a value needs them: most commands are given none."""


class ValueKind(Protocol[T_co]):
    """How a setting's value is read; `read` raises ValueError with the reason."""

    @property
    def name(self) -> str: ...

    def read(self, raw: object) -> T_co: ...


class Bool(msgspec.Struct, frozen=True):
    name: str = "bool"

    def read(self, raw: object) -> bool:
        if isinstance(raw, bool):
            return raw
        if isinstance(raw, str) and raw.strip().lower() in BOOLEANS:
            return BOOLEANS[raw.strip().lower()]
        raise ValueError(f"must be one of {', '.join(BOOLEANS)}")


class Int(msgspec.Struct, frozen=True):
    low: int | None = None
    high: int | None = None
    name: str = "int"

    def read(self, raw: object) -> int:
        try:
            value = int(raw) if isinstance(raw, str) else raw
        except ValueError:
            value = None
        if not isinstance(value, int) or isinstance(value, bool):
            raise ValueError("must be a whole number")  # noqa: TRY004 - see Kind
        return int(_bounded(value, self.low, self.high))


AUTO: Final = "auto"
MaxParallel = int | Literal["auto"]
"""How many steps may run at once; `auto`: of those that only ask questions, `AUTO_STEPS`."""
AUTO_STEPS = 4


class Parallel(msgspec.Struct, frozen=True):
    """How many steps may run at once: a number, or `auto`."""

    name: str = "int|auto"

    def read(self, raw: object) -> MaxParallel:
        if raw == AUTO:
            return AUTO
        try:
            return Int(1, 64).read(raw)
        except ValueError as reason:
            raise ValueError(f"{reason}, or auto") from None


class Float(msgspec.Struct, frozen=True):
    low: float | None = None
    high: float | None = None
    name: str = "float"

    def read(self, raw: object) -> float:
        value = _number(raw)
        if value is None:
            raise ValueError("must be a number")
        return _bounded(value, self.low, self.high)


class Duration(msgspec.Struct, frozen=True):
    """A stretch of time in seconds: `90`, `90s`, `1h30m`, `250ms`."""

    low: float | None = 0
    high: float | None = None
    name: str = "duration"

    def read(self, raw: object) -> float:
        value = _number(raw)
        if value is None and isinstance(raw, str):
            value = _spelled_seconds(raw.strip().lower())
        if value is None:
            raise ValueError("must be a duration like 90s, 15m or 1h30m")
        return _bounded(value, self.low, self.high)


class Amount(msgspec.Struct, frozen=True):
    """US dollars, or `none`."""

    name: str = "amount"

    def read(self, raw: object) -> Decimal | None:
        if _is_none(raw):
            return None
        amount = _amount(raw.strip().removeprefix("$") if isinstance(raw, str) else raw)
        if amount is None:
            raise ValueError("must be an amount of US dollars like 12.50, or none")
        return amount


class Count(msgspec.Struct, frozen=True):
    """A whole number that is not negative, or `none`."""

    name: str = "count"

    def read(self, raw: object) -> int | None:
        return None if _is_none(raw) else Int(0).read(raw)


def _is_none(raw: object) -> bool:
    return raw is None or (isinstance(raw, str) and raw.strip().lower() == "none")


class Choice(msgspec.Struct, frozen=True):
    choices: tuple[str, ...]
    name: str = "choice"
    former: tuple[tuple[str, str], ...] = ()
    """Earlier words and the choices that they stand for; they are still understood."""

    def read(self, raw: object) -> str:
        word = dict(self.former).get(raw, raw) if isinstance(raw, str) else raw
        if isinstance(word, str) and word in self.choices:
            return word
        raise ValueError(f"must be one of {', '.join(self.choices)}")


class Text(msgspec.Struct, frozen=True):
    name: str = "text"

    def read(self, raw: object) -> str:
        if not isinstance(raw, str):
            raise ValueError("must be text")  # noqa: TRY004 - see Kind
        if "\0" in raw:
            raise ValueError("must not hold a NUL character")
        return raw


class Path(Text, frozen=True):
    name: str = "path"

    def read(self, raw: object) -> str:
        value = Text.read(self, raw)
        if not value:
            raise ValueError("must not be empty")
        return value


class Names(msgspec.Struct, frozen=True):
    """A list of words: a TOML array, or text with commas."""

    name: str = "list"

    def read(self, raw: object) -> tuple[str, ...]:
        parts = raw.split(",") if isinstance(raw, str) else raw
        if not isinstance(parts, list | tuple) or not all(isinstance(p, str) for p in parts):
            raise ValueError("must be a list of words")
        words = [word.strip() for part in parts for word in part.split(",")]
        return tuple(word for word in words if word)


class Texts(msgspec.Struct, frozen=True):
    """A list of texts that may hold anything, commas too: a TOML array, or one text."""

    name: str = "texts"

    def read(self, raw: object) -> tuple[str, ...]:
        parts = [raw] if isinstance(raw, str) else raw
        if not isinstance(parts, list | tuple) or not all(isinstance(p, str) for p in parts):
            raise ValueError("must be a text or a list of texts")
        return tuple(part for part in parts if part.strip())


class NamedUrls(msgspec.Struct, frozen=True):
    """Web pages by name: a table of TOML, or `NAME=URL,…`."""

    name: str = "urls"

    def read(self, raw: object) -> Mapping[str, str]:
        pairs = _url_pairs(raw) if isinstance(raw, str) else raw
        if not isinstance(pairs, Mapping) or not all(isinstance(name, str) for name in pairs):
            raise ValueError("must be a table of URLs by name")
        for name, url in pairs.items():
            if not re.fullmatch(_NAME, name):
                raise ValueError(f"must name pages by letters, digits, - and _, unlike {name!r}")
            if not isinstance(url, str) or not re.fullmatch(_URL, url):
                raise ValueError(f"must give the URL of {name}, as in https://chatgpt.com/g/g-p-1")
        return {name: pairs[name] for name in sorted(pairs)}


def _url_pairs(text: str) -> dict[str, str]:
    parts = (part.strip().partition("=") for part in text.split(",") if part.strip())
    return {name.strip(): url.strip() for name, _, url in parts}


class Prices(msgspec.Struct, frozen=True):
    """US dollars for a million tokens by model: tables of TOML, or `MODEL=INPUT/OUTPUT,…`."""

    name: str = "prices"

    def read(self, raw: object) -> Mapping[str, TokenPrice]:
        tables = _price_tables(raw) if isinstance(raw, str) else raw
        if not isinstance(tables, Mapping) or not all(isinstance(name, str) for name in tables):
            raise ValueError("must be a table of prices by model")
        return {name.strip().lower(): _price(name, tables[name]) for name in sorted(tables)}


def _price_tables(text: str) -> dict[str, dict[str, str]]:
    tables = {}
    for part in filter(None, map(str.strip, text.split(","))):
        model, _, amounts = part.rpartition("=")
        per_input, _, per_output = amounts.partition("/")
        if not model.strip():
            raise ValueError("must be a list of MODEL=INPUT/OUTPUT")
        tables[model] = {"input": per_input, "output": per_output}
    return tables


def _price(model: str, table: object) -> TokenPrice:
    if not isinstance(table, Mapping) or table.keys() != {"input", "output"}:
        raise ValueError(f"must give input and output of {model}, and nothing else")
    amounts = {side: _amount(table[side]) for side in ("input", "output")}
    missing = [side for side, amount in amounts.items() if amount is None]
    if missing:
        raise ValueError(f"must give dollars for a million tokens as {missing[0]} of {model}")
    return msgspec.convert(amounts, TokenPrice)


def _amount(raw: object) -> Decimal | None:
    """An amount of money; None for what is none. A float of TOML counts as it is spelled."""
    if isinstance(raw, bool) or not isinstance(raw, str | int | float | Decimal):
        return None
    try:
        amount = Decimal(str(raw).strip())
    except InvalidOperation:
        return None
    return amount if amount.is_finite() and amount >= 0 else None


def _number(raw: object) -> float | None:
    if isinstance(raw, bool) or not isinstance(raw, str | int | float):
        return None
    try:
        value = float(raw)
    except (ValueError, OverflowError):
        return None
    return value if math.isfinite(value) else None


def _spelled_seconds(text: str) -> float | None:
    parts = re.findall(_DURATION, text)
    if not parts or "".join(number + unit for number, unit in parts) != text:
        return None
    return sum(float(number) * _UNITS[unit] for number, unit in parts)


def _bounded(value: float, low: float | None, high: float | None) -> float:
    if low is not None and value < low:
        raise ValueError(f"must be at least {low:g}")
    if high is not None and value > high:
        raise ValueError(f"must be at most {high:g}")
    return value


def flag_value(kind: ValueKind[T_co], text: str, flag: str) -> T_co:
    """The value of a flag that is no setting."""
    try:
        return kind.read(text)
    except ValueError as reason:
        raise UsageError(f"{flag}: {reason}, not {text!r}") from None
