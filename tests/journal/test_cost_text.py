"""Money as people read it."""

from decimal import Decimal

import pytest

from oraclepack.journal.costs import NO_COST, CostTotal, cost_text, money, short_cost

KNOWN = CostTotal(cost=Decimal("12.345"), calls=8)
SOME = CostTotal(cost=Decimal("0.5"), calls=3, unknown_calls=2, saved=Decimal(4), saved_calls=1)
UNKNOWN = CostTotal(calls=1, unknown_calls=1)


@pytest.mark.parametrize(
    ("amount", "text"),
    [
        pytest.param("0", "$0.00", id="nothing"),
        pytest.param("0.002186", "$0.002186", id="less than a cent in full"),
        pytest.param("0.0021000", "$0.0021", id="without zeros at the end"),
        pytest.param("1234.5", "$1,234.50", id="thousands"),
    ],
)
def test_amounts(amount: str, text: str) -> None:
    assert money(Decimal(amount)) == text


@pytest.mark.parametrize(
    ("total", "long", "short"),
    [
        pytest.param(NO_COST, "", "-", id="no call"),
        pytest.param(KNOWN, "$12.34 for 8 calls", "$12.34", id="all is known"),
        pytest.param(
            SOME,
            "$0.50 for 1 call, 2 calls of unknown cost, $4.00 saved by earlier answers",
            "$0.50 + 2 unknown",
            id="some is not known, some was saved",
        ),
        pytest.param(UNKNOWN, "1 call of unknown cost", "unknown", id="unknown is not $0"),
    ],
)
def test_totals(total: CostTotal, long: str, short: str) -> None:
    assert (cost_text(total), short_cost(total)) == (long, short)
