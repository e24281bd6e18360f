"""What a step reads and writes, as far as its text shows."""

import re
from collections.abc import Iterable, Iterator

import msgspec
from msgspec.structs import replace

from oraclepack.pack.model import OUTPUTS, Directive, Output
from oraclepack.pack.parse.grammar import syntax_tree
from oraclepack.pack.parse.locate import Locator
from oraclepack.pack.script import ExpansionKind, Script, SimpleCommand, Word
from oraclepack.pack.tool_call import ToolCall
from oraclepack.tools.flag_tables import Role
from oraclepack.tools.oracle_question import model_output
from oraclepack.tools.tool_names import ORACLE

_TEXT_STOPS = re.compile(rb'[\\"`$]')
_CODE_STOPS = re.compile(rb"[\\'\"`$()#<\n]|\bcase\b|\besac\b")
_BACKQUOTE_STOPS = re.compile(rb"[\\`]")
_PARENTHESES = re.compile(rb"[()]")
_ANSI = re.compile(rb"\$'[^'\\]*(?:\\[\s\S][^'\\]*)*'")
_HEREDOC = re.compile(rb"<<(-?)[ \t]*((?:'[^'\n]*'|\"[^\"\n]*\"|\\[^\n]|[^\s;&|<>()'\"\\])+)")
_NAME = re.compile(rb"[A-Za-z_][A-Za-z0-9_]*|[0-9]|[@*#?$!-]")
_BRACED_NAME = re.compile(rb"[!#]?([A-Za-z_][A-Za-z0-9_]*|[0-9]+|[@*])(\[[^]\n]*\])?(:?[-=+?])?")
_COMMENT_BEGINS = re.compile(rb"(?:^|[\s;&|(])\Z")
_FILLER = ord("x")
_NEWLINE = ord("\n")


class ExpansionPiece(msgspec.Struct, frozen=True):
    """One expansion of a text, as offsets of bytes."""

    kind: ExpansionKind
    start: int
    end: int
    name: str = ""
    """Of a variable."""
    has_default: bool = False
    """The text says what stands for a variable that is not set: `${name:-…}`."""


def pieces_of(text: bytes, *, quoted: bool) -> tuple[ExpansionPiece, ...]:
    """The expansions of a whole text; `quoted` for what is between double quotes."""
    if b"`" not in text and b"$" not in text:
        return ()
    try:
        return tuple(_Scanner(text).text(0, quoted=quoted)[0])
    except RecursionError:
        return ()  # nested too deeply


def without_prose(place: Locator) -> Locator:
    """The stretch with filler for backquoted prose between double quotes, which no tree can read.

    Every line and column stays where it was.
    """
    source = b"\n".join(place.lines)
    if b"`" not in source or not syntax_tree(source).root_node.has_error:
        return place
    spans = list(_backquoted(source))
    prose = [span for span in spans if _is_prose(source[span[0] + 1 : span[1] - 1])]
    changed = _filled(source, prose, b"`")
    if syntax_tree(changed).root_node.has_error:
        changed = _filled(source, spans, b"x")
    written = place.written or place.lines
    return replace(place, lines=tuple(changed.split(b"\n")), written=written)


def _is_prose(inside: bytes) -> bool:
    """Whether the tree can make nothing of what is between backquotes."""
    return not inside.strip() or b"#" in inside or syntax_tree(inside).root_node.has_error


def _filled(source: bytes, spans: Iterable[tuple[int, int]], mark: bytes) -> bytes:
    """The source with filler between some backquotes, which become the mark."""
    changed = bytearray(source)
    for start, end in spans:
        inside = source[start + 1 : end - 1]
        filler = bytes(byte if byte == _NEWLINE else _FILLER for byte in inside)
        # The tree cannot read backquotes around nothing either.
        ends = mark if filler.strip() else b"x"
        changed[start:end] = ends + filler + ends
    return bytes(changed)


def _backquoted(source: bytes) -> Iterator[tuple[int, int]]:
    scanner = _Scanner(source)
    try:
        scanner.code(0, ends=False)
    except RecursionError:
        return
    yield from scanner.backquoted


class _Scanner:
    """Walks bash text as bash does, as far as quotes and nesting go. Linear, and never raises."""

    def __init__(self, source: bytes) -> None:
        self.source = source
        self.backquoted: list[tuple[int, int]] = []
        """Where backquotes between double quotes begin and end, in any depth."""

    def text(self, at: int, *, quoted: bool) -> tuple[list[ExpansionPiece], int]:
        """The expansions from a place up to the closing quote or the end, and where that is."""
        pieces: list[ExpansionPiece] = []
        source = self.source
        while (stop := _TEXT_STOPS.search(source, at)) is not None:
            at = stop.start()
            match stop[0]:
                case b"\\":
                    at += 2
                case b'"' if quoted:
                    return pieces, at
                case b'"':
                    at += 1
                case b"`":
                    end = self._backquotes(at)
                    if end is None:
                        break
                    if quoted:
                        self.backquoted.append((at, end))
                    pieces.append(ExpansionPiece(ExpansionKind.BACKQUOTES, at, end))
                    at = end
                case _:
                    at = self._dollar(at, pieces)
        return pieces, len(source)

    def code(self, at: int, *, ends: bool = True) -> int:  # noqa: C901, PLR0912 - a table of signs
        """The place behind the parenthesis that closes a command, or the end."""
        source = self.source
        depth = cases = 0
        pending: list[tuple[bytes, bool, bool]] = []
        while (stop := _CODE_STOPS.search(source, at)) is not None:
            at = stop.end()
            match stop[0]:
                case b"\\":
                    at += 1
                case b"'":
                    end = source.find(b"'", at)
                    at = len(source) if end < 0 else end + 1
                case b'"':
                    at = self.text(at, quoted=True)[1] + 1
                case b"`":
                    at = self._backquotes(at - 1) or len(source)
                case b"$":
                    ansi = _ANSI.match(source, at - 1)
                    at = ansi.end() if ansi else self._dollar(at - 1, [])
                case b"(":
                    depth += 1
                case b")" if depth:
                    depth -= 1
                case b")" if ends and not cases:
                    return at
                case b"#" if _COMMENT_BEGINS.search(source, max(at - 2, 0), at - 1):
                    end = source.find(b"\n", at)
                    at = len(source) if end < 0 else end
                case b"<":
                    at = self._redirect(at - 1, pending)
                case b"\n":
                    for word, dashed, literal in pending:
                        at = self._heredoc(at, word, dashed=dashed, literal=literal)
                    pending.clear()
                case b"case":
                    cases += 1
                case b"esac":
                    cases = max(cases - 1, 0)
        return len(source)

    def _dollar(self, at: int, pieces: list[ExpansionPiece]) -> int:
        """What a dollar sign begins; the place behind it."""
        source = self.source
        if source.startswith(b"$((", at):
            return self._parentheses(at + 1)
        if source.startswith(b"$(", at):
            end = self.code(at + 2)
            pieces.append(ExpansionPiece(ExpansionKind.COMMAND, at, end))
            return end
        if source.startswith(b"${", at):
            return self._braces(at, pieces)
        name = _NAME.match(source, at + 1)
        if name is None:
            return at + 1
        pieces.append(ExpansionPiece(ExpansionKind.VARIABLE, at, name.end(), name[0].decode()))
        return name.end()

    def _braces(self, at: int, pieces: list[ExpansionPiece]) -> int:
        name = _BRACED_NAME.match(self.source, at + 2)
        end, depth = at + 2, 1
        while depth and end < len(self.source):
            match self.source[end : end + 1]:
                case b"\\":
                    end += 1
                case b"{":
                    depth += 1
                case b"}":
                    depth -= 1
            end += 1
        if name is not None:
            default = name[3] is not None
            pieces.append(
                ExpansionPiece(ExpansionKind.VARIABLE, at, end, name[1].decode(), default)
            )
        return end

    def _backquotes(self, at: int) -> int | None:
        """The place behind the backquote that closes this one; None if there is none."""
        at += 1
        while (stop := _BACKQUOTE_STOPS.search(self.source, at)) is not None:
            if stop[0] == b"`":
                return stop.end()
            at = stop.end() + 1
        return None

    def _parentheses(self, at: int) -> int:
        depth = 0
        for stop in _PARENTHESES.finditer(self.source, at):
            depth += 1 if stop[0] == b"(" else -1
            if depth == 0:
                return stop.end()
        return len(self.source)

    def _redirect(self, at: int, pending: list[tuple[bytes, bool, bool]]) -> int:
        if self.source.startswith(b"<<<", at):
            return at + 3
        opening = _HEREDOC.match(self.source, at)
        if opening is None:
            return at + 1
        word = opening[2].translate(None, b"'\"\\")
        pending.append((word, bool(opening[1]), word != opening[2]))
        return opening.end()

    def _heredoc(self, at: int, word: bytes, *, dashed: bool, literal: bool) -> int:
        """The place behind a heredoc whose text begins here."""
        source, begin = self.source, at
        if not dashed:
            # Straight to the first line that may be the word: a prompt has many lines.
            near = source.find(word, at)
            at = len(source) if near < 0 else source.rfind(b"\n", at - 1, near) + 1 or at
        while at < len(source):
            end = source.find(b"\n", at)
            end = len(source) if end < 0 else end
            line = source[at:end].lstrip(b"\t") if dashed else source[at:end]
            if line == word:
                break
            at = end + 1
        else:
            end = len(source)
        if not literal:
            inner = _Scanner(source[begin : min(at, len(source))])
            inner.text(0, quoted=False)
            self.backquoted += [(begin + one, begin + two) for one, two in inner.backquoted]
        return end


_WRITERS = frozenset({"tee", "touch", "cp", "mv", "install", "ln", "rm", "truncate", "dd", "sed"})
_READ_NOTHING = frozenset({"mkdir", "echo", "printf"})
"""They name paths and read none: a step that makes its own folder needs no other step."""

_LONGEST_PATH = 500
_NO_FILE = ("/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty", "/dev/fd/")


def outputs_of(calls: Iterable[ToolCall], directives: Iterable[Directive]) -> tuple[Output, ...]:
    """The outputs a step declares, in the order of the text, each path once."""
    outputs: dict[str, Output] = {}
    for number, call in enumerate(calls):
        for output in _of_call(number, call):
            outputs.setdefault(output.path.display_text, output)
    for directive in directives:
        if directive.name == OUTPUTS:
            for path in directive.value.split(","):
                if name := path.strip():
                    word = Word(name, name, directive.span, template=name)
                    outputs.setdefault(name, Output(word, "directive"))
    return tuple(outputs.values())


def reads_of(script: Script, outputs: Iterable[Output]) -> frozenset[str]:
    """Every path-like word that is not an output: too many is safe, an edge needs a writer."""
    written = {output.path.display_text for output in outputs}
    named = (word for command in script.commands for word in _inputs(command))
    return frozenset(
        path
        for word in named
        if (path := _clean(word.display_text)) and word.display_text not in written
    )


def writes_of(script: Script, outputs: Iterable[Output]) -> tuple[frozenset[str], bool]:
    """The paths a step writes, and whether it may write to paths the text does not show."""
    words = [output.path for output in outputs]
    words.extend(word for command in script.commands for word in _targets(command))
    known = frozenset(_clean(word.value) for word in words if word.value)
    return known - {""}, any(word.value is None for word in words)


def _of_call(number: int, call: ToolCall) -> Iterator[Output]:
    models = _models(call)
    for use in call.parsed.with_role(Role.OUTPUT):
        word = call.value(use)
        if word is None:
            continue
        if not models:
            yield Output(word, use.name, number)
        for model in models:
            value = None if word.value is None else model_output(word.value, model)
            path = replace(word, value=value, template=model_output(word.template, model))
            yield Output(path, use.name, number)
    for redirect in call.redirects:
        target = redirect.target
        if redirect.takes_stdout and not target.display_text.startswith(_NO_FILE):
            yield Output(target, redirect.operator, number)


def _models(call: ToolCall) -> tuple[str, ...]:
    """The models of a call of oracle that asks several at once: each has a file of its own."""
    named = [word.value for word in call.values("--models") if word.value]
    models = tuple(one.strip() for one in named[-1].split(",") if one.strip()) if named else ()
    return models if call.tool == ORACLE and len(models) > 1 else ()


def _inputs(command: SimpleCommand) -> Iterator[Word]:
    named = () if command.name in _READ_NOTHING else command.words[1:]
    words = [*named, *(r.target for r in command.redirects if r.operator == "<")]
    return (word for word in words if _looks_like_path(word.display_text))


def _targets(command: SimpleCommand) -> Iterator[Word]:
    for redirect in command.redirects:
        if redirect.writes and not redirect.target.display_text.startswith(_NO_FILE):
            yield redirect.target
    if command.name not in _WRITERS:
        return
    words = [word for word in command.words[1:] if not word.display_text.startswith("-")]
    if command.name == "sed":
        edits = any(word.display_text.startswith("-i") for word in command.words)
        words = words[1:] if edits else []
    if command.name in {"cp", "install", "ln"}:
        words = words[-1:]
    yield from words


def _looks_like_path(text: str) -> bool:
    if not text or text.startswith("-") or "\n" in text:
        return False
    return len(text) <= _LONGEST_PATH and ("/" in text or "." in text)


def _clean(path: str) -> str:
    while path.startswith("./"):
        path = path[2:]
    return path.rstrip("/")
