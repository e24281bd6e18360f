from ledger.accounts import Book


def test_transfer(tmp_path):
    book = Book(str(tmp_path / "book"))
    book.transfer("cash", "rent", "10.00 EUR")
    assert book.account("rent").balance.units == 1000
