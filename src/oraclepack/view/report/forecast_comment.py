"""A forecast in Markdown, for a comment on a pull request."""

from oraclepack.journal.costs import money
from oraclepack.run.forecast import CostForecast, CostRange, PlannedStepCost
from oraclepack.system.printable import quantity
from oraclepack.view.report.github import plain

_HEAD = (
    "| step | title | calls to ask | cached | input tokens | likely cost |\n"
    "|---|---|---|---|---|---|\n"
)
_MOST_FILES = 6


def comment(forecast: CostForecast, pack: str) -> str:
    """The figures, what stands out, and a row for every step that asks."""
    rows = "".join(_row(step) for step in forecast.steps if step.calls)
    return (
        f"### Forecast of {plain(pack)}\n\n{_figures(forecast)}\n\n{_notes(forecast)}"
        f"<details><summary>Steps</summary>\n\n{_HEAD}{rows}\n</details>\n"
    )


def cost_words(cost: CostRange | None, unpriced: int) -> str:
    """`$41.20 ($30.00 to $66.00)`, with the number of calls of unknown price."""
    parts = []
    if cost is not None:
        parts.append(f"{money(cost.likely)} ({money(cost.low)} to {money(cost.high)})")
    if unpriced:
        parts.append(f"{quantity(unpriced, 'call')} of unknown price")
    return ", ".join(parts) or "nothing"


def _figures(forecast: CostForecast) -> str:
    cost = cost_words(forecast.cost, forecast.unpriced_calls)
    return (
        f"**{quantity(forecast.to_ask, 'call')} to ask**, {forecast.cached} cached, about "
        f"{forecast.input_tokens:,} input tokens: **{cost}**."
    )


def _notes(forecast: CostForecast) -> str:
    notes = []
    for one in forecast.repeated[:3]:
        listed = ", ".join(plain(path) for path in one.files[:_MOST_FILES])
        more = ", …" if len(one.files) > _MOST_FILES else ""
        cost = f": {money(one.cost)}" if one.cost is not None else ""
        files = quantity(len(one.files), "file")
        notes.append(f"- {files} sent {one.calls} times{cost} ({listed}{more})")
    notes += [
        f"- {one.advice}: saves about {money(one.cost)} ({one.rule})" for one in forecast.savings
    ]
    notes += [f"- call {place} does not fit its model" for place in forecast.too_long]
    notes += [f"- {plain(problem)}" for problem in forecast.missing]
    return "".join(f"{note}\n" for note in notes) + ("\n" if notes else "")


def _row(step: PlannedStepCost) -> str:
    timed = [call for call in step.calls if call.seconds]
    tokens = sum(call.input_tokens or 0 for call in timed)
    cached = sum(call.fate == "cached" for call in step.calls)
    cost = money(step.cost.likely) if step.cost is not None else ""
    cells = (step.step_id, plain(step.title), str(len(timed)), str(cached), f"{tokens:,}", cost)
    return f"| {' | '.join(cells)} |\n"
