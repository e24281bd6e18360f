"""Which steps a table shows, and in which order."""

import re
from collections.abc import Iterable, Sequence
from operator import eq, ge, gt, le, lt

import msgspec

from oraclepack.errors import UsageError
from oraclepack.view.step_listing import ListedStep

_COMPARISON = re.compile(r"roi(?P<sign>>=|<=|>|<|=)(?P<number>-?\d+(?:\.\d+)?)", re.IGNORECASE)
_NAMED = re.compile(r"(?P<name>[a-z]+):(?P<value>.*)", re.IGNORECASE)
_FIELDS = {
    "category": "category",
    "cat": "category",
    "c": "category",
    "state": "state",
    "s": "state",
    "tool": "tool",
    "t": "tool",
}
_SIGNS = {"<": lt, ">": gt, "<=": le, ">=": ge, "=": eq}
SORTS = ("step", "ROI", "category", "state", "title")
HELP = "words, roi>5, roi<3, cat:caching, state:failed, tool:oracle"


class StepFilter(msgspec.Struct, frozen=True):
    """The parsed text of the filter field."""

    words: tuple[str, ...] = ()
    comparisons: tuple[tuple[str, float], ...] = ()
    fields: tuple[tuple[str, str], ...] = ()

    def accepts(self, step: ListedStep, state: str | None) -> bool:
        """Whether a step is shown; a step without an ROI fails every comparison."""
        text = f"{step.step_id} {step.title} {step.reference or ''}".lower()
        return (
            all(word in text for word in self.words)
            and all(
                step.roi is not None and _SIGNS[sign](step.roi, number)
                for sign, number in self.comparisons
            )
            and all(_field_matches(step, state, name, value) for name, value in self.fields)
        )


def read_filter(text: str) -> StepFilter:
    """`cache roi>5 state:failed` as a filter; UsageError for `roi>` without a number."""
    words: list[str] = []
    comparisons: list[tuple[str, float]] = []
    fields: list[tuple[str, str]] = []
    for word in text.split():
        compared, named = _COMPARISON.fullmatch(word), _NAMED.fullmatch(word)
        if compared is not None:
            comparisons.append((compared["sign"], float(compared["number"])))
        elif named is not None and named["name"].lower() in _FIELDS:
            fields.append((_FIELDS[named["name"].lower()], named["value"].lower()))
        elif word.lower().startswith("roi") and len(word) > 3 and word[3] in "<>=":
            raise UsageError(f"{word}: a number is missing", hint=HELP)
        else:
            words.append(word.lower())
    return StepFilter(tuple(words), tuple(comparisons), tuple(fields))


def _field_matches(step: ListedStep, state: str | None, name: str, value: str) -> bool:
    match name:
        case "category":
            return value in (step.category or "").lower()
        case "state":
            return (state or "pending").startswith(value)
        case _:
            return any(tool.startswith(value) for tool in step.tools)


def sorted_steps(
    steps: Iterable[tuple[int, ListedStep, str | None]], by: str, *, reverse: bool
) -> Sequence[tuple[int, ListedStep, str | None]]:
    """Rows of position in the pack, step and state, sorted by a column of `SORTS`."""

    def key(row: tuple[int, ListedStep, str | None]) -> tuple[object, ...]:
        place, step, state = row
        match by:
            case "ROI":
                return (step.roi is None, -(step.roi or 0.0), place)
            case "category":
                return (step.category or "~", place)
            case "state":
                return (state or "pending", place)
            case "title":
                return (step.title.lower(), place)
            case _:
                return (place,)

    return sorted(steps, key=key, reverse=reverse)
