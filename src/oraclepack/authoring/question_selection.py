"""Select the questions of a pack from all candidates, by fixed rules without randomness.

First the best question of each category is taken, then one for each of the most central files,
then the most valuable of the rest. The value of a candidate falls with every question that is
already chosen: by 10 % for each of the same kind (30 % for common kinds), by 30 % for each about
the same file, and by 5 % for each of the same category. Two questions never quote the same line,
except the first line of a definition.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from oraclepack.authoring.central_questions import CENTRAL_FILES, LAST_RESORT
from oraclepack.authoring.question_candidate import (
    FEWEST_EVIDENCE,
    MOST_EVIDENCE,
    Place,
    QuestionCandidate,
    on_one_line,
)
from oraclepack.authoring.repository_survey import RepositorySurvey
from oraclepack.authoring.scoring import QuestionScore, rough_value, score_candidate
from oraclepack.authoring.source_facts import MarkKind
from oraclepack.pack.model import CATEGORIES

MOST_FILES = 3
"""The reference and two neighbours."""
_MOST_OF_A_KIND = 4
_MOST_OF_A_COMMON_KIND = 2
_COMMON_KINDS = frozenset(
    {"callers", "untested", "silent-error", "decision-order", "error-messages", "open-note"}
    | {"broad-handler", "two-copies", "log-lines", "platform-branch", "optional-dependency"}
    | {"unhandled-member", "version-branches", "import-cycle"}
)
"""Kinds of which nearly every repository has many candidates."""
_CALLER_DEPENDENT_KINDS = frozenset(
    {"no-timeout", "half-done-files", "check-then-act", "retry-loop", "resource-lifetime"}
    | {"ordered-steps", "broad-handler", "silent-error", "background-task", "blocking-in-async"}
    | {"partial-update", "decision-order", "work-in-loop", "unhandled-member", "dangerous-call"}
)
"""Kinds whose answer depends on who calls the function."""
_MOST_OF_A_FILE = 3
_MANY = 1000
"""With more candidates than this, only the best of each kind are scored."""
_MOST_SCORED_OF_A_KIND = 100
_LEAST_VALUE = 110
"""Impact × confidence (in hundredths) below which a question is not worth its answer."""
_LEAST_OF_CATEGORY = 250
"""The value below which the best question of a category is not taken first."""
_LONGEST_QUESTION = 4000
"""Characters. A longer question quotes something that is not a name, such as a template string."""

PROFILES = {
    "security": {
        *("permissions", "dangerous-call", "secret-path", "unguarded-route", "access-check"),
        *("check-then-act", "limit", "no-timeout", "environment"),
    },
    "performance": {
        *("caching/state", "work-in-loop", "blocking-in-async", "cached-result", "module-state"),
        *("background jobs", "no-timeout", "limit"),
    },
    "api": {
        *("contracts/interfaces", "callers", "option-combinations", "two-results", "routes"),
        *("command-options", "deprecation", "changed-signature", "round-trip", "error-messages"),
    },
    "tests": {
        *("untested", "fixed-again", "decision-order", "round-trip", "unhandled-member"),
        *("two-copies", "limit", "changed-behaviour", "added-code"),
    },
    "onboarding": {
        *("entry-point", "callers", "decision-order", "command-options", "import-cycle"),
        *("UX flows", "routes", "environment", "legacy-path"),
    },
}
"""What each profile prefers: categories and kinds of questions."""


@dataclass(frozen=True, slots=True)
class SelectedQuestion:
    """A selected question with its score and its attached files."""

    candidate: QuestionCandidate
    score: QuestionScore
    attachments: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class QuestionLimits:
    """The limits that the user sets for the selection."""

    count: int = 20
    profile: str = ""
    focus: Callable[[QuestionCandidate], bool] = lambda _: True
    is_focused: bool = False
    """The user named files or symbols: any number of questions may be about one file."""
    max_files: int = MOST_FILES
    """How many files a question may have."""


def select_questions(
    survey: RepositorySurvey, candidates: Iterable[QuestionCandidate], limits: QuestionLimits
) -> list[SelectedQuestion]:
    """The questions worth asking, by ROI, the highest first; ties by effort, then by value."""
    scored = []
    for promising in _most_promising(survey, candidates, limits):
        candidate = _with_code_only(survey, _with_callers(survey, promising), limits.max_files)
        if candidate is None:
            continue
        score = score_candidate(survey, candidate)
        preferred = PROFILES.get(limits.profile, set())
        weight = 2.0 if {candidate.key, candidate.category} & preferred else 1.0
        if score.value >= _LEAST_VALUE:
            scored.append((score.value * weight, score, candidate))
    scored.sort(
        key=lambda one: (-one[0], -one[2].weight, one[2].reference, one[2].evidence, one[2].key)
    )
    chooser = _Chooser(survey, scored, limits)
    if not limits.profile:
        chooser.take_categories()
    chooser.take_central()
    chooser.take_best()
    chosen = sorted(
        chooser.chosen,
        key=lambda one: (-one[0].roi, one[0].effort, -one[0].value, one[1].reference, one[1].key),
    )
    return [
        SelectedQuestion(candidate, score, _attachments(survey, candidate, limits.max_files))
        for score, candidate in chosen
    ]


def _most_promising(
    survey: RepositorySurvey, candidates: Iterable[QuestionCandidate], limits: QuestionLimits
) -> list[QuestionCandidate]:
    """The candidates within the limits; of very many, only the best of each kind."""
    allowed = [
        candidate
        for candidate in candidates
        if limits.focus(candidate) and (not survey.is_limited or _touches_change(survey, candidate))
    ]
    if len(allowed) <= _MANY:
        return allowed
    central = {*survey.central[:CENTRAL_FILES]}
    ranked = sorted(
        allowed, key=lambda c: (-rough_value(survey, c), -c.weight, c.reference, c.evidence, c.key)
    )
    per_kind: Counter[str] = Counter()
    chosen = []
    for candidate in ranked:
        per_kind[candidate.key] += 1
        if per_kind[candidate.key] <= _MOST_SCORED_OF_A_KIND or candidate.reference in central:
            chosen.append(candidate)
    return chosen


class _Chooser:
    """The questions chosen so far, and what they rule out."""

    def __init__(
        self,
        survey: RepositorySurvey,
        scored: Sequence[tuple[float, QuestionScore, QuestionCandidate]],
        limits: QuestionLimits,
    ) -> None:
        self._survey = survey
        self._scored = scored
        self._count = limits.count
        self._is_focused = limits.is_focused
        self._preferred = PROFILES.get(limits.profile, set())
        self._quoted: set[Place] = set()
        self._texts: dict[tuple[str, str], list[set[str]]] = {}
        self._kinds: Counter[str] = Counter()
        self._files: Counter[str] = Counter()
        self._categories: Counter[str] = Counter()
        self._subjects: set[tuple[str, str]] = set()
        self._is_filling = False
        self.chosen: list[tuple[QuestionScore, QuestionCandidate]] = []

    def take_categories(self) -> None:
        """Take the best question of each category."""
        first: dict[tuple[str, str], QuestionCandidate] = {}
        for _, _, candidate in self._scored:  # the most valuable one first
            first.setdefault((candidate.reference, candidate.subject), candidate)
        best = {id(candidate) for candidate in first.values() if candidate.severity > 1}
        for category in CATEGORIES:
            self._take_best_of(
                lambda c, category=category: c.category == category and id(c) in best,  # type: ignore[misc]
                least=_LEAST_OF_CATEGORY,
            )

    def take_central(self) -> None:
        """Take one question for each of the most central files."""
        for path in self._survey.central[:CENTRAL_FILES]:
            if self._survey.importers(path) and not self._files[path]:
                self._take_best_of(
                    lambda c, path=path: c.reference == path and self._is_preferred(c)  # type: ignore[misc]
                )

    def _is_preferred(self, candidate: QuestionCandidate) -> bool:
        return not self._preferred or bool({candidate.key, candidate.category} & self._preferred)

    def take_best(self) -> None:
        """Take the most valuable of the rest until there are enough."""
        while len(self.chosen) < self._count and self._take_best_of(lambda _: True):
            pass
        # If there are too few, allow more questions of the same kind.
        self._is_filling = True
        while len(self.chosen) < self._count and self._take_best_of(self._is_below_kind_limit):
            pass

    def _is_below_kind_limit(self, candidate: QuestionCandidate) -> bool:
        return self._kinds[candidate.key] < _MOST_OF_A_KIND

    def _take_best_of(self, fits: Callable[[QuestionCandidate], bool], *, least: float = 0) -> bool:
        if len(self.chosen) >= self._count:
            return False
        best: tuple[float, QuestionScore, QuestionCandidate] | None = None
        for value, score, candidate in self._scored:
            if best is not None and value <= best[0]:
                break  # sorted: no later candidate has a higher value
            if fits(candidate) and self._may_take(candidate):
                weighted = value * self._repetition_factor(candidate)
                if best is None or weighted > best[0]:
                    best = (weighted, score, candidate)
        if best is None or best[0] < least:
            return False
        self._take(best[1], best[2])
        return True

    def _repetition_factor(self, candidate: QuestionCandidate) -> float:
        """What is left of the value after the similar questions that are already chosen."""
        kind = 0.7 if candidate.key in _COMMON_KINDS else 0.9
        return float(
            kind ** self._kinds[candidate.key]
            * 0.7 ** (self._files[candidate.reference] / self._size_factor(candidate.reference))
            * 0.95 ** self._categories[candidate.category]
        )

    def _size_factor(self, path: str) -> float:
        """From 1 to 3: a file of thousands of lines may get more questions than a small one."""
        return 1 + min(len(self._survey.files[path].lines) / 1000, 2)

    def _may_take(self, candidate: QuestionCandidate) -> bool:
        """Whether the questions chosen so far leave this one possible."""
        most = _MOST_OF_A_COMMON_KIND if candidate.key in _COMMON_KINDS else _MOST_OF_A_KIND
        if self._kinds[candidate.key] >= most and not self._is_filling:
            return False
        most_of_file = _MOST_OF_A_FILE * self._size_factor(candidate.reference) + self._is_filling
        if self._files[candidate.reference] >= most_of_file and not self._is_focused:
            return False
        if (candidate.reference, candidate.subject) in self._subjects:
            return False
        if candidate.key == LAST_RESORT and self._files[candidate.reference]:
            return False
        if self._reads_like_another(candidate):
            return False
        return not self._quoted & _own_lines(self._survey, candidate)

    def _reads_like_another(self, candidate: QuestionCandidate) -> bool:
        """Whether half of its lines have the words of a chosen question of its kind and file.

        The answer for one of such sisters is the answer for the others.
        """
        texts = _own_texts(self._survey, candidate)
        return any(
            len(texts & chosen) * 2 >= len(texts) and len(texts & chosen) > 1
            for chosen in self._texts.get((candidate.key, candidate.reference), ())
        )

    def _take(self, score: QuestionScore, candidate: QuestionCandidate) -> None:
        self.chosen.append((score, candidate))
        self._quoted |= _own_lines(self._survey, candidate)
        texts = self._texts.setdefault((candidate.key, candidate.reference), [])
        texts.append(_own_texts(self._survey, candidate))
        self._kinds[candidate.key] += 1
        self._files[candidate.reference] += 1
        self._categories[candidate.category] += 1
        self._subjects.add((candidate.reference, candidate.subject))


def _with_callers(survey: RepositorySurvey, candidate: QuestionCandidate) -> QuestionCandidate:
    """The candidate with lines that call its function: they show what a fault in it affects."""
    source = survey.files[candidate.reference].source
    lines = [p.line for p in candidate.evidence if p.path == candidate.reference]
    if source is None or candidate.key not in _CALLER_DEPENDENT_KINDS or len(candidate.paths) > 1:
        return candidate
    function = next((d for d in source.definitions if d.line in lines and d.is_callable), None)
    if function is None or source.qualified(function) != candidate.subject:
        return candidate
    uses = {u.path: u for u in survey.uses(candidate.reference, candidate.subject)[::-1]}
    called = [Place(path, uses[path].line) for path in sorted(uses)]
    if not called:
        names = {f"{root}{function.name}" for root in ("", "self.", "this.", "cls.")}
        called = [
            Place(candidate.reference, m.line)
            for m in source.of(MarkKind.CALL)
            if m.name in names
            and "new" not in m.flags  # makes an object: a class of that name, not this function
            and not function.line <= m.line <= function.end_line
        ]
    most = min(MOST_EVIDENCE - len(candidate.evidence), 2)
    return replace(candidate, evidence=(*candidate.evidence, *called[: max(most, 0)]))


def _own_lines(survey: RepositorySurvey, candidate: QuestionCandidate) -> set[Place]:
    """The quoted lines that are not the first line of a definition; all if there are no others."""
    heads = set()
    for path in candidate.paths:
        source = survey.files[path].source
        heads |= {Place(path, d.line) for d in source.definitions} if source else set()
    own = {*candidate.evidence} - heads
    return own or {*candidate.evidence}


def _own_texts(survey: RepositorySurvey, candidate: QuestionCandidate) -> set[str]:
    """What the quoted lines say, without the first lines of definitions."""
    return {survey.line(p.path, p.line).strip() for p in _own_lines(survey, candidate)}


def _with_code_only(
    survey: RepositorySurvey, candidate: QuestionCandidate, max_files: int
) -> QuestionCandidate | None:
    """The candidate with valid evidence only: code in files that can be attached; else None."""
    places: list[Place] = []
    paths = {candidate.reference}
    for place in candidate.evidence:
        file = survey.files.get(place.path)
        if file is None or place in places or not survey.line(place.path, place.line):
            continue
        prose = file.source.prose if file.source is not None else frozenset()
        if place.line in prose and not candidate.is_about_notes:
            return None
        paths.add(place.path)
        if len(paths) > max_files:
            return None
        if len(places) < MOST_EVIDENCE:
            places.append(place)
    if len(places) < FEWEST_EVIDENCE or not any(p.path == candidate.reference for p in places):
        return None
    question = on_one_line(candidate.question)
    if len(question) > _LONGEST_QUESTION:
        return None
    return QuestionCandidate(
        **{
            name: getattr(candidate, name)
            for name in QuestionCandidate.__slots__
            if name not in {"question", "facts", "evidence"}
        },
        # Names may come from string literals and commits, so they may contain line breaks.
        question=question,
        facts=tuple(on_one_line(fact) for fact in candidate.facts),
        evidence=tuple(places),
    )


def _touches_change(survey: RepositorySurvey, candidate: QuestionCandidate) -> bool:
    return any(survey.is_changed(p.path, p.line, p.line) for p in candidate.evidence)


def _attachments(
    survey: RepositorySurvey, candidate: QuestionCandidate, max_files: int
) -> tuple[str, ...]:
    """The files of the evidence; if there are fewer than two, also a test of the reference."""
    attached = [*candidate.paths[:max_files]]
    tests = survey.tests_of(candidate.reference)
    wants_test = candidate.key not in {"untested", "import-cycle", "two-copies"}
    if len(attached) < min(max_files, 2) and tests and wants_test:
        attached.append(tests[0])
    return tuple(attached)
