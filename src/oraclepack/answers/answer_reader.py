"""An answer, read once for `verify` and for Stage 3: sections, units, work lines, completeness."""

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from oraclepack.answers.answer_units import (
    BodyLine,
    Unit,
    body_lines,
    is_caption,
    is_wrapped,
    units_of,
)
from oraclepack.answers.completeness import Cut, find_cut, whole_sentences
from oraclepack.answers.sentences import word_set
from oraclepack.answers.work_lines import WorkLine, parse_work_line
from oraclepack.pack.answer_sections import Section, normalise, opening_of, section_of_heading
from oraclepack.system.patterns import late_pattern

_HASHES = late_pattern(r"\s{0,3}#{1,6}\s+(?P<text>.*?)\s*#*\s*$")
_ITEM = late_pattern(r"\s*[-*+•]\s")
_BOLD = late_pattern(r"(?:\*\*|__)(?P<text>.+?)(?:\*\*|__)\s*:?\s*$")
_FORMAT_WORDS = word_set(
    "attach missing file files path paths pattern patterns evidence insufficient exact next "
    "name action actions bullets"
)
"""Words of the answer format: a heading that repeats them says nothing of its own."""
_ABOUT_FILES = frozenset({"missing", "attach", "insufficient"})
_LONGEST_HEADING, _LONGEST_TITLED = 140, 300
_LEAST_RULE = 3
_NAMES_A_FILE = late_pattern(r"[`*]|\w/\w+[/.]|\.\w{1,4}\b")


class Opened(msgspec.Struct, frozen=True):
    """A section as it is in an answer."""

    section: Section
    line: int
    """The line of its heading; 0 for text before the first one."""
    body: tuple[BodyLine, ...]


class ParsedAnswer(msgspec.Struct, frozen=True):
    """What an answer says, unit by unit, and whether it is whole."""

    units: tuple[Unit, ...]
    """Without the broken one."""
    sections: frozenset[Section]
    """Those that have a heading, or text under the name of their file."""
    work: tuple[WorkLine, ...] | None = None
    """The WORK lines; None when there is none, empty for `WORK: none`."""
    cut: Cut | None = None
    """Why the answer is not whole."""
    broken: Unit | None = None
    """The last unit, when the answer ends inside it."""

    @property
    def is_partial(self) -> bool:
        return self.cut is not None

    def of(self, section: Section) -> tuple[Unit, ...]:
        return tuple(unit for unit in self.units if unit.section is section)


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
    work, rest = _without_work(every)
    opened = open_sections(rest, section or Section.DIRECT_ANSWER, normalise(prompt))
    wrapped = is_wrapped([line.text for line in every])
    units_found = [
        unit
        for part in opened
        for unit in units_of(part.section, part.body, wrapped=wrapped)
        if not _is_empty(unit)
    ]
    present = frozenset(part.section for part in opened if part.line or part.body)
    lacking = [one for one in Section if one in set(expected) - present]
    # WORK lines are at the end, and need no full stop.
    last = parse_work_line(lines[-1], len(lines))
    is_ended = last is not None and last.is_whole and not lacking
    cut = None if is_ended else find_cut(lines, _last_opened(opened), units_found, lacking, prompt)
    if cut is None or not cut.breaks_unit or not units_found:
        return ParsedAnswer(tuple(units_found), present, work, cut)
    *units, broken = units_found
    whole = whole_sentences(broken)
    all_units = (*units, whole) if whole is not None else tuple(units)
    return ParsedAnswer(all_units, present, work, cut, broken)


def open_sections(
    lines: Sequence[BodyLine], first: Section, prompt: str = ""
) -> tuple[Opened, ...]:
    """The sections of an answer in the order of its headings."""
    parts: list[tuple[Section, int, list[BodyLine]]] = [(first, 0, [])]
    for position, line in enumerate(lines):
        opening = None if line.in_code else _opening(line.text, parts[-1][0], prompt)
        if opening is None:
            following = lines[position + 1].text if position + 1 < len(lines) else ""
            if not _is_underline(
                line.text, lines[position - 1].text if position else "", following
            ):
                parts[-1][2].append(line)
            continue
        section, rest = opening
        body = [msgspec.structs.replace(line, text=rest)] if rest else []
        parts.append((section, line.number, body))
    filled = [part for part in parts if part[1] or any(line.text.strip() for line in part[2])]
    return tuple(Opened(section, line, tuple(body)) for section, line, body in filled)


def _opening(line: str, inside: Section, prompt: str) -> tuple[Section, str] | None:
    """The section that a line opens, and what the line says after its heading."""
    is_short = len(line) <= _LONGEST_TITLED
    marked = _HASHES().match(line) if is_short else None
    plain = marked["text"] if marked is not None else line.strip()
    bold = _BOLD().match(plain) if is_short else None
    if _ITEM().match(line) and bold is None:
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
    if repeats and not _NAMES_A_FILE().search(head):
        return tail.strip() or None if colon else None
    return rest


def _asks_for_files(text: str) -> bool:
    """A heading of the last section in other words: it asks for files and names none."""
    if len(text) > _LONGEST_HEADING or text.endswith("."):
        return False
    words = normalise(text).split()
    if not _ABOUT_FILES & set(words[:6]) or _NAMES_A_FILE().search(text.replace("(s)", "")):
        return False
    return sum(word in _FORMAT_WORDS for word in words) * 2 > len(words)


def _is_underline(line: str, before: str, after: str) -> bool:
    bare = line.strip()
    return (
        len(bare) >= _LEAST_RULE
        and set(bare) <= set("=-*_")
        and (not before.strip() or not after.strip())
    )


def _without_work(lines: Sequence[BodyLine]) -> tuple[tuple[WorkLine, ...] | None, list[BodyLine]]:
    """The WORK lines of an answer, and all its other lines."""
    work: list[WorkLine] = []
    has_work_lines = False
    rest: list[BodyLine] = []
    for line in lines:
        parsed = parse_work_line(line.text, line.number)
        if parsed is None:
            rest.append(line)
            continue
        has_work_lines = True
        if not parsed.is_none:
            work.append(parsed)
    return (tuple(work) if has_work_lines else None), rest


def _last_opened(opened: Sequence[Opened]) -> Mapping[str, bool]:
    """Whether the last section has a heading, and whether anything is below it."""
    if not opened:
        return {"headed": False, "empty": True}
    last = opened[-1]
    return {
        "headed": bool(last.line),
        "empty": not any(line.text.strip() for line in last.body),
    }


def _is_empty(unit: Unit) -> bool:
    """Nothing but marks, or a caption of the page."""
    return not normalise(unit.text) or (
        is_caption(unit.text) and unit.section is not Section.MISSING_EVIDENCE
    )
