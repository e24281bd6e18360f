"""`runs diff --fail-on`: what the second run may not be worse in."""

import re
from collections.abc import Callable, Iterable
from decimal import Decimal

from oraclepack.errors import UsageError, did_you_mean
from oraclepack.system.printable import quantity
from oraclepack.view.report.comparison import AnswerChange, PolicyBreach, RunComparison
from oraclepack.view.report.figures import amount, duration

_GROWTH = re.compile(r"(?P<what>cost|time)\+(?P<percent>\d{1,4}(?:\.\d{1,2})?)%")
_SIMPLE: dict[str, Callable[[RunComparison], tuple[int, str]]] = {
    "dropped-tasks": lambda made: (made.dropped_tasks, "task is gone|tasks are gone"),
    "added-tasks": lambda made: (made.added_tasks, "task is new|tasks are new"),
    "changed-answers": lambda made: (
        made.totals[AnswerChange.CHANGED]
        + made.totals[AnswerChange.ONLY_IN_FIRST]
        + made.totals[AnswerChange.ONLY_IN_SECOND],
        "answer says something else|answers say something else",
    ),
    "dropped-answers": lambda made: (
        made.totals[AnswerChange.ONLY_IN_FIRST],
        "answer is gone|answers are gone",
    ),
}
POLICIES = (*_SIMPLE, "cost+N%", "time+N%")


def read_policies(words: Iterable[str]) -> tuple[str, ...]:
    """The policies of a command line, each several if separated by commas."""
    names = tuple(
        dict.fromkeys(one.strip() for word in words for one in word.split(",") if one.strip())
    )
    for one in names:
        if one not in _SIMPLE and _GROWTH.fullmatch(one) is None:
            hint = did_you_mean(one, POLICIES) or f"there are {', '.join(POLICIES)}"
            raise UsageError(f"--fail-on: {one!r} is unknown", hint=hint)
    return names


def breaches_of(comparison: RunComparison, policies: Iterable[str]) -> tuple[PolicyBreach, ...]:
    """The policies that the second run does not meet."""
    breaches = ((one, _breach(comparison, one)) for one in policies)
    return tuple(PolicyBreach(one, reason) for one, reason in breaches if reason)


def _breach(comparison: RunComparison, policy: str) -> str:
    grown = _GROWTH.fullmatch(policy)
    if grown is None:
        number, words = _SIMPLE[policy](comparison)
        one, several = words.split("|")
        return quantity(number, one, several) if number else ""
    most = 1 + Decimal(grown["percent"]) / 100
    if grown["what"] == "time":
        before, now = comparison.first.worked_ms, comparison.second.worked_ms
        return f"{duration(before)} became {duration(now)}" if now > before * most else ""
    first, second = comparison.first.cost, comparison.second.cost
    if first.cost is None or second.cost is None or second.unknown_calls:
        return "" if not second.calls else "the cost of a run is not known"
    is_over = second.cost > first.cost * most
    return f"{amount(first.cost)} became {amount(second.cost)}" if is_over else ""
