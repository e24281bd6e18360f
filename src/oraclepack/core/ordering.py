"""The order of the steps: ROI descending, ties by effort ascending."""

from collections.abc import Iterable

import msgspec

from oraclepack.core.step import Step


class Disorder(msgspec.Struct, frozen=True):
    """A step that should stand before the one above it."""

    step_id: str
    line: int
    message: str


def roi_disorder(steps: Iterable[Step]) -> tuple[Disorder, ...]:
    """Each step that scores higher than the scored step before it.

    Steps without a number in ROI are passed over: another rule asks for the number.
    """
    found: list[Disorder] = []
    before: Step | None = None
    for step in steps:
        if step.number("ROI") is None:
            continue
        message = _wrong(before, step) if before is not None else None
        if message is not None:
            found.append(Disorder(step.id, step.header.span.line, message))
        before = step
    return tuple(found)


def _wrong(before: Step, step: Step) -> str | None:
    above, own = before.number("ROI"), step.number("ROI")
    assert above is not None
    assert own is not None
    if own > above:
        return (
            f"step {step.id} has ROI {step.attribute('ROI')} but follows step {before.id} "
            f"with ROI {before.attribute('ROI')}"
        )
    first, second = before.number("effort"), step.number("effort")
    if own == above and first is not None and second is not None and second < first:
        return (
            f"steps {before.id} and {step.id} have the same ROI, but step {step.id} "
            f"takes less effort ({step.attribute('effort')} against {before.attribute('effort')})"
        )
    return None
