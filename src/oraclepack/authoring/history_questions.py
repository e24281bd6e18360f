"""Questions from the history: functions that are fixed again and again, and what a change does."""

from collections.abc import Iterator, Mapping

from oraclepack.authoring.file_roles import FileRole
from oraclepack.authoring.git_repository import Commit, FileChange, Hunk
from oraclepack.authoring.question_candidate import (
    Place,
    QuestionCandidate,
    candidate,
    on_one_line,
    places,
)
from oraclepack.authoring.repository_survey import RepositorySurvey, SurveyedFile
from oraclepack.authoring.source_facts import Definition, ParsedSource

MOST_BLAMED = 8
"""Files whose lines are traced to their commits: each costs a call of git."""
_MANY_FIXES = 2
"""Enough where a subject names the function; else one more."""
_FUNCTIONS_OF_A_FILE = 2
_MOST_SUBJECTS = 5
_MOST_DIFF_LINES = 80
_FEW = 2


def often_fixed(survey: RepositorySurvey) -> list[str]:
    """The files that fixes touched most often, the first ones first."""
    subjects = [file for file in survey.subjects if file.fixes >= _MANY_FIXES]
    subjects.sort(key=lambda file: (-file.fixes, -survey.ranks[file.path], file.path))
    return [file.path for file in subjects[:MOST_BLAMED]]


def history_questions(
    survey: RepositorySurvey, line_commits: Mapping[str, list[str]]
) -> Iterator[QuestionCandidate]:
    """Questions about functions that are fixed again and again.

    `line_commits` says for each line of some files which commit changed it last.
    """
    asked: set[str] = set()
    for path, commits in line_commits.items():
        source = survey.files[path].source
        fixes = {commit.sha: commit for commit in survey.fixes_of(path)}
        if source is None:
            continue
        # Signatures, brackets and plain values are touched by the way.
        decided = {mark.line for mark in source.marks}
        fixed: dict[Definition, dict[str, list[int]]] = {}
        for number, sha in enumerate(commits, 1):
            is_code = number in decided and number not in source.prose
            around = source.around(number) if sha in fixes and is_code else None
            if around is not None and around.is_callable:
                fixed.setdefault(around, {}).setdefault(sha, []).append(number)
        ranked = sorted(fixed, key=lambda d: (-len(fixed[d]), -d.branches, d.line))
        for function in ranked[:_FUNCTIONS_OF_A_FILE]:
            # Corrections that another question quotes already do not count again.
            lines = {sha: own for sha, own in fixed[function].items() if sha not in asked}
            words = " ".join(commit.subject for sha, commit in fixes.items() if sha in lines)
            if len(lines) > _MANY_FIXES or (len(lines) == _MANY_FIXES and function.name in words):
                asked |= {*lines}
                yield _fixed_again(path, source, function, lines, fixes)


def _fixed_again(
    path: str,
    source: ParsedSource,
    function: Definition,
    lines: Mapping[str, list[int]],
    fixes: Mapping[str, Commit],
) -> QuestionCandidate:
    newest = [sha for sha in fixes if sha in lines][:_MOST_SUBJECTS]
    name = source.qualified(function)
    return candidate(
        "fixed-again",
        name,
        (Place(path, function.line), *places(path, *(lines[sha][0] for sha in newest))),
        weight=10 * len(lines) + function.branches,
        facts=tuple(f"fix {sha[:10]}: {on_one_line(fixes[sha].subject)}" for sha in newest),
        name=name,
        count=len(lines),
    )


def change_questions(survey: RepositorySurvey) -> Iterator[QuestionCandidate]:
    """Questions for the review of what changed since another commit."""
    changes = survey.changes
    for file in survey.subjects if changes is not None else ():
        change = changes.files.get(file.path) if changes is not None else None
        if change is None or file.source is None:
            continue
        for definition in file.source.definitions:
            lines = range(definition.line, definition.end_line + 1)
            touched = [n for n in lines if n in change.touched and n not in file.source.prose]
            outer = file.source.definitions[definition.owner] if definition.owner >= 0 else None
            is_inside_new = outer is not None and outer.line in change.added
            if len(touched) < _FEW or is_inside_new:
                continue
            is_new = definition.line in change.added and {*touched} <= change.added
            if is_new and len(touched) * 2 > definition.length:
                if not _is_moved(survey, file, definition):
                    yield _about_change(survey, file, definition, touched, "added-code")
            elif definition.is_callable:
                yield _about_change(survey, file, definition, touched, "changed-code")


def _about_change(
    survey: RepositorySurvey,
    file: SurveyedFile,
    definition: Definition,
    touched: list[int],
    key: str,
) -> QuestionCandidate:
    assert survey.changes is not None
    assert file.source is not None
    name = file.source.qualified(definition)
    shown = [n for n in touched if n != definition.line and len(survey.line(file.path, n)) > _FEW]
    uses = [
        Place(use.path, use.line)
        for use in survey.uses(file.path, definition.name)
        if not survey.is_changed(use.path, use.line)
    ]
    about = [c for c in survey.changes.commits if file.path in c.paths]
    changed = (survey.files[path] for path in survey.changes.files if path in survey.files)
    has_test = any(one.role is FileRole.TEST for one in changed)
    return candidate(
        key,
        name,
        (Place(file.path, definition.line), *places(file.path, *shown[:3]), *uses[:2]),
        weight=len(touched),
        facts=tuple(f"{c.sha[:10]}: {on_one_line(c.subject)}" for c in about[:_MOST_SUBJECTS]),
        diff=tuple(_diff_of(survey.changes.files[file.path], definition)),
        name=name,
        since=on_one_line(survey.changes.since),
        note="" if has_test else " They touch no test.",
    )


def _diff_of(change: FileChange, definition: Definition) -> Iterator[str]:
    """The lines of the diff around a definition."""
    left = _MOST_DIFF_LINES
    for hunk in change.hunks:
        if _reaches(hunk, definition) and left > 0:
            yield f"@@ line {hunk.line} @@"
            for line in hunk.lines[:left]:
                # The sign and the indentation are part of what a diff says.
                text = on_one_line(line[1:])
                yield f"{line[:1]}{' ' * (len(line) - 1 - len(line[1:].lstrip()))}{text}"
            if len(hunk.lines) > left:
                yield f"… {len(hunk.lines) - left} more lines of this diff"
            left -= len(hunk.lines)


def _reaches(hunk: Hunk, definition: Definition) -> bool:
    last = hunk.line + sum(not line.startswith("-") for line in hunk.lines)
    return hunk.line <= definition.end_line and definition.line <= last


def _is_moved(survey: RepositorySurvey, file: SurveyedFile, definition: Definition) -> bool:
    """Whether its lines were deleted elsewhere by the same change."""
    assert survey.changes is not None
    own = {
        text
        for number in range(definition.line, definition.end_line + 1)
        if (text := survey.line(file.path, number))
    }
    deleted = {
        line[1:].strip()
        for change in survey.changes.files.values()
        for hunk in change.hunks
        for line in hunk.lines
        if line.startswith("-")
    }
    return len(own - deleted) * 4 < len(own)
