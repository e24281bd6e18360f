"""`survey`: what a writer of questions needs to know of a repository, as quoted lines."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from posixpath import dirname

import msgspec

from oraclepack.authoring.duplicate_code import duplicate_questions
from oraclepack.authoring.file_roles import FileRole, is_entry
from oraclepack.authoring.history_questions import history_questions
from oraclepack.authoring.project import Progress, Project, read_project
from oraclepack.authoring.question_candidate import QuestionCandidate, on_one_line
from oraclepack.authoring.question_kinds import code_questions, unlimited_wait
from oraclepack.authoring.question_scope import is_below, plain_path
from oraclepack.authoring.repository_survey import SurveyedFile
from oraclepack.errors import InputError
from oraclepack.system.printable import quantity
from oraclepack.tickets.read_tickets import find_tickets_dir, list_files, read_ticket
from oraclepack.tools.usage import text_tokens

MOST_TOKENS = 12_000
_LONGEST = 160
_MOST_OF_A_KIND = 60
_CENTRAL = 20
_FUNCTIONS = 25
_PER_DOCUMENT = 12
_MOST_HUNK_LINES = 12
_FEW_DECISIONS = 5
_PUBLIC_HOMES = ("__init__.py", "index.js", "index.ts", "lib.rs", "main.go", "mod.rs")

_HEADING = re.compile(r"#{1,4}\s+(?P<text>\S.*?)\s*#*$")
_UNDERLINE = re.compile(r"(?:={3,}|-{3,}|~{3,}|\^{3,})\s*$")
_FENCE = re.compile(r"\s*(?P<sign>`{3,}|~{3,})(?P<rest>.*)")
_PROSE = re.compile(r"(?:[-*+] +)?[A-Z\"'`*(]?[A-Za-z`*].*[a-z]{2}")
_NO_PROSE = re.compile(r"\s|[|<>!\[]|[-*+]\s*\[|https?:|\.\. |:\w+:|`{3}|\$ ")
_PROMISE = re.compile(
    r"\b(?:guarantee\w*|never|always|must|shall|atomic\w*|thread-safe|exactly once|idempotent"
    r"|backwards?[- ]compatib\w*|deprecat\w*|at most|at least once|supports?|refuse[sd]?)\b",
    re.IGNORECASE,
)
_FIRST_PAGES = ("readme", "changelog", "changes", "history", "news")


class SurveyFact(msgspec.Struct, frozen=True):
    """One quoted line, and why it matters."""

    kind: str
    path: str
    line: int
    text: str
    """The line as it is in the commit, without indentation; long lines are cut."""
    note: str = ""


class SurveyReport(msgspec.Struct, frozen=True, kw_only=True):
    """What a repository promises, where its risks are, and what guards them."""

    name: str
    commit: str | None
    date: str | None
    files: int
    languages: dict[str, int]
    """Source files of each language that questions can be about."""
    since: str | None = None
    commits: tuple[str, ...] = ()
    """With `--since`: the subjects of the commits, the newest first."""
    facts: tuple[SurveyFact, ...] = ()
    left_out: dict[str, int] = {}
    """Kinds of which facts did not fit into the limit, and how many."""


@dataclass(frozen=True, slots=True)
class _Section:
    """A part of the brief: how it is headed, and how many facts it gets in each round."""

    title: str
    share: int


SECTIONS = {
    "change": _Section("Changes", 4),
    "promise": _Section("What the project promises", 5),
    "fixed-again": _Section("Functions that were fixed again and again", 4),
    "two-copies": _Section("Copies that drifted apart", 3),
    "wait": _Section("Waits without a limit", 2),
    "risk": _Section("Other places that deserve suspicion", 3),
    "central": _Section("Central files", 3),
    "dense": _Section("Functions with the most decisions", 3),
    "public": _Section("Public surface", 3),
    "test": _Section("Tests of central files", 2),
    "untested": _Section("Central files that no test reaches", 2),
    "ticket": _Section("Open tickets", 2),
}
"""The kinds of facts, in the order of the brief."""


def survey(
    root: Path,
    *,
    since: str = "",
    focus: Sequence[str] = (),
    exclude: Sequence[str] = (),
    max_tokens: int = MOST_TOKENS,
    progress: Progress = lambda _done, _all: None,
) -> tuple[SurveyReport, tuple[str, ...]]:
    """The facts of a repository within a limit of tokens, and notices for the user."""
    project = read_project(root, since=since, exclude=exclude, focus=focus, progress=progress)
    report = survey_of(project, root, since=since, focus=focus, max_tokens=max_tokens)
    return report, tuple(project.notices())


def survey_of(
    project: Project, root: Path, *, since: str, focus: Sequence[str], max_tokens: int = MOST_TOKENS
) -> SurveyReport:
    """The facts of a project that was read already."""
    places = [plain_path(path) for path in focus]
    facts: dict[str, list[SurveyFact]] = {kind: [] for kind in SECTIONS}
    seen: set[tuple[str, str, int]] = set()
    for fact in _facts(project, root):
        is_meant = not places or any(is_below(fact.path, place) for place in places)
        key = (fact.kind, fact.path, fact.line)
        if fact.text and is_meant and key not in seen and len(facts[fact.kind]) < _MOST_OF_A_KIND:
            seen.add(key)
            facts[fact.kind].append(fact)
    changes = project.survey.changes
    languages = Counter(file.language or "" for file in project.survey.subjects)
    whole = SurveyReport(
        name=project.survey.name,
        commit=project.repository.sha,
        date=project.repository.date,
        files=project.survey.tracked,
        languages=dict(sorted(languages.items())),
        since=since or None,
        commits=tuple(_quoted(c.subject) for c in changes.commits[:40]) if changes else (),
    )
    return _within(whole, facts, max_tokens)


def _within(
    whole: SurveyReport, facts: dict[str, list[SurveyFact]], max_tokens: int
) -> SurveyReport:
    """The report with as many facts as fit: some of each kind in turn, the first ones first."""
    headings = "".join(f"\n## {section.title}\n\n" for section in SECTIONS.values())
    left = max_tokens - text_tokens(brief(whole) + headings + _brief_end(dict.fromkeys(facts, 99)))
    chosen: dict[str, list[SurveyFact]] = {kind: [] for kind in facts}
    open_kinds = list(facts)
    while open_kinds:
        for kind in list(open_kinds):
            start = len(chosen[kind])
            for fact in facts[kind][start : start + SECTIONS[kind].share]:
                left -= text_tokens(_brief_line(fact))
                if left < 0:
                    open_kinds = []
                    break
                chosen[kind].append(fact)
            if not open_kinds:
                break
            if len(chosen[kind]) == len(facts[kind]):
                open_kinds.remove(kind)
    left_out = {k: n for k in facts if (n := len(facts[k]) - len(chosen[k]))}
    every = tuple(fact for kind in SECTIONS for fact in chosen[kind])
    return msgspec.structs.replace(whole, facts=every, left_out=left_out)


def brief(report: SurveyReport) -> str:
    """The report as Markdown. Text of the repository stands in code blocks, as it is."""
    languages = ", ".join(f"{name} {count}" for name, count in report.languages.items())
    at = f" at commit {report.commit[:12]} ({report.date})" if report.commit else ""
    sources = f"Source files: {languages or 'none that can be read'}."
    parts = [
        f"# Survey: {report.name}\n\n{quantity(report.files, 'tracked file')}{at}. {sources}\n"
    ]
    if report.since:
        subjects = "".join(f"    {subject}\n" for subject in report.commits)
        parts.append(f"\n## Commits since {_quoted(report.since)}\n\n{subjects or '    none'}")
    for kind, section in SECTIONS.items():
        own = [fact for fact in report.facts if fact.kind == kind]
        if own:
            parts.append(f"\n## {section.title}\n\n" + "".join(map(_brief_line, own)))
    return "".join(parts) + _brief_end(report.left_out)


def _brief_end(left_out: Mapping[str, int]) -> str:
    more = ", ".join(f"{count} {kind}" for kind, count in left_out.items())
    return f"\nLeft out for the limit: {more}.\n" if more else ""


def _brief_line(fact: SurveyFact) -> str:
    note = f"        {fact.note}\n" if fact.note else ""
    return f"    {fact.path}:{fact.line}  {fact.text}\n{note}"


def _quoted(text: str) -> str:
    line = on_one_line(text)
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST].rstrip()} …"


def _facts(project: Project, root: Path) -> Iterator[SurveyFact]:
    yield from _changes(project)
    yield from _promises(project)
    yield from _of_questions(
        project, "fixed-again", history_questions(project.survey, project.line_commits)
    )
    copies = sorted(duplicate_questions(project.survey), key=lambda one: -one.weight)
    yield from _of_questions(project, "two-copies", copies)
    yield from _waits(project)
    yield from _risks(project)
    yield from _central(project)
    yield from _dense(project)
    yield from _public(project)
    yield from _tests(project)
    yield from _tickets(root)


def _fact(project: Project, kind: str, path: str, line: int, note: str = "") -> SurveyFact:
    text = project.survey.line(path, line) if path in project.survey.files else ""
    return SurveyFact(kind, path, line, _quoted(text), _quoted(note))


def _changes(project: Project) -> Iterator[SurveyFact]:
    """The first changed line of each hunk, with the lines of the diff."""
    changes = project.survey.changes
    for path, change in changes.files.items() if changes is not None else ():
        for hunk in change.hunks if path in project.survey.files else ():
            changed = [line for line in hunk.lines if line[:1] in "+-"]
            touched = sorted(n for n in change.touched if n >= hunk.line)
            lines = [n for n in touched if project.survey.line(path, n)]
            note = " ⏎ ".join(on_one_line(line) for line in changed[:_MOST_HUNK_LINES])
            for line in lines[:1]:
                fact = _fact(project, "change", path, line)
                yield msgspec.structs.replace(fact, note=note[: 6 * _LONGEST])


def _promises(project: Project) -> Iterator[SurveyFact]:
    """The first sentence below each heading, and every sentence that promises something."""
    documents = [
        file
        for file in project.survey.files.values()
        if file.role is FileRole.DOC and "licen" not in file.path.lower()
    ]

    def place(file: SurveyedFile) -> tuple[int, int, str]:
        stem = file.path.rpartition("/")[2].lower().partition(".")[0]
        first = _FIRST_PAGES.index(stem) if stem in _FIRST_PAGES else len(_FIRST_PAGES)
        return (file.path.count("/") if first < len(_FIRST_PAGES) else 9, first, file.path)

    documents.sort(key=place)
    for file in documents:
        pairs = list(_sentences(file))
        first = [pair for pair in pairs if pair[2]]
        promising = [pair for pair in pairs if not pair[2]]
        for line, heading, _ in sorted(first[:_PER_DOCUMENT] + promising[:_PER_DOCUMENT]):
            yield _fact(project, "promise", file.path, line, heading)


def _sentences(file: SurveyedFile) -> Iterator[tuple[int, str, bool]]:
    """Line, heading and whether it is the first below that heading."""
    heading, is_first, fence = "", True, ""
    for number, line in enumerate(file.lines, 1):
        following = file.lines[number] if number < len(file.lines) else ""
        around = _FENCE.match(line)
        if around is not None and not fence:
            fence = around["sign"]
        elif around is not None and around["sign"].startswith(fence) and not around["rest"].strip():
            fence = ""
            continue
        match = _HEADING.match(line)
        if fence:
            continue
        if match or (line.strip() and _UNDERLINE.match(following) and not line[0].isspace()):
            heading, is_first = match["text"] if match else line.strip(), True
        elif _PROSE.match(line) and not _NO_PROSE.match(line):
            if is_first or _PROMISE.search(line):
                yield number, heading, is_first
            is_first = False


def _of_questions(
    project: Project, kind: str, questions: Iterable[QuestionCandidate]
) -> Iterator[SurveyFact]:
    """The quoted lines of questions that could be asked."""
    for one in questions:
        facts = "; ".join(one.facts)
        for place in one.evidence:
            other = "" if len(one.paths) == 1 else f"{one.subject}: {' and '.join(one.paths)}"
            yield _fact(project, kind, place.path, place.line, facts or other or one.subject)
            facts = ""


def _waits(project: Project) -> Iterator[SurveyFact]:
    for file, source in project.survey.sources:
        for mark in source.marks:
            if reason := unlimited_wait(source.language, mark):
                yield _fact(project, "wait", file.path, mark.line, reason)


def _risks(project: Project) -> Iterator[SurveyFact]:
    risks = [one for one in code_questions(project.survey) if one.key != "dense-function"]
    rank = project.survey.standing
    for one in sorted(risks, key=lambda one: (-rank(one.reference), one.reference, one.evidence)):
        for place in one.evidence[:3]:
            note = f"{one.key}: {one.subject}"
            yield _fact(project, "risk", place.path, place.line, note)


def _central(project: Project) -> Iterator[SurveyFact]:
    survey = project.survey
    for path in survey.central[:_CENTRAL]:
        file = survey.files[path]
        definitions = file.source.definitions if file.source is not None else ()
        first = min((d.line for d in definitions), default=1)
        note = (
            f"{quantity(len(survey.importers(path)), 'importer')},"
            f" {quantity(sum(d.branches for d in definitions), 'decision')},"
            f" {quantity(file.churn, 'commit')}, {quantity(file.fixes, 'fix', 'fixes')}"
        )
        yield _fact(project, "central", path, first, note)


def _dense(project: Project) -> Iterator[SurveyFact]:
    """The functions with the most decisions, those of often changed files before others."""
    dense = [
        (definition.branches * (2 + file.churn) ** 0.5, file.path, definition, file)
        for file, source in project.survey.sources
        for definition, _ in source.functions
        if definition.branches >= _FEW_DECISIONS
    ]
    dense.sort(key=lambda one: (-one[0], one[1], one[2].line))
    for _, path, definition, file in dense[:_FUNCTIONS]:
        note = f"{definition.branches} decisions in {definition.length} lines"
        note += f", {quantity(file.churn, 'commit')}" if file.churn else ""
        yield _fact(project, "dense", path, definition.line, note)


def _public(project: Project) -> Iterator[SurveyFact]:
    """What others may call: where programs begin, what packages hand out, what is used most."""
    survey = project.survey
    public = []
    for file, source in survey.sources:
        is_home = is_entry(file.path) or file.path.rpartition("/")[2] in _PUBLIC_HOMES
        for definition in source.definitions:
            uses = len({use.path for use in survey.uses(file.path, definition.name)})
            if definition.is_public and definition.owner < 0 and (uses or is_home):
                public.append((not is_home, -uses, file.path, definition.line))
    per_folder: Counter[str] = Counter()
    for _, uses, path, line in sorted(public):
        per_folder[dirname(path)] += 1
        if per_folder[dirname(path)] <= _PER_DOCUMENT:
            note = f"called in {quantity(-uses, 'other file')}" if uses else ""
            yield _fact(project, "public", path, line, note)


def _tests(project: Project) -> Iterator[SurveyFact]:
    survey = project.survey
    for path in survey.central[:_CENTRAL]:
        tests = survey.tests_of(path)
        if not tests and survey.has_tests:
            source = survey.files[path].source
            line = min((d.line for d in source.definitions), default=1) if source else 1
            yield _fact(project, "untested", path, line)
        for test in tests[:2]:
            uses = [
                use.line
                for (target, _), places in survey.graph.test_uses.items()
                for use in places
                if target == path and use.path == test
            ]
            yield _fact(project, "test", test, min(uses, default=1), f"tests {path}")


def _tickets(root: Path) -> Iterator[SurveyFact]:
    try:
        folder = find_tickets_dir(root, "")
        for name in list_files(root, folder):
            if name.endswith((".md", ".txt")):
                lines = read_ticket(root, folder, name).text.split("\n")
                first = next((n for n, line in enumerate(lines, 1) if line.strip()), 0)
                if first:
                    yield SurveyFact("ticket", f"{folder}/{name}", first, _quoted(lines[first - 1]))
    except InputError:
        return  # without tickets there is nothing to tell about them
