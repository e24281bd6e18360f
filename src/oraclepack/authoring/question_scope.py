"""Which questions the user wants: by focus and exclusion."""

import fnmatch
import posixpath
import re
from collections.abc import Callable, Collection, Sequence

from oraclepack.authoring.question_candidate import QuestionCandidate
from oraclepack.authoring.repository_survey import RepositorySurvey
from oraclepack.errors import UsageError


def focus_test(
    wishes: Sequence[str], survey: RepositorySurvey, tracked: Collection[str]
) -> Callable[[QuestionCandidate], bool]:
    """Whether a question is about one of the paths or symbols that the user named."""
    tests: list[Callable[[QuestionCandidate], bool]] = []
    for wish in wishes:
        path = plain_path(wish)
        if not path:
            return lambda _: True
        if any(one == path or one.startswith(f"{path}/") for one in tracked):
            tests.append(lambda c, path=path: is_below(c.reference, path))  # type: ignore[misc]
        elif _is_defined(survey, wish):
            name = wish.rpartition(".")[2]
            tests.append(lambda c, name=name: _is_about(survey, c, name))  # type: ignore[misc]
        else:
            raise UsageError(
                f"--focus: no tracked file is at {wish}, and no code defines that name",
                hint="paths are relative to the project root; a symbol is a function or class",
            )
    return (lambda c: any(test(c) for test in tests)) if tests else (lambda _: True)


def focus_guess(wishes: Sequence[str]) -> Callable[[str, str], bool]:
    """Whether a file (path, text) may be what the user named, before anything is parsed."""
    paths = [plain_path(wish) for wish in wishes]
    names = [wish.rpartition(".")[2] for wish in wishes]

    def may_be_meant(path: str, text: str) -> bool:
        return any(is_below(path, one) for one in paths) or any(name in text for name in names)

    return may_be_meant


def is_below(path: str, place: str) -> bool:
    return path == place or path.startswith(f"{place}/")


def _is_defined(survey: RepositorySurvey, name: str) -> bool:
    last = name.rpartition(".")[2]
    return any(
        definition.name == last
        for file in survey.subjects
        for definition in (file.source.definitions if file.source else ())
    )


def _is_about(survey: RepositorySurvey, candidate: QuestionCandidate, name: str) -> bool:
    """Whether a quoted line names the symbol, or lies inside it."""
    word = re.compile(rf"\b{re.escape(name)}\b")
    for place in candidate.evidence:
        if word.search(survey.line(*place)):
            return True
        source = survey.files[place.path].source
        for definition in source.definitions if source else ():
            if definition.name == name and definition.line <= place.line <= definition.end_line:
                return True
    return False


def exclusion(patterns: Sequence[str]) -> Callable[[str], bool]:
    plain = [plain_path(pattern) for pattern in patterns]

    def excluded(path: str) -> bool:
        return any(is_below(path, one) or fnmatch.fnmatchcase(path, one) for one in plain)

    return excluded


def plain_path(path: str) -> str:
    """A path as git spells it; the project root itself is empty."""
    plain = posixpath.normpath(path)
    return "" if plain == "." else plain
