"""Blocks of an answer → the items of its four sections, however the headings are written."""

import re
from collections.abc import Iterable, Iterator, Sequence

import msgspec
from msgspec.structs import replace

from oraclepack.pack.answer_sections import Section, begins_section, mentions, normalise, opening_of
from oraclepack.system.markdown_text import in_backquotes
from oraclepack.work.answer_blocks import Block, BlockKind
from oraclepack.work.evidence import commands_in

_NUMBER = re.compile(r"\s*\(?(?P<number>\d{1,2})\s*[.):、]\s*")
_ECHO = re.compile(
    r"(?:name|list|give) the exact missing file/?path pattern\(?s?\)? to attach next[.:]?\s*"
    r"|exactly one action[.:)]?\s*",
    re.IGNORECASE,
)


class AnswerItem(msgspec.Struct):
    """One point of a section, with the points below it. Built up while an answer is read."""

    text: str
    links: tuple[str, ...] = ()
    cells: tuple[tuple[str, str], ...] = ()
    commands: tuple[str, ...] = ()
    depth: int = 0
    done: bool | None = None
    children: list["AnswerItem"] = msgspec.field(default_factory=list)


Sections = dict[Section, list[AnswerItem]]


def read_sections(blocks: Sequence[Block], default: Section | None = None) -> Sections:
    """The items of each section; what stands in none belongs to the direct answer.

    A section that comes twice is one section. A chunk of an answer is all of its own section.
    """
    reader = _Reader(default or Section.DIRECT_ANSWER, by_number=_numbered(blocks))
    for block in blocks:
        reader.take(block)
    return reader.sections


def _numbered(blocks: Iterable[Block]) -> bool:
    """No heading names a section, but there are exactly four, numbered 1 to 4."""
    heads = [block.text for block in blocks if block.kind is BlockKind.HEADING]
    if any(_named(text) for text in heads):
        return False
    numbers = [match["number"] for text in heads if (match := _NUMBER.match(text))]
    return numbers == ["1", "2", "3", "4"]


def _named(heading: str) -> Section | None:
    """The section a heading is for: the one that its words begin with, else name."""
    folded = normalise(_NUMBER.sub("", heading, count=1))
    named = (section for section in Section if mentions(folded, section.wordings))
    return begins_section(folded) or next(named, None)


def _opening(text: str) -> tuple[Section, str] | None:
    """The section that a line of text opens, and what it says after that."""
    opened = opening_of(text, any_language=True)
    return None if opened is None else (opened.section, _ECHO.sub("", opened.rest, count=1))


class _Reader:
    """One pass over the blocks of an answer."""

    def __init__(self, default: Section, *, by_number: bool) -> None:
        self.sections: Sections = {section: [] for section in Section}
        self._default = default
        self._now = default
        self._level = 0
        self._by_number = by_number
        self._open: list[AnswerItem] = []
        """The items that may still get children, outermost first."""

    def take(self, block: Block) -> None:
        match block.kind:
            case BlockKind.HEADING:
                self._heading(block)
            case BlockKind.CODE:
                self._code(block)
            case BlockKind.ROW:
                self._item(block)
            case _:
                self._text(block)

    def _text(self, block: Block) -> None:
        """A paragraph or an item: each of its lines may open a section."""
        said: list[str] = []
        kind = block.kind
        for number, line in enumerate(block.text.split("\n")):
            # A line in the middle is more often a wrapped sentence than a heading.
            opened = (
                _opening(line) if number == 0 or line[:1].isupper() or line[:1].isdigit() else None
            )
            if opened is None:
                said.append(line)
                continue
            self._say(replace(block, kind=kind), said)
            self._enter(opened[0], 0)
            said, kind = [opened[1]] if opened[1] else [], BlockKind.PARAGRAPH
        self._say(replace(block, kind=kind), said)

    def _say(self, block: Block, lines: list[str]) -> None:
        if lines:
            self._item(replace(block, text=" ".join(lines)))

    def _heading(self, block: Block) -> None:
        number = _NUMBER.match(block.text)
        section = _named(block.text)
        if self._by_number and number is not None:
            section = tuple(Section)[int(number["number"]) - 1]
        if section is not None:
            self._enter(section, block.depth)
            opened = _opening(block.text)
            if opened is not None and opened[1]:
                self._item(Block(BlockKind.PARAGRAPH, opened[1]))
        elif block.depth <= self._level:
            self._enter(self._default, 0)
        else:
            self._open = []

    def _enter(self, section: Section, level: int) -> None:
        self._now, self._level, self._open = section, level, []

    def _item(self, block: Block) -> None:
        is_more = block.kind is BlockKind.PARAGRAPH and block.depth > 0 and bool(self._open)
        item = AnswerItem(
            block.text,
            block.links,
            block.cells,
            depth=block.depth + is_more,
            done=block.done,
        )
        while self._open and self._open[-1].depth >= item.depth:
            self._open.pop()
        (self._open[-1].children if self._open else self.sections[self._now]).append(item)
        if block.kind is BlockKind.ITEM:
            self._open.append(item)

    def _code(self, block: Block) -> None:
        commands = commands_in(block.text, block.language)
        items = self.sections[self._now]
        if self._now is Section.MISSING_EVIDENCE and not commands:
            # A list of paths is as often a code block as a list.
            items += [
                AnswerItem(in_backquotes(line.strip()))
                for line in block.text.splitlines()
                if line.strip()
            ]
        if not commands:
            return
        if self._open:
            self._open[-1].commands += commands
        elif items:
            items[-1].commands += commands
        else:
            shown = "; ".join(in_backquotes(command) for command in commands)
            items.append(AnswerItem(f"Run {shown}", commands=commands))


def walk(items: Iterable[AnswerItem]) -> Iterator[AnswerItem]:
    """Items with everything below them, in the order of the text."""
    for item in items:
        yield item
        yield from walk(item.children)
