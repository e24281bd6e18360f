"""A stretch of bash to the plain values of `pack/script.py`. No tree node leaves this folder."""

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from msgspec.structs import replace

from oraclepack.pack.parse.grammar import everywhere, syntax_tree
from oraclepack.pack.parse.locate import Locator

if TYPE_CHECKING:
    from tree_sitter import Node

from typing import TYPE_CHECKING

import msgspec

from oraclepack.pack.parse.grammar import descend, text_of
from oraclepack.pack.parse.variables import Variables
from oraclepack.pack.parse.word_values import (
    REDIRECTS,
    Words,
    is_quoted,
    names_set,
    opening_parts,
    sets_anything,
)
from oraclepack.pack.script import (
    Comment,
    Enclosure,
    Expansion,
    Heredoc,
    Redirect,
    Script,
    SimpleCommand,
    Span,
    Substitution,
    Word,
)

if TYPE_CHECKING:
    from tree_sitter import Node, Tree


_PREFIXES = (re.compile(rb"time[ \t\\]"), re.compile(rb"coproc[ \t\\]"), re.compile(rb"![ \t\\]"))
_COMMAND_BEGINS = re.compile(
    rb"(?:^|[\n;&|(){!]|\b(?:then|do|else|elif|if|while|until|time|coproc)\b)[ \t]*\Z"
)
_NEAR = 40
_TIMED = frozenset({b"time", b"coproc"})
_CONSTRUCTS = frozenset({b"{", b"if", b"while", b"until", b"for", b"case", b"select"})
_RESERVED = _CONSTRUCTS | {b"}", b"then", b"elif", b"else", b"fi", b"do", b"done", b"esac"}
_DEEPEST = 9


def hides(source: bytes, root: "Node") -> bool:
    """Whether the tree overlooks a construct for the words before it."""
    return _may_hide(source) and next(_hidden(root), None) is not None


def without_prefixes(place: Locator) -> Locator:
    """The stretch with blanks for the words that hide a construct; all else stays in its place."""
    source = b"\n".join(place.lines)
    for _ in range(_DEEPEST if _may_hide(source) else 0):
        stretches = [stretch for stretch in _hidden(syntax_tree(source).root_node) if any(stretch)]
        if not stretches:
            break
        changed = bytearray(source)
        for start, end in stretches:
            words = bytes(10 if byte == 10 else 32 for byte in source[start:end])
            changed[start:end] = words
        source = bytes(changed)
    return replace(place, lines=tuple(source.split(b"\n")))


def _may_hide(source: bytes) -> bool:
    # Nearly no pack has one, and to walk its tree costs more than to look for the words.
    return any(
        _COMMAND_BEGINS.search(source[max(match.start() - _NEAR, 0) : match.start()])
        for prefix in _PREFIXES
        for match in prefix.finditer(source)
    )


def _hidden(root: "Node") -> Iterator[tuple[int, int]]:
    """From where to where the words before each overlooked construct stand."""
    for command in everywhere(root, "command"):
        yield from _before(command)


def _before(command: "Node") -> Iterator[tuple[int, int]]:
    name = command.child_by_field_name("name")
    if name is None:
        return
    if name.text in _RESERVED:
        outer = command.parent
        negated = outer is not None and outer.type == "negated_command"
        yield (outer.start_byte if outer and negated else name.start_byte), name.start_byte
    elif name.text in _TIMED:
        for argument in command.children_by_field_name("argument"):
            if argument.text in _CONSTRUCTS:
                yield command.start_byte, argument.start_byte
                return


_SUBSTITUTIONS = frozenset({"command_substitution", "process_substitution"})
_LOOPS = frozenset({"for_statement", "c_style_for_statement", "while_statement"})
_BRANCHES = frozenset({"elif_clause", "else_clause", "case_item"})
_SKIPPED = frozenset({"heredoc_body", "heredoc_start", "heredoc_end", "variable_name"})
_OWN_VARIABLES = frozenset(
    {Enclosure.SUBSHELL, Enclosure.PIPELINE, Enclosure.SUBSTITUTION, Enclosure.BACKGROUND}
)


def read_script(
    place: Locator, variables: Variables, tree: "Tree | None" = None
) -> tuple[Script, Variables]:
    """What a stretch of bash says, and what is known of its variables at its end.

    `tree` is that of the stretch, if there is one already.
    """
    source = b"\n".join(place.lines)
    root = (tree or syntax_tree(source)).root_node
    known = replace(variables.copy(), held={})
    reader = _Reader(place, source, known, at_top=_comments_at_top(root))
    sets: set[str] | None = None
    try:
        reader.visit(root, frozenset())
        sets = names_set(root)
    except RecursionError:
        # Nested too deeply: keep what was read, mark the whole as misread.
        reader.misread.append(place.span(root.start_point, root.end_point))
    reader.commands.sort(key=lambda command: command.span)
    script = Script(
        commands=tuple(reader.commands),
        heredocs=tuple(sorted(reader.heredocs, key=lambda heredoc: heredoc.span)),
        comments=tuple(sorted(reader.comments, key=lambda comment: comment.span)),
        functions=tuple(reader.functions),
        substitutions=tuple(sorted(reader.substitutions, key=lambda one: one.span)),
        texts={name: tuple(values) for name, values in reader.variables.held.items()},
        sets=frozenset(sets or ()),
        sets_anything=sets is None or any(map(sets_anything, reader.commands)),
        misread=tuple(reader.misread),
    )
    return script, reader.variables


def _holds_flag(node: "Node") -> bool:
    """The tree takes `--file=a` for an assignment; to bash it is a word of a command."""
    words = [node] if node.type == "variable_assignment" else node.named_children
    return any((word.text or b"").startswith(b"-") for word in words)


def _comments_at_top(root: "Node") -> frozenset[int]:
    # A node that is asked for its parent looks through all of the parent's children.
    children = root.named_children if root.type == "program" else ()
    return frozenset(child.start_byte for child in children if child.type == "comment")


class _Reader(Words):
    """Walks a tree in the order of the text and collects what it finds."""

    at_top: frozenset[int] = frozenset()
    """Where the comments begin that are between complete commands."""
    commands: list[SimpleCommand] = msgspec.field(default_factory=list)
    heredocs: list[Heredoc] = msgspec.field(default_factory=list)
    comments: list[Comment] = msgspec.field(default_factory=list)
    functions: dict[str, None] = msgspec.field(default_factory=dict)
    substitutions: list[Substitution] = msgspec.field(default_factory=list)
    misread: list[Span] = msgspec.field(default_factory=list)
    function: str = ""

    def visit(self, node: "Node", places: frozenset[Enclosure]) -> None:  # noqa: C901, PLR0912 - a table of node kinds
        match node.type:
            case "comment":
                self._comment(node, places)
            case "command":
                self._command(node, places, [])
            case "variable_assignment" | "variable_assignments" if _holds_flag(node):
                self._command(node, places, [])
            case "redirected_statement":
                self._redirected(node, places)
            case "file_redirect":  # `$(< file)`
                redirects, _, _ = self._redirects([node], places)
                self.commands.append(
                    SimpleCommand((), (), redirects, (), places, self._span(node), self.function)
                )
            case "variable_assignment" | "declaration_command" | "unset_command":
                self._assignment(node, places)
            case "function_definition":
                self._function(node, places)
            case "ERROR":
                self.misread.append(self._span(node))
                self._children(node, places)
            case kind if kind in _LOOPS:
                self.variables.forget(names_set(node))
                self._children(node, places | {Enclosure.LOOP})
            case kind if kind in _BRANCHES:
                self._children(node, places | {Enclosure.CONDITION})
            case "list":
                self._list(node, places)
            case "pipeline":
                self._visit_subshell(node, places | {Enclosure.PIPELINE})
            case "subshell":
                self._visit_subshell(node, places | {Enclosure.SUBSHELL})
            case kind if kind in _SUBSTITUTIONS:
                outer = self.backquoted
                self.backquoted = outer or text_of(node).startswith("`")
                if not self.backquoted and Enclosure.SUBSTITUTION not in places:
                    self._with_heredocs(node)
                self._visit_subshell(node, places | {Enclosure.SUBSTITUTION})
                self.backquoted = outer
            case kind if kind not in _SKIPPED:
                self._children(node, places)

    def _with_heredocs(self, node: "Node") -> None:
        if b"<<" in (node.text or b""):
            quoted = node.parent is not None and node.parent.type == "string"
            self.substitutions.append(Substitution(self._span(node), quoted))

    def _children(self, node: "Node", places: frozenset[Enclosure]) -> None:
        children = node.children
        for index, child in enumerate(children):
            if child.type == "then":
                places = places | {Enclosure.CONDITION}
            if not child.is_named:
                continue
            if index + 1 < len(children) and children[index + 1].type == "&":
                self._apart_one(child, places | {Enclosure.BACKGROUND})
            else:
                self.visit(child, places)

    def _visit_subshell(self, node: "Node", places: frozenset[Enclosure]) -> None:
        """Visit what runs in a shell of its own: its assignments do not reach us."""
        outer, self.variables = self.variables, self.variables.copy()
        self._children(node, places)
        self.variables = outer

    def _apart_one(self, node: "Node", places: frozenset[Enclosure]) -> None:
        outer, self.variables = self.variables, self.variables.copy()
        self.visit(node, places)
        self.variables = outer

    def _list(self, node: "Node", places: frozenset[Enclosure]) -> None:
        """In `a && b` the right side runs only if the left side says so."""
        named = node.named_children
        for index, child in enumerate(named):
            self.visit(child, places | {Enclosure.CONDITION} if index else places)

    def _function(self, node: "Node", places: frozenset[Enclosure]) -> None:
        name = node.child_by_field_name("name")
        if name is not None:
            self.functions[text_of(name)] = None
        self.variables.distrust(names_set(node))
        outer = self.variables, self.function
        self.variables = Variables(texts=dict(outer[0].texts), held=outer[0].held)
        self.function = text_of(name) if name is not None else ""
        self._children(node, places | {Enclosure.FUNCTION})
        self.variables, self.function = outer

    def _assignment(self, node: "Node", places: frozenset[Enclosure]) -> None:
        self._substitutions(node, places)
        # Inside a function, loop or branch the assignment may or may not have happened.
        certain = not places - _OWN_VARIABLES
        self.apply(node, certain=certain)

    def _comment(self, node: "Node", places: frozenset[Enclosure]) -> None:
        row, column = node.start_point
        before = self.place.lines[row][:column].strip() if row < len(self.place.lines) else b""
        self.comments.append(
            Comment(
                text_of(node).rstrip(),
                self._span(node),
                top_level=node.start_byte in self.at_top,
                in_function=Enclosure.FUNCTION in places,
                trailing=bool(before),
            )
        )

    def _redirected(self, node: "Node", places: frozenset[Enclosure]) -> None:
        """A statement with redirections: they belong to the last command of the statement."""
        body = node.child_by_field_name("body")
        redirects = node.children_by_field_name("redirect")
        if body is not None and body.type == "command":
            self._command(body, places, redirects)
            return
        before = len(self.commands)
        if body is not None:
            self.visit(body, places)
        read_redirects, heredocs, extra = self._redirects(redirects, places)
        if len(self.commands) > before:
            last = self.commands[-1]
            self.commands[-1] = replace(
                last,
                words=last.words + extra,
                redirects=last.redirects + read_redirects,
                heredocs=last.heredocs + heredocs,
                fed=last.fed + self._fed(heredocs, redirects),
            )
        elif read_redirects or heredocs:
            span = self._span(node)
            fed = self._fed(heredocs, redirects)
            self.commands.append(
                SimpleCommand((), (), read_redirects, heredocs, places, span, self.function, fed)
            )

    def _command(self, node: "Node", places: frozenset[Enclosure], outer: "list[Node]") -> None:
        settings: list[tuple[str, Word]] = []
        redirects = list(outer)
        parts: list[Node] = []
        for child in [node] if node.type == "variable_assignment" else node.named_children:
            if child.type == "variable_assignment" and not _holds_flag(child):
                settings.append(self.setting(child))
            elif child.type in REDIRECTS:
                redirects.append(child)
            elif child.type != "comment":
                if (child.text or b"").startswith(b"\n"):
                    break  # the tree ran on into a heredoc that begins with a backslash
                parts.append(child)
        slot = len(self.commands)
        self._substitutions(node, places)
        read_redirects, heredocs, extra = self._redirects(redirects, places)
        command = SimpleCommand(
            tuple(self.among(parts, redirects)) + extra,
            tuple(settings),
            read_redirects,
            heredocs,
            places,
            self._span(node),
            self.function,
            self._fed(heredocs, redirects),
        )
        self.commands.insert(slot, command)
        if not places & _OWN_VARIABLES:
            self.by_command(command)

    def _fed(self, heredocs: tuple[Heredoc, ...], redirects: "list[Node]") -> tuple[Expansion, ...]:
        """What bash expands in the texts that a command reads."""
        expansions = [expansion for heredoc in heredocs for expansion in heredoc.expansions]
        for node in redirects:
            if node.type == "herestring_redirect":
                for child in node.named_children:
                    expansions += self.word(child).expansions
        return tuple(expansions)

    def _substitutions(self, node: "Node", places: frozenset[Enclosure]) -> None:
        # Most commands have none, and the tree below them is large.
        text = node.text or b""
        if b"(" in text or b"`" in text:
            for inner in descend(node, _SUBSTITUTIONS):
                self.visit(inner, places)

    def _redirects(
        self, nodes: "list[Node]", places: frozenset[Enclosure]
    ) -> tuple[tuple[Redirect, ...], tuple[Heredoc, ...], tuple[Word, ...]]:
        redirects: list[Redirect] = []
        heredocs: list[Heredoc] = []
        extra: list[Word] = []
        for node in nodes:
            if node.type == "file_redirect":
                redirects.extend(self.file_redirect(node, extra))
                self._substitutions(node, places)
            elif node.type == "heredoc_redirect":
                self._heredoc(node, places, redirects, heredocs, extra)
            else:
                self._substitutions(node, places)
        return tuple(redirects), tuple(heredocs), tuple(extra)

    def _heredoc(
        self,
        node: "Node",
        places: frozenset[Enclosure],
        redirects: list[Redirect],
        heredocs: list[Heredoc],
        extra: list[Word],
    ) -> None:
        """A heredoc; the tree hangs the rest of its line under it: `<<A > out`, `<<A | cat`."""
        parts = {child.type: child for child in node.named_children}
        start, body = parts.get("heredoc_start"), parts.get("heredoc_body")
        quoted = is_quoted(text_of(start)) if start is not None else False
        opening = opening_parts(node)
        text = self.heredoc_text(node, opening)
        first = body or parts.get("heredoc_end") or node
        heredoc = Heredoc(
            quoted,
            text.text,
            self.place.span(first.start_point, node.end_point),
            text.expansions,
        )
        heredocs.append(heredoc)
        self.heredocs.append(heredoc)
        for child in opening:
            if child.type == "file_redirect":
                redirects.extend(self.file_redirect(child, extra))
            elif child.type in {"word", "string", "raw_string", "concatenation", "number"}:
                extra.append(self.word(child))
            elif child.type == "heredoc_body" and not quoted:
                self._substitutions(child, places)
            elif child.type == "pipeline":
                self._visit_subshell(child, places | {Enclosure.PIPELINE})
            elif child.type not in _SKIPPED:
                self.visit(child, places | {Enclosure.CONDITION})

    def _span(self, node: "Node") -> Span:
        return self.place.span(node.start_point, node.end_point)
