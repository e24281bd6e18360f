"""What a model costs: whose price counts, what is unknown, and the sum of a call."""

from collections.abc import Mapping
from decimal import Decimal

import pytest

from oraclepack.tools.oracle_models import ORACLE_MODELS, input_limit, resolve_model
from oraclepack.tools.prices import (
    PriceTable,
    PriceTier,
    TokenPrice,
    list_prices,
    price_of,
    shipped_prices,
)

PRO = TokenPrice(Decimal(30), Decimal(180), (PriceTier(272_000, Decimal(60), Decimal(270)),))
PLAIN = TokenPrice(Decimal("1.75"), Decimal(14))
OWN = TokenPrice(Decimal(1), Decimal(2))
TABLE = PriceTable(
    "a list", "2026-11-01", {"gpt-5.5-pro": PRO, "gpt-5.2": PLAIN, "claude-sonnet-4-6": PLAIN}
)


@pytest.mark.parametrize(
    ("tokens", "price", "cost"),
    [
        pytest.param((17, 154), PLAIN, "0.002186", id="rounded to a millionth of a dollar"),
        pytest.param((1_000_000, 0), PLAIN, "1.75", id="a million tokens"),
        pytest.param((272_000, 1000), PRO, "8.34", id="up to the tier the base price holds"),
        pytest.param((272_001, 1000), PRO, "16.59006", id="above it the whole question is dearer"),
        pytest.param((0, 0), PRO, "0", id="nothing costs nothing"),
    ],
)
def test_cost(tokens: tuple[int, int], price: TokenPrice, cost: str) -> None:
    assert price.cost(*tokens) == Decimal(cost)


@pytest.mark.parametrize(
    ("model", "own", "price", "billed", "source"),
    [
        pytest.param("gpt-5.2", {}, PLAIN, "gpt-5.2", "a list", id="a name of the table"),
        pytest.param("GPT-5.2 ", {}, PLAIN, "gpt-5.2", "a list", id="capitals and spaces"),
        pytest.param(None, {}, PRO, "gpt-5.5-pro", "a list", id="no name is oracle's default"),
        pytest.param("gpt-5.1-pro", {}, PRO, "gpt-5.5-pro", "a list", id="sent as another model"),
        pytest.param("sonnet", {}, PLAIN, "claude-sonnet-4-6", "a list", id="an alias of oracle"),
        pytest.param(
            "gpt-5.2-2025-12-11", {}, PLAIN, "gpt-5.2-2025-12-11", "a list", id="a dated release"
        ),
        pytest.param(
            "gpt-5.1-pro", {"gpt-5.1-pro": OWN}, OWN, "gpt-5.5-pro", "settings", id="your own price"
        ),
        pytest.param(
            "gpt-5.1-pro",
            {"gpt-5.5-pro": OWN},
            OWN,
            "gpt-5.5-pro",
            "settings",
            id="your own price of the model that is billed",
        ),
        pytest.param(
            "my/model", {"my/model": OWN}, OWN, "my/model", "settings", id="only you know it"
        ),
    ],
)
def test_price(
    model: str | None, own: Mapping[str, TokenPrice], price: TokenPrice, billed: str, source: str
) -> None:
    found = price_of(model, own, TABLE)

    assert found is not None
    assert (found.price, found.billed_as, found.source) == (price, billed, source)
    assert found.date == (None if own else "2026-11-01")


@pytest.mark.parametrize(
    "model",
    [
        pytest.param("my/model", id="an unknown price"),
        pytest.param("gpt-6-pro", id="oracle refuses the name"),
        pytest.param("gpt-5.5", id="no row in the table"),
    ],
)
def test_an_unknown_price_is_none(model: str) -> None:
    assert price_of(model, {}, TABLE) is None


def test_the_shipped_table_knows_every_model_of_oracle() -> None:
    unknown = [name for name in ORACLE_MODELS if price_of(name, {}) is None]

    assert unknown == []
    assert shipped_prices().source.startswith("genai-prices ")
    assert all(row.price.input > 0 for row in list_prices({}).models)


def test_a_provider_s_own_name_is_listed_at_its_own_price() -> None:
    listed = {row.model: row for row in list_prices({"mine": OWN}).models}

    assert listed["gpt-5"].billed_as == "gpt-5"
    assert listed["mine"].source == "settings"
    assert listed["gpt-5.2-pro"].billed_as == "gpt-5.5-pro"


def test_a_model_that_oracle_does_not_know_stands_for_itself() -> None:
    assert resolve_model("my-own-model") == "my-own-model"
    assert input_limit("my-own-model") == 200_000
