"""What a question is worth, from measured facts alone.

ROI        = impact × confidence ÷ effort
impact     = 2, + 1 for each doubling of finds (3 at most), of importing files (3 at most)
             and of every second doubling of changes (2 at most); 3 where nothing was found
confidence = 0.50, + 0.20 if the reference shows what is asked about, + 0.05 for each
             doubling of finds (3 at most) and for each neighbour; 0.30 where nothing was found
effort     = 1 to 5, by the size of what has to be read: up to 8, 32, 128, 512 KB, more
"""

from dataclasses import dataclass

from oraclepack.authoring.choose import ChosenQuestion
from oraclepack.authoring.survey import Survey

_KILOBYTES = (8, 32, 128, 512)
_URGENT = 7
"""From this impact on a question is for now."""


@dataclass(frozen=True, slots=True)
class Score:
    """The numbers of a step header; confidence and ROI in hundredths, so that they are exact."""

    impact: int
    confidence: int
    effort: int

    @property
    def roi(self) -> int:
        return (2 * self.impact * self.confidence + self.effort) // (2 * self.effort)

    @property
    def horizon(self) -> str:
        return "Immediate" if self.impact >= _URGENT else "NearTerm"

    @property
    def header(self) -> str:
        return (
            f"ROI={_decimal(self.roi)} impact={self.impact} confidence={_decimal(self.confidence)}"
            f" effort={self.effort} horizon={self.horizon}"
        )


def score(found: Survey, choice: ChosenQuestion) -> Score:
    """The score of one choice."""
    reference = choice.reference
    if reference is None:
        return Score(impact=3, confidence=30, effort=1)
    finds = reference.count(choice.trait).bit_length() if choice.trait else 0
    impact = 2 + min(finds, 3) + min(len(reference.importers).bit_length(), 3)
    impact += min(reference.churn.bit_length() // 2, 2)
    confidence = 50 + 20 * (choice.trait is not None) + 5 * min(finds, 3)
    confidence += 5 * len(choice.neighbours)
    size = sum(found.sources[path].size for path in choice.attached)
    effort = 1 + sum(size > limit * 1024 for limit in _KILOBYTES)
    return Score(impact, min(confidence, 95), effort)


def _decimal(hundredths: int) -> str:
    return f"{hundredths // 100}.{hundredths % 100:02}"
