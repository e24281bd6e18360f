"""The step headers of a pack in the order of the text, with those that have a slip."""

from collections.abc import Iterator

import msgspec

from oraclepack.core.finding import Edit, Fix
from oraclepack.pack.model import Pack
from oraclepack.pack.script import Comment, Span
from oraclepack.system.text_limits import regex

_DIGITS = regex(r"#\s*(\d+)")
_LIKE_A_HEADER = regex(r"#+[ \t]*(?P<id>[0-9]{1,2})(?:\)|[:.](?=\s|$)|\s+[—–-](?=\s|$))")
_STEP_NAMED = regex(r"\d")
MOST_STEPS = 99
"""A step's name has two digits."""


class Numbered(msgspec.Struct, frozen=True):
    """A step header, or a comment that was meant to be one."""

    digits: str
    span: Span
    digits_span: Span
    is_step: bool

    @property
    def number(self) -> int:
        # Longer numbers are nobody's step; Python also refuses to read very long ones.
        return int(self.digits) if len(self.digits) < len("0000000000") else 10**9


def numbered(pack: Pack) -> tuple[Numbered, ...]:
    """Every header, good or not, in the order of the text."""
    steps = [
        Numbered(step.id, step.header.span, step.header.id_span, is_step=True)
        for step in pack.steps
    ]
    slips = map(_slip, pack.misnumbered)
    return tuple(sorted([*steps, *slips], key=lambda header: header.span))


def _slip(comment: Comment) -> Numbered:
    match = _DIGITS.match(comment.text)
    assert match is not None, "the parser only calls numbered comments misnumbered"
    line, column = comment.span.line, comment.span.column
    digits_span = Span(line, column + match.start(1), line, column + match.end(1))
    return Numbered(match[1], comment.span, digits_span, is_step=False)


class Merged(msgspec.Struct, frozen=True):
    """A comment that was meant to open a step, and the stretch its commands run in instead."""

    number: int
    comment: Comment
    step: str | None
    """None for the prelude."""


def merged_headers(pack: Pack) -> Iterator[Merged]:
    """Comments such as `  # 02) b`, `# 2) b`, `## 02) b`, `# 02: b`, where step 02 is missing.

    The number tells: it is the one after that of the step it stands in, no step has it, and
    commands follow. A list of its own (`# 1) … # 2) …`) is none of these.
    """
    known = {int(step.id) for step in pack.steps}
    slips = {comment.span for comment in pack.misnumbered}
    parts = [(0, pack.prelude.script)] if pack.prelude is not None else []
    for number, script in (*parts, *((int(step.id), step.script) for step in pack.steps)):
        likely = [
            (int(match["id"]), comment)
            for comment in script.comments
            if comment.top_level and not comment.trailing and comment.span not in slips
            if (match := _LIKE_A_HEADER.match(comment.text)) is not None
        ]
        if number and any(found == 1 for found, _ in likely):
            continue
        expected = number + 1
        for found, comment in likely:
            follows = any(command.span > comment.span for command in script.commands[-1:])
            if found == expected and found not in known and follows:
                yield Merged(found, comment, f"{number:02}" if number else None)
                expected += 1


def renumbering(pack: Pack) -> Fix | None:
    """Number all headers 01, 02, … in order; None where that could change what is meant.

    Step numbers are labels: nothing runs differently. Yet a coverage check that names steps would
    speak of the wrong ones, an indented header needs more than a number, and past 99 there are no
    numbers left.
    """
    headers = numbered(pack)
    if len(headers) > MOST_STEPS or pack.swallowed or _coverage_names_steps(pack):
        return None
    if next(merged_headers(pack), None) is not None:
        return None
    if any(not header.is_step and header.span.column > 1 for header in headers):
        return None
    edits = tuple(
        Edit(header.digits_span, f"{position:02}")
        for position, header in enumerate(headers, start=1)
        if header.digits != f"{position:02}"
    )
    return Fix("number the steps in order", edits) if edits else None


def _coverage_names_steps(pack: Pack) -> bool:
    lines = pack.coverage.lines if pack.coverage else ()
    return any(_STEP_NAMED.search(line.verdict) for line in lines)
