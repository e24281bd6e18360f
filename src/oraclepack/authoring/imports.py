"""Which files of a repository import which, by their texts and paths alone."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import PurePosixPath
from posixpath import dirname, join, normpath

from oraclepack.authoring.file_kinds import language_of

_PYTHON = re.compile(
    r"^\s*from\s+(?P<base>\.*[\w.]*)\s+import\s+\(?(?P<names>[\w., \t]*)"
    r"|^\s*import\s+(?P<whole>[\w., \t]+)",
    re.MULTILINE,
)
_SCRIPT = re.compile(
    r"\bfrom\s*[\"'](?P<n0>[^\"'\n]{1,200})[\"']|\b(?:require|import)\(\s*[\"'](?P<n1>[^\"'\n]{1,200})"
    r"|^import\s+[\"'](?P<n2>[^\"'\n]{1,200})",
    re.MULTILINE,
)
_GO = re.compile(r"^\s*(?:import\s+)?(?:[\w.]+\s+)?\"(?P<n>[\w./-]+)\"\s*$", re.MULTILINE)
_RUST = re.compile(
    r"^\s*(?:pub\s+)?(?:use\s+crate::(?P<n0>[\w:]+)|mod\s+(?P<n1>\w+)\s*;)", re.MULTILINE
)
_DOTTED = re.compile(r"^\s*(?:import|using|use)\s+(?:static\s+)?(?P<n>[\w.\\]+)", re.MULTILINE)
_RUBY = re.compile(r"^\s*require(?P<rel>_relative)?\s+[\"'](?P<n>[\w./-]+)", re.MULTILINE)
_C = re.compile(r"^\s*#\s*include\s+\"(?P<n>[\w./-]+)\"", re.MULTILINE)

_ENDINGS = (
    *("", ".ts", ".tsx", ".js", ".jsx", ".mjs", ".vue", ".svelte"),
    *("/index.ts", "/index.tsx", "/index.js"),
)
_ROOTS = ("", "src/", "lib/", "app/")
_MOST_PER_FOLDER = 12
"""A Go import names a folder; only its first files are followed, in the order of their names."""


_Reader = Callable[[str, str], Iterator[str]]
"""A path and its text to the files it imports."""


class ImportGraph:
    """Who imports whom."""

    def __init__(self, texts: Mapping[str, str], module: str = "") -> None:
        """Read the imports of every text; `module` is the path in `go.mod`."""
        self._paths = frozenset(texts)
        self._by_tail = _by_tail(texts)
        self._folders: dict[str, list[str]] = {}
        for path in sorted(texts):
            self._folders.setdefault(dirname(path), []).append(path)
        self._module = module
        self._readers: dict[str, _Reader] = {
            "Python": self._python,
            "Go": self._go,
            "Rust": self._rust,
            "Ruby": self._ruby,
            **dict.fromkeys(("JavaScript", "TypeScript", "Vue", "Svelte"), self._scripts),
            **dict.fromkeys(("Java", "Kotlin", "Scala", "C#", "PHP"), self._dotted),
            **dict.fromkeys(("C", "C++"), self._c),
        }
        self.imports = {path: self._imported(path, text) for path, text in texts.items()}
        self.importers: dict[str, list[str]] = {path: [] for path in texts}
        for path in sorted(texts):
            for target in self.imports[path]:
                self.importers[target].append(path)

    def _imported(self, path: str, text: str) -> tuple[str, ...]:
        found = dict.fromkeys(self._targets(path, text))
        found.pop(path, None)
        return tuple(sorted(found))

    def _targets(self, path: str, text: str) -> Iterator[str]:
        reader = self._readers.get(language_of(path) or "")
        return reader(path, text) if reader else iter(())

    def _python(self, path: str, text: str) -> Iterator[str]:
        for match in _PYTHON.finditer(text):
            if match["whole"] is not None:
                for part in match["whole"].split(","):
                    yield from self._python_module(path, part.split()[0] if part.split() else "")
                continue
            base = match["base"]
            yield from self._python_module(path, base)
            for name in re.findall(r"\w+", match["names"] or ""):
                yield from self._python_module(
                    path, f"{base.rstrip('.')}.{name}" if base.strip(".") else f"{base}{name}"
                )

    def _python_module(self, path: str, module: str) -> Iterator[str]:
        dots = len(module) - len(module.lstrip("."))
        tail = module.strip(".").replace(".", "/")
        if dots:
            folder = dirname(path)
            for _ in range(dots - 1):
                folder = dirname(folder)
            place = normpath(join(folder, tail)) if tail else folder
            yield from self._known([f"{place}.py", f"{place}/__init__.py"])
        elif tail:
            found = [*self._known([f"{tail}.py", f"{tail}/__init__.py"], _ROOTS)]
            yield from found or self._tail(tail)

    def _scripts(self, path: str, text: str) -> Iterator[str]:
        for match in _SCRIPT.finditer(text):
            name = match["n0"] or match["n1"] or match["n2"]
            if name.startswith("."):
                place = normpath(join(dirname(path), name))
                stem = place.removesuffix(".js")
                yield from self._known([place + end for end in _ENDINGS])
                yield from self._known([stem + end for end in _ENDINGS[1:5]])
            elif name.startswith(("@/", "~/")):
                yield from self._known([name[2:] + end for end in _ENDINGS], _ROOTS)

    def _go(self, _path: str, text: str) -> Iterator[str]:
        for match in _GO.finditer(text):
            if self._module and match["n"].startswith(f"{self._module}/"):
                folder = match["n"].removeprefix(f"{self._module}/")
                files = (p for p in self._folders.get(folder, ()) if p.endswith(".go"))
                plain = [path for path in files if not path.endswith("_test.go")]
                yield from plain[:_MOST_PER_FOLDER]

    def _rust(self, path: str, text: str) -> Iterator[str]:
        for match in _RUST.finditer(text):
            if match["n1"]:
                place = join(dirname(path), match["n1"])
                yield from self._known([f"{place}.rs", f"{place}/mod.rs"])
                continue
            parts = match["n0"].split("::")
            for end in range(len(parts), 0, -1):
                place = "src/" + "/".join(parts[:end])
                yield from self._known([f"{place}.rs", f"{place}/mod.rs"])

    def _dotted(self, _path: str, text: str) -> Iterator[str]:
        for match in _DOTTED.finditer(text):
            yield from self._tail(match["n"].strip("\\").replace(".", "/").replace("\\", "/"))

    def _ruby(self, path: str, text: str) -> Iterator[str]:
        for match in _RUBY.finditer(text):
            base = dirname(path) if match["rel"] else ""
            yield from self._known([normpath(join(base, f"{match['n']}.rb"))], _ROOTS)

    def _c(self, path: str, text: str) -> Iterator[str]:
        for match in _C.finditer(text):
            yield from self._known([normpath(join(dirname(path), match["n"]))])
            yield from self._tail(match["n"].rpartition(".")[0])

    def _known(self, places: Iterable[str], roots: Iterable[str] = ("",)) -> Iterator[str]:
        for place in places:
            yield from (root + place for root in roots if root + place in self._paths)

    def _tail(self, name: str) -> Iterator[str]:
        """A file whose path ends in the name, when only one does."""
        found = self._by_tail.get("/".join(name.split("/")[-2:]), ())
        if len(found) == 1:
            yield found[0]


def _by_tail(paths: Iterable[str]) -> dict[str, list[str]]:
    """Files by their last folder and their name without extension."""
    found: dict[str, list[str]] = {}
    for path in sorted(paths):
        place = PurePosixPath(path)
        found.setdefault("/".join(place.with_suffix("").parts[-2:]), []).append(path)
    return found
