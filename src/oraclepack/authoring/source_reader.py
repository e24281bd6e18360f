"""Source text to facts: one reader for every language, led by queries of tree-sitter.

What a language calls a function, a call or a decision is written in `languages/*.scm`. Captures:
`function` and `class` with `name` (`home` names the class of a method elsewhere, `parameters` those
that are no field of the node); `call` with `callee`, `receiver` and `arguments`; `raise` with
`name`; `branch` with `condition`; `decision`; `import` with `module`, `local`, `imported`,
`default`, `relative`, `paths` or `submodule`; `comment`; `test` before a test; `public` or
`private` definitions and `exported` names.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from oraclepack.authoring.file_roles import language_of
from oraclepack.authoring.source_facts import (
    Definition,
    ImportedModule,
    Mark,
    MarkKind,
    ParsedSource,
)

if TYPE_CHECKING:
    from tree_sitter import Node, Parser, Query

GRAMMARS = {
    "Python": ("tree_sitter_python", "language", ("python",)),
    "JavaScript": ("tree_sitter_javascript", "language", ("javascript",)),
    "TypeScript": ("tree_sitter_typescript", "language_typescript", ("javascript", "typescript")),
    "TSX": ("tree_sitter_typescript", "language_tsx", ("javascript", "typescript")),
    "Go": ("tree_sitter_go", "language", ("go",)),
    "Rust": ("tree_sitter_rust", "language", ("rust",)),
    "Java": ("tree_sitter_java", "language", ("java",)),
    "C": ("tree_sitter_c", "language", ("c",)),
    "C++": ("tree_sitter_cpp", "language", ("c", "cpp")),
    "Ruby": ("tree_sitter_ruby", "language", ("ruby",)),
    "Shell": ("tree_sitter_bash", "language", ("bash",)),
}
"""Language to package, function and queries. Those of Python and the shell are always installed."""

_QUERIES = Path(__file__).parent / "languages"
_NAME = re.compile(r"[\w$]+")
_CALLEE = re.compile(r"[\w$@!?]+(?:(?:\?\.|\.|::|->)[\w$@!?]+)*$")
_JOINT = re.compile(r"\?\.|->")
_OPTIONAL = re.compile(r"\bbool(?:ean)?\b|\w\s*\??\s*(?::[^=]*)?=|\?\s*:")
"""A parameter that callers may leave out, or that is on or off."""
_NO_PARAMETER = re.compile(r"comment|self_parameter|separator|splat|variadic|block_parameter")
_OPTIONS = frozenset({"object", "hash"})
"""Arguments that hold further options by name."""
_SCOPES = frozenset({"function", "class"})
_LONGEST = 120
_MOST_OPTIONS = 12

Captures = Mapping[str, Sequence["Node"]]


@cache
def _grammar(language: str) -> "tuple[Parser, Query] | None":
    """Parser and query of a language; None where its grammar is not installed."""
    if language not in GRAMMARS:
        return None
    package, function, names = GRAMMARS[language]
    try:
        # Imported here: the grammars are heavy, most are an extra, and few commands need them.
        import tree_sitter

        grammar = tree_sitter.Language(getattr(import_module(package), function)())
    except (ImportError, ValueError):
        return None
    queries = [(_QUERIES / f"{name}.scm").read_text(encoding="utf-8") for name in names]
    return tree_sitter.Parser(grammar), tree_sitter.Query(grammar, "\n".join(queries))


def can_read(language: str) -> bool:
    """Whether the grammar of a language is installed."""
    return _grammar(language) is not None


def read_source(path: str, text: str) -> ParsedSource | None:
    """The facts of a file; None without a grammar for its language."""
    language = language_of(path) or ""
    grammar = _grammar("TSX" if path.endswith(".tsx") else language)
    if grammar is None:
        return None
    import tree_sitter

    parser, query = grammar
    root = parser.parse(text.encode()).root_node
    matches = [captures for _, captures in tree_sitter.QueryCursor(query).matches(root)]
    names = {query.capture_name(index) for index in range(query.capture_count)}
    return _Reader(language, text.split("\n"), matches, has_public="public" in names).read()


def _text(node: "Node | None") -> str:
    raw = node.text if node is not None else None
    return raw.decode("utf-8", "replace") if raw else ""


def _line(node: "Node") -> int:
    return node.start_point[0] + 1


def _last_line(node: "Node") -> int:
    """A node that ends before the first character of a line ends on the line above."""
    row, column = node.end_point
    return row + 1 if column else row


class _Reader:
    """The matches of one file, put together."""

    def __init__(
        self, language: str, lines: list[str], matches: Sequence[Captures], *, has_public: bool
    ) -> None:
        self._language = language
        self._lines = lines
        self._matches = matches
        self._has_public = has_public
        self._public = {node.id for node in self._all("public")}
        self._private = {node.id for node in self._all("private")}
        self._exported = {_text(node) for node in self._all("exported")}
        self._tests = tuple(_stretch_of_test(node) for node in self._all("test"))
        self._definitions: list[Definition] = []
        self._homes: dict[int, set[str]] = {}
        self._branches: list[int] = []
        self._marks: list[Mark] = []

    def _all(self, name: str) -> Iterator["Node"]:
        for captures in self._matches:
            yield from captures.get(name, ())

    def read(self) -> ParsedSource:
        self._walk()
        self._marks.sort(key=lambda mark: mark.line)
        prose = frozenset(line for node in self._all("comment") for line in self._prose(node))
        imports = [
            one
            for captures in self._matches
            if "import" in captures
            for one in _imports(self._language, captures)
        ]
        return ParsedSource(
            self._language,
            tuple(self._finished()),
            tuple(imports),
            tuple(self._marks),
            prose,
            self._tests,
        )

    def _walk(self) -> None:
        """Every match in the order of the text, each with the definition around it."""
        events: dict[tuple[int, int, str], tuple[Node, Captures]] = {}
        for captures in self._matches:
            for kind in ("function", "class", "call", "branch", "decision", "raise"):
                for node in captures.get(kind, ()):
                    events.setdefault((node.start_byte, -node.end_byte, kind), (node, captures))
        around: list[tuple[int, int]] = []
        for (start, end, kind), (node, captures) in sorted(events.items(), key=lambda e: e[0]):
            if any(first <= _line(node) <= last for first, last in self._tests):
                continue
            while around and around[-1][0] <= start:
                around.pop()
            owner = around[-1][1] if around else -1
            if kind in _SCOPES:
                self._define(kind, node, captures, owner)
                around.append((-end, len(self._definitions) - 1))
            elif kind == "call":
                self._call(captures, owner)
            elif kind == "raise":
                name = _text(captures["name"][0])
                self._marks.append(Mark(MarkKind.RAISE, _line(node), owner, name[:_LONGEST]))
            else:
                self._decide(kind, node, captures, owner)

    def _define(self, kind: str, node: "Node", captures: Captures, owner: int) -> None:
        name = captures["name"][0]
        # Without type parameters, and without the class that C++ writes before a name.
        text = _text(name).partition("<")[0].rpartition("::")[2]
        outer = self._definitions[owner] if owner >= 0 else None
        is_method = kind == "function" and outer is not None and not outer.is_callable
        holders = captures.get("parameters") or [
            holder
            for field in ("parameters", "parameter")
            if (holder := node.child_by_field_name(field)) is not None
        ]
        parameters = list(_parameters(holders))
        is_public = node.id not in self._private
        if self._has_public:
            is_exported = owner < 0 and text in self._exported
            is_public = is_public and (node.id in self._public or is_exported)
        if outer is not None:  # what a function holds cannot be named from outside
            is_public = is_public and outer.is_public and not outer.is_callable
        self._definitions.append(
            Definition(
                text[:_LONGEST],
                "method" if is_method else kind,
                _line(name),
                max(_last_line(node), _line(name)),
                owner,
                tuple(name for name, _ in parameters),
                tuple(name for name, is_optional in parameters if is_optional),
                is_public=is_public,
            )
        )
        self._branches.append(0)
        for home in captures.get("home", ()):
            self._homes[len(self._definitions) - 1] = {*_NAME.findall(_text(home))}

    def _finished(self) -> Iterator[Definition]:
        """The definitions with their decisions, and with the types that Go's methods name."""
        classes = {d.name: index for index, d in enumerate(self._definitions) if d.kind == "class"}
        for index, definition in enumerate(self._definitions):
            homes = sorted(classes[n] for n in self._homes.get(index, ()) if n in classes)
            counted = definition._replace(branches=self._branches[index])
            yield counted._replace(owner=homes[0], kind="method") if homes else counted

    def _call(self, captures: Captures, owner: int) -> None:
        callee = captures["callee"][0]
        text = _text(callee)
        for receiver in captures.get("receiver", ()):
            text = f"{_text(receiver)}.{text}"
        match = _CALLEE.search(text[-200:].strip())
        if match is None:
            return
        # What is before a call or an index has no name of its own.
        name = ("()." if match.start() else "") + _JOINT.sub(".", match[0])
        given = [
            argument
            for node in captures.get("arguments", ())
            for argument in node.named_children
            if "comment" not in argument.type
        ]
        texts = [_text(one).strip("\"'`") for one in given[:2] if "string" in one.type]
        flags = [f"args:{len(given)}", *(f"kw:{key}" for key in _option_names(given))]
        line = callee.end_point[0] + 1
        detail = texts[0][:_LONGEST] if texts else ""
        self._marks.append(Mark(MarkKind.CALL, line, owner, name, detail, frozenset(flags)))

    def _decide(self, kind: str, node: "Node", captures: Captures, owner: int) -> None:
        if owner >= 0:
            self._branches[owner] += 1
        if kind == "branch":
            parameters = self._definitions[owner].parameters if owner >= 0 else ()
            words = {word for one in captures["condition"] for word in _NAME.findall(_text(one))}
            read = " ".join(name for name in parameters if name in words)
            self._marks.append(Mark(MarkKind.BRANCH, _line(node), owner, "if", read))

    def _prose(self, node: "Node") -> Iterator[int]:
        """The lines of a comment that hold nothing else."""
        first, last = _line(node), _last_line(node)
        for number in range(first, last + 1):
            line = self._lines[number - 1] if number <= len(self._lines) else ""
            raw = line.encode()
            before = raw[: node.start_point[1]] if number == first else b""
            after = raw[node.end_point[1] :] if number == node.end_point[0] + 1 else b""
            if not before.strip() and not after.strip():
                yield number


def _stretch_of_test(node: "Node") -> tuple[int, int]:
    """From the mark of a test to the end of what it marks."""
    marked = node.next_named_sibling
    while marked is not None and ("attribute" in marked.type or "comment" in marked.type):
        marked = marked.next_named_sibling
    return _line(node), _last_line(marked if marked is not None else node)


def _parameters(nodes: Sequence["Node"]) -> Iterator[tuple[str, bool]]:
    """The names of parameters, and whether each is a switch; without the object of a method."""
    for node in nodes:
        for parameter in node.named_children if node.type != "identifier" else [node]:
            if _NO_PARAMETER.search(parameter.type):
                continue
            fields = ("pattern", "name", "declarator", "left")
            inner = next((f for f in fields if parameter.child_by_field_name(f)), "")
            named = parameter.children_by_field_name(inner) if inner else [parameter]
            is_optional = _OPTIONAL.search(_text(parameter)) is not None
            for one in named:
                match = _NAME.search(_text(one))
                if match is not None and match[0] not in {"self", "cls", "this"}:
                    yield match[0], is_optional


def _option_names(given: Sequence["Node"]) -> Iterator[str]:
    """The options that a call gives by name; `**` for those of a variable."""
    for argument in given[:_MOST_OPTIONS]:
        if "splat" in argument.type:
            yield "**"
        pairs = argument.named_children if argument.type in _OPTIONS else [argument]
        for pair in pairs[:_MOST_OPTIONS]:
            if pair.type.startswith("spread"):
                yield "**"
            key = pair.child_by_field_name("key")
            key = key or (pair.child_by_field_name("name") if "keyword" in pair.type else None)
            key = key or (pair if pair.type == "shorthand_property_identifier" else None)
            if key is not None:
                yield _text(key).strip(":\"' ")[:40]


def _imports(language: str, captures: Captures) -> Iterator[ImportedModule]:
    line = _line(captures["import"][0])
    local, name, default = (
        _text(next(iter(captures.get(capture, ())), None))
        for capture in ("local", "imported", "default")
    )
    for node in captures.get("module", ()):
        module = _text(node).strip("\"'`<>")
        if default:
            yield ImportedModule(module, line, default, "default")
        else:
            own = name or (module.rpartition("/")[2] if language != "Shell" else "")
            yield ImportedModule(module, line, local or own, name)
    for node in captures.get("relative", ()):
        module = _text(node)
        yield ImportedModule(module if module[:1] == "." else f"./{module}", line)
    for node in captures.get("submodule", ()):
        yield ImportedModule(f"self::{_text(node)}", line, _text(node))
    for node in captures.get("paths", ()):
        for path, name in _used_paths(_text(node)):
            yield ImportedModule(path, line, name, name)


def _used_paths(text: str) -> Iterator[tuple[str, str]]:
    """`crate::a::{b, c as d}` to (`crate::a::b`, `b`), (`crate::a::c`, `d`)."""
    head, brace, rest = text.partition("{")
    parts = rest.rstrip("} \n;").replace("{", ",").replace("}", ",").split(",") if brace else [""]
    for part in parts:
        path, _, alias = f"{head}{part.strip()}".partition(" as ")
        if part.strip() or not brace:
            yield path.strip(), (alias or path.rpartition("::")[2]).strip()
