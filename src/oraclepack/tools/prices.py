"""What models cost: a dated table of public prices, the user's own on top, and the arithmetic.

Prices are US dollars for a million tokens. An unknown price is None and never 0.
"""

import re
from collections.abc import Mapping
from decimal import Decimal
from functools import cache

import msgspec

from oraclepack.system.files import shipped
from oraclepack.system.paging import Paged
from oraclepack.tools.oracle_models import ORACLE_MODELS, api_name, input_limit, resolve_model

MILLION = 1_000_000
CENT_FRACTION = Decimal("0.000001")
"""Amounts are kept to a millionth of a dollar."""

BATCH_PART = Decimal("0.5")
"""What OpenAI, Anthropic and Google take for a question in a batch, as published in 2026-11."""

_DATED = re.compile(r"-(?:\d{4}-\d{2}-\d{2}|\d{8})$")
"""The day of a release at the end of a model's name. It does not change the price."""


class PriceTier(msgspec.Struct, frozen=True):
    """The price of a whole question that has more than so many input tokens."""

    above: int
    input: Decimal
    output: Decimal


class TokenPrice(msgspec.Struct, frozen=True):
    """The price of a model, in US dollars for a million tokens."""

    input: Decimal
    output: Decimal
    """Of all output tokens; those of reasoning are among them."""
    tiers: tuple[PriceTier, ...] = ()
    """Ordered by size."""
    cached: Decimal | None = None
    """Of input that was read shortly before; None where it is billed as other input."""
    cache_write: Decimal | None = None
    """Of input that it keeps for that; None where it is billed as other input."""

    def __str__(self) -> str:
        return f"{self.input}/{self.output}"

    def rates(self, input_tokens: int) -> tuple[Decimal, Decimal]:
        """The prices that hold for a question of this size."""
        reached = [tier for tier in self.tiers if input_tokens > tier.above]
        return (reached[-1].input, reached[-1].output) if reached else (self.input, self.output)

    def cost(
        self,
        input_tokens: int,
        output_tokens: int,
        cached: int = 0,
        written: int = 0,
        *,
        in_batch: bool = False,
    ) -> Decimal:
        """What a call costs, to a millionth of a dollar.

        `cached` and `written` are parts of the input; a tier raises them alike.
        """
        per_input, per_output = self.rates(input_tokens)
        plain = Decimal(max(0, input_tokens - cached - written))
        weighed = plain + cached * self._part(self.cached) + written * self._part(self.cache_write)
        amount = (per_input * weighed + per_output * output_tokens) / MILLION
        return (amount * BATCH_PART if in_batch else amount).quantize(CENT_FRACTION)

    def _part(self, rate: Decimal | None) -> Decimal:
        """A rate as a part of that of other input."""
        return Decimal(1) if rate is None or not self.input else rate / self.input


class ModelPrice(msgspec.Struct, frozen=True):
    """The price of a model, and its source."""

    model: str
    """The name it was looked up by."""
    billed_as: str
    """The name that the provider is sent."""
    price: TokenPrice
    source: str
    """`settings`, or the package that the table was made from, with its version."""
    date: str | None = None
    """The day on which the table was made; None for the user's own price."""


class PriceTable(msgspec.Struct, frozen=True):
    """Public prices on one day, by the name that a provider is sent."""

    source: str
    date: str
    models: dict[str, TokenPrice]


@cache
def shipped_prices() -> PriceTable:
    """The table that comes with the program. `make prices` writes it."""
    return msgspec.json.decode(shipped("oraclepack.tools", "prices.json"), type=PriceTable)


def price_of(
    model: str | None, own: Mapping[str, TokenPrice], table: PriceTable | None = None
) -> ModelPrice | None:
    """The price of a model as a call names it; None where it is unknown.

    The user's own price wins, be it given for the name in the call, for the model that
    oracle takes it for, or for the name that is billed.
    """
    resolved = resolve_model(model)
    if resolved is None:
        return None
    model_name = (model or resolved).strip().lower()
    billed = api_name(resolved)
    names = dict.fromkeys((model_name, resolved, billed, _DATED.sub("", billed)))
    for name in names:
        if name in own:
            return ModelPrice(model_name, billed, own[name], "settings")
    public = table or shipped_prices()
    for name in (billed, _DATED.sub("", billed)):
        if name in public.models:
            return ModelPrice(model_name, billed, public.models[name], public.source, public.date)
    return None


class PriceList(Paged, frozen=True):
    """Every model whose price is known."""

    source: str
    """What the table was made from."""
    date: str
    """The day on which the table was made."""
    models: tuple[ModelPrice, ...]


class PriceReport(msgspec.Struct, frozen=True):
    """What is known about the price of one model."""

    model: str
    """The name that was asked for."""
    resolved: str | None
    """The model that oracle takes it for over the API; null where oracle refuses the name."""
    price: ModelPrice | None
    """Null where it is not known: that is not a price of 0."""
    input_limit: int | None
    """The input tokens that oracle sends to it at most."""


def list_prices(own: Mapping[str, TokenPrice]) -> PriceList:
    """Every model whose price is known, by name: oracle's names, the table's, the user's own."""
    table = shipped_prices()

    def exact(name: str) -> ModelPrice | None:
        """The price under exactly this name: `gpt-5` of a provider is not what oracle means."""
        if name in ORACLE_MODELS:
            return price_of(name, own)
        if name in own:
            return ModelPrice(name, name, own[name], "settings")
        return ModelPrice(name, name, table.models[name], table.source, table.date)

    prices = map(exact, sorted({*ORACLE_MODELS, *table.models, *own}))
    return PriceList(table.source, table.date, tuple(price for price in prices if price))


def show_price(model: str, own: Mapping[str, TokenPrice]) -> PriceReport:
    """The price of one model, and its source."""
    resolved = resolve_model(model)
    limit = None if resolved is None else input_limit(resolved)
    return PriceReport(model, resolved, price_of(model, own), limit)
