"""How a script sets its variables."""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import msgspec

from oraclepack.core.regex import regex
from oraclepack.core.script import Command, Word
from oraclepack.parse.grammar import descend, text_of
from oraclepack.parse.locate import Locator
from oraclepack.parse.values import value_of, word_of
from oraclepack.parse.variables import Value, Variables

if TYPE_CHECKING:
    from tree_sitter import Node

_SETTERS = frozenset({"read", "mapfile", "readarray", "getopts", "unset", "let", "printf"})
_SETS_ANYTHING = frozenset({"source", ".", "eval"})
_DEFAULT = regex(r"\$\{(\w+):?=")
"""`${name:=value}` sets a variable that is empty."""


class Assignments(msgspec.Struct, frozen=True):
    """Applies assignments to what is known of the variables."""

    variables: Variables
    place: Locator

    @staticmethod
    def names_in(node: "Node") -> set[str]:
        """Every name that is set somewhere below a node."""
        names = {text_of(name) for name in _loop_names(node)} | set(_DEFAULT.findall(text_of(node)))
        for child in descend(node, frozenset({"variable_assignment", "command"})):
            if child.type == "variable_assignment":
                names.add(_name(child))
            else:
                names.update(Assignments.names_in(child))
                words = [text_of(word) for word in child.named_children]
                names.update(_set_by_words(words))
        return names

    def setting(self, node: "Node") -> tuple[str, Word]:
        """`NAME=value` before a command."""
        value = node.child_by_field_name("value")
        if value is None:
            return _name(node), Word("", "", self.place.span(node.end_point, node.end_point))
        return _name(node), word_of(value, self.variables, self.place)

    def apply(self, node: "Node", *, certain: bool) -> None:
        """A statement that sets or unsets variables."""
        if node.type == "unset_command":
            self.variables.forget(text_of(name) for name in node.named_children)
            return
        if node.type == "variable_assignment":
            self._assign(node, certain=certain)
            return
        flags = "".join(text_of(c) for c in node.named_children if text_of(c).startswith("-"))
        if set(flags) & set("aAinul"):
            # From now on every value that is assigned becomes another.
            self.variables.distrust(_declared(node))
        for child in node.named_children:
            if child.type == "variable_assignment":
                self._assign(child, certain=certain)

    def by_command(self, command: Command) -> None:
        """What builtins such as `read` and `source` do to the variables."""
        if command.name in _SETS_ANYTHING:
            self.variables.forget_all()
            return
        words = [word.value or "" for word in command.words]
        names = set(_set_by_words(words))
        written = (word.template for word in command.words)
        setting = [text for text in written if "${" in text and "=" in text]
        defaults = {name for text in setting for name in _DEFAULT.findall(text)}
        self.variables.forget(names | {name for name in defaults if not self._has_text(name)})
        if command.name == "read" and len(names) == 1 and len(command.heredocs) == 1:
            self._read_heredoc(names.pop(), command, words)

    def _has_text(self, name: str) -> bool:
        value = self.variables.get(name)
        return value is not None and value.text != ""

    def _read_heredoc(self, name: str, command: Command, words: list[str]) -> None:
        """`IFS= read -r -d '' prompt <<'END'`: the whole heredoc becomes the value."""
        heredoc = command.heredocs[0]
        whole = "-d" in words and words[words.index("-d") + 1 : words.index("-d") + 2] == [""]
        whole = whole or "-rd" in words
        if not whole or not heredoc.quoted:
            return
        keeps = any(key == "IFS" and word.value == "" for key, word in command.assignments)
        text = heredoc.body if keeps else heredoc.body.strip(" \t\n")
        self.variables.assign(name, Value(text, origin=heredoc.span), certain=True)

    def _assign(self, node: "Node", *, certain: bool) -> None:
        name, value = _name(node), node.child_by_field_name("value")
        new = Value("") if value is None else value_of(value, self.variables, self.place)
        # After a colon `~` is the home directory here, and nowhere else.
        if value is not None and (value.type == "array" or ":~" in text_of(value)):
            new = Value(text_of(value), known=False)
        if any(child.type == "+=" for child in node.children):
            old = self.variables.get(name)
            new = old.joined(new) if old is not None else Value(new.text, known=False)
        if node.named_children and node.named_children[0].type == "subscript":
            new = Value(new.text, known=False)
        self.variables.assign(name, new, certain=certain)


def _name(node: "Node") -> str:
    name = node.child_by_field_name("name")
    return text_of(name).split("[", 1)[0] if name is not None else ""


def _declared(node: "Node") -> Iterator[str]:
    for child in node.named_children:
        if child.type == "variable_assignment":
            yield _name(child)
        elif child.type in {"variable_name", "word"}:
            yield text_of(child)


def _loop_names(node: "Node") -> Iterator["Node"]:
    if node.type == "for_statement":
        yield from node.children_by_field_name("variable")
    for inner in descend(node, frozenset({"for_statement"})):
        yield from _loop_names(inner)


def _set_by_words(words: Iterable[str]) -> Iterator[str]:
    """The names that a builtin sets, from its words; too many is safe, too few is not."""
    listed = list(words)
    if listed and listed[0] in _SETTERS:
        named = (word for word in listed[1:] if word and not word.startswith("-"))
        yield from (word.split("=", 1)[0].split("[", 1)[0] for word in named)
