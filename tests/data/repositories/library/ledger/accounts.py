"""Accounts and the book that holds them."""

import threading

from ledger.kinds import Kind, sign_of
from ledger.money import Money, parse_money
from ledger.storage import append_entry, read_entries

_open_books = {}


class Account:
    """One account."""

    def __init__(self, name, kind=Kind.ASSET):
        self.name = name
        self.kind = kind
        self.balance = Money(0)
        self.entries = 0
        self._lock = threading.Lock()

    def post(self, amount):
        """Book an amount; the balance follows the kind of the account."""
        with self._lock:
            self.balance = self.balance.add(Money(sign_of(self.kind) * amount.units))
            self.entries = self.entries + 1

    def reset(self):
        """Forget everything that was booked."""
        self.balance = Money(0)
        self.entries = 0


class Book:
    """All accounts of one file."""

    def __init__(self, path):
        self.path = path
        self.accounts = {}
        self.last = None
        self.dirty = False

    def transfer(self, source, target, text):
        """Move an amount from one account to another and store the entry."""
        amount = parse_money(text)
        if amount.units < 0:
            raise ValueError("the amount of a transfer must not be negative")
        self.dirty = True
        self.account(source).post(Money(-amount.units))
        self.account(target).post(amount)
        append_entry(self.path, source, target, amount)
        self.last = (source, target, amount)

    def account(self, name):
        """The account of a name, made at first use."""
        if name not in self.accounts:
            self.accounts[name] = Account(name)
        return self.accounts[name]

    def load(self):
        """Book every stored entry again."""
        for source, target, amount in read_entries(self.path):
            self.account(source).post(Money(-amount.units))
            self.account(target).post(amount)
        self.dirty = False


def open_book(path):
    """The book of a path, shared by all callers of the process."""
    if path not in _open_books:
        _open_books[path] = Book(path)
        _open_books[path].load()
    return _open_books[path]
