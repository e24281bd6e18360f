"""Text from outside as Markdown: what is rendered is this text, and nothing else.

Every Markdown writer uses these functions. The rules are those of CommonMark, GitHub's tables and
strikethrough included. Two kinds of text exist: plain text (`escape`), and the text of records, in
which code is between backquotes (`escape_keeping_code`).

GitHub looks for mentions, issue references, commit ids, addresses and emoji after rendering, in
the text that is left; no escape stops that. It leaves code alone, so these become code spans: the
text stays the same to the letter.
"""

import re
from collections.abc import Iterable, Iterator
from itertools import groupby

from oraclepack.system.printable import spelled

Piece = tuple[bool, str]
"""Whether a part of a text is code, and the part itself."""

_RUN = re.compile("`+")
_TOKEN = re.compile(r"[^\s`|<>\"'()\[\]{},;!*\\]+")
"""What GitHub's patterns can match stands within one of these."""
_LIVE = re.compile(
    r"@\w|#\d|\bGH-\d|://|\bwww\.|\b(?:mailto|xmpp):|:(?=[_+-]*[^\W_])[\w+-]+:|\b[0-9a-f]{7,40}\b",
    2,  # re.IGNORECASE
)
"""The name of an emoji has a letter or a digit: `:_:` and the `:-:` of a table are plain text."""
_ACTIVE = re.compile(r"[<&]|!\[|\]\s*[(\[:]|```|~~~")
_AROUND = ".:?~_&-"
"""Left outside the code span that is made of a token."""
_SPECIAL = re.compile(r"[\\`*\[\]~<&]|_+|[\n\r]")
_ENTITY = re.compile(r"&(?=#|[A-Za-z])")
_START = re.compile(r"(?P<space>\s*)(?:(?P<sign>[#>+=~-])|(?P<number>\d{1,9})(?=[.)]))?")
_END = re.compile(r"(?P<hashes>(?<![^\s])#+)?(?P<space>\s*)\Z")
_COMMENT = "<!--"


def escape(text: str, *, cell: bool = False) -> str:
    """Markdown for plain text, on one line, good at the beginning of a line and inside one.

    With `cell` it can also be in a table.
    """
    return _written([(False, spelled(text))], cell=cell)


def escape_keeping_code(text: str, *, cell: bool = False) -> str:
    """Markdown for the text of a record: what is between backquotes is shown as code."""
    return _written(code_pieces(spelled(text)), cell=cell)


def code_span(text: str, *, cell: bool = False) -> str:
    """Markdown that shows a text as code.

    A text with line ends, or with the beginning of an HTML comment, is shown without the look of
    code: a code span would change the first, and programs search files for the second.
    """
    return _written([(True, spelled(text))], cell=cell)


def code_block(text: str, info: str = "") -> str:
    """A fenced block with this text, its lines unchanged."""
    lines = spelled(text).removesuffix("\n")
    longest = max((len(run[0]) for run in _RUN.finditer(lines)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{info}\n{lines}\n{fence}\n" if lines else f"{fence}{info}\n{fence}\n"


def quotable(text: str) -> str:
    """Foreign Markdown for a quotation: as it is, or as a code block.

    It is code where it holds images, links, HTML, mentions or references, and also where its code
    blocks are not closed. Headings, lists and emphasis stay: a quotation is meant to be read.
    """
    plain = spelled(text)
    is_active = _ACTIVE.search(plain) or any(
        _LIVE.search(token[0]) for token in _TOKEN.finditer(plain)
    )
    return code_block(plain.strip("\n"), "markdown").removesuffix("\n") if is_active else plain


def in_backquotes(text: str) -> str:
    """A text as code within the text of a record: between backquotes that it does not hold."""
    lengths = {len(run[0]) for run in _RUN.finditer(text)}
    fence = "`" * next(n for n in range(1, len(lengths) + 2) if n not in lengths)
    both = text[:1] == " " == text[-1:] and text.strip(" ")
    pad = " " if both or text.startswith("`") or text.endswith("`") else ""
    return f"{fence}{pad}{text}{pad}{fence}" if text else ""


def without_live_text(text: str) -> str:
    """Text of a record for a title on GitHub, which is no Markdown except for code spans.

    Nothing can be escaped there, so a backquote without a partner becomes an apostrophe.
    """
    pieces = _joined(_parts(code_pieces(" ".join(spelled(text).split())), cell=False))
    return "".join(
        in_backquotes(part) if is_code else part.replace("`", "'") for is_code, part in pieces
    )


def code_pieces(text: str) -> list[Piece]:
    """The text of a record, split into code and the rest as CommonMark splits it.

    Code begins with a run of backquotes and ends with the next run of the same length; a run
    without such a partner is text.
    """
    pieces: list[Piece] = []
    at = 0
    for start, end, content in code_spans(text):
        pieces += [(False, text[at:start]), (True, content)]
        at = end
    return [piece for piece in (*pieces, (False, text[at:])) if piece[1]]


def code_spans(text: str) -> Iterator[tuple[int, int, str]]:
    """Where code is in the text of a record, its backquotes included, and the code."""
    runs = [(run.start(), run.end()) for run in _RUN.finditer(text)]
    partners: list[int] = [0] * len(runs)
    latest: dict[int, int] = {}
    for number in range(len(runs) - 1, -1, -1):
        start, end = runs[number]
        partners[number] = latest.get(end - start, 0)
        latest[end - start] = number
    number = 0
    while number < len(runs):
        partner = partners[number]
        if partner:
            content = text[runs[number][1] : runs[partner][0]]
            if content.strip(" ") and content[0] == " " == content[-1]:
                content = content[1:-1]
            yield runs[number][0], runs[partner][1], content
        number = (partner or number) + 1


def _written(pieces: Iterable[Piece], *, cell: bool) -> str:
    parts = list(_joined(_parts(pieces, cell=cell)))
    written = []
    for number, (is_code, part) in enumerate(parts):
        if is_code:
            written.append(in_backquotes(part))
        else:
            first, last = number == 0, number == len(parts) - 1
            written.append(_plain(part, first=first, last=last, cell=cell))
    return "".join(written)


def _parts(pieces: Iterable[Piece], *, cell: bool) -> Iterator[Piece]:
    """The pieces, with everything that must be code as code, and what cannot be code as text."""
    for is_code, part in pieces:
        if is_code and _may_be_code(part, cell=cell):
            yield True, part
        else:
            yield from _without_live(part)


def _may_be_code(part: str, *, cell: bool) -> bool:
    # Renderers do not agree on how a backslash and a bar are read in a table.
    return not (set("\n\r") & set(part)) and _COMMENT not in part and not (cell and "|" in part)


def _without_live(text: str) -> Iterator[Piece]:
    is_math = text.count("$") > 1
    at = 0
    for token in _TOKEN.finditer(text):
        word = token[0]
        if _LIVE.search(word) or (is_math and "$" in word):
            core = word.strip(_AROUND)
            start = token.start() + len(word) - len(word.lstrip(_AROUND))
            yield False, text[at:start]
            yield True, core
            at = start + len(core)
    yield False, text[at:]


def _joined(parts: Iterable[Piece]) -> Iterator[Piece]:
    """Neighbours of one kind as one part: two code spans in a row would run into each other."""
    for is_code, group in groupby((part for part in parts if part[1]), key=lambda part: part[0]):
        yield is_code, "".join(text for _, text in group)


def _plain(text: str, *, first: bool, last: bool, cell: bool) -> str:
    """Text with every character escaped that Markdown could take for more than itself."""
    head, tail = "", ""
    if first:
        start = _START.match(text)
        assert start is not None
        head = _entities(start["space"])
        head += f"\\{start['sign']}" if start["sign"] else ""
        head += f"{start['number']}\\{text[start.end()]}" if start["number"] else ""
        text = text[start.end() + (1 if start["number"] else 0) :]
    if last:
        end = _END.search(text)
        assert end is not None
        tail = ("\\" + end["hashes"] if end["hashes"] else "") + _entities(end["space"])
        text = text[: end.start()]
    middle = _SPECIAL.sub(lambda match: _escaped(match[0], text, match.start()), text)
    return head + (middle.replace("|", "&#124;") if cell else middle) + tail


def _entities(text: str) -> str:
    return "".join(f"&#{ord(sign)};" for sign in text)


def _escaped(sign: str, text: str, at: int) -> str:
    after = text[at + len(sign) : at + len(sign) + 1]
    match sign[0]:
        case "\n" | "\r":
            return f"&#{ord(sign)};"
        case "<":
            return "&lt;"
        case "&":
            return "&amp;" if _ENTITY.match(text, at) else "&"
        case "\\":
            return "\\" if after.isascii() and after.isalnum() else "\\\\"
        case "_":
            before = text[at - 1 : at]
            inside = all(one.isascii() and one.isalnum() for one in (before, after))
            return sign if inside else "\\_" * len(sign)
        case _:
            return f"\\{sign}"
