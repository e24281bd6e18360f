"""Which file each question is about, and which neighbours go with it. Fixed rules, no chance.

A file's points for a question: 4 for each find of its traits (the first trait counts twice, a
file at most 25 finds), 3 for each doubling of its changes, 3 for each doubling of the files that
import it, 6 for an entry point. Ties go to the path that sorts first. A file that already is a
reference stands back behind one that is not, unless it has four times the points.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from posixpath import dirname

from oraclepack.authoring.file_kinds import FileKind, stem_of
from oraclepack.authoring.question_catalogue import QUESTIONS, CatalogueQuestion
from oraclepack.authoring.signs import Trait
from oraclepack.authoring.survey import SourceFile, Survey

MOST_FILES = 3
"""The reference and two neighbours."""
_MOST_FINDS = 25
_FAR_BETTER = 4
_NEAR = 3
"""A neighbour with fewer points is none."""
_MOST_TOGETHER = 6
_READABLE = frozenset({FileKind.CODE, FileKind.SCHEMA, FileKind.SCREEN, FileKind.WORKFLOW})
_COMPANY = frozenset({FileKind.CODE, FileKind.TEST, FileKind.SCHEMA, FileKind.SCREEN})


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A file that is attached beside the reference, and why."""

    path: str
    because: str
    points: int


@dataclass(frozen=True, slots=True)
class ChosenQuestion:
    """A question with the files it will be asked about. Without a reference nothing was found."""

    question: CatalogueQuestion
    reference: SourceFile | None = None
    trait: Trait | None = None
    """What the reference shows; None when it only stands in."""
    neighbours: tuple[Neighbour, ...] = ()
    test: str | None = None
    """The test of the reference, whether attached or not."""

    @property
    def attached(self) -> tuple[str, ...]:
        if self.reference is None:
            return ()
        return (self.reference.path, *(neighbour.path for neighbour in self.neighbours))


def choose(
    found: Survey, *, focus: Collection[str] = (), room: int = MOST_FILES
) -> list[ChosenQuestion]:
    """A choice for each question, in the order of the questions.

    `focus` limits the references to some folders or files; `room` is how many files a question
    may have. On average there are at most two.
    """
    candidates = [s for s in found.sources.values() if _in_focus(s.path, focus)]
    used: dict[str, int] = {}
    picked: dict[str, ChosenQuestion] = {}
    # First those that need something special, then those that any file can stand in for: so the
    # second kind fills up with files that no other question looks at.
    for question in sorted(QUESTIONS, key=lambda one: one.anywhere):
        choice = _pick(question, candidates, used)
        picked[question.key] = choice
        if choice.reference is not None:
            used[choice.reference.path] = used.get(choice.reference.path, 0) + 1
    return _with_neighbours(found, [picked[question.key] for question in QUESTIONS], room)


def _in_focus(path: str, focus: Collection[str]) -> bool:
    return not focus or any(path == one or path.startswith(f"{one}/") for one in focus)


def _pick(
    question: CatalogueQuestion, candidates: list[SourceFile], used: dict[str, int]
) -> ChosenQuestion:
    readable = [s for s in candidates if s.kind in _READABLE]
    showing = [s for s in readable if any(s.count(trait) for trait in question.traits)]
    source = _best(question, showing, used, strictly=question.anywhere)
    if question.anywhere and (source is None or source.path in used):
        code = [s for s in readable if s.kind is FileKind.CODE]
        other = _best(question, [s for s in code if s.path not in used], used, strictly=True)
        source = other or source or _best(question, code, used, strictly=True)
    if source is None and question is QUESTIONS[0]:
        # A repository of prose: its README at least promises something.
        prose = [s for s in candidates if s.kind in {FileKind.DOC, FileKind.MANIFEST}]
        source = _best(question, prose, used, strictly=True)
    if source is None:
        return ChosenQuestion(question)
    shown = [trait for trait in question.traits if source.count(trait)]
    return ChosenQuestion(question, source, shown[0] if shown else None)


def _best(
    question: CatalogueQuestion, sources: list[SourceFile], used: dict[str, int], *, strictly: bool
) -> SourceFile | None:
    """The source with the most points; a fresh one first, `strictly` or unless far behind."""
    if not sources:
        return None
    ranked = sorted(sources, key=lambda source: (-_points(question, source), source.path))
    fresh = next((source for source in ranked if source.path not in used), None)
    if fresh is None:
        return min(ranked, key=lambda s: (used[s.path], -_points(question, s), s.path))
    far_behind = _points(question, fresh) * _FAR_BETTER < _points(question, ranked[0])
    return ranked[0] if far_behind and not strictly else fresh


def _points(question: CatalogueQuestion, source: SourceFile) -> int:
    finds = sum(
        min(source.count(trait), _MOST_FINDS) * (2 if rank == 0 else 1)
        for rank, trait in enumerate(question.traits)
    )
    standing = source.churn.bit_length() + len(source.importers).bit_length()
    return 4 * finds + 3 * standing + 6 * source.is_entry


def _with_neighbours(
    found: Survey, choices: list[ChosenQuestion], room: int
) -> list[ChosenQuestion]:
    """Each reference with its nearest files: first one for each, then a second where it counts."""
    near = [_near(found, choice) for choice in choices]
    asked = sum(choice.reference is not None for choice in choices)
    left = asked
    granted = [0] * len(choices)
    for rank in range(room - 1):
        wishes = [
            (-near[index][rank].points, index)
            for index in range(len(choices))
            if len(near[index]) > rank
        ]
        for _, index in sorted(wishes)[: max(left, 0)]:
            granted[index] = rank + 1
            left -= 1
    return [
        ChosenQuestion(
            question=choice.question,
            reference=choice.reference,
            trait=choice.trait,
            neighbours=tuple(near[index][: granted[index]]),
            test=_test_of(found, choice.reference),
        )
        for index, choice in enumerate(choices)
    ]


def _near(found: Survey, choice: ChosenQuestion) -> list[Neighbour]:
    """The files nearest to the reference: by imports, names and common commits."""
    if choice.reference is None:
        return []
    reference = choice.reference
    paths = {*reference.imports, *reference.importers}
    paths |= set(_companions(found, reference.path))
    test = _test_of(found, reference)
    paths |= {test} if test else set()
    scored = [
        _neighbour(found, choice, found.sources[path])
        for path in sorted(paths - {reference.path})
        if path in found.sources and found.sources[path].kind in _COMPANY
    ]
    near = [neighbour for neighbour in scored if neighbour.points >= _NEAR]
    return sorted(near, key=lambda neighbour: (-neighbour.points, neighbour.path))


def _companions(found: Survey, path: str) -> Iterator[str]:
    """Files that were changed together with one at least twice."""
    mine = found.commits.get(path, frozenset())
    if len(mine) > 1:
        yield from (p for p in found.sources if len(found.commits.get(p, mine - mine) & mine) > 1)


def _neighbour(found: Survey, choice: ChosenQuestion, other: SourceFile) -> Neighbour:
    reference = choice.reference
    assert reference is not None
    together = found.together(reference.path, other.path)
    reasons: list[tuple[int, str]] = []
    if other.path in reference.imports:
        reasons.append((4, "imported by the reference"))
    if other.path in reference.importers:
        reasons.append((4, "imports the reference"))
    if stem_of(other.path) == stem_of(reference.path):
        reasons.append((3, "its test" if other.kind is FileKind.TEST else "shares its name"))
    if together > 1:
        points = min(together, _MOST_TOGETHER)
        reasons.append((points, f"changed together with it in {together} commits"))
    points = sum(points for points, _ in reasons)
    points += 2 * any(other.count(trait) for trait in choice.question.traits)
    points -= other.kind is FileKind.TEST
    why = max(reasons, default=(0, ""), key=lambda reason: reason[0])[1]
    return Neighbour(other.path, why, points)


def _test_of(found: Survey, reference: SourceFile | None) -> str | None:
    """The test with the reference's name: one that imports it first, then the nearest."""
    if reference is None or reference.kind is not FileKind.CODE:
        return None
    stem = stem_of(reference.path)
    named = [
        source
        for source in found.sources.values()
        if source.kind is FileKind.TEST and stem_of(source.path) == stem
    ]
    folder = dirname(reference.path)
    order = sorted(
        named,
        key=lambda s: (s.path not in reference.importers, dirname(s.path) != folder, s.path),
    )
    return order[0].path if order else None
