"""How a script sets its variables."""

from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from oraclepack.core.pack import OUT_DIR, OutDirSite
from oraclepack.core.script import Command, Expansion, ExpansionKind, Word
from oraclepack.parse.grammar import descend, everywhere, text_of
from oraclepack.parse.locate import Locator
from oraclepack.parse.values import in_one_text, value_of, word_of
from oraclepack.parse.variables import Value, Variables
from oraclepack.system.text_limits import regex

if TYPE_CHECKING:
    from tree_sitter import Node

_SETTERS = frozenset({"read", "mapfile", "readarray", "getopts", "unset", "let", "printf"})
_SETS_ANYTHING = frozenset({"source", ".", "eval"})
_DEFAULT = regex(r"\$\{(\w+):?=")
"""`${name:=value}` sets a variable that is empty."""


_SETTING = frozenset({"variable_assignment", "command", "declaration_command"})
_ARITHMETIC = regex(r"^(?:for\s*)?\(\(([^()]*+)")
_WORD = regex(r"[A-Za-z_]\w*")
_PROMPT_FLAGS = frozenset({"-p", "--prompt", "--message"})


def sets_anything(command: Command) -> bool:
    """Whether a command may set variables that its words do not name."""
    return command.name in _SETS_ANYTHING


class Assignments(msgspec.Struct, frozen=True):
    """Applies assignments to what is known of the variables."""

    variables: Variables
    place: Locator

    @staticmethod
    def names_in(node: "Node") -> set[str]:
        """Every name that is set somewhere below a node."""
        names = {text_of(name) for name in _loop_names(node)} | set(_DEFAULT.findall(text_of(node)))
        names.update(name for text in _arithmetic(node) for name in _WORD.findall(text))
        for child in descend(node, _SETTING):
            if child.type == "variable_assignment":
                names.add(_name(child))
            elif child.type == "declaration_command":
                names.update(_declared(child))
            else:
                names.update(Assignments.names_in(child))
                parts = child.named_children
                words = [text_of(part) for part in parts if part.type != "variable_assignment"]
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
        if command.name == "printf" and "-v" in words:
            printed = tuple(each for word in command.words for each in word.expansions)
            self.variables.hold("".join(words[words.index("-v") + 1 :][:1]), printed, certain=True)
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
        if whole and not heredoc.quoted:
            self.variables.hold(name, heredoc.expansions, certain=True)
        if not whole or not heredoc.quoted:
            return
        keeps = any(key == "IFS" and word.value == "" for key, word in command.assignments)
        text = heredoc.body if keeps else heredoc.body.strip(" \t\n")
        self.variables.assign(name, Value(text, origin=heredoc.span), certain=True)

    def _assign(self, node: "Node", *, certain: bool) -> None:
        name, value = _name(node), node.child_by_field_name("value")
        new = Value("") if value is None else value_of(value, self.variables, self.place)
        if name == OUT_DIR and value is not None and value.type != "array":
            span = self.place.span(value.start_point, value.end_point)
            self.variables.out_dirs.append(OutDirSite(span, text_of(value)))
        # After a colon `~` is the home directory here, and nowhere else.
        texts = self._texts(value, new)
        if value is not None and (value.type == "array" or ":~" in text_of(value)):
            new = Value(text_of(value), known=False)
        if any(child.type == "+=" for child in node.children):
            old = self.variables.get(name)
            new = old.joined(new) if old is not None else Value(new.text, known=False)
            texts = self.variables.texts.get(name, ()) + texts
        if node.named_children and node.named_children[0].type == "subscript":
            new = Value(new.text, known=False)
            texts = self.variables.texts.get(name, ()) + texts
        self.variables.assign(name, replace(new, expansions=texts), certain=certain)

    def _texts(self, value: "Node | None", new: Value) -> tuple[Expansion, ...]:
        """What is expanded in the prompt that a variable takes; of an array, the one it names."""
        if value is None:
            return ()
        if value.type == "array":
            words = [word_of(word, self.variables, self.place) for word in value.named_children]
            return tuple(
                expansion
                for flag, word in pairwise(words)
                if flag.value in _PROMPT_FLAGS
                for expansion in word.expansions
            )
        whole = self.place.span(value.start_point, value.end_point)
        own = in_one_text(new.expansions, whole)
        # `x="`date`"` is the value of a command, not a text about one.
        return tuple(each for each in own if not (each.is_whole and _runs(each)))


def _runs(expansion: Expansion) -> bool:
    return expansion.kind is not ExpansionKind.VARIABLE


def _arithmetic(node: "Node") -> Iterator[str]:
    """The texts between `((` and `))` of a whole stretch: a name in them may be set there."""
    if node.parent is not None or b"((" not in (node.text or b""):
        return
    for kind in ("compound_statement", "c_style_for_statement"):
        for inner in everywhere(node, kind):
            yield from _ARITHMETIC.findall(text_of(inner))[:1]


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
