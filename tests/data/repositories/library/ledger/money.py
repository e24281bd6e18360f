"""Amounts of money in one currency."""

import functools
import os

MAX_DIGITS = 18


class CurrencyMismatch(ValueError):
    """Two amounts of different currencies were mixed."""


class Money:
    """An amount in the smallest unit of a currency."""

    def __init__(self, units, currency="EUR"):
        if len(str(abs(units))) > MAX_DIGITS:
            raise ValueError("the amount has too many digits")
        self.units = units
        self.currency = currency

    def add(self, other):
        """The sum; both amounts must have one currency."""
        if other.currency != self.currency:
            raise CurrencyMismatch(f"cannot add {other.currency} to {self.currency}")
        return Money(self.units + other.units, self.currency)

    def split(self, parts, mode="first", minimum=0, keep_rest=False, exact=False, label=""):
        """The amount in parts of nearly equal size."""
        if parts < 1:
            raise ValueError("the number of parts must be positive")
        if exact and self.units % parts:
            raise ValueError("the amount cannot be split exactly")
        share, rest = divmod(self.units, parts)
        if minimum and share < minimum:
            raise ValueError("a part would be smaller than the minimum")
        if keep_rest and mode == "first":
            return [Money(share, self.currency)] * parts, rest
        if mode == "last":
            return [Money(share, self.currency)] * (parts - 1) + [Money(share + rest, self.currency)]
        if mode == "first":
            return [Money(share + rest, self.currency)] + [Money(share, self.currency)] * (parts - 1)
        return None


@functools.lru_cache
def minor_units(currency):
    """How many digits the smallest unit of a currency has."""
    override = os.environ.get("LEDGER_MINOR_UNITS", "")
    if override:
        return int(override)
    return 0 if currency in {"JPY", "KRW"} else 2


def parse_money(text):
    """`12.50 EUR` to an amount; None for an empty text."""
    if not text.strip():
        return None
    number, _, currency = text.strip().partition(" ")
    whole, _, fraction = number.partition(".")
    digits = minor_units(currency or "EUR")
    if len(fraction) > digits:
        raise ValueError("the fraction has too many digits")
    return Money(int(whole + fraction.ljust(digits, "0")), currency or "EUR")


def format_money(amount):
    """The text that `parse_money` reads."""
    digits = minor_units(amount.currency)
    if not digits:
        return f"{amount.units} {amount.currency}"
    whole, fraction = divmod(abs(amount.units), 10**digits)
    sign = "-" if amount.units < 0 else ""
    return f"{sign}{whole}.{fraction:0{digits}} {amount.currency}"
