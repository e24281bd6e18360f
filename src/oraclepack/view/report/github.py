"""What GitHub shows: a run as a table, a forecast as a comment, findings beside lines."""

from collections.abc import Iterable, Mapping

from oraclepack.journal.costs import cost_text, money
from oraclepack.lint.finding import Finding, Severity
from oraclepack.run.forecast import CostForecast, CostRange, PlannedStepCost
from oraclepack.run.run_report import RunReport, StepReport
from oraclepack.system.markdown_text import escape
from oraclepack.system.printable import quantity

_SIGNS = {
    "ok": "✅",
    "accepted": "✅",
    "failed": "❌",
    "skipped": "⏭️",
    "pending": "⏳",
    "interrupted": "⏹️",
    "budget": "⏸️",
    "running": "⏳",
}
_HEAD = "| step | title | status | time | attempts | what happened |\n|---|---|---|---|---|---|\n"
_LONGEST = 200


def summary(report: RunReport, pack: str, titles: Mapping[str, str]) -> str:
    """A heading, the figures, and a row for every step."""
    head = f"### oraclepack: {plain(pack)}\n\n{_figures(report)}\n\n"
    rows = "".join(_row(step, titles.get(step.step_id, "")) for step in report.steps)
    table = f"{_HEAD}{rows}"
    rolled = (
        "" if report.rollback_status == "not_attempted" else f"\nRollback: {report.rollback_status}"
    )
    return f"{head}{table}{rolled}\n"


def plain(text: str) -> str:
    """Text that is in a table cell as it is: nothing in it is markup, and it is one line."""
    line = " ".join(text.split())
    short = line if len(line) <= _LONGEST else line[: _LONGEST - 1] + "…"
    return escape(short, cell=True)


def _figures(report: RunReport) -> str:
    figures = report.completion
    done = f"completion {figures.ok} of {figures.to_run}"
    cost = cost_text(report.cost)
    spent = f" Cost of the run so far: {cost}." if cost else ""
    return f"Run {plain(report.run_id)}: **{report.counted}**, {done}.{spent}"


def _row(step: StepReport, title: str) -> str:
    ran = step.decision == "run" and step.attempts > 0
    status = "already done" if step.decision == "done" else step.status
    took = f"{(step.duration_ms or 0) / 1000:.1f} s" if ran and step.duration_ms is not None else ""
    what = f"{step.error}: {step.message}" if ran and step.error else step.reason
    cells = (
        step.step_id,
        plain(title),
        f"{_SIGNS.get(step.status, '')} {status}".strip(),
        took,
        str(step.attempts) if step.attempts else "",
        plain(what),
    )
    return f"| {' | '.join(cells)} |\n"


_FORECAST_HEAD = (
    "| step | title | calls to ask | cached | input tokens | likely cost |\n"
    "|---|---|---|---|---|---|\n"
)
_MOST_FILES = 6


def forecast_comment(forecast: CostForecast, pack: str) -> str:
    """The figures, what stands out, and a row for every step that asks."""
    rows = "".join(_forecast_row(step) for step in forecast.steps if step.calls)
    return (
        f"### Forecast of {plain(pack)}\n\n{_forecast_figures(forecast)}\n\n{_notes(forecast)}"
        f"<details><summary>Steps</summary>\n\n{_FORECAST_HEAD}{rows}\n</details>\n"
    )


def cost_words(cost: CostRange | None, unpriced: int) -> str:
    """`$41.20 ($30.00 to $66.00)`, with the number of calls of unknown price."""
    parts = []
    if cost is not None:
        parts.append(f"{money(cost.likely)} ({money(cost.low)} to {money(cost.high)})")
    if unpriced:
        parts.append(f"{quantity(unpriced, 'call')} of unknown price")
    return ", ".join(parts) or "nothing"


def _forecast_figures(forecast: CostForecast) -> str:
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


def _forecast_row(step: PlannedStepCost) -> str:
    timed = [call for call in step.calls if call.seconds]
    tokens = sum(call.input_tokens or 0 for call in timed)
    cached = sum(call.fate == "cached" for call in step.calls)
    cost = money(step.cost.likely) if step.cost is not None else ""
    cells = (step.step_id, plain(step.title), str(len(timed)), str(cached), f"{tokens:,}", cost)
    return f"| {' | '.join(cells)} |\n"


_COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.ADVICE: "notice"}


def annotations(findings: Mapping[str, Iterable[Finding]]) -> str:
    """One workflow command per finding."""
    return "".join(
        _annotation(path, finding) for path, listed in findings.items() for finding in listed
    )


def _annotation(path: str, finding: Finding) -> str:
    where = {
        "file": path,
        "line": finding.span.line,
        "col": finding.span.column,
        "title": f"{finding.rule} {finding.name}",
    }
    properties = ",".join(f"{key}={_property(str(value))}" for key, value in where.items())
    step = f"step {finding.step_id}: " if finding.step_id else ""
    text = f"{step}{finding.message}" + (f" ({finding.hint})" if finding.hint else "")
    return f"::{_COMMANDS[finding.severity]} {properties}::{_message(text)}\n"


def _message(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _message(text).replace(":", "%3A").replace(",", "%2C")
