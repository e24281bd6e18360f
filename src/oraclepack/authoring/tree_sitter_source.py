"""Source text to facts, by the grammars of tree-sitter."""

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

from oraclepack.authoring import syntax_tables as tables
from oraclepack.authoring.source_facts import ParsedSource
from oraclepack.authoring.tree_reader import TreeReader

if TYPE_CHECKING:
    from tree_sitter import Parser


@cache
def _parser(language: str) -> "Parser | None":
    """The parser of a language; None where its grammar is not installed."""
    if language not in tables.GRAMMARS:
        return None
    package, function = tables.GRAMMARS[language]
    try:
        # Imported here: the grammars are an extra and heavy, and few commands need them.
        import tree_sitter

        grammar = getattr(import_module(package), function)()
        return tree_sitter.Parser(tree_sitter.Language(grammar))
    except (ImportError, ValueError):
        return None


def can_read(language: str) -> bool:
    """Whether the grammar of a language is installed."""
    return _parser(language) is not None


def read_with_grammar(language: str, text: str, *, is_tsx: bool = False) -> ParsedSource | None:
    """The facts of a file; None without a grammar, or where nothing can be made of the text."""
    parser = _parser("TSX" if is_tsx and language == "TypeScript" else language)
    if parser is None:
        return None
    source = text.encode()
    root = parser.parse(source).root_node
    reader = TreeReader(language, root)
    try:
        reader.read()
    except RecursionError:
        return None
    marks = sorted(reader.marks, key=lambda mark: mark.line)
    return ParsedSource(
        language,
        tuple(reader.finished()),
        tuple(reader.imports),
        tuple(marks),
        len(reader.lines),
        frozenset(reader.prose),
    )
