"""What a parsed source file shows: definitions, imports, calls, decisions and errors by line."""

from enum import StrEnum
from functools import cached_property
from typing import NamedTuple

import msgspec


class MarkKind(StrEnum):
    """What is at a line of code. Comments and docstrings never give a mark."""

    CALL = "call"
    """Name: the dotted callee. Detail: the first text among the arguments. Flags: `args:N` and
    `kw:NAME` for the options that are given by name."""
    BRANCH = "branch"
    """Detail: the parameters of the function that the condition reads."""
    RAISE = "raise"
    """Name: the error that is raised or returned."""


class Mark(NamedTuple):
    """One line of code that says something."""

    kind: MarkKind
    line: int
    owner: int
    """The index of the definition around it; -1 at module level."""
    name: str
    detail: str = ""
    flags: frozenset[str] = frozenset()


class Definition(NamedTuple):
    """A function, method or class."""

    name: str
    kind: str
    """`function`, `method` or `class`."""
    line: int
    """Where its name is."""
    end_line: int
    owner: int
    """The index of the definition around it; -1 at module level."""
    parameters: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    """Parameters that may be left out, or that are on or off."""
    branches: int = 0
    """How many decisions its own code takes."""
    is_public: bool = True

    @property
    def is_callable(self) -> bool:
        return self.kind != "class"

    @property
    def length(self) -> int:
        return self.end_line - self.line + 1


class ImportedModule(NamedTuple):
    """One name that an import statement brings, or a whole module."""

    module: str
    """As written; leading dots of a relative Python import are kept."""
    line: int
    local: str = ""
    name: str = ""
    """The name in the module; empty for the whole module."""


class ParsedSource(msgspec.Struct, frozen=True, dict=True):
    """Everything that one source file shows."""

    language: str
    definitions: tuple[Definition, ...] = ()
    imports: tuple[ImportedModule, ...] = ()
    marks: tuple[Mark, ...] = ()
    prose: frozenset[int] = frozenset()
    """Lines with nothing but a comment or docstring, or a part of one."""
    tests: tuple[tuple[int, int], ...] = ()
    """First and last line of each stretch of tests beside the code."""

    def of(self, kind: MarkKind) -> list[Mark]:
        return [mark for mark in self.marks if mark.kind is kind]

    @cached_property
    def by_owner(self) -> dict[int, list[Mark]]:
        """The marks that stand directly in each definition."""
        inside: dict[int, list[Mark]] = {}
        for mark in self.marks:
            inside.setdefault(mark.owner, []).append(mark)
        return inside

    @property
    def functions(self) -> list[tuple[Definition, list[Mark]]]:
        """Every function and method, with the marks that stand directly in it."""
        return [
            (definition, self.by_owner.get(index, []))
            for index, definition in enumerate(self.definitions)
            if definition.is_callable
        ]

    def owner_of(self, mark: Mark) -> Definition | None:
        return self.definitions[mark.owner] if mark.owner >= 0 else None

    def qualified(self, definition: Definition) -> str:
        """`Class.method` for methods, the plain name otherwise."""
        if definition.owner >= 0 and not self.definitions[definition.owner].is_callable:
            return f"{self.definitions[definition.owner].name}.{definition.name}"
        return definition.name

    def around(self, line: int) -> Definition | None:
        """The innermost definition that holds a line."""
        holding = [d for d in self.definitions if d.line <= line <= d.end_line]
        return min(holding, key=lambda d: d.length, default=None)
