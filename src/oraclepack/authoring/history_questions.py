"""Questions from the history: files that are fixed again and again, and what a change touches."""

from collections import defaultdict
from collections.abc import Iterator, Mapping

from oraclepack.authoring.file_roles import FileRole
from oraclepack.authoring.question_candidate import Place, QuestionCandidate, listed, places
from oraclepack.authoring.read_repository import parse_source
from oraclepack.authoring.repository_survey import RepositorySurvey, SurveyedFile, plain_word
from oraclepack.authoring.source_facts import Definition, MarkKind, ParsedSource

MOST_BLAMED = 6
"""Files whose lines are traced to their commits: each costs a call of git."""
_MANY_FIXES = 3
_FEW = 2


def often_fixed(survey: RepositorySurvey) -> list[str]:
    """The files that fixes touched most often, the first ones first."""
    subjects = [file for file in survey.subjects if file.fixes >= _MANY_FIXES]
    subjects.sort(key=lambda file: (-file.fixes, -survey.ranks[file.path], file.path))
    return [file.path for file in subjects[:MOST_BLAMED]]


def history_questions(
    survey: RepositorySurvey, line_commits: Mapping[str, list[str]]
) -> Iterator[QuestionCandidate]:
    """Questions about files that are fixed again and again.

    `line_commits` says for each line of some files which commit changed it last.
    """
    quoted: set[str] = set()
    for path, commits in line_commits.items():
        fixes = {commit.sha: commit for commit in survey.fixes_of(path)}
        source = survey.files[path].source
        if source is None:
            continue
        code = {m.line for m in source.marks if m.kind is not MarkKind.NOTE} - source.prose
        fixed: dict[int, list[int]] = {}
        for number, sha in enumerate(commits, 1):
            if sha in fixes and number in code:
                index = _owner_index(source, number)
                if index >= 0:
                    fixed.setdefault(index, []).append(number)
        ranked = sorted(
            fixed, key=lambda i: (-len({commits[n - 1] for n in fixed[i]}), -len(fixed[i]), i)
        )
        for index in ranked[:1]:
            behind = {commits[number - 1] for number in fixed[index]}
            if behind <= quoted:
                continue  # a question about the same corrections
            quoted |= behind
            yield from _fixed_again(survey, path, source.definitions[index], fixed[index], commits)


def _owner_index(source: ParsedSource, line: int) -> int:
    best = -1
    for index, definition in enumerate(source.definitions):
        if definition.is_callable and definition.line <= line <= definition.end_line:
            best = index
    return best


def _fixed_again(
    survey: RepositorySurvey, path: str, function: Definition, lines: list[int], commits: list[str]
) -> Iterator[QuestionCandidate]:
    source = survey.files[path].source
    assert source is not None
    fixes = survey.fixes_of(path)
    shas = dict.fromkeys(commits[n - 1] for n in lines)
    subjects = {c.sha: c.subject for c in fixes}
    name = source.qualified(function)
    one_each = [next(n for n in lines if commits[n - 1] == sha) for sha in shas]
    more = [n for n in lines if n not in one_each]
    evidence = places(path, function.line, *(one_each + more)[:4])
    if len(evidence) < _FEW:
        return
    facts = tuple(
        f"fix {sha[:10]}: {plain_word(subjects[sha])}" for sha in list(shas)[:3] if sha in subjects
    )
    yield QuestionCandidate(
        "fixed-again",
        "invariants",
        name,
        path,
        f"Fixes have touched {path} {len(fixes)} times in the history that was read; the quoted"
        f" lines of {name}() stem from {'them' if len(shas) > 1 else 'one of them'}. Which rule do"
        " these corrections restore, which input still breaks it, and where could it be enforced"
        " once so that the next correction is not needed?",
        "the rule in one sentence, an input that breaks it today or the reason why none does, and"
        " the single place to enforce it",
        "code that is fixed again and again has a wrong shape, not bad luck",
        evidence,
        3,
        75,
        facts=facts,
    )


def change_questions(survey: RepositorySurvey) -> Iterator[QuestionCandidate]:
    """Questions for the review of what changed since another commit."""
    for file in survey.subjects:
        changed = survey.changed.get(file.path)
        source = file.source
        if changed is None or source is None:
            continue
        before = parse_source(file.path, changed.before) if changed.before else None
        known: dict[str, list[Definition]] = defaultdict(list)
        if before is not None:
            for one in before.definitions:
                known[before.qualified(one)].append(one)
        for definition in source.definitions:
            if not survey.is_changed(file.path, definition.line, definition.end_line):
                continue
            old = known.get(source.qualified(definition), [])
            if not old:
                if not _is_moved(survey, file, definition):
                    yield from _added(survey, file, source, definition, known)
                continue
            if all(one.parameters != definition.parameters for one in old):
                yield from _changed_signature(survey, file, source, definition, old[-1])
            yield from _unchanged_callers(survey, file, source, definition)
            yield from _changed_behaviour(survey, file, source, definition)


def _touched(survey: RepositorySurvey, file: SurveyedFile, definition: Definition) -> list[int]:
    """Lines of code inside a definition that the change touched."""
    source = file.source
    assert source is not None
    code = {m.line for m in source.marks if m.kind is not MarkKind.NOTE} - source.prose
    inside = range(definition.line, definition.end_line + 1)
    return [n for n in inside if n in code and survey.is_changed(file.path, n, n)]


def _without_test(survey: RepositorySurvey) -> str:
    """The sentence that a change without a test gets."""
    of_change = (survey.files[path] for path in survey.changed if path in survey.files)
    has_test = any(file.role is FileRole.TEST for file in of_change)
    return "" if has_test else " The change touches no test."


def _is_moved(survey: RepositorySurvey, file: SurveyedFile, definition: Definition) -> bool:
    """Its lines were in another file that the change touches."""
    text = "\n".join(file.lines[definition.line - 1 : definition.end_line])
    texts = (one.before for path, one in survey.changed.items() if path != file.path)
    return any(before is not None and text in before for before in texts)


def _added(
    survey: RepositorySurvey,
    file: SurveyedFile,
    source: ParsedSource,
    definition: Definition,
    known: Mapping[str, list[Definition]],
) -> Iterator[QuestionCandidate]:
    """One question about a new definition with everything in it."""
    touched = _touched(survey, file, definition)
    owner = source.definitions[definition.owner] if definition.owner >= 0 else None
    is_in_new = owner is not None and source.qualified(owner) not in known
    if len(touched) < _FEW or is_in_new:
        return
    name, note = source.qualified(definition), _without_test(survey)
    yield QuestionCandidate(
        "added-code",
        "failure modes",
        name,
        file.path,
        f"The change adds {name}, of which some lines are quoted.{note} Which input or state"
        " leads it to a wrong result or to an error that its callers do not expect, does existing"
        " code already do the same, and which test would show that it works?",
        "the inputs or states with a wrong outcome, the code that does the same if there is some,"
        " and the test with its inputs and its expected result",
        "new code has no history of use that would show its faults",
        places(file.path, definition.line, *touched[:4]),
        3,
        75,
    )


def _changed_signature(
    survey: RepositorySurvey,
    file: SurveyedFile,
    source: ParsedSource,
    definition: Definition,
    old: Definition,
) -> Iterator[QuestionCandidate]:
    name = source.qualified(definition)
    if not definition.is_callable:
        return
    uses = survey.uses(file.path, definition.name)
    removed = [p for p in old.parameters if p not in definition.parameters]
    new = [p for p in definition.parameters if p not in old.parameters]
    change = " and ".join(
        [
            *([f"loses {listed(removed)}"] if removed else []),
            *([f"gains {listed(new)}"] if new else []),
        ]
    )
    evidence = (
        *places(file.path, definition.line, *_touched(survey, file, definition)[:2]),
        *(Place(use.path, use.line) for use in uses[:3]),
    )
    if len(evidence) < _FEW or not change:
        return
    yield QuestionCandidate(
        "changed-signature",
        "contracts/interfaces",
        name,
        file.path,
        f"The change gives {name}() another signature: it {change}. Which caller, inside or outside"
        " the repository, still calls it the old way, does it fail loudly or do the wrong thing,"
        " and is a transition needed?",
        "every caller with its verdict, the silent failure if there is one, and the transition",
        "a changed signature breaks callers that the author cannot see",
        evidence,
        4,
        85,
    )


def _unchanged_callers(
    survey: RepositorySurvey, file: SurveyedFile, source: ParsedSource, definition: Definition
) -> Iterator[QuestionCandidate]:
    uses = [
        use
        for use in survey.uses(file.path, definition.name)
        if not survey.is_changed(use.path, use.line, use.line)
    ]
    touched = _touched(survey, file, definition)
    if not uses or not touched or definition.owner >= 0:
        return
    name = source.qualified(definition)
    yield QuestionCandidate(
        "unchanged-callers",
        "contracts/interfaces",
        name,
        file.path,
        f"The change touches {name}() at the quoted lines but not its callers"
        f" {listed([use.path for use in uses], 3)}. For which of their inputs does the result, an"
        " error or a side effect differ from before, and is each difference wanted?",
        "the inputs whose outcome changed, by caller, each judged as wanted or not",
        "the risk of a change lies where it was not made",
        (
            *places(file.path, definition.line, *touched[:2]),
            *(Place(use.path, use.line) for use in uses[:3]),
        ),
        4,
        80,
    )


def _changed_behaviour(
    survey: RepositorySurvey, file: SurveyedFile, source: ParsedSource, definition: Definition
) -> Iterator[QuestionCandidate]:
    touched = _touched(survey, file, definition)
    if len(touched) < _FEW or not definition.is_callable:
        return
    name, note = source.qualified(definition), _without_test(survey)
    yield QuestionCandidate(
        "changed-behaviour",
        "failure modes",
        name,
        file.path,
        f"The change rewrites the quoted lines of {name}().{note} Which input that worked before"
        " gives another result or an error now, which error path is new, and which test would fail"
        " if one of these lines were reverted?",
        "the inputs with changed outcome, the new error path, and the test for each quoted line or"
        " the test to write",
        "a review finds what the author did not think of",
        places(file.path, definition.line, *touched[:4]),
        3,
        75,
    )
