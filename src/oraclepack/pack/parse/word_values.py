"""The words of commands, and the value of each as far as the text alone decides it."""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from oraclepack.pack.model import OUT_DIR
from oraclepack.pack.parse.effects import pieces_of
from oraclepack.pack.parse.grammar import everywhere, text_of
from oraclepack.pack.parse.locate import Locator
from oraclepack.pack.parse.variables import Value, Variables
from oraclepack.pack.script import Expansion, ExpansionKind, Redirect, SimpleCommand, Span, Word

if TYPE_CHECKING:
    from tree_sitter import Node

EXPANSIONS = frozenset(
    {"simple_expansion", "expansion", "command_substitution", "arithmetic_expansion"}
)
_BARE = frozenset(
    {"word", "number", "variable_name", "special_variable_name", "test_operator", "="}
)
_VARIABLE = re.compile(r"\$\{?[!#]?(\w+)")
_STATEMENTS = frozenset(
    {"redirected_statement", "pipeline", "list", "subshell", "compound_statement", "command"}
)
_PRINTERS = frozenset({b"echo", b"printf"})
_BRACES = re.compile(r"\{[^{}\s]*(?:,|\.\.)[^{}\s]*\}")
_GLOB = re.compile(r"(?<!\\)[*?\[]")
_ESCAPE = re.compile(r"\\(\n|.)", re.DOTALL)
_QUOTED_ESCAPE = re.compile(r'\\(\n|["\\$`])')
_DOCUMENT_ESCAPE = re.compile(r"\\(\n|[\\$`])")
_MARGIN = re.compile(r"(\\(?:\n\t*|.))|(?<=\n)\t+", re.DOTALL)
"""The tabs that `<<-` drops; a line that continues the one before keeps its own."""
_ANSI_ESCAPE = re.compile(
    r"\\(?:x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{1,4})|U([0-9a-fA-F]{1,8})|([0-7]{1,3})|(.))", re.DOTALL
)
_ANSI_LETTERS = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}
_ANSI_LETTERS |= {"e": "\x1b", "E": "\x1b", "\\": "\\", "'": "'", '"': '"', "?": "?"}


def in_one_text(expansions: tuple[Expansion, ...], whole: Span) -> tuple[Expansion, ...]:
    """The expansions, with those that are in a certain stretch counted as of one text."""
    return tuple(
        replace(each, text=whole) if whole.contains(each.span) else each for each in expansions
    )


def joined(first: Word, second: Word) -> Word:
    """One word of two that only a continued line keeps apart."""
    known = first.value is not None and second.value is not None
    span = Span(first.span.line, first.span.column, second.span.end_line, second.span.end_column)
    return Word(
        source=first.source + second.source,
        value=f"{first.value}{second.value}" if known else None,
        span=span,
        template=first.template + second.template,
        origin=first.origin or second.origin,
        splits=first.splits or second.splits,
        globs=first.globs or second.globs,
        expansions=first.expansions + second.expansions,
    )


def _has_backquotes(expansions: tuple[Expansion, ...]) -> bool:
    return any(each.kind is ExpansionKind.BACKQUOTES for each in expansions)


def opening_parts(redirect: "Node") -> "list[Node]":
    """The parts of a heredoc, without words of its first line that the tree takes for arguments.

    It does so where the line begins with a backslash: a word that begins with a line end.
    """
    source, base, parts = redirect.text or b"", redirect.start_byte, redirect.named_children
    strays = (
        part.start_byte
        for part in parts
        if part.start_byte < part.end_byte and source.startswith(b"\n", part.start_byte - base)
    )
    first = next(strays, redirect.end_byte)
    return [
        part
        for part in parts
        if part.start_byte < first or part.type in {"heredoc_body", "heredoc_end"}
    ]


def _lost_before(redirect: "Node", body: "Node", opening: "list[Node]") -> str:
    """The beginning of a heredoc as far as the tree leaves it out: white space, backslashes."""
    ends = (part.end_byte for part in opening if part.end_byte < body.start_byte)
    start, end = max(ends) - redirect.start_byte, body.start_byte - redirect.start_byte
    return (redirect.text or b"")[start:end].partition(b"\n")[2].decode("utf-8", "replace")


def _bare(text: str) -> Value:
    if text.startswith("~"):
        return Value(text, known=False)
    if "{" in text and _BRACES.search(text):
        return Value(text, known=False, splits=True)
    globs = ("*" in text or "?" in text or "[" in text) and _GLOB.search(text) is not None
    if "\\" in text:
        text = _ESCAPE.sub(lambda m: "" if m[1] == "\n" else m[1], text)
    return Value(text, globs=globs)


def _literal(text: str, unquote: Callable[[str], str]) -> Value:
    # A backquote that the tree takes for text begins a command in bash.
    return Value(unquote(text), known="`" not in text or "`" not in _ESCAPE.sub("", text))


def _unquote(text: str, escape: re.Pattern[str] = _QUOTED_ESCAPE) -> str:
    return escape.sub(lambda m: "" if m[1] == "\n" else m[1], text) if "\\" in text else text


def _undocument(text: str) -> str:
    return _unquote(text, _DOCUMENT_ESCAPE)


def _dashed(text: str) -> str:
    return _undocument(_MARGIN.sub(lambda m: m[1] or "", text))


def _only_heredoc(node: "Node") -> "Node | None":
    """The heredoc of a substitution that is nothing but `cat` and a heredoc."""
    statements = node.named_children
    if len(statements) != 1 or statements[0].type != "redirected_statement":
        return None
    body = statements[0].child_by_field_name("body")
    redirects = statements[0].children_by_field_name("redirect")
    if body is None or text_of(body).strip() != "cat" or len(redirects) != 1:
        return None
    parts = {child.type for child in opening_parts(redirects[0])}
    if parts - {"heredoc_start", "heredoc_body", "heredoc_end"} or "heredoc_body" not in parts:
        return None
    return redirects[0]


def is_quoted(delimiter: str) -> bool:
    return any(char in delimiter for char in "'\"\\")


def _ansi(text: str) -> Value:
    def decode(match: re.Match[str]) -> str:
        for group, base in ((1, 16), (2, 16), (3, 16), (4, 8)):
            if match[group] is not None:
                code = int(match[group], base)
                return chr(code) if code < 0x110000 and not 0xD800 <= code < 0xE000 else "\ufffd"
        return _ANSI_LETTERS.get(match[5], match[0])

    return Value(_ANSI_ESCAPE.sub(decode, text).partition("\0")[0])


_SETTERS = frozenset({"read", "mapfile", "readarray", "getopts", "unset", "let", "printf"})
_SETS_ANYTHING = frozenset({"source", ".", "eval"})
_DEFAULT = re.compile(r"\$\{(\w+):?=")
"""`${name:=value}` sets a variable that is empty."""


_ARITHMETIC = re.compile(r"^(?:for\s*)?\(\(([^()]*+)")
_WORD = re.compile(r"[A-Za-z_]\w*")
_PROMPT_FLAGS = frozenset({"-p", "--prompt", "--message"})


def sets_anything(command: SimpleCommand) -> bool:
    """Whether a command may set variables that its words do not name."""
    return command.name in _SETS_ANYTHING


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


def _loop_names(node: "Node") -> Iterator[str]:
    for loop in everywhere(node, "for_statement"):
        yield from map(text_of, loop.children_by_field_name("variable"))


def _set_by_nodes(command: "Node") -> Iterator[str]:
    words = [part for part in command.named_children if part.type != "variable_assignment"]
    # The words of other commands, which may be long prompts, need not be read.
    if words and text_of(words[0]) in _SETTERS:
        yield from _set_by_words(map(text_of, words))


def _set_by_words(words: Iterable[str]) -> Iterator[str]:
    """The names that a builtin sets, from its words; too many is safe, too few is not."""
    listed = list(words)
    if listed and listed[0] in _SETTERS:
        named = (word for word in listed[1:] if word and not word.startswith("-"))
        yield from (word.split("=", 1)[0].split("[", 1)[0] for word in named)


REDIRECTS = frozenset({"file_redirect", "herestring_redirect", "heredoc_redirect"})
_GLUE = re.compile(rb"(?:\\[\n \t])*")
_BLANKS_BEHIND = re.compile(rb"(?:\\[ \t])+")
_BLANKS_BEFORE = re.compile(rb"(?<=\s)(?:\\[ \t])+$")


def _is_plain(gap: bytes) -> bool:
    """Nothing but white space and ends of continued lines, the former first."""
    return gap.isspace() or (gap[:1].isspace() and gap.replace(b"\\\n", b" ").isspace())


def names_set(node: "Node") -> set[str]:
    """Every name that is set somewhere below a node."""
    names = set(_DEFAULT.findall(text_of(node)))
    names.update(name for text in _arithmetic(node) for name in _WORD.findall(text))
    waiting = [node]
    while waiting:
        one = waiting.pop()
        match one.type:
            case "variable_assignment":
                names.add(_name(one))
                names.update(_loop_names(one))
                continue
            case "declaration_command":
                names.update(_declared(one))
                names.update(_loop_names(one))
                continue
            case "for_statement":
                names.update(map(text_of, one.children_by_field_name("variable")))
            case "command":
                names.update(_set_by_nodes(one))
        if one.named_child_count:
            waiting.extend(one.named_children)
    return names


class Words(msgspec.Struct):
    """Reads the words of one stretch of bash, and what they do to its variables."""

    place: Locator
    source: bytes
    variables: Variables
    backquoted: bool = False
    """Between backquotes bash reads backslashes twice."""

    def word(self, node: "Node") -> Word:
        """A word node as a plain value."""
        value = self.value(node)
        span = self.place.span(node.start_point, node.end_point)
        return Word(
            source=text_of(node),
            value=value.text if value.known and not value.splits else None,
            span=span,
            template=value.text,
            origin=value.origin,
            splits=value.splits,
            globs=value.globs,
            expansions=in_one_text(value.expansions, span),
        )

    def value(self, node: "Node") -> Value:  # noqa: PLR0911 - a table of node kinds
        """What bash makes of a word node."""
        match node.type:
            case kind if kind in _BARE:
                return _bare(text_of(node))
            case "raw_string":
                return Value(text_of(node)[1:-1])
            case "string":
                return self._string(node)
            case "ansi_c_string":
                return _ansi(text_of(node)[2:-1])
            case "concatenation" | "variable_assignment":
                return self._joined(node)
            case "command_name" | "translated_string" if node.named_child_count == 1:
                return self.value(node.named_children[0])
            case "simple_expansion" | "expansion":
                value = self._expansion(node)
                unsafe = not value.known or not value.text or re.search(r"[\s*?\[\\]", value.text)
                return replace(value, splits=bool(unsafe))
            case "command_substitution":
                return replace(self._substitution(node), splits=True)
            case kind:
                splits = kind not in {"process_substitution", "arithmetic_expansion"}
                return Value(text_of(node), known=False, splits=splits)

    def heredoc_text(self, redirect: "Node", opening: "list[Node]") -> Value:
        """What a heredoc feeds: literal when its delimiter is quoted, else with expansions.

        `opening` are its `opening_parts`.
        """
        parts = {child.type: child for child in redirect.named_children}
        start, body = parts.get("heredoc_start"), parts.get("heredoc_body")
        if start is None or body is None:
            return Value("")
        origin = self.place.span(body.start_point, body.start_point)
        missing = _lost_before(redirect, body, opening)
        dashed = (redirect.text or b"").lstrip(b"0123456789").startswith(b"<<-")
        if is_quoted(text_of(start)):
            text = missing + text_of(body)
            return Value(re.sub(r"(?m)^\t+", "", text) if dashed else text, origin=origin)
        before, literal = (missing.lstrip("\t"), _dashed) if dashed else (missing, _undocument)
        ends = body.start_byte, body.end_byte
        value = self._expanded(body, *ends, literal=literal, before=before)
        direct = self._direct(body, quoted=False)
        known = value.known and not set("$`") & set(missing) and not _has_backquotes(direct)
        return Value(value.text, known, origin=origin, expansions=direct + value.expansions)

    def _direct(self, node: "Node", *, quoted: bool) -> tuple[Expansion, ...]:
        """What bash expands in the text itself that a node is, at its place in the file."""
        text = node.text or b""
        if self.place.written:
            text = self.place.source(node.start_point, node.end_point)
        inner = text[1:-1] if quoted else text
        pieces = pieces_of(inner, quoted=quoted)
        if not pieces:
            return ()
        row, column = node.start_point
        ends = list(accumulate(len(line) + 1 for line in text.split(b"\n")))

        def point(offset: int) -> tuple[int, int]:
            line = bisect_right(ends, offset)
            return row + line, offset - ends[line - 1] if line else offset + column

        start = 1 if quoted else 0
        whole = self.place.span(node.start_point, node.end_point)
        whole_length = len(inner if quoted else inner.strip())
        return tuple(
            Expansion(
                piece.kind,
                self.place.span(point(piece.start + start), point(piece.end + start)),
                whole,
                piece.name,
                has_default=piece.has_default,
                quoted=quoted,
                is_whole=piece.end - piece.start == whole_length,
            )
            for piece in pieces
        )

    def _string(self, node: "Node") -> Value:
        inner = [child for child in node.named_children if child.type in EXPANSIONS]
        value = self._expanded(node, node.start_byte + 1, node.end_byte - 1)
        direct = self._direct(node, quoted=True)
        lone = len(inner) == 1 and value.text == text_of(inner[0])
        return Value(
            value.text,
            value.known and not _has_backquotes(direct),
            splits=lone and re.search(r"\[@\]|^\$@$|^\$\{@\}$", value.text) is not None,
            origin=value.origin,
            expansions=direct + value.expansions,
        )

    def _expanded(
        self,
        node: "Node",
        start: int,
        end: int,
        *,
        literal: Callable[[str], str] | None = None,
        before: str = "",
    ) -> Value:
        """Text with expansions: what is between them is literal, up to its backslashes.

        The literal text is cut from the source, not from the tree: the tree drops some white space.
        """
        source = node.text or b""
        base = node.start_byte
        unquote = literal or _unquote
        result = Value("")
        for child in node.named_children:
            if child.type not in EXPANSIONS:
                continue
            text = source[start - base : child.start_byte - base].decode("utf-8", "replace")
            if before or text:
                result = result.joined(_literal(before + text, unquote))
            before = ""
            is_command = child.type == "command_substitution"
            inner = self._substitution(child) if is_command else self._expansion(child)
            result = result.joined(replace(inner, splits=False, globs=False))
            start = child.end_byte
        tail = before + source[start - base : end - base].decode("utf-8", "replace")
        return result.joined(_literal(tail, unquote)) if tail else result

    def _joined(self, node: "Node") -> Value:
        result = Value("")
        for child in node.children:
            result = result.joined(self.value(child))
        text = text_of(node)
        is_bare = any(child.type in {"word", "{"} for child in node.children)
        if is_bare and "{" in text and _BRACES.search(text):
            return Value(text, known=False, splits=True)
        return result

    def _expansion(self, node: "Node") -> Value:
        """`$name` and `${name}` of a variable that is certain; everything else stays as written."""
        source = text_of(node)
        if node.type == "arithmetic_expansion":
            return Value(source, known=False)
        name = _VARIABLE.match(source)
        texts = self.variables.texts.get(name[1], ()) if name else ()
        unknown = Value(source, known=False, expansions=texts)
        names = [child for child in node.named_children if child.type == "variable_name"]
        plain = node.named_child_count == 1 and bool(names)
        if not plain or source not in {f"${text_of(names[0])}", f"${{{text_of(names[0])}}}"}:
            return unknown
        value = self.variables.get(text_of(names[0]))
        return unknown if value is None else replace(value, expansions=texts)

    def _substitution(self, node: "Node") -> Value:
        """`$(cat <<'END' …)` is the heredoc's text; any other substitution is unknown."""
        heredoc = _only_heredoc(node)
        if heredoc is None:
            return Value(text_of(node), known=False, expansions=tuple(self._printed(node)))
        value = self.heredoc_text(heredoc, opening_parts(heredoc))
        return replace(value, text=value.text.rstrip("\n"))

    def _printed(self, node: "Node") -> Iterator[Expansion]:
        """What bash expands in what a substitution seems to print: heredocs, echo, printf."""
        for child in node.named_children:
            name = child.child_by_field_name("name") if child.type == "command" else None
            if child.type == "heredoc_redirect":
                yield from self.heredoc_text(child, opening_parts(child)).expansions
            elif name is not None and name.text in _PRINTERS:
                for word in child.children_by_field_name("argument"):
                    yield from self.word(word).expansions
            elif child.type in _STATEMENTS:
                yield from self._printed(child)

    def file_redirect(self, node: "Node", extra: list[Word]) -> list[Redirect]:
        """The redirection; words that belong to the command behind it are added to `extra`."""
        descriptor = next((c for c in node.children if c.type == "file_descriptor"), None)
        operator = next((text_of(c) for c in node.children if not c.is_named), ">")
        # The tree hands words that follow a redirection to the redirection: `> out.md -p x`.
        targets = node.children_by_field_name("destination")
        extra.extend(self.word(target) for target in targets[1:])
        number = text_of(descriptor) if descriptor is not None else ""
        span = self.place.span(node.start_point, node.end_point)
        standard = int(number) if number.isdecimal() else None
        return [Redirect(operator, standard, self.word(target), span) for target in targets[:1]]

    def setting(self, node: "Node") -> tuple[str, Word]:
        """`NAME=value` before a command."""
        value = node.child_by_field_name("value")
        if value is None:
            return _name(node), Word("", "", self.place.span(node.end_point, node.end_point))
        return _name(node), self.word(value)

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

    def by_command(self, command: SimpleCommand) -> None:
        """What builtins such as `read` and `source` do to the variables."""
        if command.name in _SETS_ANYTHING:
            self.variables.forget_all()
            return
        words = [word.value or "" for word in command.words]
        names = set(_set_by_words(words))
        written = (word.template for word in command.words)
        setting = [text for text in written if "${" in text and "=" in text]
        defaults = {name for text in setting for name in _DEFAULT.findall(text)}
        values = {name: self.variables.get(name) for name in defaults}
        has_text = {name for name, value in values.items() if value is not None and value.text}
        self.variables.forget(names | (defaults - has_text))
        if command.name == "printf" and "-v" in words:
            printed = tuple(each for word in command.words for each in word.expansions)
            self.variables.hold("".join(words[words.index("-v") + 1 :][:1]), printed, certain=True)
        if command.name == "read" and len(names) == 1 and len(command.heredocs) == 1:
            self._read_heredoc(names.pop(), command, words)

    def _read_heredoc(self, name: str, command: SimpleCommand, words: list[str]) -> None:
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
        new = Value("") if value is None else self.value(value)
        if name == OUT_DIR and value is not None and value.type != "array":
            span = self.place.span(value.start_point, value.end_point)
            self.variables.out_dirs.append(Word(text_of(value), None, span))
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
            words = [self.word(word) for word in value.named_children]
            return tuple(
                expansion
                for flag, word in pairwise(words)
                if flag.value in _PROMPT_FLAGS
                for expansion in word.expansions
            )
        whole = self.place.span(value.start_point, value.end_point)
        own = in_one_text(new.expansions, whole)
        # `x="`date`"` is the value of a command, not a text about one.
        return tuple(
            each for each in own if not each.is_whole or each.kind is ExpansionKind.VARIABLE
        )

    def among(self, parts: "list[Node]", redirects: "list[Node]") -> Iterator[Word]:
        """The words that these nodes are, redirections between them left out."""
        pending: Word | None = None
        ordered = sorted([*parts, *redirects], key=lambda node: node.start_byte)
        for index, part in enumerate(ordered):
            if part.type in REDIRECTS:
                continue
            word = self._word(part)
            pending = word if pending is None else joined(pending, word)
            after = ordered[index + 1] if index + 1 < len(ordered) else None
            gap = self.source[part.end_byte : after.start_byte] if after is not None else b" "
            if _is_plain(gap):
                yield pending
                pending = None
                continue
            if after is not None and after.type not in REDIRECTS and _GLUE.fullmatch(gap):
                pending = pending if gap in {b"", b"\\\n"} else replace(pending, value=None)
                continue
            if blanks := _BLANKS_BEHIND.match(gap):
                pending, gap = replace(pending, value=None), gap[blanks.end() :]
            yield pending
            pending = None
            if not gap.isspace():
                yield from self._words_in_gap(_BLANKS_BEFORE.sub(b"", gap), part)
                # The blank that a word begins with.
                place = self.place.span(part.end_point, part.end_point)
                pending = Word("\\ ", None, place, " ") if _BLANKS_BEFORE.search(gap) else None
        if pending is not None:
            yield pending

    def _word(self, part: "Node") -> Word:
        word = self.word(part)
        if self.backquoted and "\\" in word.source:
            return replace(word, value=None, template=word.source)
        return word

    def _words_in_gap(self, gap: bytes, before: "Node") -> Iterator[Word]:
        for word in gap.replace(b"\\\n", b" ").decode("utf-8", "replace").split():
            value = word if word == "-" else None
            yield Word(word, value, self.place.span(before.end_point, before.end_point), word)
