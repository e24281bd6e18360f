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
from oraclepack.authoring.scoring import QuestionScore, score_candidate
from oraclepack.authoring.source_facts import MarkKind

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
_CALLERS_MATTER = "option-combinations"
"""The kind whose answer depends on who calls the function."""
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
        one = _with_code_only(survey, _with_callers(survey, promising), limits.max_files)
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


def _with_callers(survey: RepositorySurvey, one: QuestionCandidate) -> QuestionCandidate:
    """The candidate with lines that call its function: they show what a fault in it affects."""
    source = survey.files[one.reference].source
    if source is None or one.key != _CALLERS_MATTER or len(one.paths) > 1:
        return one
    function = source.around(one.evidence[0].line)
    if function is None or source.qualified(function) != one.subject:
        return one
    uses = {u.path: u for u in survey.uses(one.reference, one.subject)[::-1]}
    called = [Place(path, uses[path].line) for path in sorted(uses)]
    if not called:
        names = {f"{root}{function.name}" for root in ("", "self.", "this.", "cls.")}
        called = [
            Place(one.reference, m.line)
            for m in source.of(MarkKind.CALL)
            if m.name in names and not function.line <= m.line <= function.end_line
        ]
    most = max(min(MOST_EVIDENCE - len(one.evidence), 2), 0)
    return replace(one, evidence=(*one.evidence, *called[:most]))


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
