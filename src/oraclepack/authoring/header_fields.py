"""The header of a step made complete: what is missing is read from the step itself."""

import difflib
import re
from dataclasses import dataclass

from oraclepack.pack.model import CATEGORIES, HEADER_FIELDS, Step
from oraclepack.pack.tool_call import AttachmentKind

_LINE = r"^[ \t]*{}[ \t]*:[ \t]*(?P<value>\S.*?)[ \t]*$"
_NEAR = 0.6
_EXACT = 0.05


@dataclass(frozen=True, slots=True)
class Numbers:
    """The scores of a header, as written."""

    roi: str
    impact: str
    confidence: str
    effort: str


@dataclass(frozen=True, slots=True)
class FilledHeader:
    """A complete header, what had to be filled in, and what could not be."""

    numbers: Numbers
    horizon: str
    category: str
    reference: str
    notes: tuple[str, ...] = ()
    reason: str | None = None

    @property
    def text(self) -> str:
        scores = (self.numbers.roi, self.numbers.impact, self.numbers.confidence)
        values = (*scores, self.numbers.effort, self.horizon, self.category, self.reference)
        return " ".join(f"{k}={v}" for k, v in zip(HEADER_FIELDS, values, strict=True))


def fill(step: Step, before: float | None) -> FilledHeader:
    """The header of a step; `before` is the ROI of the step above it."""
    numbers, scored = _numbers(step, before)
    category, from_where = _category(step)
    horizon = step.attribute("horizon") or _prompt_field(step, "Horizon") or "NearTerm"
    reference = step.attribute("reference") or _reference(step)
    notes = [scored] if scored else []
    if category and category != step.attribute("category"):
        notes.append(f"category={category} ({from_where})")
    for name, value in (("horizon", horizon), ("reference", reference)):
        if not step.attribute(name):
            notes.append(f"{name}={value}")
    reason = None if category else "it names no category"
    return FilledHeader(numbers, horizon, category, reference, tuple(notes), reason)


def _numbers(step: Step, before: float | None) -> tuple[Numbers, str]:
    """The scores, completed so that the formula holds; and a note when something was added."""
    roi, impact = step.number("ROI"), step.number("impact")
    confidence = step.number("confidence") or 1.0
    effort = step.number("effort") or 1.0
    if impact is None:
        roi = roi if roi is not None else (before if before is not None else 1.0)
        impact = round(roi * effort / confidence, 4)
    value = impact * confidence / effort
    holds = roi is not None and abs(roi - value) <= _EXACT
    numbers = Numbers(
        _number_text(step, "ROI", value if not holds else roi or 0.0, keep=holds),
        _number_text(step, "impact", impact),
        _number_text(step, "confidence", confidence),
        _number_text(step, "effort", effort),
    )
    given = [step.number(name) for name in ("ROI", "impact", "confidence", "effort")]
    if None in given:
        return numbers, f"ROI={numbers.roi} from what is given, the rest by the formula"
    return numbers, "" if holds else f"ROI={numbers.roi} by the formula"


def _number_text(step: Step, name: str, value: float, *, keep: bool = True) -> str:
    """The number as the author wrote it, if it is one, else ours."""
    if keep and step.number(name) is not None:
        return step.attribute(name) or ""
    return f"{value:.2f}" if name in {"ROI", "confidence"} else f"{value:g}"


def _category(step: Step) -> tuple[str, str]:
    for value, where in (
        (step.attribute("category"), "as the header means it"),
        (step.meta.category, "from the metadata"),
        (_prompt_field(step, "Category"), "from the prompt"),
    ):
        recognised = _known(value or "")
        if recognised:
            return recognised, where
    return "", ""


def _known(value: str) -> str:
    by_lower = {category.lower(): category for category in CATEGORIES}
    near = difflib.get_close_matches(value.strip("`\"' ").lower(), by_lower, 1, _NEAR)
    return by_lower[near[0]] if near else ""


def _prompt_field(step: Step, key: str) -> str:
    match = re.search(_LINE.format(key), _prompt(step), re.MULTILINE | re.IGNORECASE)
    return match["value"] if match else ""


def _prompt(step: Step) -> str:
    return "\n".join(call.prompt.text for call in step.calls[:1] if call.prompt is not None)


def _reference(step: Step) -> str:
    reference = step.meta.reference or _prompt_field(step, "Reference")
    if reference:
        return reference
    attached = (one for call in step.calls for one in call.attachments)
    first = (one.value for one in attached if one.kind is AttachmentKind.LITERAL)
    return next(first, "Unknown")
