"""`plan`: what a run would ask, cost and take."""

from __future__ import annotations

from decimal import Decimal

import click

from oraclepack.cli.command import command
from oraclepack.cli.reply import Reply
from oraclepack.cli.run_options import picking, run_arguments
from oraclepack.cli.text import clock, columns, size, some_of
from oraclepack.cli.value_completion import pack_files
from oraclepack.journal.costs import calls_text, money
from oraclepack.run.entry_points import forecast_run
from oraclepack.run.forecast import CostForecast, CostRange, PlannedStepCost
from oraclepack.settings import call_settings as cs
from oraclepack.settings import run_settings as rs
from oraclepack.settings.registry import STRICT, Settings
from oraclepack.system.printable import quantity, single_lines
from oraclepack.view.report.forecast_comment import comment

_SHOWN = 5
"""Groups of repeated files that are listed."""


@command(
    "plan",
    data="forecast",
    changes="the record of a rehearsal below `.oraclepack/rehearsals`",
    effect="execute",
    starts="the bash of the pack in a copy of the project; asks nothing",
    settings=(STRICT, *rs.RUN_SETTINGS, *cs.CALL_SETTINGS),
    runs_something=True,
    examples=(
        "oraclepack plan pack.md",
        "oraclepack plan pack.md --max-parallel 4 --json",
        "oraclepack plan pack.md --format github > comment.md",
    ),
)
@click.argument("pack", shell_complete=pack_files)
@picking
@click.option(
    "--format",
    "form",
    type=click.Choice(("text", "github")),
    default="text",
    help="github: Markdown for a comment on a pull request.",
)
def plan(pack: str, *, settings: Settings, form: str, **flags: object) -> Reply:
    """Forecast the calls, tokens, cost and time of a run.

    Takes the options of `run`. The steps that would run are rehearsed in a throw-away copy of the
    project: their own commands run there, no tool is started and nothing is asked. Each call is
    shown as cached, adopted or to ask, with its files as the rehearsal saw them. Costs are low,
    likely and high; output tokens come from past answers of the model on this machine, else
    from stated assumptions. What following the advice of the rules OP7xx would save is summed up.
    """
    forecast, warnings = forecast_run(pack, settings, run_arguments(flags))
    text = comment(forecast, pack) if form == "github" else _text(single_lines(forecast))
    return Reply(forecast, text, warnings=warnings)


def _text(forecast: CostForecast) -> str:
    rows = [_row(step) for step in forecast.steps]
    heads = (
        "step",
        "decision",
        "to ask",
        "answered before",
        "files",
        "bytes",
        "input tokens",
        "likely cost (from, to)",
        "title",
    )
    return f"{columns(heads, rows)}\n{_summary(forecast)}{_notes(forecast)}"


def _row(step: PlannedStepCost) -> tuple[str, ...]:
    paid = [call for call in step.calls if call.fate in {"ask", "adopt"}]
    cached = sum(call.fate == "cached" for call in step.calls)
    return (
        step.step_id,
        step.decision,
        str(len(paid)),
        str(cached),
        str(sum(call.files for call in paid)),
        size(sum(call.bytes for call in paid)),
        f"{sum(call.input_tokens or 0 for call in paid):,}",
        _cost(step.cost, sum(call.is_unpriced for call in paid)),
        step.title,
    )


def _cost(cost: CostRange | None, unpriced: int) -> str:
    if cost is None:
        return "unknown" if unpriced else "-"
    more = f" + {unpriced} unknown" if unpriced else ""
    return f"{money(cost.likely)} ({money(cost.low)}, {money(cost.high)}){more}"


def _summary(forecast: CostForecast) -> str:
    counts = calls_text(forecast.to_ask, forecast.cached, forecast.adopted)
    refused = f", {forecast.refused} refused" if forecast.refused else ""
    cost = "unknown" if forecast.unpriced_calls else "nothing: no call is to be asked"
    if forecast.cost is not None:
        low, likely, high = map(
            money, (forecast.cost.low, forecast.cost.likely, forecast.cost.high)
        )
        cost = f"likely {likely}, from {low} to {high}"
    unpriced = forecast.unpriced_calls
    unknown = f"; {quantity(unpriced, 'call')} of unknown price" if unpriced else ""
    return (
        f"{counts}{refused}; {size(forecast.bytes)}, about {forecast.input_tokens:,} input tokens\n"
        f"cost: {cost}{unknown}\n"
        f"time: about {clock(round(forecast.seconds * 1000))} with {forecast.max_parallel} at once"
        f"{_longest_chain(forecast)}\n"
    )


def _longest_chain(forecast: CostForecast) -> str:
    steps = forecast.critical_path
    return f"; one after the other, whatever runs beside: {', '.join(steps)}" if steps[1:] else ""


def _notes(forecast: CostForecast) -> str:
    lines = []
    for one in forecast.repeated[:_SHOWN]:
        cost = f": {money(one.cost)}" if one.cost is not None else ""
        lines.append(
            f"sent {one.calls} times, about {one.input_tokens:,} tokens{cost}: {some_of(one.files)}"
        )
    lines += [
        f"advice {one.rule}: {one.advice}: saves about {money(one.cost)}"
        for one in forecast.savings
    ]
    if len(forecast.savings) > 1:
        total = sum((one.cost for one in forecast.savings), Decimal(0))
        lines.append(f"all advice together: saves about {money(total)}")
    lines += [f"call {place} is longer than its model takes" for place in forecast.too_long]
    lines += list(forecast.missing)
    lines += [f"assumption: {assumption}" for assumption in forecast.assumptions]
    return "".join(f"{line}\n" for line in lines)
