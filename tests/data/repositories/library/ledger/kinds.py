"""Kinds of accounts."""

from enum import Enum


class Kind(Enum):
    """What an account stands for."""

    ASSET = "asset"
    LIABILITY = "liability"
    INCOME = "income"
    EXPENSE = "expense"
    EQUITY = "equity"


def sign_of(kind):
    """Whether a debit raises (1) or lowers (-1) an account."""
    if kind is Kind.ASSET or kind is Kind.EXPENSE:
        return 1
    if kind is Kind.LIABILITY:
        return -1
    if kind is Kind.INCOME:
        return -1
    return 0
