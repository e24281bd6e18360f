"""Which files import which, how central each is, and where the names of one are used in others."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import PurePosixPath
from posixpath import dirname, join, normpath
from typing import NamedTuple

from oraclepack.authoring.source_facts import ImportedModule, MarkKind, ParsedSource

_ENDINGS = (
    *("", ".ts", ".tsx", ".js", ".jsx", ".mjs", ".cjs", ".vue", ".svelte"),
    *("/index.ts", "/index.tsx", "/index.js"),
)
_ROOTS = ("", "src/", "lib/", "app/")
_MOST_PER_FOLDER = 12
"""A Go import names a folder; only its first files are followed, in the order of their names."""
_MOST_USES = 40
"""Places that are kept for one name; more say nothing new."""
_ROUNDS = 30
_DAMPING = 0.85
_HOPS = 3
"""How many re-exports are followed."""
_SCRIPT = frozenset({"JavaScript", "TypeScript"})


class Use(NamedTuple):
    """A line that calls something defined in another file."""

    path: str
    line: int


class _Binding(NamedTuple):
    """What a local name stands for: a file, and a name in it; an empty name is the whole file."""

    target: str
    name: str


class ImportGraph:
    """Who imports whom."""

    def __init__(
        self,
        sources: Mapping[str, ParsedSource],
        tests: Mapping[str, ParsedSource],
        modules: Mapping[str, str] | None = None,
    ) -> None:
        """Resolve the imports of sources, and those of tests into them.

        `modules` are the paths that the `go.mod` of each folder gives.
        """
        self._sources = sources
        self._modules = modules or {}
        self._paths = frozenset(sources)
        self._by_tail = _by_tail(sources)
        self._folders: dict[str, list[str]] = {}
        for path in sorted(sources):
            self._folders.setdefault(dirname(path), []).append(path)
        self._defined = {path: _defined(source) for path, source in sources.items()}
        readers = {**sources, **tests}
        self._bindings = {p: self._bound(p, s.language, s.imports) for p, s in readers.items()}
        self._by_name = _unique_names(sources)
        self.imports: dict[str, tuple[str, ...]] = {}
        self.importers: dict[str, list[str]] = {path: [] for path in sources}
        self.uses = self._collected_uses(sources)
        self._link()
        self.testers: dict[str, list[str]] = {path: [] for path in sources}
        self.test_uses = self._collected_uses(tests)
        reached = {(target, p) for p, s in tests.items() for target in self._targets(p, s)}
        reached |= {(key[0], use.path) for key, uses in self.test_uses.items() for use in uses}
        for target, path in sorted(reached):
            self.testers[target].append(path)

    def _targets(self, path: str, source: ParsedSource) -> set[str]:
        """The files that a file's import statements name."""
        return {b.target for _, b in self._pairs(path, source.language, source.imports)}

    def ranks(self, paths: Iterable[str]) -> dict[str, float]:
        """How central each file is among some.

        Its rank by the imports that lead to it, plus half of its rank by those that lead from it.
        """
        chosen = sorted(paths)
        inside = set(chosen)
        out = {p: [t for t in self.imports.get(p, ()) if t in inside] for p in chosen}
        back = {p: [t for t in self.importers.get(p, ()) if t in inside] for p in chosen}
        there, here = _ranked(chosen, out), _ranked(chosen, back)
        return {path: round(there[path] + here[path] / 2, 9) for path in chosen}

    # Resolution

    def _bound(
        self, path: str, language: str, imports: Iterable[ImportedModule]
    ) -> dict[str, _Binding]:
        return {local: binding for local, binding in self._pairs(path, language, imports) if local}

    def _pairs(
        self, path: str, language: str, imports: Iterable[ImportedModule]
    ) -> Iterator[tuple[str, _Binding]]:
        for statement in imports:
            match language:
                case "Python":
                    pairs = self._python(path, statement)
                case "Go":
                    pairs = self._go(statement)
                case "Rust":
                    pairs = self._rust(path, statement)
                case "Java":
                    pairs = self._java(statement)
                case _ if language in _SCRIPT:
                    pairs = self._script(path, statement)
                case "Ruby" | "Shell":
                    pairs = self._relative(path, statement, ".rb" if language == "Ruby" else "")
                case _:
                    pairs = self._include(path, statement)
            yield from ((local, b) for local, b in pairs if b.target != path)

    def _python(self, path: str, one: ImportedModule) -> Iterator[tuple[str, _Binding]]:
        joint = "" if one.module.endswith(".") else "."
        inner = self._python_file(path, f"{one.module}{joint}{one.name}") if one.name else None
        if inner:
            yield one.local, _Binding(inner, "")
        elif base := self._python_file(path, one.module):
            yield one.local, _Binding(base, one.name)

    def _python_file(self, path: str, module: str) -> str | None:
        dots = len(module) - len(module.lstrip("."))
        tail = module.strip(".").replace(".", "/")
        if dots:
            folder = dirname(path)
            for _ in range(dots - 1):
                folder = dirname(folder)
            place = normpath(join(folder, tail)) if tail else folder
            return self._known([f"{place}.py", f"{place}/__init__.py"])
        if not tail:
            return None
        known_file = self._known([f"{tail}.py", f"{tail}/__init__.py"], _ROOTS)
        if known_file or "/" not in tail:
            return known_file or self._package(tail)
        return self._tail(tail)

    def _package(self, name: str) -> str | None:
        """A package or module of one name, anywhere, when only one folder holds it."""
        packages = [p for p in self._by_tail.get(f"{name}/__init__", ()) if p.endswith(".py")]
        return packages[0] if len(packages) == 1 else None

    def _script(self, path: str, one: ImportedModule) -> Iterator[tuple[str, _Binding]]:
        target = None
        if one.module.startswith("."):
            place = normpath(join(dirname(path), one.module))
            stems = [place, place.removesuffix(".js"), place.removesuffix(".mjs")]
            target = self._known([stem + end for stem in stems for end in _ENDINGS])
        elif one.module.startswith(("@/", "~/")):
            target = self._known([one.module[2:] + end for end in _ENDINGS], _ROOTS)
        if target:
            yield "", _Binding(target, "")
            yield one.local, _Binding(target, "" if one.name == "default" else one.name)

    def _go(self, one: ImportedModule) -> Iterator[tuple[str, _Binding]]:
        for home, module in self._modules.items():
            if one.module.startswith(f"{module}/"):
                folder = join(home, one.module.removeprefix(f"{module}/"))
                files = [p for p in self._folders.get(folder, ()) if p.endswith(".go")]
                for target in files[:_MOST_PER_FOLDER]:
                    yield f"{one.local}/{target}", _Binding(target, "")

    def _rust(self, path: str, one: ImportedModule) -> Iterator[tuple[str, _Binding]]:
        parts = one.module.split("::")
        head = parts[0]
        if head not in {"crate", "self", "super"}:
            return
        folder = dirname(path)
        if head == "crate":
            root, has_src, _ = path.partition("src/")
            folder = f"{root}src" if has_src else folder
        elif PurePosixPath(path).stem not in {"mod", "lib", "main"}:
            folder = join(folder, PurePosixPath(path).stem) if head == "self" else folder
        rest = parts[1:]
        for end in range(len(rest), 0, -1):
            place = normpath(join(folder, *rest[:end]))
            target = self._known([f"{place}.rs", f"{place}/mod.rs"])
            if target:
                yield one.local, _Binding(target, rest[end] if end < len(rest) else "")
                return

    def _java(self, one: ImportedModule) -> Iterator[tuple[str, _Binding]]:
        target = self._tail(one.module.replace(".", "/"))
        if target:
            yield one.local, _Binding(target, one.name)

    def _relative(self, path: str, one: ImportedModule, end: str) -> Iterator[tuple[str, _Binding]]:
        bases = [dirname(path), ""] if one.module.startswith(".") or not end else ["", "lib"]
        places = [normpath(join(base, one.module.strip("\"'"))) for base in bases]
        target = self._known([place + ending for place in places for ending in (end, "")], _ROOTS)
        if target:
            yield "", _Binding(target, "")

    def _include(self, path: str, one: ImportedModule) -> Iterator[tuple[str, _Binding]]:
        target = self._known([normpath(join(dirname(path), one.module))])
        target = target or self._known([one.module], ("", "src/", "include/"))
        if target:
            yield "", _Binding(target, "")

    def _known(self, places: Iterable[str], roots: Iterable[str] = ("",)) -> str | None:
        for place in places:
            for root in roots:
                if root + place in self._paths:
                    return root + place
        return None

    def _tail(self, name: str) -> str | None:
        """A file whose path ends in the name, when only one does."""
        candidates = self._by_tail.get("/".join(name.split("/")[-2:]), ())
        return candidates[0] if len(candidates) == 1 else None

    # Uses

    def _collected_uses(
        self, readers: Mapping[str, ParsedSource]
    ) -> dict[tuple[str, str], list[Use]]:
        """Where some files call what others define: file and name to the places."""
        collected: dict[tuple[str, str], list[Use]] = {}
        for path in sorted(readers):
            source = readers[path]
            for mark in source.of(MarkKind.CALL):
                place = self._named(path, source, mark.name.replace("::", ".").split("."))
                if place is not None and place.target != path:
                    uses = collected.setdefault((place.target, place.name), [])
                    if len(uses) < _MOST_USES:
                        uses.append(Use(path, mark.line))
        return collected

    def _named(self, path: str, source: ParsedSource, parts: list[str]) -> _Binding | None:
        if source.language == "Go":
            return self._used_in_go(path, parts)
        bindings = self._bindings[path]
        for count in range(min(len(parts), 4), 0, -1):
            binding = bindings.get(".".join(parts[:count]))
            if binding is not None:
                name = binding.name or (parts[count] if count < len(parts) else "")
                return self._followed(_Binding(binding.target, name)) if name else None
        if source.language in {"C", "C++", "Ruby", "Java"}:
            target = self._by_name.get((source.language, parts[0]))
            # `Outer.Inner()` makes an object of another class.
            inner = next((i for i, part in enumerate(parts[1:], 2) if part[:1].isupper()), 1)
            return _Binding(target, ".".join(parts[:inner])) if target else None
        return None

    def _used_in_go(self, path: str, parts: list[str]) -> _Binding | None:
        name = parts[-1]
        if len(parts) == 1:
            folder = self._folders.get(dirname(path), ())
            nearby = [p for p in folder if name in self._defined[p]]
            return _Binding(nearby[0], name) if len(nearby) == 1 else None
        prefix = f"{parts[0]}/"
        for local, binding in self._bindings[path].items():
            if local.startswith(prefix) and name in self._defined[binding.target]:
                return _Binding(binding.target, name)
        return None

    def _followed(self, binding: _Binding) -> _Binding:
        """Where a name is really defined, behind re-exports."""
        for _ in range(_HOPS):
            if binding.name in self._defined.get(binding.target, ()):
                break
            onward = self._bindings.get(binding.target, {}).get(binding.name)
            if onward is None:
                break
            binding = _Binding(onward.target, onward.name or binding.name)
        return binding

    def _link(self) -> None:
        """Edges by import statements, and by use where a language needs no statement."""
        edges: dict[str, set[str]] = {path: set() for path in self._sources}
        for path, source in self._sources.items():
            edges[path] |= self._targets(path, source)
        for (target, _), uses in self.uses.items():
            for use in uses:
                edges[use.path].add(target)
        for path in sorted(edges):
            self.imports[path] = tuple(sorted(edges[path] - {path}))
            for target in self.imports[path]:
                self.importers[target].append(path)


def _ranked(paths: list[str], out: Mapping[str, list[str]]) -> dict[str, float]:
    """The rank of each node by the links to it, in a fixed number of rounds."""
    rank = dict.fromkeys(paths, 1 / max(len(paths), 1))
    for _ in range(_ROUNDS):
        dangling = sum(rank[p] for p in paths if not out[p])
        base = (1 - _DAMPING + _DAMPING * dangling) / max(len(paths), 1)
        following = dict.fromkeys(paths, base)
        for path in paths:
            for target in out[path]:
                following[target] += _DAMPING * rank[path] / len(out[path])
        rank = following
    return rank


def _defined(source: ParsedSource) -> frozenset[str]:
    return frozenset(d.name for d in source.definitions if d.owner < 0)


def _unique_names(sources: Mapping[str, ParsedSource]) -> dict[tuple[str, str], str]:
    """Names of which only one file of a language has a definition."""
    definitions: dict[tuple[str, str], list[str]] = {}
    for path in sorted(sources):
        source = sources[path]
        if source.language in {"C", "C++", "Ruby", "Java"}:
            for name in _defined(source):
                definitions.setdefault((source.language, name), []).append(path)
    return {key: paths[0] for key, paths in definitions.items() if len(paths) == 1}


def _by_tail(paths: Iterable[str]) -> dict[str, list[str]]:
    """Files by their last folder and their name without extension."""
    by_tail: dict[str, list[str]] = {}
    for path in sorted(paths):
        folder, _, name = path.rpartition("/")
        stem = name.rpartition(".")[0] or name
        tail = f"{folder.rpartition('/')[2]}/{stem}" if folder else stem
        by_tail.setdefault(tail, []).append(path)
    return by_tail
