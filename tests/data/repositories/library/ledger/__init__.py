"""Double-entry bookkeeping."""

from ledger.accounts import Account, Book
from ledger.codec import decode_entry, encode_entry
from ledger.money import Money

__all__ = ["Account", "Book", "Money", "decode_entry", "encode_entry"]
