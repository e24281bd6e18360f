"""Questions about a repository of documents: demands, links, open points, definitions."""

import re
from collections.abc import Iterator
from posixpath import dirname, join, normpath

from oraclepack.authoring.file_roles import FileRole
from oraclepack.authoring.question_candidate import Place, QuestionCandidate, listed, places
from oraclepack.authoring.repository_survey import (
    RepositorySurvey,
    SurveyedFile,
    depth_of,
    plain_word,
)

_DEMAND = re.compile(
    r"\b(?:MUST(?: NOT)?|SHALL(?: NOT)?|REQUIRED)\b|\b(?:must not|is required to)\b"
)
_OPEN = re.compile(
    r"\b(?:TBD|TODO|FIXME|to be (?:defined|decided|determined))\b|\?\?\?", re.IGNORECASE
)
_LINK = re.compile(r"\]\((?!https?:|mailto:|#)([^)#\s]+)(?:#[^)\s]*)?\)")
_LITERAL = re.compile(
    r"^\s*\.\. (?:code(?:-block)?|sourcecode|literalinclude|raw|parsed-literal)::|::\s*$"
)
_HEADING = re.compile(r"^#{1,4}\s+(.+?)\s*#*$")
_NUMBER = re.compile(
    r"\b(\d+(?:\.\d+)?)\s*(%|ms|s|seconds?|minutes?|hours?|days?|MB|GB|KB|kB|requests?|retries|times)\b"
)
_WORD = re.compile(r"[a-z]{4,}")
_COMMON = frozenset(
    {"must", "shall", "should", "that", "this", "with", "from", "have", "which", "when", "they"}
    | {"will", "each", "every", "been", "required", "only", "than", "then", "into", "before"}
    | {"after", "within", "their", "other"}
)
_FEW = 2
_MANY_WORDS = 4


def document_questions(survey: RepositorySurvey) -> Iterator[QuestionCandidate]:
    """Questions for a repository without code."""
    documents = [file for file in survey.files.values() if file.role is FileRole.DOC]
    for file in documents:
        prose = list(_prose(file))
        yield from _demands(file, prose)
        yield from _open_points(file, prose)
        yield from _dead_links(survey, file, prose)
    yield from _disagreements(documents)


def _prose(file: SurveyedFile) -> Iterator[tuple[int, str]]:
    """The lines outside of code blocks."""
    fenced = False
    literal = -1  # the depth of the line that begins a literal block of reStructuredText
    is_restructured = file.path.lower().endswith(".rst")
    for number, line in enumerate(file.lines, 1):
        if not line.strip():
            continue
        if literal >= 0 and depth_of(line) > literal:
            continue
        literal = depth_of(line) if is_restructured and _LITERAL.search(line) else -1
        if line.lstrip().startswith(("```", "~~~")):
            fenced = not fenced
        elif not fenced:
            yield number, line


def _heading_before(prose: list[tuple[int, str]], line: int) -> str:
    headings = [m[1] for n, text in prose if n <= line and (m := _HEADING.match(text))]
    return plain_word(headings[-1]) if headings else ""


def _demands(file: SurveyedFile, prose: list[tuple[int, str]]) -> Iterator[QuestionCandidate]:
    by_section: dict[str, list[int]] = {}
    for number, text in prose:
        if _DEMAND.search(text):
            by_section.setdefault(_heading_before(prose, number), []).append(number)
    for section, lines in by_section.items():
        if len(lines) < _FEW:
            continue
        where = f"the section {section} of {file.path}" if section else file.path
        yield QuestionCandidate(
            "demands",
            "contracts/interfaces",
            section or "demands",
            file.path,
            f"Take the demands quoted below from {where}. For each: by which observation would an"
            " independent implementer and its tester decide that it is met, which two of them"
            " cannot both be met in some situation, and which case does none of them cover?",
            "one check per demand, the conflicting pair with its situation, and the wording that"
            " closes the gap",
            "a demand that nobody can test is read differently by everybody",
            places(file.path, *lines[:5]),
            3,
            75,
        )


def _open_points(file: SurveyedFile, prose: list[tuple[int, str]]) -> Iterator[QuestionCandidate]:
    lines = [n for n, text in prose if _OPEN.search(text)]
    headings = [n for n, text in prose if _HEADING.match(text) and lines and n < lines[0]]
    evidence = places(file.path, *headings[-1:], *lines[:5])
    if not lines or len(evidence) < _FEW:
        return
    yield QuestionCandidate(
        "open-points",
        "invariants",
        _heading_before(prose, lines[0]) or "open",
        file.path,
        f"{file.path} leaves the quoted points open. Which of them blocks a reader who follows the"
        " document today, what would each reasonable decision exclude, and what can be decided"
        " from the document itself?",
        "each open point with its options and consequences, and a proposed wording for those that"
        " can be decided now",
        "what the document leaves open, every reader decides alone",
        evidence,
        3,
        80,
    )


def _dead_links(
    survey: RepositorySurvey, file: SurveyedFile, prose: list[tuple[int, str]]
) -> Iterator[QuestionCandidate]:
    known = {*survey.files, *(dirname(path) for path in survey.files)}
    dead = []
    for number, text in prose:
        for match in _LINK.finditer(text):
            target = normpath(join(dirname(file.path), match[1]))
            if target not in known and not target.startswith("..") and "." in target:
                dead.append((number, match[1]))
    evidence = places(file.path, *(number for number, _ in dead[:5]))
    if len(evidence) < _FEW:
        return
    yield QuestionCandidate(
        "dead-links",
        "UX flows",
        "links",
        file.path,
        f"{file.path} refers to {listed([plain_word(t) for _, t in dead])}, which the commit does"
        " not hold as readable files. What was each reader meant to learn there, is it said"
        " elsewhere in the document, and what should the reference become?",
        "for each reference: what is missing for the reader, and the replacement",
        "a reader who follows a dead reference does not come back",
        evidence,
        2,
        80,
    )


def _disagreements(documents: list[SurveyedFile]) -> Iterator[QuestionCandidate]:
    """Lines of different documents that share their words and state different numbers."""
    stated = []
    for file in documents:
        for number, text in _prose(file):
            match = _NUMBER.search(text)
            words = frozenset(_WORD.findall(text.lower())) - _COMMON
            if match is not None and len(words) >= _MANY_WORDS:
                stated.append((file, number, match[1], match[2], words))
    stated = stated[:400]
    for at, (file, line, value, unit, words) in enumerate(stated):
        for other, line2, value2, unit2, words2 in stated[at + 1 :]:
            if other is file or unit != unit2 or value == value2:
                continue
            if len(words & words2) < max(3, 0.5 * min(len(words), len(words2))):
                continue
            yield QuestionCandidate(
                "two-numbers",
                "invariants",
                f"{unit}-{value}-{value2}",
                file.path,
                f"{file.path} and {other.path} speak of {listed(sorted(words & words2))} and name"
                f" {value} {unit} and {value2} {unit}. Do they mean the same thing, which of them"
                " is right, and where should the number be stated once?",
                "whether the two lines conflict, the right value with its reason, and the one"
                " place for it",
                "two documents that disagree are both wrong for somebody",
                (Place(file.path, line), Place(other.path, line2)),
                3,
                75,
            )
