"""A repository's facts, gathered once: what every question is chosen and worded from."""

import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from oraclepack.authoring.file_kinds import (
    GENERATED_MARK,
    FileKind,
    is_own,
    is_speakable,
    kind_of,
    language_of,
)
from oraclepack.authoring.imports import ImportGraph
from oraclepack.authoring.repository import RepositorySnapshot, TrackedFile
from oraclepack.authoring.signs import Trait
from oraclepack.authoring.traits import Trace, spoken, symbols_of, traits_of

WIDEST_COMMIT = 30
"""A commit that touches more files says nothing about who belongs together."""
_SHOWING = frozenset({FileKind.CODE, FileKind.SCREEN, FileKind.SCHEMA, FileKind.WORKFLOW})
"""The kinds whose texts are searched for traits."""
_ENTRY = re.compile(
    r"(?:^|/)(?:__main__|main|app|server|cli|index|manage|wsgi|asgi|program)\.\w+$", re.IGNORECASE
)
_NAMES = {
    "pyproject.toml": re.compile(r"^\s*name\s*=\s*[\"']([^\"'\n]+)", re.MULTILINE),
    "Cargo.toml": re.compile(r"^\s*name\s*=\s*\"([^\"\n]+)", re.MULTILINE),
    "package.json": re.compile(r"\"name\"\s*:\s*\"([^\"\n]+)\""),
    "composer.json": re.compile(r"\"name\"\s*:\s*\"([^\"\n]+)\""),
    "go.mod": re.compile(r"^module\s+(\S+)", re.MULTILINE),
    "setup.py": re.compile(r"\bname\s*=\s*[\"']([^\"'\n]+)"),
}
_TITLE = re.compile(r"^#\s+(.+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file that may be attached, and everything measured about it."""

    path: str
    kind: FileKind
    language: str | None
    size: int
    lines: int
    traits: Mapping[Trait, Trace]
    is_entry: bool = False
    churn: int = 0
    """In how many commits it was changed."""
    imports: tuple[str, ...] = ()
    importers: tuple[str, ...] = ()

    def count(self, trait: Trait) -> int:
        found = self.traits.get(trait)
        return found.count if found else 0


@dataclass(frozen=True, slots=True)
class Survey:
    """The repository as the questions see it."""

    name: str
    tracked: int
    sources: Mapping[str, SourceFile]
    """By path, in the order of the paths."""
    languages: tuple[tuple[str, int], ...] = ()
    """Each with its number of files, the most used first."""
    entries: tuple[str, ...] = ()
    commits: Mapping[str, frozenset[int]] = field(default_factory=dict)
    """For each path the commits that say something about its company."""
    searched: int = 0
    """How many texts were looked into."""

    def together(self, one: str, other: str) -> int:
        """How many commits changed both."""
        nothing: frozenset[int] = frozenset()
        return len(self.commits.get(one, nothing) & self.commits.get(other, nothing))

    def total(self, trait: Trait) -> int:
        return sum(source.count(trait) for source in self.sources.values())


def survey(
    repository: RepositorySnapshot, *, limit: int, is_secret: Callable[[str], bool]
) -> Survey:
    """Look at every tracked file once.

    `limit` is the size of the largest file that may be attached, `is_secret` says which names
    look as if a secret were inside.
    """
    usable = [f for f in repository.files if _usable(f, limit) and not is_secret(f.path)]
    texts = {file.path: file.text for file in usable if file.text is not None}
    code = {path: text for path, text in texts.items() if language_of(path)}
    graph = ImportGraph(code, _module(texts))
    churn = Counter(path for commit in repository.commits for path in set(commit))
    found = [_source(file, graph, churn[file.path]) for file in usable]
    spoken_for = Counter(s.language for s in found if s.language and s.kind is not FileKind.TEST)
    return Survey(
        name=_name(texts),
        tracked=len(repository.files),
        sources={source.path: source for source in found},
        languages=tuple(sorted(spoken_for.items(), key=lambda item: (-item[1], item[0]))),
        entries=tuple(source.path for source in found if source.is_entry),
        commits=_company(repository.commits),
        searched=sum(kind_of(path) in _SHOWING for path in texts),
    )


def _usable(file: TrackedFile, limit: int) -> bool:
    if file.text is None or not 0 < file.size <= limit or GENERATED_MARK.search(file.text[:2500]):
        return False
    return (
        kind_of(file.path) is not FileKind.OTHER
        and is_speakable(file.path)
        and not is_own(file.path)
    )


def _source(file: TrackedFile, graph: ImportGraph, churn: int) -> SourceFile:
    kind, language, text = kind_of(file.path), language_of(file.path), file.text or ""
    traits = traits_of(text) if kind in _SHOWING else {}
    symbols = symbols_of(language, text) if kind is FileKind.CODE else None
    if symbols is not None:
        traits[Trait.SYMBOL] = symbols
    if _lies_in_migrations(file.path) and kind in {FileKind.CODE, FileKind.SCHEMA}:
        traits.setdefault(Trait.MIGRATION, Trace(1, (spoken(PurePosixPath(file.path).stem),)))
    return SourceFile(
        path=file.path,
        kind=kind,
        language=language,
        size=file.size,
        lines=text.count("\n") + (not text.endswith("\n")),
        traits=traits,
        is_entry=kind is FileKind.CODE and _ENTRY.search(file.path) is not None,
        churn=churn,
        imports=graph.imports.get(file.path, ()),
        importers=tuple(graph.importers.get(file.path, ())),
    )


def _lies_in_migrations(path: str) -> bool:
    place = PurePosixPath(path)
    folders = {part.lower() for part in place.parts[:-1]}
    return bool({"migrations", "migrate", "alembic"} & folders) and place.stem != "__init__"


def _company(commits: tuple[tuple[str, ...], ...]) -> dict[str, frozenset[int]]:
    found: dict[str, set[int]] = {}
    for number, paths in enumerate(commits):
        if len(paths) <= WIDEST_COMMIT:
            for path in paths:
                found.setdefault(path, set()).add(number)
    return {path: frozenset(numbers) for path, numbers in found.items()}


def _name(texts: Mapping[str, str]) -> str:
    """What the project calls itself: never the folder of the clone, which is anybody's choice."""
    for manifest, pattern in _NAMES.items():
        match = pattern.search(texts.get(manifest, ""))
        if match is not None:
            return spoken(match[1].rpartition("/")[2]) or "this repository"
    readme = next((path for path in sorted(texts) if path.lower() == "readme.md"), "")
    title = _TITLE.search(texts.get(readme, ""))
    words = [spoken(word) for word in title[1].split()[:6]] if title else []
    return " ".join(filter(None, words)) or "this repository"


def _module(texts: Mapping[str, str]) -> str:
    match = _NAMES["go.mod"].search(texts.get("go.mod", ""))
    return match[1] if match else ""
