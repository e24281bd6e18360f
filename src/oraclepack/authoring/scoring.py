"""The numbers of a step header, from measured facts alone, with the reasons.

ROI        = impact × confidence ÷ effort
impact     = severity of the kind (1 to 4), + centrality of the file (0 to 3), + fixes in its
             history (0 to 2), + 1 each if the symbol is public, if no test reaches the file, and
             if five lines or more of other files call it; at most 10
confidence = how surely the pattern is a matter (0.65 to 0.85), + 0.05 from four quoted lines on,
             + 0.05 when a second file shows it, - 0.15 where less than 15 lines of one file are
             all there is to read
effort     = 2, + 1 each when the functions that must be read pass 60, 200 and 500 lines
"""

from dataclasses import dataclass

from oraclepack.authoring.question_candidate import QuestionCandidate
from oraclepack.authoring.repository_survey import RepositorySurvey
from oraclepack.authoring.source_facts import Definition

_READING = (60, 200, 500)
_GLANCE = 15
"""Lines in one file that are read faster than a question about them is asked."""
_URGENT = 7
"""From this impact on a question is for now."""
_MANY_LINES = 4
_OFTEN = 5


@dataclass(frozen=True, slots=True)
class QuestionScore:
    """The numbers of a step header; confidence and ROI in hundredths, so that they are exact."""

    impact: int
    confidence: int
    effort: int
    reasons: str
    """Where the numbers come from, in one line."""

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


def score_candidate(survey: RepositorySurvey, candidate: QuestionCandidate) -> QuestionScore:
    """The score of one question, with its reasons."""
    path = candidate.reference
    definition = _definition(survey, candidate)
    called = len(survey.uses(path, definition.name)) if definition is not None else 0
    standing, trouble = survey.standing(path), survey.trouble(path)
    points = {
        f"severity {candidate.text.severity}": candidate.text.severity,
        f"centrality {standing} ({_plural(len(survey.importers(path)), 'importer')})": standing,
        f"history {trouble} ({_plural(survey.files[path].fixes, 'fix', 'es')})": trouble,
        "public 1": definition is not None and definition.is_public,
        "untested 1": survey.has_tests and not survey.tests_of(path),
        f"called 1 ({called} times)": called >= _OFTEN,
    }
    impact = min(sum(points.values()), 10)
    confidence = candidate.text.certainty + 5 * (len(candidate.evidence) >= _MANY_LINES)
    confidence = min(confidence + 5 * (len(candidate.paths) > 1), 95)
    reading = _lines_to_read(survey, candidate)
    is_glance = reading < _GLANCE and len(candidate.paths) == 1
    confidence -= 15 * is_glance
    effort = 2 + sum(reading > limit for limit in _READING)
    reasons = (
        f"impact {impact} = {' + '.join(text for text, count in points.items() if count)};"
        f" confidence {_decimal(confidence)} from {_plural(len(candidate.evidence), 'line')} in"
        f" {_plural(len(candidate.paths), 'file')}; effort {effort} for"
        f" {_plural(reading, 'line')} to read{' at a glance' if is_glance else ''}"
    )
    return QuestionScore(max(impact, 1), confidence, effort, reasons)


def _definition(survey: RepositorySurvey, candidate: QuestionCandidate) -> Definition | None:
    source = survey.files[candidate.reference].source
    first = next((p for p in candidate.evidence if p.path == candidate.reference), None)
    return source.around(first.line) if source is not None and first is not None else None


def _lines_to_read(survey: RepositorySurvey, candidate: QuestionCandidate) -> int:
    """The lengths of the functions around the evidence; a class counts as the part quoted."""
    read: set[tuple[str, int]] = set()
    for place in candidate.evidence:
        source = survey.files[place.path].source
        around = source.around(place.line) if source is not None else None
        if around is not None and around.is_callable:
            read |= {(place.path, n) for n in range(around.line, around.end_line + 1)}
        else:
            read |= {(place.path, n) for n in range(place.line - 5, place.line + 15)}
    return len(read)


def _plural(count: int, noun: str, ending: str = "s") -> str:
    return f"{count} {noun}{'' if count == 1 else ending}"


def _decimal(hundredths: int) -> str:
    return f"{hundredths // 100}.{hundredths % 100:02}"
