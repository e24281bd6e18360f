"""Writes the table of prices from `genai-prices`: `python -m tests.price_table`, `make prices`."""

import re
import sys
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import msgspec

from oraclepack.system.digests import canonical_file
from oraclepack.tools.oracle_models import ORACLE_MODELS, api_name
from oraclepack.tools.prices import PriceTable, PriceTier, TokenPrice

PLACE = Path(__file__).parent.parent / "src/oraclepack/tools/prices.json"

PROVIDERS = {"openai": "openai", "anthropic": "anthropic", "google": "google", "xai": "x-ai"}
"""Ours, and what genai-prices calls them."""
OF_FAMILY = {
    "openai": re.compile(r"(?:gpt-[4-9]|o\d|codex)"),
    "anthropic": re.compile(r"claude-"),
    "google": re.compile(r"gemini-\d"),
    "xai": re.compile(r"grok-"),
}
NOT_TEXT = re.compile(
    r"image|audio|tts|realtime|transcribe|live|vision|voice|search|extended|instruct|\.ft|whisper"
)


def price_table(now: datetime) -> PriceTable:
    """The prices of text models on one day."""
    import genai_prices
    from genai_prices.data import providers

    listed = {provider.id: provider for provider in providers}
    wanted = {(api_name(name), model.provider) for name, model in ORACLE_MODELS.items()}
    for ours, theirs in PROVIDERS.items():
        names = (str(model.id) for model in listed[theirs].models)
        fitting = (n for n in names if OF_FAMILY[ours].match(n) and not NOT_TEXT.search(n))
        wanted |= {(name, ours) for name in fitting}
    models: dict[str, TokenPrice] = {}
    usage = genai_prices.Usage(input_tokens=1, output_tokens=1)
    for name, ours in sorted(wanted):
        try:
            priced = genai_prices.calc_price(
                usage, model_ref=name, provider_id=PROVIDERS[ours], genai_request_timestamp=now
            )
        except LookupError:
            continue
        found = token_price(priced.model_price)
        if found is not None:
            models[name] = found
    return PriceTable(f"genai-prices {genai_prices.__version__}", now.date().isoformat(), models)


def token_price(priced: Any) -> TokenPrice | None:
    """Input and output prices with their tiers; None for what is not sold by the token."""
    sides = [getattr(priced, name, None) for name in ("input_mtok", "output_mtok")]
    if None in sides:
        return None
    starts = sorted({tier.start for side in sides for tier in getattr(side, "tiers", ())})
    per_input, per_output = sides
    tiers = (
        PriceTier(start, _rate(per_input, start + 1), _rate(per_output, start + 1))
        for start in starts
    )
    cached, written = (
        None if side is None else _rate(side, 0)
        for side in (
            getattr(priced, "cache_read_mtok", None),
            getattr(priced, "cache_write_mtok", None),
        )
    )
    return TokenPrice(_rate(per_input, 0), _rate(per_output, 0), tuple(tiers), cached, written)


def _rate(side: Any, tokens: int) -> Decimal:
    if not hasattr(side, "tiers"):
        return Decimal(side)
    reached = [tier.price for tier in side.tiers if tokens > tier.start]
    return Decimal(reached[-1] if reached else side.base)


def main() -> int:
    table = price_table(datetime.now(UTC))
    PLACE.write_bytes(canonical_file(msgspec.to_builtins(table)))
    sys.stdout.write(f"{len(table.models)} models, {table.source}, {table.date}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
