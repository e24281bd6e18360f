"""Which of all possible questions are asked. Fixed rules, no chance.

First each category gives its best question, then the most central files get one each, then the
most valuable ones follow. A question loses 10 % of its value for each one of its kind that is
already chosen (30 % of the kinds that every repository offers), 30 % for each about the same file,
and 5 % for each of the same category. Two questions never quote the same line, except that of a
definition around it.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

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
_MOST_OF_A_PLAIN_KIND = 2
_PLAIN = frozenset(
    {"callers", "untested", "silent-error", "decision-order", "error-messages", "open-note"}
    | {"broad-handler", "two-copies", "log-lines", "platform-branch", "optional-dependency"}
    | {"unhandled-member", "version-branches", "import-cycle"}
)
"""Kinds that nearly every repository offers in any number."""
_FELT_BY_CALLERS = frozenset(
    {"no-timeout", "half-done-files", "check-then-act", "retry-loop", "resource-lifetime"}
    | {"ordered-steps", "broad-handler", "silent-error", "background-task", "blocking-in-async"}
    | {"partial-update", "decision-order", "work-in-loop", "unhandled-member", "dangerous-call"}
)
"""Kinds whose answer depends on who calls the function."""
_MOST_OF_A_FILE = 3
_CENTRAL = 5
"""The most central files that are always among the references."""
_MANY = 1000
_MOST_LOOKED_AT = 100
"""Of one kind, in a large repository. At most three of a kind are asked."""
_LEAST_VALUE = 110
"""Impact × confidence (in hundredths) below which a question is not worth its answer."""
_LEAST_OF_CATEGORY = 250
"""The value below which a category has no claim to a question of its own."""
_LONGEST_QUESTION = 4000
"""Characters; a longer one holds a name that is no name, such as a whole template string."""

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
        *("two-copies", "limit", "changed-behaviour"),
    },
    "onboarding": {
        *("entry-point", "callers", "decision-order", "command-options", "import-cycle"),
        *("UX flows", "routes", "environment", "legacy-path"),
    },
}
"""What each profile prefers: categories and kinds of questions."""


@dataclass(frozen=True, slots=True)
class SelectedQuestion:
    """A question that is asked, with its score and the files that go with it."""

    candidate: QuestionCandidate
    score: QuestionScore
    attachments: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class QuestionLimits:
    """What the user limits the questions to."""

    count: int = 20
    profile: str = ""
    focus: Callable[[QuestionCandidate], bool] = lambda _: True
    is_focused: bool = False
    """The user named files or symbols: any number of questions may be about one file."""
    room: int = MOST_FILES
    """How many files a question may have."""


def select_questions(
    survey: RepositorySurvey, candidates: Iterable[QuestionCandidate], wish: QuestionLimits
) -> list[SelectedQuestion]:
    """The questions worth asking, by ROI, the highest first; ties by effort, then by value."""
    scored = []
    for promising in _most_promising(survey, candidates, wish):
        candidate = _with_code_only(survey, _with_callers(survey, promising), wish.room)
        if candidate is None:
            continue
        score = score_candidate(survey, candidate)
        preferred = PROFILES.get(wish.profile, set())
        weight = 2.0 if {candidate.key, candidate.category} & preferred else 1.0
        if score.value >= _LEAST_VALUE:
            scored.append((score.value * weight, score, candidate))
    scored.sort(
        key=lambda one: (-one[0], -one[2].weight, one[2].reference, one[2].evidence, one[2].key)
    )
    chooser = _Chooser(survey, scored, wish)
    chooser.take_categories(weighted=not wish.profile)
    chooser.take_central()
    chooser.take_best()
    chosen = sorted(
        chooser.chosen,
        key=lambda one: (-one[0].roi, one[0].effort, -one[0].value, one[1].reference, one[1].key),
    )
    return [
        SelectedQuestion(candidate, score, _attachments(survey, candidate, wish.room))
        for score, candidate in chosen
    ]


def _most_promising(
    survey: RepositorySurvey, candidates: Iterable[QuestionCandidate], wish: QuestionLimits
) -> list[QuestionCandidate]:
    """The candidates in question, at most some hundreds for each category and kind."""
    allowed = [
        candidate
        for candidate in candidates
        if wish.focus(candidate) and (not survey.is_limited or _touches_change(survey, candidate))
    ]
    if len(allowed) <= _MANY:
        return allowed
    central = {*survey.central[:_CENTRAL]}
    ranked = sorted(
        allowed, key=lambda c: (-rough_value(survey, c), -c.weight, c.reference, c.evidence, c.key)
    )
    per_file: Counter[str] = Counter()
    chosen = []
    for candidate in ranked:
        per_file[candidate.key] += 1
        if per_file[candidate.key] <= _MOST_LOOKED_AT or candidate.reference in central:
            chosen.append(candidate)
    return chosen


class _Chooser:
    """The state of the choice."""

    def __init__(
        self,
        survey: RepositorySurvey,
        scored: Sequence[tuple[float, QuestionScore, QuestionCandidate]],
        wish: QuestionLimits,
    ) -> None:
        self._survey = survey
        self._scored = scored
        self._count = wish.count
        self._is_focused = wish.is_focused
        self._preferred = PROFILES.get(wish.profile, set())
        self._quoted: set[Place] = set()
        self._kinds: Counter[str] = Counter()
        self._files: Counter[str] = Counter()
        self._categories: Counter[str] = Counter()
        self._subjects: set[tuple[str, str]] = set()
        self._is_filling = False
        self.chosen: list[tuple[QuestionScore, QuestionCandidate]] = []

    def take_categories(self, *, weighted: bool) -> None:
        if not weighted:
            return
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
        for path in self._survey.central[:_CENTRAL]:
            if self._survey.importers(path) and not self._files[path]:
                self._take_best_of(
                    lambda c, path=path: c.reference == path and self._is_preferred(c)  # type: ignore[misc]
                )

    def _is_preferred(self, candidate: QuestionCandidate) -> bool:
        return not self._preferred or bool({candidate.key, candidate.category} & self._preferred)

    def take_best(self) -> None:
        while len(self.chosen) < self._count and self._take_best_of(lambda _: True):
            pass
        # Rather a few more of a kind than fewer questions than were asked for.
        self._is_filling = True
        while len(self.chosen) < self._count and self._take_best_of(self._is_bearable):
            pass

    def _is_bearable(self, candidate: QuestionCandidate) -> bool:
        return self._kinds[candidate.key] < _MOST_OF_A_KIND

    def _take_best_of(self, fits: Callable[[QuestionCandidate], bool], *, least: float = 0) -> bool:
        if len(self.chosen) >= self._count:
            return False
        best: tuple[float, QuestionScore, QuestionCandidate] | None = None
        for value, score, candidate in self._scored:
            if best is not None and value <= best[0]:
                break  # sorted: no later one can be worth more
            if fits(candidate) and self._is_free(candidate):
                weighted = value * self._share(candidate)
                if best is None or weighted > best[0]:
                    best = (weighted, score, candidate)
        if best is None or best[0] < least:
            return False
        self._take(best[1], best[2])
        return True

    def _share(self, candidate: QuestionCandidate) -> float:
        kind = 0.7 if candidate.key in _PLAIN else 0.9
        return float(
            kind ** self._kinds[candidate.key]
            * 0.7 ** (self._files[candidate.reference] / self._size(candidate.reference))
            * 0.95 ** self._categories[candidate.category]
        )

    def _size(self, path: str) -> float:
        """A file of thousands of lines carries more questions than a small one."""
        return 1 + min(len(self._survey.files[path].lines) / 1000, 2)

    def _is_free(self, candidate: QuestionCandidate) -> bool:
        most = _MOST_OF_A_PLAIN_KIND if candidate.key in _PLAIN else _MOST_OF_A_KIND
        if self._kinds[candidate.key] >= most and not self._is_filling:
            return False
        most_of_file = _MOST_OF_A_FILE * self._size(candidate.reference) + self._is_filling
        if self._files[candidate.reference] >= most_of_file and not self._is_focused:
            return False
        if (candidate.reference, candidate.subject) in self._subjects:
            return False
        return not self._quoted & _own_lines(self._survey, candidate)

    def _take(self, score: QuestionScore, candidate: QuestionCandidate) -> None:
        self.chosen.append((score, candidate))
        self._quoted |= _own_lines(self._survey, candidate)
        self._kinds[candidate.key] += 1
        self._files[candidate.reference] += 1
        self._categories[candidate.category] += 1
        self._subjects.add((candidate.reference, candidate.subject))


def _with_callers(survey: RepositorySurvey, candidate: QuestionCandidate) -> QuestionCandidate:
    """The candidate with lines that call its function: what its fault costs is decided there."""
    source = survey.files[candidate.reference].source
    lines = [p.line for p in candidate.evidence if p.path == candidate.reference]
    if source is None or candidate.key not in _FELT_BY_CALLERS or len(candidate.paths) > 1:
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
            if m.name in names and not function.line <= m.line <= function.end_line
        ]
    room = min(MOST_EVIDENCE - len(candidate.evidence), 2)
    return replace(candidate, evidence=(*candidate.evidence, *called[: max(room, 0)]))


def _own_lines(survey: RepositorySurvey, candidate: QuestionCandidate) -> set[Place]:
    """The quoted lines that are more than the head of a definition."""
    heads = set()
    for path in candidate.paths:
        source = survey.files[path].source
        heads |= {Place(path, d.line) for d in source.definitions} if source else set()
    own = {*candidate.evidence} - heads
    return own or {*candidate.evidence}


def _with_code_only(
    survey: RepositorySurvey, candidate: QuestionCandidate, room: int
) -> QuestionCandidate | None:
    """The candidate with evidence that holds: code, in files that can be attached; else None."""
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
        if len(paths) > room:
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
        # Names can come from string literals and commits: they are data and stay on one line.
        question=question,
        facts=tuple(on_one_line(fact) for fact in candidate.facts),
        evidence=tuple(places),
    )


def _touches_change(survey: RepositorySurvey, candidate: QuestionCandidate) -> bool:
    return any(survey.is_changed(p.path, p.line, p.line) for p in candidate.evidence)


def _attachments(
    survey: RepositorySurvey, candidate: QuestionCandidate, room: int
) -> tuple[str, ...]:
    """The files of the evidence; where there is room, the test of the reference."""
    attached = [*candidate.paths[:room]]
    tests = survey.tests_of(candidate.reference)
    wants_test = candidate.key not in {"untested", "import-cycle", "two-copies"}
    if len(attached) < min(room, 2) and tests and wants_test:
        attached.append(tests[0])
    return tuple(attached)
