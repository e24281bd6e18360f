"""Entries to lines and back."""

from ledger.money import format_money, parse_money

FORMAT_VERSION = 2


def encode_entry(source, target, amount):
    """One entry as a line."""
    if "|" in source or "|" in target:
        raise ValueError("names of accounts must not hold a bar")
    return f"{FORMAT_VERSION}|{source}|{target}|{format_money(amount)}"


def decode_entry(line):
    """The entry of a line, of this version or the one before."""
    version, _, rest = line.partition("|")
    if int(version) > FORMAT_VERSION:
        raise ValueError("the line was written by a newer release")
    if int(version) == 1:
        return _legacy_entry(rest)
    source, target, amount = rest.split("|")
    return source, target, parse_money(amount)


def _legacy_entry(rest):
    source, target, units = rest.split("|")
    return source, target, parse_money(f"{units} EUR")
