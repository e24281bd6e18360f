"""Questions about the most central files, for where no other kind has evidence."""

from collections.abc import Iterator

from oraclepack.authoring.question_candidate import QuestionCandidate, places
from oraclepack.authoring.repository_survey import RepositorySurvey, SurveyedFile, marks_by_owner
from oraclepack.authoring.source_facts import Definition, Mark, MarkKind, ParsedSource

CENTRAL_FILES = 5
"""How many of the most central files get a question each."""
LAST_RESORT = "dense-function"
"""The kind that is only asked where a file gets no other question."""
_MANY_DECISIONS = 4
"""Decisions below which a function is read at a glance."""
_SHORTEST = 15
_SEVERAL = 3


def central_questions(survey: RepositorySurvey) -> Iterator[QuestionCandidate]:
    """One question for each of the most central files; asked where the file has no other."""
    for path in survey.central[:CENTRAL_FILES]:
        file = survey.files[path]
        if file.source is not None:
            yield from _densest(file, file.source)


def _densest(file: SurveyedFile, source: ParsedSource) -> Iterator[QuestionCandidate]:
    """The function of a file with the most decisions."""
    branches = marks_by_owner(source, {MarkKind.BRANCH})
    dense = [
        (definition, _shown(file, source, branches.get(index, [])))
        for index, definition in enumerate(source.definitions)
        if definition.is_callable
        and definition.branches >= _MANY_DECISIONS
        and definition.length >= _SHORTEST
    ]
    dense = [one for one in dense if len(one[1]) >= _SEVERAL]
    if not dense:
        return
    most: Definition
    most, lines = max(dense, key=lambda one: (one[0].branches, -one[0].line))
    name = source.qualified(most)
    yield QuestionCandidate(
        LAST_RESORT,
        "invariants",
        name,
        file.path,
        f"{name}() takes more decisions than any other function of {file.path}; some are quoted"
        " below. Which input or state passes all of them and still leads to a wrong result, which"
        " of them guards against something that cannot happen, and which could be removed without"
        " any test noticing it?",
        "the input with its wrong result or the reason why there is none, the conditions that"
        " cannot hold, and the three tests, by input and expected result, that are missing",
        "much depends on this file, and most of what it decides is decided here",
        places(file.path, most.line, *lines[:4]),
        1,
        65,
        weight=most.branches,
    )


def _shown(file: SurveyedFile, source: ParsedSource, marks: list[Mark]) -> list[int]:
    """The lines of conditions, spread over the function."""
    lines = sorted({m.line for m in marks if m.line not in source.prose})
    step = max(len(lines) // 4, 1)
    return [line for line in lines[::step] if file.lines[line - 1].strip()]
