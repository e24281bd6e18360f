"""Select the questions of a pack from all candidates, by fixed rules without randomness.

The question of the highest worth is taken first. The worth of a candidate begins with that of its
kind, grows with how central and how often fixed its file is, and falls with every question that is
already chosen: by 15 % for each of the same kind and by 30 % for each about the same file. What
falls below the least worth is not asked. Two questions never quote the same line, except the first
line of a definition.
"""

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from oraclepack.authoring.question_candidate import (
    FEWEST_EVIDENCE,
    MOST_EVIDENCE,
    Place,
    QuestionCandidate,
    question_texts,
)
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


MOST_QUESTIONS = 10
MOST_FILES = 3
"""The reference and two neighbours."""
_MOST_OF_A_FILE = 2
_LEAST_WORTH = 36.0
_MOST_WEIGHT = 40
_MOST_OF_A_KIND = {"dense-function": 2}
"""What says least about its subject does not fill a pack."""
_PER_KIND = 0.85
_PER_FILE = 0.7
_ABOUT_CHANGES = frozenset({"changed-code", "added-code"})
_MANY = 300
"""Candidates of a kind beyond which only those with the most weight are looked at."""
_LONGEST_QUESTION = 4000
"""Characters. A longer question quotes something that is not a name, such as a template string."""


@dataclass(frozen=True, slots=True)
class SelectedQuestion:
    """A selected question with its score and its attached files."""

    candidate: QuestionCandidate
    score: QuestionScore
    attachments: tuple[str, ...]
    worth: float = 0.0


@dataclass(frozen=True, slots=True)
class QuestionLimits:
    """The limits that the user sets for the selection."""

    count: int = MOST_QUESTIONS
    focus: Callable[[QuestionCandidate], bool] = lambda _: True
    is_focused: bool = False
    """The user named files or symbols: any number of questions may be about one file."""
    max_files: int = MOST_FILES
    """How many files a question may have."""


def select_questions(
    survey: RepositorySurvey, candidates: Iterable[QuestionCandidate], limits: QuestionLimits
) -> list[SelectedQuestion]:
    """The questions worth asking, by ROI, the highest first; ties by effort, then by worth."""
    possible = []
    for promising in _most_promising(survey, candidates, limits):
        one = _with_code_only(survey, promising, limits.max_files)
        if one is not None:
            possible.append((_worth(survey, one), one))
    possible.sort(key=lambda pair: (-pair[0], -pair[1].weight, pair[1].reference, pair[1].evidence))
    chosen: list[SelectedQuestion] = []
    quoted: set[Place] = set()
    heads: set[Place] = set()
    asked: set[tuple[str, str]] = set()
    kinds: Counter[str] = Counter()
    files: Counter[str] = Counter()
    while possible and len(chosen) < limits.count:
        left = [
            (worth * _PER_KIND ** kinds[one.key] * _PER_FILE ** files[one.reference], one)
            for worth, one in possible
            if not quoted & own_lines(survey, one)
            and one.evidence[0] not in heads
            and (one.key, _last(one.subject)) not in asked
            and kinds[one.key] < _MOST_OF_A_KIND.get(one.key, limits.count)
            and (limits.is_focused or files[one.reference] < _most_of_file(survey, one))
        ]
        best = max(left, key=lambda pair: pair[0], default=None)
        if best is None or best[0] < (0 if limits.is_focused else _LEAST_WORTH):
            break
        worth, one = best
        possible = [pair for pair in possible if pair[1] is not one]
        chosen.append(
            SelectedQuestion(
                one,
                score_candidate(survey, one),
                _attachments(survey, one, limits.max_files),
                worth,
            )
        )
        quoted |= own_lines(survey, one)
        asked.add((one.key, _last(one.subject)))
        heads |= {*one.evidence}
        kinds[one.key] += 1
        files[one.reference] += 1
    return in_order(chosen)


def in_order(chosen: Iterable[SelectedQuestion]) -> list[SelectedQuestion]:
    """By ROI, the highest first, then by effort, as packs must be; then by worth."""
    return sorted(
        chosen,
        key=lambda one: (
            *(-one.score.roi, one.score.effort, -one.worth),
            *(one.candidate.reference, one.candidate.key),
        ),
    )


def is_within(survey: RepositorySurvey, one: QuestionCandidate, limits: QuestionLimits) -> bool:
    """Whether a question is about what the user named by `--focus` and `--since`."""
    is_meant = survey.changes is None or any(survey.is_changed(*place) for place in one.evidence)
    return is_meant and limits.focus(one)


def _most_promising(
    survey: RepositorySurvey, candidates: Iterable[QuestionCandidate], limits: QuestionLimits
) -> list[QuestionCandidate]:
    """The candidates within the limits; of very many of a kind, those with the most weight."""
    allowed = [one for one in candidates if is_within(survey, one, limits)]
    if len(allowed) <= _MANY:
        return allowed
    ranked = sorted(allowed, key=lambda c: (-_worth(survey, c), -c.weight, c.reference, c.evidence))
    per_kind: Counter[str] = Counter()
    chosen = []
    for one in ranked:
        per_kind[one.key] += 1
        if per_kind[one.key] <= _MANY // len(question_texts()):
            chosen.append(one)
    return chosen


def _worth(survey: RepositorySurvey, one: QuestionCandidate) -> float:
    """What a question is worth before others are chosen."""
    path = one.reference
    amount = min(one.weight, _MOST_WEIGHT) / 4
    return one.text.worth + 4.0 * survey.standing(path) + 5.0 * survey.trouble(path) + amount


def _last(name: str) -> str:
    """A method without its class: the same pair of names in two classes is one question."""
    return name.rpartition(".")[2]


def _most_of_file(survey: RepositorySurvey, one: QuestionCandidate) -> float:
    """How many questions a file may get: a file of thousands of lines more than a small one."""
    if one.key in _ABOUT_CHANGES:
        return MOST_QUESTIONS
    return _MOST_OF_A_FILE + min(len(survey.files[one.reference].lines) / 1500, 2)


def own_lines(survey: RepositorySurvey, one: QuestionCandidate) -> set[Place]:
    """The quoted lines that are not the first line of a definition; all if there are no others."""
    heads = set()
    for path in one.paths:
        source = survey.files[path].source
        heads |= {Place(path, d.line) for d in source.definitions} if source else set()
    return {*one.evidence} - heads or {*one.evidence}


def _with_code_only(
    survey: RepositorySurvey, one: QuestionCandidate, max_files: int
) -> QuestionCandidate | None:
    """The candidate with valid evidence only: code in files that can be attached; else None."""
    places: list[Place] = []
    for place in one.evidence:
        file = survey.files.get(place.path)
        if file is None or place in places or not survey.line(place.path, place.line):
            continue
        if file.source is not None and place.line in file.source.prose:
            continue
        if len({one.reference, place.path, *(p.path for p in places)}) > max_files:
            continue
        places.append(place)
    has_reference = any(place.path == one.reference for place in places)
    if len(places) < FEWEST_EVIDENCE or not has_reference:
        return None
    if len(one.question) > _LONGEST_QUESTION:
        return None
    return replace(one, evidence=tuple(places[:MOST_EVIDENCE]))


def _attachments(
    survey: RepositorySurvey, one: QuestionCandidate, max_files: int
) -> tuple[str, ...]:
    """The files of the evidence, and a test of the reference where there is room for it."""
    attached = list(one.paths)
    tests = survey.tests_of(one.reference, one.subject) if one.text.test else []
    if len(attached) < min(max_files, 2) and tests:
        attached.append(tests[0])
    return tuple(attached)
