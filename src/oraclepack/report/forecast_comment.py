"""A forecast in Markdown, for a comment on a pull request."""

from oraclepack.journal.costs import money
from oraclepack.report.github import plain
from oraclepack.run.forecast import CostForecast, CostRange, PlannedStepCost

_HEAD = (
    "| step | title | calls to ask | cached | input tokens | likely cost |\n"
    "|---|---|---|---|---|---|\n"
)
_MOST_FILES = 6


def comment(found: CostForecast, pack: str) -> str:
    """The figures, what stands out, and a row for every step that asks."""
    rows = "".join(_row(step) for step in found.steps if step.calls)
    return (
        f"### Forecast of {plain(pack)}\n\n{_figures(found)}\n\n{_notes(found)}"
        f"<details><summary>Steps</summary>\n\n{_HEAD}{rows}\n</details>\n"
    )


def cost_words(cost: CostRange | None, unpriced: int) -> str:
    """`$41.20 ($30.00 to $66.00)`, with the calls whose price nobody knows."""
    said = []
    if cost is not None:
        said.append(f"{money(cost.likely)} ({money(cost.low)} to {money(cost.high)})")
    if unpriced:
        said.append(f"{unpriced} calls of unknown price")
    return ", ".join(said) or "nothing"


def _figures(found: CostForecast) -> str:
    return (
        f"**{found.to_ask} calls to ask**, {found.cached} cached, about "
        f"{found.input_tokens:,} input tokens: **{cost_words(found.cost, found.unpriced_calls)}**."
    )


def _notes(found: CostForecast) -> str:
    notes = []
    for one in found.repeated[:3]:
        listed = ", ".join(plain(path) for path in one.files[:_MOST_FILES])
        more = ", …" if len(one.files) > _MOST_FILES else ""
        cost = f": {money(one.cost)}" if one.cost is not None else ""
        notes.append(f"- {len(one.files)} files are sent {one.calls} times{cost} ({listed}{more})")
    notes += [f"- call {place} does not fit its model" for place in found.too_long]
    notes += [f"- {plain(problem)}" for problem in found.missing]
    return "".join(f"{note}\n" for note in notes) + ("\n" if notes else "")


def _row(step: PlannedStepCost) -> str:
    asked = [call for call in step.calls if call.seconds]
    tokens = sum(call.input_tokens or 0 for call in asked)
    cached = sum(call.fate == "cached" for call in step.calls)
    cost = money(step.cost.likely) if step.cost is not None else ""
    cells = (step.step_id, plain(step.title), str(len(asked)), str(cached), f"{tokens:,}", cost)
    return f"| {' | '.join(cells)} |\n"
