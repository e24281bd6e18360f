"""Python text to facts, by the parser of the standard library."""

import ast
import io
import re
import tokenize
import warnings

from oraclepack.authoring.python_nodes import LONGEST_TEXT, is_mutable
from oraclepack.authoring.python_reader import ModuleNames, PythonReader
from oraclepack.authoring.source_facts import Mark, MarkKind, ParsedSource

NOTE = re.compile(r"\b(?:TODO|FIXME|XXX)\b[:( ]\s*(\S.*)")
"""A comment that says that something is unfinished."""


def read_python(text: str) -> ParsedSource | None:
    """The facts of a module; None when Python itself cannot read it."""
    if "\r" in text:
        return None  # Python counts it as a line end, git and oracle do not: no line could be named
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text)
        reader = PythonReader(tree, _module_names(tree, has_globals="global " in text))
        reader.read()
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    marks = [*reader.marks, *_notes(text)]
    marks.sort(key=lambda mark: mark.line)
    return ParsedSource(
        "Python",
        tuple(reader.finished()),
        tuple(reader.imports),
        tuple(marks),
        len(reader.lines),
        frozenset(reader.prose) | _comment_lines(text),
    )


def _module_names(tree: ast.Module, *, has_globals: bool) -> ModuleNames:
    mutable: set[str] = set()
    for statement in tree.body:
        if isinstance(statement, ast.Assign | ast.AnnAssign):
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            if is_mutable(statement.value):
                mutable |= {t.id for t in targets if isinstance(t, ast.Name)}
    rebound: set[str] = set()
    # Walking every function once more costs as much as the rest: only where it can find something.
    for function in tree.body if has_globals else ():
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            for node in ast.walk(function):
                if isinstance(node, ast.Global):
                    rebound |= {*node.names}
    return ModuleNames(frozenset(mutable - {"__all__"}), frozenset(rebound))


def _comment_lines(text: str) -> frozenset[int]:
    lines = enumerate(text.split("\n"), 1)
    return frozenset(number for number, line in lines if line.lstrip().startswith("#"))


def _notes(text: str) -> list[Mark]:
    """The TODO comments, read by the tokenizer: a `#` inside a string is no comment."""
    if not NOTE.search(text):
        return []
    notes = []
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            match = NOTE.search(token.string) if token.type == tokenize.COMMENT else None
            if match is not None:
                note = match[1].strip()[:LONGEST_TEXT]
                notes.append(Mark(MarkKind.NOTE, token.start[0], -1, "note", note))
    except (tokenize.TokenError, SyntaxError):
        return []
    return notes
