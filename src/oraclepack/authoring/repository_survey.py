"""A repository understood once: roles, parsed sources, import graph, history.

Every question is made from this value; nothing else is looked at.
"""

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from math import log2
from posixpath import dirname
from typing import NamedTuple

from oraclepack.authoring.call_names import (
    is_file_change,
    is_preparation,
    is_request,
    is_slow,
    method,
)
from oraclepack.authoring.file_roles import (
    FileRole,
    stem_of,
)
from oraclepack.authoring.git_repository import ChangedLines, Commit, StoredText
from oraclepack.authoring.import_graph import ImportGraph, Use
from oraclepack.authoring.source_facts import Definition, Mark, MarkKind, ParsedSource

WIDEST_COMMIT = 30
"""A commit that touches more files says nothing about which belong together."""
_COMMON_METHODS = frozenset(
    {*dir(str), *dir(bytes), *dir(dict), *dir(list), *dir(set), *dir(int)}
    | {"read", "write", "close", "open", "run", "start", "stop", "main", "load", "dump", "send"}
)
"""Names that many objects have: a call of one says nothing about the function of that name."""
_MAKING = frozenset(
    {"__init__", "__new__", "__post_init__", "__enter__", "constructor", "initialize"}
)
"""Methods that run when an object is made or entered."""
_ALWAYS_CENTRAL = 3
_SHARES = (0.03, 0.15, 0.4)
"""The first files of the order that count as central, by how much."""
_MOST_FIXED = 0.9
_LONG_NAME = 6
_MANY = 30
_FEW_TESTED = 0.2
"""The share of tested files below which a missing test says nothing about one file."""
_FIX = re.compile(
    r"\b(?:fix(?:es|ed)?|bug(?:s|fix)?|hotfix|regressions?|crash(?:es|ed)?|broken|deadlocks?"
    r"|races?|leaks?|reverts?|incorrect(?:ly)?|wrong(?:ly)?|vulnerab\w+|CVE-\d+)\b",
    re.IGNORECASE,
)
_MOST_FIXED_FILES = 12
"""A commit of more files, with its tests and pages, corrects several things at once."""
_NO_FIX = re.compile(
    r"\b(?:typos?|lint\w*|docs?|docstrings?|readme|changelog|tests?|ci|formatting|format|style"
    r"|mypy|ruff|flake8|spelling|comments?|links?|wording|whitespace)\b",
    re.IGNORECASE,
)
_OTHER_BRANCH = re.compile(
    r"\s*(?:\}\s*)?(?:else|elif|elsif|case|default|when|except|catch|rescue)\b"
)

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
    test_words: frozenset[str] = frozenset()
    """Every word of three letters or more in the tests."""
    changed: Mapping[str, ChangedLines] = field(default_factory=dict)
    """With `--since`: what changed."""
    left_out: Mapping[str, int] = field(default_factory=dict)
    """Folders of code that was built or copied, and how many files of it."""
    unparsed: int = 0
    """Source files that were left out because the repository is very large."""
    is_limited: bool = False
    """Whether only what changed is of interest."""

    @cached_property
    def subjects(self) -> list[SurveyedFile]:
        return [file for file in self.files.values() if file.is_subject]

    @cached_property
    def sources(self) -> list[tuple[SurveyedFile, ParsedSource]]:
        """The subjects with what their parsers found."""
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

    @cached_property
    def _call_counts(self) -> tuple[Counter[str], Counter[str]]:
        called: Counter[str] = Counter()
        defined: Counter[str] = Counter()
        for _, source in self.sources:
            called.update(method(m.name) for m in source.marks if m.kind is MarkKind.CALL)
            inner = [d for d in source.definitions if d.owner >= 0]
            hidden = {d.name for d in inner if source.definitions[d.owner].is_callable}
            defined.update(d.name for d in source.definitions)
            defined.update(hidden)  # a name inside a function says nothing about calls elsewhere
        return called, defined

    def calls_of(self, name: str) -> int:
        """How many lines call a name that is defined only once; 0 where that cannot be said."""
        called, defined = self._call_counts
        return called[name] if defined[name] == 1 and name not in _COMMON_METHODS else 0

    @cached_property
    def _targets(self) -> dict[tuple[str, int, str], tuple[str, str]]:
        """Path, line and last name of a call to the file and name that it means."""
        targets = {}
        for (target, name), uses in self.graph.uses.items():
            for use in uses:
                targets[use.path, use.line, method(name)] = (target, name)
        return targets

    def target_of(self, path: str, line: int, name: str) -> tuple[str, str] | None:
        """The file and the name in it that a call means, where it is one of another file."""
        parts = name.replace("::", ".").split(".")
        for part in reversed(parts):
            target = self._targets.get((path, line, part))
            if target is not None:
                return target
        return None

    @cached_property
    def _effects(self) -> tuple[frozenset[tuple[str, str]], frozenset[tuple[str, str]]]:
        """Names whose code reaches outside of the process, and those that change what is there."""
        effects: set[tuple[str, str]] = set()
        changes: set[tuple[str, str]] = set()
        callers: dict[tuple[str, str], set[tuple[str, str]]] = {}
        for file, source in self.sources:
            names = _callable_names(source)
            for mark in source.marks:
                if mark.kind is not MarkKind.CALL or mark.owner < 0:
                    continue
                here = (file.path, names[mark.owner])
                if is_slow(mark) or is_file_change(mark):
                    effects.add(here)
                if (is_file_change(mark) and not is_preparation(mark)) or is_request(mark):
                    changes.add(here)
                target = self._called(file.path, names, mark)
                if target is not None:
                    callers.setdefault(target, set()).add(here)
        return _with_callers(effects, callers), _with_callers(changes, callers)

    def _called(self, path: str, names: list[str], mark: Mark) -> tuple[str, str] | None:
        """The file and name that a call means, also within its own file and class."""
        target = self.target_of(path, mark.line, mark.name)
        if target is not None:
            return target
        known = next((flag for flag in mark.flags if flag.startswith("on:")), "")
        root, _, name = mark.name.rpartition(".")
        if known:
            return path, f"{known.removeprefix('on:')}.{name}"
        if root in {"self", "this", "cls"}:
            return path, f"{names[mark.owner].partition('.')[0]}.{name}"
        return (path, mark.name) if not root else None

    def has_effect(self, path: str, name: str) -> bool:
        """Whether a function or class reaches files, programs or other systems."""
        return (path, name) in self._effects[0]

    def makes_changes(self, path: str, name: str) -> bool:
        """Whether a function or class changes files, or what another system holds."""
        return (path, name) in self._effects[1]

    @cached_property
    def untested(self) -> frozenset[str]:
        """The subjects that no test reaches by imports and of which none mentions a public name."""
        if not self.test_words:
            return frozenset()
        tested = {file.path for file in self.subjects if self._is_tested(file.path)}
        if len(self.subjects) >= _MANY and len(tested) < _FEW_TESTED * len(self.subjects):
            return frozenset()  # the tests are elsewhere, as in what is published of a package
        waiting = sorted(tested)
        while waiting:
            for path in self.graph.imports.get(waiting.pop(), ()):
                if path not in tested:
                    tested.add(path)
                    waiting.append(path)
        untested = [file.path for file in self.subjects if file.path not in tested]
        return frozenset({*untested} - self._named_in(untested, tested))

    def _named_in(self, paths: list[str], tested: Collection[str]) -> set[str]:
        """The files whose names tested code writes down, as what loads modules on demand does."""
        by_stem: dict[str, set[str]] = {}
        for path in paths:
            by_stem.setdefault(stem_of(path), set()).add(path)
        words = [stem for stem in sorted(by_stem) if len(stem) >= _LONG_NAME]
        if not words:
            return set()
        pattern = re.compile(rf"[\"'.]({'|'.join(map(re.escape, words))})[\"':]")
        return {
            path
            for one in sorted(tested)
            for stem in {*pattern.findall(self.files[one].text)}
            for path in by_stem[stem]
        }

    def _is_tested(self, path: str) -> bool:
        if self.graph.testers.get(path):
            return True
        source = self.files[path].source
        names = {d.name for d in source.definitions if d.is_public} if source else set()
        return bool(names & self.test_words)

    def tests_of(self, path: str) -> list[str]:
        """The tests of a file: those that carry its name first, then those that import it."""
        stem, folder = stem_of(path), dirname(path).rpartition("/")[2]
        tests, counts = self._stems
        importing = self.graph.testers.get(path, [])
        named = [
            test
            for test in tests.get(stem, ())
            if test in importing or counts[stem] == 1 or _is_in(test, folder)
        ]
        return sorted({*named, *importing}, key=lambda t: (t not in named, t not in importing, t))

    @cached_property
    def _stems(self) -> tuple[dict[str, list[str]], Counter[str]]:
        """Tests by the name that they carry, and how many subjects have a name."""
        tests: dict[str, list[str]] = {}
        for file in self.files.values():
            if file.role is FileRole.TEST:
                tests.setdefault(stem_of(file.path), []).append(file.path)
        return tests, Counter(stem_of(file.path) for file in self.subjects)

    def line(self, path: str, number: int) -> str:
        lines = self.files[path].lines
        return lines[number - 1].strip() if 0 < number <= len(lines) else ""

    def is_changed(self, path: str, first: int, last: int) -> bool:
        changed = self.changed.get(path)
        return changed is not None and any(a <= last and first <= b for a, b in changed.ranges)

    def fixes_of(self, path: str) -> list[Commit]:
        return [c for c in self.commits if is_fix(c) and path in c.paths]


def _is_in(path: str, folder: str) -> bool:
    return dirname(path).rpartition("/")[2] == folder


def is_fix(commit: Commit) -> bool:
    """Whether a commit says that it corrects behaviour, and touches few enough files for that."""
    says_so = _FIX.search(commit.subject) is not None and _NO_FIX.search(commit.subject) is None
    return says_so and len(commit.paths) <= _MOST_FIXED_FILES


def shows_condition(file: SurveyedFile, mark: Mark) -> bool:
    """Whether the line of a branch names every parameter that its condition reads."""
    if mark.kind is not MarkKind.BRANCH or not mark.detail:
        return False
    return {*mark.detail.split()} <= {*re.findall(r"[\w$]+", file.lines[mark.line - 1])}


def leads_to(lines: list[str], ends: list[int], first: int, last: int) -> bool:
    """Whether one line is followed by another on some path, judged by the indentation.

    It is not if its block ends by a return in between, or if the other is in another branch.
    """
    depth = depth_of(lines[first - 1])
    for end in ends:
        is_guard = lines[end - 1].lstrip().startswith("if")
        if first <= end < last and depth_of(lines[end - 1]) <= depth and not is_guard:
            return False
    return not any(
        _OTHER_BRANCH.match(line) and depth_of(line) < min(depth, depth_of(lines[last - 1]))
        for line in lines[first : last - 1]
    )


def depth_of(line: str) -> int:
    """How far a line is indented."""
    return len(line) - len(line.lstrip())


def plain_word(text: str) -> str:
    """Text from a file as plain words for a prompt or a header."""
    return " ".join(_SAFE.sub(" ", text).split())[:60]


def _callable_names(source: ParsedSource) -> list[str]:
    """For each definition the name that a call of its code uses.

    `Class.method` for methods; the class itself for what runs when an object of it is made.
    """
    names: list[str] = []
    for definition in source.definitions:
        if definition.owner < 0:
            names.append(definition.name)
            continue
        around = names[definition.owner]
        is_method = definition.kind == "method" and definition.name not in _MAKING
        names.append(f"{around}.{definition.name}" if is_method else around)
    return names


def _with_callers(
    names: set[tuple[str, str]], callers: Mapping[tuple[str, str], Collection[tuple[str, str]]]
) -> frozenset[tuple[str, str]]:
    """Some names and all that call them, directly or not."""
    reached = set(names)
    waiting = sorted(names)
    while waiting:
        for caller in callers.get(waiting.pop(), ()):
            if caller not in reached:
                reached.add(caller)
                waiting.append(caller)
    return frozenset(reached)


class SurveyedFunction(NamedTuple):
    """A function or method of a subject, with what stands directly inside it."""

    file: SurveyedFile
    source: ParsedSource
    marks: list[Mark]
    definition: Definition


def functions_of(survey: RepositorySurvey) -> Iterator[SurveyedFunction]:
    """Every function and method of the subjects."""
    for file, source in survey.sources:
        inside: dict[int, list[Mark]] = {}
        for mark in source.marks:
            inside.setdefault(mark.owner, []).append(mark)
        for index, definition in enumerate(source.definitions):
            if definition.is_callable:
                yield SurveyedFunction(file, source, inside.get(index, []), definition)


def marks_by_owner(source: ParsedSource, kinds: Collection[MarkKind]) -> dict[int, list[Mark]]:
    """The marks of some kinds, by the definition around them."""
    by_owner: dict[int, list[Mark]] = {}
    for mark in source.marks:
        if mark.kind in kinds:
            by_owner.setdefault(mark.owner, []).append(mark)
    return by_owner
