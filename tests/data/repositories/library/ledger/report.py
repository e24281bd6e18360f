"""Sums for people."""

import logging
import warnings

from ledger.accounts import open_book
from ledger.kinds import Kind
from ledger.money import Money, format_money
from ledger.rates import convert

logger = logging.getLogger(__name__)


def balance_sheet(path, currency="EUR"):
    """The sums of assets and liabilities."""
    book = open_book(path)
    totals = {}
    for account in book.accounts.values():
        try:
            totals.setdefault(account.kind, []).append(convert(account.balance, currency))
        except Exception as error:
            logger.warning("no rate for %s: %s", account.name, error)
    logger.info("balance sheet of %s", path)
    return totals


def total_of(totals, kind):
    """The sum of one kind."""
    total = Money(0)
    for amount in totals.get(kind, []):
        total = total.add(amount)
    return total


def heading(kind):
    """What a kind is called in the report."""
    if kind is Kind.ASSET:
        return "Assets"
    if kind is Kind.LIABILITY:
        return "Liabilities"
    if kind is Kind.EQUITY:
        return "Equity"
    return ""


def print_sheet(path):
    """Print the sheet; use `balance_sheet` instead."""
    warnings.warn("print_sheet is deprecated", DeprecationWarning, stacklevel=2)
    for kind, amounts in balance_sheet(path).items():
        print(heading(kind), format_money(total_of({kind: amounts}, kind)))


def write_html(path, out):
    """The sheet as a page."""
    rows = []
    for kind, amounts in balance_sheet(path).items():
        total = total_of({kind: amounts}, kind)
        if total.units == 0:
            continue
        rows.append(f"<tr><td>{heading(kind)}</td><td>{format_money(total)}</td></tr>")
    with open(out, "w", encoding="utf-8") as page:
        page.write("<table>" + "".join(rows) + "</table>")


def write_text(path, out):
    """The sheet as plain text."""
    rows = []
    for kind, amounts in balance_sheet(path).items():
        total = total_of({kind: amounts}, kind)
        if total.units < 0:
            continue
        rows.append(f"{heading(kind)}: {format_money(total)}")
    with open(out, "w", encoding="utf-8") as page:
        page.write("\n".join(rows))
