"""What a parsed source file shows: definitions, imports and marks, each with its line."""

from collections.abc import Iterable
from enum import StrEnum
from typing import NamedTuple


class MarkKind(StrEnum):
    """What is at a line of code. Comments and docstrings never give a mark."""

    CALL = "call"
    """Name: the dotted callee. Detail: the first string argument. Flags: `on:Class` where the
    class of the object is known."""
    RAISE = "raise"
    """Name: what is raised. Detail: the text of its message. Lines: where that text begins."""
    HANDLER = "handler"
    """Name: what is caught. Detail: what the body does. Lines: first of the body, first of try."""
    RETURN = "return"
    """Flags: `none` or `value`."""
    BRANCH = "branch"
    """Detail: the parameters that the condition reads. Flags: `ends` where what follows is not
    reached after it: it returns or raises, or has another branch."""
    LOOP = "loop"
    FIELD = "field"
    """A field of the object is set. Name: the field."""
    MODULE_VALUE = "module value"
    """Flags: `mutable`. Detail: the text of a literal number, string or boolean."""
    MUTATION = "mutation"
    """A function changes a module value. Name: the value."""
    MEMBER = "member"
    """A member of an enumeration is used. Name: `Class.MEMBER`. Flags: `case`, `compare` or `key`
    of a table."""
    ENV = "env"
    """An environment variable is read. Name: the variable. Detail: the default."""
    TASK = "task"
    """Something starts to run beside the caller. Name: what runs."""
    OPTIONAL_IMPORT = "optional import"
    NOTE = "note"
    """A TODO or FIXME comment. Detail: its text. The only mark that is not code."""
    FIELD_SHAPE = "field shape"
    """A declared field of a class. Name: the field. Flags: `default`."""


class Mark(NamedTuple):
    """One line of code that says something."""

    kind: MarkKind
    line: int
    owner: int
    """The index of the definition around it; -1 at module level."""
    name: str
    detail: str = ""
    flags: frozenset[str] = frozenset()
    lines: tuple[int, ...] = ()
    """Other lines that belong to it."""


class Definition(NamedTuple):
    """A function, method, class or enumeration."""

    name: str
    kind: str
    """`function`, `method`, `class` or `enum`."""
    line: int
    end_line: int
    owner: int
    """The index of the definition around it; -1 at module level."""
    parameters: tuple[str, ...] = ()
    switches: tuple[str, ...] = ()
    """Parameters whose default is a boolean."""
    bases: tuple[str, ...] = ()
    decorators: tuple[tuple[str, int], ...] = ()
    """Name and line of each."""
    members: tuple[tuple[str, int], ...] = ()
    """Of an enumeration: name and line."""
    branches: int = 0
    is_public: bool = True
    is_async: bool = False
    has_return_type: bool = False

    @property
    def is_callable(self) -> bool:
        return self.kind in {"function", "method"}

    @property
    def length(self) -> int:
        return self.end_line - self.line + 1


class ImportedModule(NamedTuple):
    """One import statement, or one name of it."""

    module: str
    """As written; leading dots of a relative Python import are kept."""
    line: int
    names: tuple[tuple[str, str], ...] = ()
    """Local name and the name in the module; `*` and the empty name mean the whole module."""
    is_local: bool = False
    """It is inside a function."""
    is_typing: bool = False
    """Only type checkers follow it."""


class ParsedSource(NamedTuple):
    """Everything that one source file shows."""

    language: str
    definitions: tuple[Definition, ...] = ()
    imports: tuple[ImportedModule, ...] = ()
    marks: tuple[Mark, ...] = ()
    code_lines: int = 0
    prose: frozenset[int] = frozenset()
    """Lines that begin inside a comment or docstring."""

    def of(self, *kinds: MarkKind) -> list[Mark]:
        return [mark for mark in self.marks if mark.kind in kinds]

    def owner_of(self, mark: Mark) -> Definition | None:
        return self.definitions[mark.owner] if mark.owner >= 0 else None

    def owners_of(self, marks: Iterable[Mark]) -> list[Definition]:
        """The definitions that the marks are in, one for each mark inside a definition."""
        return [owner for mark in marks if (owner := self.owner_of(mark)) is not None]

    def qualified(self, definition: Definition) -> str:
        """`Class.method` for methods, the plain name otherwise."""
        if definition.owner >= 0 and self.definitions[definition.owner].kind in {"class", "enum"}:
            return f"{self.definitions[definition.owner].name}.{definition.name}"
        return definition.name

    def outermost(self, definition: Definition) -> Definition:
        """The function around an inner one, which others cannot name; itself for all others."""
        while definition.owner >= 0 and self.definitions[definition.owner].is_callable:
            definition = self.definitions[definition.owner]
        return definition

    def around(self, line: int) -> Definition | None:
        """The innermost definition that holds a line."""
        holding = [d for d in self.definitions if d.line <= line <= d.end_line]
        return min(holding, key=lambda d: d.length, default=None)
