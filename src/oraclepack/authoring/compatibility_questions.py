"""Questions about older and other environments: deprecations, versions, migrations, switches."""

import re
import sys
from collections.abc import Iterator

from oraclepack.authoring import call_names as calls
from oraclepack.authoring.access_questions import SECRET
from oraclepack.authoring.import_graph import Use
from oraclepack.authoring.question_candidate import Place, QuestionCandidate, listed, places
from oraclepack.authoring.repository_survey import RepositorySurvey, SurveyedFile
from oraclepack.authoring.source_facts import Mark, MarkKind, ParsedSource

_VERSION = re.compile(
    r"(?:schema|format|protocol|api|file|data|db)?_?version(?:_info|s)?$", re.IGNORECASE
)


_VERSION_TEST = re.compile(
    r"(?<!sys\.)\b(?!RUBY_VERSION)(?:\w+\.)?\w*version(?!_info)"
    r"(?:s|_?(?:list|tuple|number|string|id|code|major|minor|min|max)\w*)?"
    r"\s*(?:<=?|>=?|[=!]==?|\bin\b|\bnot in\b)"
    r"\s*(?!\"\"|''|0\b|\w*_MAX\b|(?:nil|null|None|undefined|NULL|nullptr)\b)"
    r"(?=[\"'`\d\[({]|(?-i:(?:\w+(?:\.|::))*_?[A-Z][A-Z0-9_]+\b)|[\w.]*version\()",
    re.IGNORECASE,
)
"""A version is compared with a fixed one, not that of the language.

Two variables that are compared may be counters; a mere check for null or empty does not count.
"""


_LEGACY = re.compile(
    r"(?:^|_)(?:legacy|compat|deprecated|old|obsolete)(?:_|$)|(?:_v\d+)$", re.IGNORECASE
)


_PLATFORM = re.compile(
    r"\b(?:sys\.platform|os\.name|platform\.system\(|process\.platform|runtime\.GOOS)"
)


_FEW = 2


def compatibility_questions(survey: RepositorySurvey) -> Iterator[QuestionCandidate]:
    """Every question of this family that the repository gives evidence for."""
    for file, source in survey.sources:
        yield from _deprecations(survey, file, source)
        yield from _versions(file, source)
        yield from _legacy(survey, file, source)
        yield from _optional_imports(survey, file, source)
        yield from _platforms(file, source)
    yield from _variables(survey)
    yield from _migrations(survey)


def _deprecations(
    survey: RepositorySurvey, file: SurveyedFile, source: ParsedSource
) -> Iterator[QuestionCandidate]:
    warned = [
        m
        for m in source.of(MarkKind.CALL)
        if m.name in {"warnings.warn", "warn"}
        and any("Deprecat" in line for line in file.lines[m.line - 1 : m.line + 8])
    ]
    owners = [source.outermost(one) for one in source.owners_of(warned)]
    if not owners:
        return
    name = source.qualified(owners[0])
    shown = list(dict.fromkeys(f"{source.qualified(o)}()" for o in owners[:2]))
    callers = [(o, use) for o in owners[:2] for use in survey.uses(file.path, o.name)]
    uses = [use for _, use in callers]
    still = (
        f" The repository itself calls {callers[0][0].name}() in {uses[0].path}." if uses else ""
    )
    yield QuestionCandidate(
        "deprecation",
        "migrations",
        name,
        file.path,
        f"{listed(shown)} {'warn' if len(shown) > 1 else 'warns'} of something deprecated.{still}"
        " Does every user of"
        " the old way see the warning, at their own line, what exactly must they write instead,"
        " and what breaks for them if the old way is removed in the next release?",
        "who sees the warning and who does not, the replacement for each use, and the condition"
        " under which removal is safe",
        "a deprecation that nobody sees is a breaking change in waiting",
        (
            *places(file.path, *(m.line for m in warned[:2]), *(o.line for o in owners[:2])),
            *(Place(use.path, use.line) for use in uses[:2]),
        ),
        2,
        75,
    )


def _versions(file: SurveyedFile, source: ParsedSource) -> Iterator[QuestionCandidate]:
    values = [
        m
        for m in source.of(MarkKind.MODULE_VALUE)
        if _VERSION.search(m.name)
        and m.name != "__version__"
        and not file.lines[m.line - 1].rstrip().endswith(("= None", "= null", '= ""', "= ''"))
    ]
    branches = [
        m for m in source.of(MarkKind.BRANCH) if _VERSION_TEST.search(file.lines[m.line - 1])
    ]
    owners = source.owners_of(branches)
    evidence = places(
        file.path,
        *(m.line for m in values[:2]),
        *(m.line for m in branches[:3]),
        *(o.line for o in owners[:1]),
    )
    # One comparison and what it does are read at a glance.
    if not branches or len(branches) + len(values) < _FEW:
        return
    yield QuestionCandidate(
        "version-branches",
        "migrations",
        source.qualified(owners[0]) if owners else "version",
        file.path,
        f"{file.path} behaves differently by a version, at the lines quoted below. Which versions"
        " are still accepted, what happens to data or a caller of a version that is newer than"
        " this code, and which branch can no longer be reached and may go?",
        "a table of version and behaviour, the outcome for an unknown newer one, and the branches"
        " to delete",
        "compatibility that nobody lists ends unnoticed",
        evidence,
        3,
        70,
    )


def _legacy(
    survey: RepositorySurvey, file: SurveyedFile, source: ParsedSource
) -> Iterator[QuestionCandidate]:
    old = [
        d
        for d in source.definitions
        if _LEGACY.search(d.name)
        and d.kind != "enum"
        and d.owner < 0
        # What marks other things as old is not old itself.
        and not any(_is_decorator(survey, use) for use in survey.uses(file.path, d.name))
    ]
    uses = [use for d in old for use in survey.uses(file.path, d.name)]
    if not old or not uses:
        return
    yield QuestionCandidate(
        "legacy-path",
        "migrations",
        old[0].name,
        file.path,
        f"{listed([d.name for d in old])} in {file.path} {'are' if len(old) > 1 else 'is'} named as"
        f" serving an older form and {'are' if len(old) > 1 else 'is'} still called."
        " Which input today really takes this path, does a test hold such an input, and what would"
        " have to be true before it can be removed?",
        "the inputs that reach it, who still produces them, and the condition for removal",
        "code for yesterday's data is kept for ever when nobody says until when",
        (
            *places(file.path, *(d.line for d in old[:3])),
            *(Place(use.path, use.line) for use in uses[:2]),
        ),
        2,
        70,
    )


def _is_decorator(survey: RepositorySurvey, use: Use) -> bool:
    return survey.files[use.path].lines[use.line - 1].lstrip().startswith("@")


def _optional_imports(
    survey: RepositorySurvey, file: SurveyedFile, source: ParsedSource
) -> Iterator[QuestionCandidate]:
    imports = [
        m
        for m in source.of(MarkKind.OPTIONAL_IMPORT)
        if m.name.partition(".")[0] not in sys.stdlib_module_names
        and m.line not in survey.graph.lines_of_own_imports(file.path)
    ]
    if not imports:
        return
    names = calls.listed_names(imports)
    it = "it" if len(imports) == 1 else "them"
    yield QuestionCandidate(
        "optional-dependency",
        "feature flags",
        imports[0].name,
        file.path,
        f"{file.path} behaves differently when {names} cannot be imported. What can a user still"
        f" do without {it}, how do they learn what is missing and how to get it, and does any test"
        f" run without {it}?",
        f"the features lost without {it}, the message a user gets for each, and how both variants"
        " are tested",
        "the variant that nobody on the team has installed is the one that breaks",
        places(file.path, *(n for m in imports[:3] for n in (m.line, *m.lines))),
        2,
        75,
    )


def _platforms(file: SurveyedFile, source: ParsedSource) -> Iterator[QuestionCandidate]:
    branches = [m for m in source.of(MarkKind.BRANCH) if _PLATFORM.search(file.lines[m.line - 1])]
    owners = source.owners_of(branches)
    evidence = places(file.path, *(m.line for m in branches[:4]), *(o.line for o in owners[:2]))
    if len(branches) < _FEW:
        return
    yield QuestionCandidate(
        "platform-branch",
        "feature flags",
        source.qualified(owners[0]) if owners else "platform",
        file.path,
        f"{file.path} takes another way on some operating systems. What is promised on each of"
        " them, which difference can a user observe, and which of the ways does no automatic test"
        " take?",
        "the observable differences by system, the untested way, and whether the branch could be"
        " replaced by asking for the capability",
        "the branch for the other system is written once and run by users only",
        evidence,
        2,
        70,
    )


def _one_of_each(
    marked: list[tuple[SurveyedFile, Mark]],
) -> list[tuple[SurveyedFile, Mark]]:
    """The readers of a variable, one for each default first."""
    first = {mark.detail: (file, mark) for file, mark in reversed(marked) if mark.detail}
    chosen = list(first.values())[::-1]
    return [*chosen, *(one for one in marked if one not in chosen)]


def _variables(survey: RepositorySurvey) -> Iterator[QuestionCandidate]:
    reads: dict[str, list[tuple[SurveyedFile, Mark]]] = {}
    for file in survey.subjects:
        for mark in file.source.of(MarkKind.ENV) if file.source else ():
            reads.setdefault(mark.name, []).append((file, mark))
    for name, uses in sorted(reads.items()):
        defaults = {mark.detail for _, mark in uses if mark.detail}
        if len(uses) < _FEW or len(defaults) < _FEW:
            continue
        file = uses[0][0]
        yield QuestionCandidate(
            "two-defaults",
            "feature flags",
            name.lower(),
            file.path,
            f"The environment variable {name} is read at the quoted places with different defaults"
            f" ({listed(sorted(defaults))}). Which part of the"
            " program believes what when it is unset or empty, and where should the one default"
            " stand?",
            "the behaviour of each reader for unset, empty and wrong values, and the single place"
            " to read it",
            "two readers of one setting disagree exactly when nobody set it",
            tuple(Place(f.path, m.line) for f, m in _one_of_each(uses)[:4]),
            3,
            85,
        )
    for file in survey.subjects:
        marks = (
            [m for m in file.source.of(MarkKind.ENV) if not SECRET.search(m.name)]
            if file.source
            else []
        )
        marks = list({m.name: m for m in reversed(marks)}.values())[::-1][:4]
        evidence = places(file.path, *(m.line for m in marks))
        if len(evidence) < _FEW:
            continue
        yield QuestionCandidate(
            "environment",
            "feature flags",
            marks[0].name.lower(),
            file.path,
            f"{file.path} is steered by {calls.listed_names(marks)} from the environment. For"
            " each: what do an empty value and a misspelt one do, where is that noticed, and which"
            " two of them contradict each other without a complaint?",
            "a table of variable, default, effect of an empty and of a wrong value, with the lines",
            "a setting that is accepted and ignored costs days",
            evidence,
            2,
            75,
        )


_CHANGE = re.compile(
    r"\b(?:ALTER\s+TABLE|DROP\s+(?:TABLE|COLUMN|INDEX)|CREATE\s+(?:UNIQUE\s+)?(?:TABLE|INDEX)"
    r"|add_column|drop_column|remove_column|rename_column|AddField|RemoveField|AlterField|RunPython"
    r"|create_table|drop_table|UPDATE\s+\w+\s+SET)\b",
    re.IGNORECASE,
)


def _migrations(survey: RepositorySurvey) -> Iterator[QuestionCandidate]:
    for file in survey.files.values():
        folders = {part.lower() for part in file.path.split("/")[:-1]}
        is_migration = bool(folders & {"migrations", "migrate", "alembic", "versions"})
        if not (is_migration or file.path.endswith(".sql")) or file.role.value in {"test", "doc"}:
            continue
        prose = file.source.prose if file.source else frozenset()
        lines = [
            number
            for number, line in enumerate(file.lines, 1)
            if number not in prose
            and not line.lstrip().startswith(("--", "#", "/*", "*"))
            and _CHANGE.search(line)
        ]
        if len(lines) < _FEW:
            continue
        yield QuestionCandidate(
            "schema-change",
            "migrations",
            file.path.rpartition("/")[2].rpartition(".")[0],
            file.path,
            f"{file.path} changes or lays down the schema at the quoted lines. Can it run while the"
            " previous release still serves, what does each statement lock on a large table, and"
            " how is it taken back after data was written in the new form?",
            "each statement judged for compatibility, locking and reversal, and the order of"
            " deployment that follows",
            "a schema change is the one deployment that cannot simply be rolled back",
            places(file.path, *lines[:5]),
            3,
            75,
        )
