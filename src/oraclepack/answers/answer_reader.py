"""An answer, read once for `verify` and for Stage 3: sections, statements, work, completeness."""

import re
from collections.abc import Iterable, Sequence

import msgspec

from oraclepack.answers.completeness import Cut, find_cut
from oraclepack.answers.sentences import word_set
from oraclepack.answers.statements import BodyLine, Statement, body_lines, cut, is_wrapped
from oraclepack.answers.work_items import StatedWork, read_work
from oraclepack.pack.answer_sections import Section, normalise, opening_of, section_of_heading

_HASHES = re.compile(r"\s{0,3}#{1,6}\s+(?P<text>.*?)\s*#*\s*$")
_ITEM = re.compile(r"\s*[-*+•]\s")
_BOLD = re.compile(r"(?:\*\*|__)(?P<text>.+?)(?:\*\*|__)\s*:?\s*$")
_FORMAT_WORDS = word_set(
    "attach missing file files path paths pattern patterns evidence insufficient exact next "
    "name action actions bullets"
)
"""Words of the answer format: a heading that repeats them says nothing of its own."""
_ABOUT_FILES = frozenset({"missing", "attach", "insufficient"})
_LONGEST_HEADING, _LONGEST_TITLED = 140, 300
_LEAST_RULE = 3
_NAMES_A_FILE = re.compile(r"[`*]|\w/\w+[/.]|\.\w{1,4}\b")


class Opened(msgspec.Struct, frozen=True):
    """A section as it is in an answer."""

    section: Section
    line: int
    """The line of its heading; 0 for text before the first one."""
    body: tuple[BodyLine, ...]


class ParsedAnswer(msgspec.Struct, frozen=True):
    """What an answer says, statement by statement, and whether it is whole."""

    statements: tuple[Statement, ...]
    """Everything that it says; the last one is incomplete where `cut.breaks_statement`."""
    sections: frozenset[Section]
    """Those that have a heading, or text under the name of their file."""
    work: StatedWork
    cut: Cut | None = None
    """Why the answer is not whole."""

    @property
    def is_free_form(self) -> bool:
        """It has none of the headings that were asked for."""
        return not self.sections


def read_answer_text(
    text: str,
    *,
    section: Section | None = None,
    prompt: str = "",
    expected: Iterable[Section] = (),
) -> ParsedAnswer:
    """Read an answer; `section` is the one that its file is named for.

    Without headings all of it is a direct answer. `expected` are the sections that the prompt
    asked for: one that is missing at the end means that the answer stopped early.
    """
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n").rstrip().split("\n")
    every = body_lines(lines)
    work = read_work(every)
    rest = [line for line in every if line.number not in work.lines]
    opened = open_sections(rest, section or Section.DIRECT_ANSWER, normalise(prompt))
    wrapped = is_wrapped(line.text for line in rest)
    statements = tuple(
        statement
        for part in opened
        for statement in cut(part.section, part.body, wrapped=wrapped)
        if normalise(statement.text)
    )
    named = {part.section for part in opened if part.line}
    present = frozenset(named if section is None else {*named, section})
    lacking = [one for one in Section if one in set(expected) - present]
    # Stated work is at the end, and needs no full stop.
    is_ended = len(lines) in work.lines and not lacking and work.is_whole
    last = opened[-1] if opened else None
    is_empty = last is not None and not any(line.text.strip() for line in last.body)
    end = (
        None
        if is_ended
        else find_cut(
            lines,
            statements,
            lacking,
            prompt,
            ends_with_heading=is_empty and bool(last and last.line),
        )
    )
    return ParsedAnswer(statements, present, work, end)


def open_sections(
    lines: Sequence[BodyLine], first: Section, prompt: str = ""
) -> tuple[Opened, ...]:
    """The sections of an answer in the order of its headings."""
    parts: list[tuple[Section, int, list[BodyLine]]] = [(first, 0, [])]
    for position, line in enumerate(lines):
        inside = parts[-1][0] if parts[-1][1] or parts[-1][2] else None
        opening = None if line.in_code else _opening(line.text, inside, prompt)
        if opening is None:
            bare = line.text.strip()
            near = lines[max(0, position - 1) : position + 2 : 2]
            stands_apart = len(near) < 2 or not all(one.text.strip() for one in near)
            is_rule = len(bare) >= _LEAST_RULE and set(bare) <= set("=-*_")
            if not (is_rule and stands_apart):
                parts[-1][2].append(line)
            continue
        section, rest = opening
        body = [msgspec.structs.replace(line, text=rest)] if rest else []
        parts.append((section, line.number, body))
    filled = [part for part in parts if part[1] or any(line.text.strip() for line in part[2])]
    return tuple(Opened(section, line, tuple(body)) for section, line, body in filled)


def _opening(line: str, inside: Section | None, prompt: str) -> tuple[Section, str] | None:
    """The section that a line opens, and what the line says after its heading."""
    is_short = len(line) <= _LONGEST_TITLED
    marked = _HASHES.match(line) if is_short else None
    plain = marked["text"] if marked is not None else line.strip()
    bold = _BOLD.match(plain) if is_short else None
    if _ITEM.match(line) and bold is None:
        return None
    named = section_of_heading(bold["text"] if bold is not None else plain)
    if named is not None and (" " in normalise(plain) or marked or bold or plain[:1].isdigit()):
        return named, ""
    opening = opening_of(plain, any_language=True)
    if opening is not None and (" " in opening.spelling or marked is not None):
        rest = _after_format(opening.rest.rstrip("*_ "), prompt)
        if rest is None or opening.section is not inside:
            return opening.section, rest or ""
    if inside is not Section.MISSING_EVIDENCE and _asks_for_files(plain):
        return Section.MISSING_EVIDENCE, ""
    return None


def _after_format(rest: str, prompt: str) -> str | None:
    """What a heading says besides the words of the answer format; None when nothing."""
    folded = normalise(rest)
    if not folded or (prompt and folded in prompt):
        return None
    head, colon, tail = rest.partition(":")
    words = normalise(head).split()
    repeats = len(words) > 1 and sum(word in _FORMAT_WORDS for word in words) * 2 >= len(words)
    if repeats and not _NAMES_A_FILE.search(head):
        return tail.strip() or None if colon else None
    return rest


def _asks_for_files(text: str) -> bool:
    """A heading of the last section in other words: it asks for files and names none."""
    if len(text) > _LONGEST_HEADING or text.endswith("."):
        return False
    words = normalise(text).split()
    if not _ABOUT_FILES & set(words[:6]) or _NAMES_A_FILE.search(text.replace("(s)", "")):
        return False
    return sum(word in _FORMAT_WORDS for word in words) * 2 > len(words)
