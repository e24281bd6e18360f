"""`prices`: the prices of models, with their source and date."""

from __future__ import annotations

import click

from oraclepack import api
from oraclepack.cli.command import Group, LazyCommand, command
from oraclepack.cli.reply import Reply
from oraclepack.cli.run_options import paged
from oraclepack.cli.text import columns
from oraclepack.system.printable import single_lines

prices = Group(
    "prices",
    entries={
        "list": LazyCommand(f"{__name__}:list_models", "List the models whose price is known."),
        "show": LazyCommand(f"{__name__}:show", "Show the price of one model, and its source."),
    },
    help="Show the prices of models, with their source and date.",
)


@command(
    "list", data="prices", examples=("oraclepack prices list", "oraclepack prices list --json")
)
@paged
def list_models(limit: int | None, cursor: str | None, settings: api.Settings) -> Reply:
    """List the models whose price is known.

    Prices are US dollars for a million tokens. They come from a dated table in the program; a
    table [prices."MODEL"] with `input` and `output` in your own config file wins.
    """
    every = api.prices(settings).list()
    report = api.page(every, "models", lambda model: model.model, limit, cursor)
    heads = ("model", "input", "output", "source", "date")
    return Reply(report, columns(heads, map(_row, single_lines(report).models)))


@command(
    "show",
    data="price",
    examples=("oraclepack prices show gpt-5.5-pro", "oraclepack prices show sonnet --json"),
)
@click.argument("model", metavar="MODEL")
def show(model: str, settings: api.Settings) -> Reply:
    """Show the price of one model, and its source.

    MODEL is a name as oracle takes it; the name that oracle makes of it, and the one that is
    billed, are shown too.
    """
    report = api.prices(settings).show(model)
    return Reply(report, _text(single_lines(report)))


def _row(price: api.ModelPrice) -> tuple[str, ...]:
    rates = price.price
    return (price.model, str(rates.input), str(rates.output), price.source, price.date or "-")


def _text(report: api.PriceReport) -> str:
    if report.resolved is None:
        return f"{report.model}: oracle refuses this name over the API\n"
    meaning = f", for oracle {report.resolved}" if report.resolved != report.model else ""
    if report.price is None:
        return (
            f"{report.model}{meaning}: the price is unknown\n"
            f'  set it in your own config file: [prices."{report.resolved}"] with input = and '
            "output =, in dollars for a million tokens\n"
        )
    price, rates = report.price, report.price.price
    billed = f", billed as {price.billed_as}" if price.billed_as != report.resolved else ""
    since = f", {price.date}" if price.date else ""
    tiers = "".join(
        f"  above {tier.above:,} input tokens: ${tier.input} and ${tier.output}\n"
        for tier in rates.tiers
    )
    return (
        f"{report.model}{meaning}{billed}\n"
        f"  ${rates.input} for a million input tokens, ${rates.output} for a million output "
        f"tokens\n{tiers}"
        f"  source: {price.source}{since}\n"
        f"  oracle sends at most {report.input_limit or 0:,} input tokens\n"
    )
