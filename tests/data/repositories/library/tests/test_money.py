from ledger.money import Money, format_money, parse_money


def test_sum():
    assert Money(1).add(Money(2)).units == 3


def test_text():
    assert format_money(parse_money("12.50 EUR")) == "12.50 EUR"
