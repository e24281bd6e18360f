"""Tokens and money that a call used."""

from typing import TypeVar

import msgspec

Number = TypeVar("Number", int, float)


class Usage(msgspec.Struct, frozen=True, kw_only=True):
    """Tokens and money, as far as the tool tells them."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    reasoning_tokens: int | None = None
    total_tokens: int | None = None
    cost_usd: float | None = None

    def plus(self, other: "Usage") -> "Usage":
        """The sum, where what nobody tells stays unknown."""
        return Usage(
            input_tokens=_sum(self.input_tokens, other.input_tokens),
            output_tokens=_sum(self.output_tokens, other.output_tokens),
            reasoning_tokens=_sum(self.reasoning_tokens, other.reasoning_tokens),
            total_tokens=_sum(self.total_tokens, other.total_tokens),
            cost_usd=_sum(self.cost_usd, other.cost_usd),
        )


def _sum(one: Number | None, other: Number | None) -> Number | None:
    if one is None or other is None:
        return other if one is None else one
    return one + other
