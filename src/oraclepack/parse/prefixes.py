"""Words before a construct that hide it from the tree: `time {`, `! while`, `coproc NAME {`.

The tree takes what follows them for arguments, or for a command of that name, and tells no error.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from msgspec.structs import replace

from oraclepack.parse.grammar import everywhere, syntax_tree
from oraclepack.parse.locate import Locator
from oraclepack.system.text_limits import regex

if TYPE_CHECKING:
    from tree_sitter import Node

_PREFIXES = (regex(rb"time[ \t\\]"), regex(rb"coproc[ \t\\]"), regex(rb"![ \t\\]"))
_COMMAND_BEGINS = regex(
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
        found = [stretch for stretch in _hidden(syntax_tree(source).root_node) if any(stretch)]
        if not found:
            break
        changed = bytearray(source)
        for start, end in found:
            words = bytes(10 if byte == 10 else 32 for byte in source[start:end])  # noqa: PLR2004
            changed[start:end] = words
        source = bytes(changed)
    return replace(place, lines=tuple(source.split(b"\n")))


def _may_hide(source: bytes) -> bool:
    # Nearly no pack has one, and to walk its tree costs more than to look for the words.
    return any(
        _COMMAND_BEGINS.search(source[max(found.start() - _NEAR, 0) : found.start()])
        for prefix in _PREFIXES
        for found in prefix.finditer(source)
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
