"""A repository understood once: roles, parsed sources, import graph, history.

Every fact and every question is made from this value; nothing else is looked at.
"""

import re
from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from math import log2

from oraclepack.authoring.file_roles import FileRole, stem_of
from oraclepack.authoring.git_repository import Changes, Commit, StoredText
from oraclepack.authoring.import_graph import ImportGraph, Use
from oraclepack.authoring.source_facts import ParsedSource

_ALWAYS_CENTRAL = 3
_SHARES = (0.03, 0.15, 0.4)
"""The first files of the order that count as central, by how much."""
_MOST_FIXED = 0.9
_TELLING = 4
"""Characters from which on a name is unlikely to be in a test by chance."""
_FIX = re.compile(
    r"\b(?:fix(?:es|ed)?|bug(?:s|fix)?|hotfix|regressions?|crash(?:es|ed)?|broken|deadlocks?"
    r"|races?|leaks?|incorrect(?:ly)?|wrong(?:ly)?|vulnerab\w+|CVE-\d+)\b",
    re.IGNORECASE,
)
_MOST_FIXED_FILES = 12
"""A commit of more files, with its tests and pages, corrects several things at once."""
_NO_FIX = re.compile(
    r"\b(?:typos?|lint\w*|docs?|docstrings?|readme|changelog|tests?|ci|formatting|format|style"
    r"|mypy|ruff|flake8|spelling|comments?|links?|wording|whitespace)\b",
    re.IGNORECASE,
)
_WORD = re.compile(r"\w+")
_SAFE = re.compile(r"[^\w./@+ -]+")


@lru_cache(maxsize=64)
def _lines(text: str) -> list[str]:
    # Files are looked at one after another, and each many times.
    return text.split("\n")


@dataclass(frozen=True, slots=True)
class SurveyedFile:
    """A file that may be attached, and everything measured about it."""

    path: str
    role: FileRole
    language: str | None
    size: int
    content: StoredText
    source: ParsedSource | None = None
    """None for what is no code, or has no parser here."""
    is_subject: bool = False
    """Whether questions may be about it."""
    churn: int = 0
    """In how many commits it was changed."""
    fixes: int = 0
    """In how many commits that say that they fix something."""

    @property
    def text(self) -> str:
        return self.content.read()

    @property
    def lines(self) -> list[str]:
        return _lines(self.text)


@dataclass(frozen=True)
class RepositorySurvey:
    """Everything about the repository that questions are made from."""

    name: str
    tracked: int
    files: Mapping[str, SurveyedFile]
    """By path, in the order of the paths."""
    graph: ImportGraph
    ranks: Mapping[str, float]
    """How central each subject is."""
    unread: Mapping[str, int]
    """Languages of which no file could be read, and how many there are."""
    commits: tuple[Commit, ...] = ()
    changes: Changes | None = None
    """With `--since`: what changed; only that is of interest."""
    left_out: Mapping[str, int] = field(default_factory=dict)
    """Folders of code that was built or copied, and how many files of it."""
    unparsed: int = 0
    """Source files that were left out because the repository is very large."""

    @cached_property
    def subjects(self) -> list[SurveyedFile]:
        return [file for file in self.files.values() if file.is_subject]

    @cached_property
    def sources(self) -> list[tuple[SurveyedFile, ParsedSource]]:
        """The subjects with what the reader found."""
        return [(file, file.source) for file in self.subjects if file.source is not None]

    @cached_property
    def central(self) -> list[str]:
        """The subjects, the most central first."""
        ranked = sorted(self.ranks, key=lambda path: (-self._weight(path), path))
        return [path for path in ranked if self.files[path].is_subject]

    def _weight(self, path: str) -> float:
        """Imports in both directions, times decisions, times changes.

        A list of re-exports is imported by all and decides nothing; a module that puts others
        to work is imported by few and decides much.
        """
        source = self.files[path].source
        branches = sum(d.branches for d in source.definitions) if source else 0
        changes = log2(2 + self.files[path].churn)
        return round(self.ranks[path] * log2(2 + branches) ** 2 * changes, 9)

    @cached_property
    def _places(self) -> dict[str, int]:
        return {path: number for number, path in enumerate(self.central)}

    def standing(self, path: str) -> int:
        """How central a file is: 3 for the first few, 0 for those that hardly anything imports."""
        place = self._places.get(path)
        if place is None or not (self.importers(path) or self.graph.imports.get(path)):
            return 0
        share = place / max(len(self._places), 1)
        if place < _ALWAYS_CENTRAL:
            return len(_SHARES)
        return sum(share < limit for limit in _SHARES)

    @cached_property
    def _fix_counts(self) -> list[int]:
        return sorted(file.fixes for file in self.subjects if file.fixes)

    def trouble(self, path: str) -> int:
        """How often fixes touched a file beside the others: 0 to 2."""
        fixes = self.files[path].fixes
        counts = self._fix_counts
        if fixes <= 1 or not counts:
            return 0
        return 2 if bisect_right(counts, fixes - 1) >= _MOST_FIXED * len(counts) else 1

    def importers(self, path: str) -> list[str]:
        importers = self.graph.importers.get(path, [])
        return [one for one in importers if self.files[one].is_subject]

    def uses(self, path: str, name: str) -> list[Use]:
        """Where subjects call a name of another file."""
        uses = self.graph.uses.get((path, name), [])
        return [use for use in uses if self.files[use.path].is_subject]

    def tests_of(self, path: str, name: str = "") -> list[str]:
        """The tests of a file, those first that say most about one of its functions.

        A test that carries the file's name but mentions nothing of it is another file's test.
        """
        source = self.files[path].source
        names = {d.name for d in source.definitions if len(d.name) >= _TELLING} if source else set()
        importing = set(self.graph.testers.get(path, ()))
        named = {
            test
            for test in self._tests_by_stem.get(stem_of(path), ())
            if test in importing or names & {*_WORD.findall(self.files[test].text)}
        }
        word = re.compile(rf"\b{re.escape(name.rpartition('.')[2] or path)}\b")
        mentions = {t: len(word.findall(self.files[t].text)) for t in importing | named}
        return sorted(mentions, key=lambda test: (-mentions[test], test not in named, test))

    @cached_property
    def _tests_by_stem(self) -> dict[str, list[str]]:
        tests: dict[str, list[str]] = {}
        for file in self.files.values():
            if file.role is FileRole.TEST:
                tests.setdefault(stem_of(file.path), []).append(file.path)
        return tests

    @cached_property
    def has_tests(self) -> bool:
        return any(file.role is FileRole.TEST for file in self.files.values())

    def line(self, path: str, number: int) -> str:
        lines = self.files[path].lines
        return lines[number - 1].strip() if 0 < number <= len(lines) else ""

    def is_changed(self, path: str, line: int) -> bool:
        change = self.changes.files.get(path) if self.changes is not None else None
        return change is not None and line in change.touched

    def fixes_of(self, path: str) -> list[Commit]:
        return [c for c in self.commits if is_fix(c) and path in c.paths]


def is_fix(commit: Commit) -> bool:
    """Whether a commit says that it corrects behaviour, and touches few enough files for that."""
    says_so = _FIX.search(commit.subject) is not None and _NO_FIX.search(commit.subject) is None
    return says_so and len(commit.paths) <= _MOST_FIXED_FILES


def plain_word(text: str) -> str:
    """Text from a file as plain words for a prompt or a header."""
    return " ".join(_SAFE.sub(" ", text).split())[:60]
