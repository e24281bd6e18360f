"""Tickets on disk: which files there are, and their text."""

import itertools
import re
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from oraclepack.pack.parse.markdown import FrontMatter, block_parser, read_front_matter
from oraclepack.tickets.ticket import ActionKind, Mention, Ticket, TicketItem

if TYPE_CHECKING:
    from markdown_it.token import Token

import os
from dataclasses import dataclass
from pathlib import Path

from oraclepack.errors import InputError
from oraclepack.system import files
from oraclepack.system.digests import sha256_bytes
from oraclepack.system.text_limits import TICKET

LONGEST_SUMMARY = 280
_LONGEST_LABEL = 80
_CHECKBOX = re.compile(r"\[(?P<mark>[ xX])\](?:\s+|$)")
_ACCEPTANCE = re.compile(r"\W*acceptance\s+criteria\b", re.IGNORECASE)
_LABEL = re.compile(r"[*_\s]*acceptance\s+criteria\s*(?:\([^)]*\))?[*_\s]*:?[*_\s]*", re.IGNORECASE)
_BULLET = re.compile(r"[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]+(?P<text>.*)")
_FIELD = re.compile(r"#{1,6}[ \t]|[^\s:][^:]{0,80}:(?:\s|$)")
"""In a fence: a line that begins a section, as a heading or as `Field:`."""
_NOTHING = re.compile(r"(?:not provided|none|unknown|n/a|tbd)\W*", re.IGNORECASE)
_CLAIM = re.compile(
    r"^\W*(?P<word>depends?\s+(?:up)?on|dependenc(?:y|ies)|blocked\s+by|requires|blocks)(?P<after>\W+)",
    re.IGNORECASE,
)
_NAME = re.compile(r"[\w./#-]+")
_NEED_KEYS = ("depends_on", "depends", "dependencies", "blocked_by", "requires")
_UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2060\u2066-\u2069]")


def parse_ticket(raw: str, path: str, sha256: str) -> Ticket:
    """Read a ticket. Content never raises: a file of any text is a ticket of some kind."""
    text = raw.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    lines = _UNSEEN.sub("", text).split("\n")
    front = read_front_matter(lines)
    body = "\n".join(lines[front.body_line - 1 :])
    tokens = block_parser().parse(body)
    offset = front.body_line
    headings = [following.content for token, following in _pairs(tokens, "heading_open")]
    title = front.first("title") or next(filter(None, map(_plain, headings)), "")
    return Ticket(
        path=path,
        given_id=_plain(front.first("id", "ticket", "key") or "") or None,
        title=_plain(title) or PurePosixPath(path).stem,
        summary=_summary(tokens),
        body=body.strip("\n"),
        items=tuple(_items(tokens, offset)),
        mentions=(*_claimed(front), *_mentions(body, tokens, offset)),
        sha256=sha256,
    )


def _pairs(tokens: Sequence["Token"], kind: str) -> Iterator[tuple["Token", "Token"]]:
    return ((one, two) for one, two in itertools.pairwise(tokens) if one.type == kind)


def _plain(text: str) -> str:
    return " ".join(text.split())


def _is_label(text: str) -> bool:
    """A line that replaces the heading "Acceptance Criteria"."""
    return len(text) <= _LONGEST_LABEL and _LABEL.fullmatch(text) is not None


def _summary(tokens: Sequence["Token"]) -> str:
    """The first paragraph that stands by itself."""
    paragraphs = (
        _plain(following.content)
        for token, following in _pairs(tokens, "paragraph_open")
        if token.level == 0 and not _is_label(following.content)
    )
    text = next(filter(None, paragraphs), "")
    if len(text) <= LONGEST_SUMMARY:
        return text
    return text[: LONGEST_SUMMARY - 1].rsplit(" ", 1)[0].rstrip() + "…"


def _items(tokens: Sequence["Token"], offset: int) -> Iterator[TicketItem]:
    """Task-list items wherever they stand, and every list item among the acceptance criteria."""
    section: int | None = None
    """The level of the heading "Acceptance Criteria" that we are below."""
    labelled = False
    """The last thing on the top level was a paragraph that says "Acceptance Criteria"."""
    for at, token in enumerate(tokens):
        content = tokens[at + 1].content if at + 1 < len(tokens) else ""
        if token.type == "heading_open":
            level = int(token.tag[1:])
            if _ACCEPTANCE.match(content):
                section = level
            elif section is not None and level <= section:
                section = None
            labelled = False
        elif token.type == "paragraph_open" and token.level == 0:
            labelled = _is_label(content)
        elif token.type == "list_item_open":
            item = _item(tokens, at, offset, accepted=section is not None or labelled)
            if item is not None:
                yield item
        elif token.type == "fence" and token.map is not None and _holds_ticket(token.info):
            yield from _fenced_items(token.content.split("\n"), token.map[0] + 1 + offset)


def _holds_ticket(info: str) -> bool:
    """A block such as `ticket T1`: the ticket itself, not code."""
    return [word.casefold() for word in info.split()[:1]] == ["ticket"]


def _fenced_items(lines: Sequence[str], first: int) -> Iterator[TicketItem]:
    """The items of a ticket in a fence, line by line.

    Its sections are fields such as `Acceptance Criteria:` without blank lines around them, which
    Markdown would take for the end of the list item above.
    """
    accepted = False
    words: list[str] = []
    began = 0
    for number, line in enumerate([*lines, ""], first):
        bullet = _BULLET.match(line)
        if words and not bullet and line[:1].isspace() and line.strip():
            words.append(line)
            continue
        item = _ticket_item(" ".join(words), began, accepted=accepted)
        if item is not None and not _NOTHING.fullmatch(item.text):
            yield item
        words, began = ([bullet["text"]], number) if bullet else ([], number)
        if not bullet and (_FIELD.match(line) or _is_label(line)):
            accepted = _ACCEPTANCE.match(line) is not None


def _item(tokens: Sequence["Token"], at: int, offset: int, *, accepted: bool) -> TicketItem | None:
    token, following = tokens[at], tokens[at + 1]
    if following.type != "paragraph_open" or token.map is None:
        return None
    return _ticket_item(tokens[at + 2].content, token.map[0] + offset, accepted=accepted)


def _ticket_item(content: str, line: int, *, accepted: bool) -> TicketItem | None:
    """What a list item asks for, if it does."""
    text = _plain(content)
    box = _CHECKBOX.match(text)
    if box is None and not accepted:
        return None
    words = text[box.end() :] if box else text
    if not words:
        return None
    kind = ActionKind.ACCEPTANCE if accepted else ActionKind.TASK
    done = box is not None and box["mark"] in "xX"
    return TicketItem(kind, words, done, line)


def _claimed(front: FrontMatter) -> Iterator[Mention]:
    for key in (*_NEED_KEYS, "blocks"):
        for value in front.values.get(key, ()):
            for name in value.split(","):
                line = front.lines[key]
                blocks = key == "blocks"
                yield Mention(name.strip(), line, is_claim=True, blocks=blocks, in_front=True)


def _mentions(body: str, tokens: Sequence["Token"], offset: int) -> Iterator[Mention]:
    """Every word of the text that could be a name, outside code blocks."""
    code = {
        line
        for token in tokens
        if token.type in {"fence", "code_block"} and token.map is not None
        for line in range(*token.map)
    }
    for number, line in enumerate(body.split("\n")):
        if number in code:
            continue
        claim = _CLAIM.match(line)
        blocks = claim is not None and claim["word"].lower() == "blocks"
        # Without a colon it may be the beginning of any sentence: "Requires login first."
        sure = claim is not None and ":" in claim["after"]
        for match in _NAME.finditer(line, claim.end() if claim else 0):
            name = match[0].rstrip("./#-")
            if name:
                yield Mention(name, number + offset, is_claim=sure, blocks=blocks)


LARGEST = 1024 * 1024
"""Bytes. A ticket is prose; anything larger is a mistake."""


USUAL_PLACES = (".tickets", "tickets")
_PASSED_OVER = frozenset({".git", "node_modules", "__pycache__", "_failed"})


@dataclass(frozen=True, slots=True)
class TicketFile:
    """A ticket as it lies on disk."""

    path: str
    """POSIX, relative to the tickets directory."""
    text: str
    sha256: str


def find_tickets_dir(root: Path, named: str, flag: str = "--tickets-dir") -> str:
    """The tickets directory relative to the project root: the one named, else a usual one."""
    if named:
        place = root / named
        if not place.is_dir():
            raise InputError(f"{flag} {named}: no such directory", hint="check the path")
        return _inside(root, place, named)
    for name in USUAL_PLACES:
        if (root / name).is_dir():
            return _inside(root, root / name, name)
    places = " nor ".join(f"{name}/" for name in USUAL_PLACES)
    raise InputError(
        f"no tickets: neither {places} is a directory in {root}",
        hint="make .tickets/ with one Markdown file per ticket, or name another --tickets-dir",
    )


def list_files(root: Path, tickets_dir: str) -> tuple[str, ...]:
    """Every file below the tickets directory, sorted; linked directories are not entered."""
    try:
        paths = sorted(_below(root / tickets_dir))
    except OSError as trouble:
        raise _unreadable(tickets_dir, trouble.strerror or str(trouble)) from trouble
    for path in paths:
        try:
            path.encode()
        except UnicodeEncodeError:
            raise _unreadable(
                f"{tickets_dir}/{path}", "its name is not UTF-8", "rename it"
            ) from None
    return tuple(paths)


def read_ticket(root: Path, tickets_dir: str, path: str) -> TicketFile:
    """The text of a ticket, or an error that says why it cannot be read."""
    place = f"{tickets_dir}/{path}"
    content = _content(root, place)
    if len(content) > LARGEST:
        raise _unreadable(place, f"larger than {LARGEST} bytes", "split it, or link to the rest")
    if b"\0" in content:
        raise _unreadable(place, "it holds a NUL byte, so it is no text", "save it as UTF-8")
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise _unreadable(place, f"line {line} is not UTF-8", "save it as UTF-8") from None
    too_much = TICKET.excess(text)
    if too_much is not None:
        raise _unreadable(place, too_much, "split it, or link to the rest")
    return TicketFile(path, text, sha256_bytes(content))


def _inside(root: Path, place: Path, named: str) -> str:
    home = Path(os.path.realpath(root))
    real = Path(os.path.realpath(place))
    if not real.is_relative_to(home):
        raise InputError(
            f"{named} leads out of the project root {root}",
            hint="copy the tickets into the project, or name its root with --cwd",
        )
    return Path(os.path.relpath(os.path.abspath(place), root)).as_posix()  # keeps links


def _below(folder: Path) -> Iterator[str]:
    for parent, folders, names in files.walk(folder, strict=True):
        folders[:] = [name for name in folders if name not in _PASSED_OVER]
        for name in names:
            yield os.path.relpath(f"{parent}/{name}", folder)


def _content(root: Path, place: str) -> bytes:
    try:
        real = Path(os.path.realpath(root / place, strict=True))
        if not real.is_relative_to(os.path.realpath(root)):
            raise _unreadable(place, "it is a link that leads out of the project", "copy it")
        return files.read_beginning(real, LARGEST + 1)
    except OSError as trouble:
        raise _unreadable(place, trouble.strerror or str(trouble)) from trouble


def _unreadable(place: str, reason: str, hint: str = "") -> InputError:
    advice = hint or "fix it, or leave it out with --exclude"
    return InputError(f"{place}: cannot be read: {reason}", hint=advice)
