"""OP301 to OP305, OP309: what a step header says, and whether it adds up."""

from collections.abc import Iterator

from oraclepack.errors import did_you_mean
from oraclepack.lint.finding import Severity
from oraclepack.lint.rule import Problem, Subject, rule
from oraclepack.pack.model import CATEGORIES, HEADER_FIELDS, META_OPENS, Attribute, Step
from oraclepack.pack.questions import roi_disorder
from oraclepack.pack.script import Span

NUMBERS = ("ROI", "impact", "confidence", "effort")
_EXACT = 1e-9
"""Room for what binary fractions do to decimal ones."""


@rule("OP301", Severity.WARNING, Severity.ERROR, only_strict=True)
def missing_header_field(subject: Subject) -> Iterator[Problem]:
    """A step header gives ROI, impact, confidence, effort, horizon, category and reference.

    Why: steps are chosen, ordered and turned into work by these fields.
    Fix: add the missing ones to the header line.

    Bad::
        # 01) ROI=4.8 impact=6 confidence=0.80 effort=1 category=invariants
        oracle -p "Why?" --write-output a.md

    Good::
        # 01) ROI=4.8 impact=6 confidence=0.80 effort=1 horizon=Immediate category=invariants reference=src/a.py
        oracle -p "Why?" --write-output a.md
    """
    for step in subject.pack.steps:
        missing = [name for name in HEADER_FIELDS if not step.attribute(name)]
        if missing:
            hint = f"add {' '.join(f'{name}=…' for name in missing)} to the header"
            message = f"the header of step {step.id} lacks {', '.join(missing)}"
            yield Problem(step.header.span, message, hint)


@rule("OP302", Severity.WARNING, Severity.ERROR)
def bad_number(subject: Subject) -> Iterator[Problem]:
    """ROI, impact, confidence and effort are plain numbers.

    Why: `...`, `TBD` or `high` can be neither ordered nor compared with a threshold.
    Fix: write a number, with a point before the decimals.

    Bad::
        # 01) ROI=... impact=6 confidence=0.80 effort=1 horizon=Immediate category=invariants reference=a
        oracle -p "Why?" --write-output a.md

    Good::
        # 01) ROI=4.8 impact=6 confidence=0.80 effort=1 horizon=Immediate category=invariants reference=a
        oracle -p "Why?" --write-output a.md
    """
    for step in subject.pack.steps:
        attributes = [(name, step.header.attributes.get(name)) for name in NUMBERS]
        wrong = [
            (name, each) for name, each in attributes if each and each.text and each.number is None
        ]
        if wrong:
            listed = ", ".join(f"{name}={each.text}" for name, each in wrong)
            message = f"no number in the header of step {step.id}: {listed}"
            yield Problem(wrong[0][1].span, message, "write numbers, such as confidence=0.8")


@rule("OP303", Severity.WARNING, Severity.ERROR)
def unknown_category(subject: Subject) -> Iterator[Problem]:
    """The category of a step is one of the ten fixed ones, spelled as they are.

    Why: coverage and the backlog are sorted by them.
    Fix: use contracts/interfaces, invariants, caching/state, background jobs, observability,
    permissions, migrations, UX flows, failure modes or feature flags.

    Bad::
        # 01) ROI=4.8 impact=6 confidence=0.80 effort=1 horizon=Immediate category=invariant reference=a
        oracle -p "Why?" --write-output a.md

    Good::
        # 01) ROI=4.8 impact=6 confidence=0.80 effort=1 horizon=Immediate category=invariants reference=a
        oracle -p "Why?" --write-output a.md
    """
    for step in subject.pack.steps:
        attribute = step.header.attributes.get("category")
        if attribute is not None and attribute.text and attribute.text not in CATEGORIES:
            hint = did_you_mean(attribute.text, CATEGORIES) or f"one of: {', '.join(CATEGORIES)}"
            message = f"step {step.id} has an unknown category: {attribute.text}"
            yield Problem(attribute.span, message, hint)


@rule("OP304", Severity.WARNING, Severity.ERROR)
def roi_order(subject: Subject) -> Iterator[Problem]:
    """Steps stand by ROI, the highest first; of equal ones, the one with less effort first.

    Why: a run that is stopped early has then asked the questions that are worth most.
    Fix: move the step up, or correct its numbers.

    Bad::
        # 01) ROI=2.0 impact=2 confidence=1.0 effort=1 horizon=Immediate category=invariants reference=a
        oracle -p "Why?" --write-output a.md
        # 02) ROI=4.0 impact=4 confidence=1.0 effort=1 horizon=Immediate category=invariants reference=b
        oracle -p "How?" --write-output b.md

    Good::
        # 01) ROI=4.0 impact=4 confidence=1.0 effort=1 horizon=Immediate category=invariants reference=b
        oracle -p "How?" --write-output b.md
        # 02) ROI=2.0 impact=2 confidence=1.0 effort=1 horizon=Immediate category=invariants reference=a
        oracle -p "Why?" --write-output a.md
    """
    for disorder in roi_disorder(subject.pack.steps):
        yield Problem(
            Span.at(disorder.line),
            disorder.message,
            "order the steps by ROI, the highest first; ties by effort, the least first",
            step=disorder.step_id,
        )


@rule("OP305", Severity.WARNING, Severity.ERROR)
def roi_formula(subject: Subject) -> Iterator[Problem]:
    """ROI is impact × confidence ÷ effort, as far as the written decimals show.

    Why: a score that does not follow from its parts cannot be compared with the others.
    Fix: write the value of the formula, or correct the parts. Rounded and cut decimals both pass,
    and decimals of the parts may themselves be rounded; whole numbers are taken as exact.

    Bad::
        # 01) ROI=5.0 impact=7 confidence=0.72 effort=2 horizon=Immediate category=invariants reference=a
        oracle -p "Why?" --write-output a.md

    Good::
        # 01) ROI=2.5 impact=7 confidence=0.72 effort=2 horizon=Immediate category=invariants reference=a
        oracle -p "Why?" --write-output a.md
    """
    for step in subject.pack.steps:
        problem = _formula_problem(step)
        if problem is not None:
            yield problem


def _formula_problem(step: Step) -> Problem | None:
    attributes = [step.header.attributes.get(name) for name in NUMBERS]
    known = [each for each in attributes if each is not None and each.number is not None]
    if len(known) < len(NUMBERS):
        return None
    roi, impact, confidence, effort = known
    formula = f"{impact.text} × {confidence.text} ÷ {effort.text}"
    if not effort.number:
        return Problem(effort.span, f"effort of step {step.id} is 0", "effort must be above 0")
    least, most = _bounds(impact, confidence, effort)
    unit = 10.0 ** -_decimals(roi)
    written = roi.number or 0.0
    if least <= written + unit + _EXACT and most >= written - unit / 2 - _EXACT:
        return None
    value = (impact.number or 0.0) * (confidence.number or 0.0) / effort.number
    message = f"ROI of step {step.id} is {roi.text}, but {formula} = {value:.4g}"
    return Problem(roi.span, message, f"write ROI={value:.{max(_decimals(roi), 1)}f}")


def _bounds(impact: Attribute, confidence: Attribute, effort: Attribute) -> tuple[float, float]:
    """The least and the greatest value that the parts, as rounded, can stand for."""
    values = [
        (top * share) / cost
        for top in _range(impact)
        for share in _range(confidence)
        for cost in _range(effort)
        if cost
    ]
    return min(values, default=0.0), max(values, default=0.0)


def _range(part: Attribute) -> tuple[float, float]:
    number = part.number or 0.0
    blur = 10.0 ** -_decimals(part) / 2 if _decimals(part) else 0.0
    return number - blur, number + blur


def _decimals(number: Attribute) -> int:
    _, _, decimals = number.text.partition(".")
    return len(decimals) if decimals.isdigit() else 0


@rule("OP309", Severity.WARNING)
def meta_disagrees(subject: Subject) -> Iterator[Problem]:
    """The metadata in a prompt names the same category and reference as the header.

    Why: the answer is filed by one of them, and it is unknown which one is right.
    Fix: correct the header or the `[oraclepack-meta]` block.

    Bad::
        # 01) category=invariants reference=src/a.py
        oracle --write-output a.md -p "[oraclepack-meta]
        Category: migrations
        [/oraclepack-meta]
        Why?"

    Good::
        # 01) category=invariants reference=src/a.py
        oracle --write-output a.md -p "[oraclepack-meta]
        Category: invariants
        [/oraclepack-meta]
        Why?"
    """
    for step in subject.pack.steps:
        metadata = {"category": step.meta.category, "reference": step.meta.reference}
        for name, value in metadata.items():
            header = step.attribute(name)
            if value and header and _folded(value) != _folded(header):
                message = f"the prompt of step {step.id} says {name} {value}, the header {header}"
                hint = f"let both name the same {name}"
                yield Problem(_meta_place(step, name), message, hint)


def _folded(text: str) -> str:
    return " ".join(text.strip("`\"' ").removeprefix("./").lower().split())


def _meta_place(step: Step, name: str) -> Span:
    """The line of the metadata, if the prompt is in the step as it is asked."""
    for call in step.calls:
        if call.prompt is None or META_OPENS not in call.prompt.text:
            continue
        for offset, line in enumerate(call.prompt.text.split("\n")):
            if line.strip().lower().startswith(f"{name}:"):
                place = call.prompt.span.line + offset
                return Span.at(place) if step.span.holds_line(place) else call.span
        return call.span
    return step.header.span
