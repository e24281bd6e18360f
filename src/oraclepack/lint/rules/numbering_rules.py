"""OP1xx: the steps of the bash block and their numbers."""

import re
from collections.abc import Iterator

import msgspec

from oraclepack.lint.finding import Edit, Fix, Severity
from oraclepack.lint.rule import Problem, Subject, rule
from oraclepack.pack.model import Pack
from oraclepack.pack.parse.step_boundaries import HEADER
from oraclepack.pack.script import Comment, Span

_DIGITS = re.compile(r"#\s*(\d+)")
_LIKE_A_HEADER = re.compile(r"#+[ \t]*(?P<id>[0-9]{1,2})(?:\)|[:.](?=\s|$)|\s+[—–-](?=\s|$))")
_STEP_NAMED = re.compile(r"\d")
MOST_STEPS = 99
"""A step's name has two digits."""


class NumberedHeader(msgspec.Struct, frozen=True):
    """A step header, or a comment that was meant to be one."""

    digits: str
    span: Span
    digits_span: Span
    is_step: bool

    @property
    def number(self) -> int:
        # Longer numbers are no steps; Python also refuses to read very long ones.
        return int(self.digits) if len(self.digits) < len("0000000000") else 10**9


def numbered(pack: Pack) -> tuple[NumberedHeader, ...]:
    """Every header, good or not, in the order of the text."""
    steps = [
        NumberedHeader(step.id, step.header.span, step.header.id_span, is_step=True)
        for step in pack.steps
    ]
    slips = map(_slip, pack.misnumbered)
    return tuple(sorted([*steps, *slips], key=lambda header: header.span))


def _slip(comment: Comment) -> NumberedHeader:
    match = _DIGITS.match(comment.text)
    assert match is not None, "the parser only calls numbered comments misnumbered"
    line, column = comment.span.line, comment.span.column
    digits_span = Span(line, column + match.start(1), line, column + match.end(1))
    return NumberedHeader(match[1], comment.span, digits_span, is_step=False)


class MergedStep(msgspec.Struct, frozen=True):
    """A comment that was meant to open a step, and the stretch its commands run in instead."""

    number: int
    comment: Comment
    step: str | None
    """None for the prelude."""


def merged_headers(pack: Pack) -> Iterator[MergedStep]:
    """Comments such as `# 2) b`, `## 02) b`, `# 02: b`, where step 02 is missing.

    The number shows it: it is the one after that of the step it is in, no step has it, and
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
        if number and any(header == 1 for header, _ in likely):
            continue
        expected = number + 1
        for header, comment in likely:
            follows = any(command.span > comment.span for command in script.commands[-1:])
            if header == expected and header not in known and follows:
                yield MergedStep(header, comment, f"{number:02}" if number else None)
                expected += 1


def renumbering(pack: Pack) -> Fix | None:
    """Number all headers 01, 02, … in order; None where that could change what is meant.

    Step numbers are labels: nothing runs differently. Yet a coverage check that names steps would
    name the wrong ones, and past 99 there are no numbers left.
    """
    headers = numbered(pack)
    if len(headers) > MOST_STEPS or pack.swallowed:
        return None
    if pack.coverage and any(_STEP_NAMED.search(line.verdict) for line in pack.coverage.lines):
        return None
    if next(merged_headers(pack), None) is not None:
        return None
    edits = tuple(
        Edit.of(header.digits_span, f"{position:02}")
        for position, header in enumerate(headers, start=1)
        if header.digits != f"{position:02}"
    )
    return Fix("number the steps in order", edits) if edits else None


STRICT_STEPS = 20


@rule("OP105", Severity.ERROR)
def no_steps(subject: Subject) -> Iterator[Problem]:
    """The bash block has at least one step.

    Why: a step is what is run, skipped, resumed and reported; without one nothing happens.
    Fix: put a comment such as `# 01) the question` at the start of a line before each step.

    Bad::
        oracle -p "Why?" --write-output a.md

    Good::
        # 01) one question
        oracle -p "Why?" --write-output a.md
    """
    block = subject.pack.block
    if block is not None and not subject.pack.steps:
        hint = "open each step with a line # 01) title"
        for other in subject.pack.bash_blocks[1:]:
            if any(HEADER.match(line) for line in other.content.split("\n")):
                hint = f"the first bash block runs, the steps are in that at line {other.span.line}"
                hint += ": label this one sh"
                break
        yield Problem(Span.at(block.span.line), "the bash block has no steps", hint)


@rule("OP106", Severity.ERROR)
def malformed_step_number(subject: Subject) -> Iterator[Problem]:
    """A step header is a comment on a line of its own, with a number of two digits.

    Why: `# 1)` is an ordinary comment, so that its commands would run as part of the step before.
    Fix: write `# 01) …`.

    Bad::
        # 1) ROI=4.0 one question
        oracle -p "Why?" --write-output a.md

    Good::
        # 01) ROI=4.0 one question
        oracle -p "Why?" --write-output a.md
    """
    fix = renumbering(subject.pack)
    for position, header in enumerate(numbered(subject.pack), start=1):
        if not header.is_step:
            digits = header.digits[:9]
            message = f"not a step header: the number {digits} does not have two digits"
            hint = f"write it as # {position:02})" if position <= MOST_STEPS else ""
            yield Problem(header.span, message, hint, fix)


@rule("OP107", Severity.ERROR)
def step_out_of_order(subject: Subject) -> Iterator[Problem]:
    """Steps are numbered 01, 02, … in the order they are written.

    Why: readers, filters and reports must agree on what "the next step" means.
    Fix: number the headers in order; `validate --fix` does it. Output names stay as they are.

    Bad::
        # 01) one question
        oracle -p "Why?" --write-output a.md
        # 03) another question
        oracle -p "How?" --write-output b.md

    Good::
        # 01) one question
        oracle -p "Why?" --write-output a.md
        # 02) another question
        oracle -p "How?" --write-output b.md
    """
    fix = renumbering(subject.pack)
    seen: set[int] = set()
    expected = 1
    for position, header in enumerate(numbered(subject.pack), start=1):
        if header.number not in {expected, position, *seen}:
            message = f"step {header.digits[:9]} stands where {position:02} belongs"
            yield Problem(header.span, message, "number the steps 01, 02, … in order", fix)
        seen.add(header.number)
        expected = max(expected, header.number + 1)


@rule("OP108", Severity.ERROR)
def duplicate_step(subject: Subject) -> Iterator[Problem]:
    """Every step has a number of its own.

    Why: the number is the step's name on disk, in the journal and on the command line.
    Fix: number the headers in order; `validate --fix` does it.

    Bad::
        # 01) one question
        oracle -p "Why?" --write-output a.md
        # 01) another question
        oracle -p "How?" --write-output b.md

    Good::
        # 01) one question
        oracle -p "Why?" --write-output a.md
        # 02) another question
        oracle -p "How?" --write-output b.md
    """
    fix = renumbering(subject.pack)
    first: dict[int, NumberedHeader] = {}
    for header in numbered(subject.pack):
        known = first.setdefault(header.number, header)
        if known is not header:
            message = f"step {header.digits[:9]} is already at line {known.span.line}"
            yield Problem(header.span, message, "give it a number of its own", fix)


@rule("OP109", Severity.ERROR)
def too_many_steps(subject: Subject) -> Iterator[Problem]:
    """A pack has at most 99 steps.

    Why: a step's name has two digits.
    Fix: split the pack into several.

    Bad::
        # (01 to 99 in the same way)
        # 100) one too many
        oracle -p "How?" --write-output b.md

    Good::
        # 01) one question
        oracle -p "Why?" --write-output a.md
    """
    headers = numbered(subject.pack)
    if len(headers) > MOST_STEPS:
        message = f"{len(headers)} steps; a pack has at most {MOST_STEPS}"
        yield Problem(headers[MOST_STEPS].span, message, "split the pack into several")


@rule("OP110", Severity.WARNING, Severity.ERROR, only_strict=True)
def wrong_step_count(subject: Subject) -> Iterator[Problem]:
    """A strict pack has exactly 20 steps.

    Why: the strict format promises 20 questions to everything that reads its answers. Without
    `--strict` any number from 1 to 99 is fine, and this says nothing.
    Fix: add or remove steps, or check without `--strict`: fewer good questions are a good pack.

    Bad::
        # 01) one question
        oracle -p "Why?" --write-output a.md

    Good::
        # 01) the first question
        oracle -p "Why?" --write-output 01.md
        # (02 to 19 in the same way)
        # 20) the last question
        oracle -p "How?" --write-output 20.md
    """
    block, count = subject.pack.block, len(subject.pack.steps)
    if block is not None and count and count != STRICT_STEPS:
        message = f"{count} step{'s' if count > 1 else ''}; --strict requires {STRICT_STEPS}"
        yield Problem(Span.at(block.span.line), message, "leave --strict out, or ask 20 questions")


@rule("OP116", Severity.WARNING)
def swallowed_header(subject: Subject) -> Iterator[Problem]:
    """A comment that looks like the next step header is one.

    Why: `# 2)`, `## 02)` and `# 02:` are ordinary comments, so that the commands below them run
    as part of the step before: two questions, one status, one retry.
    Fix: write `# 02) …`. A numbered list in comments begins with 1.

    Bad::
        # 01) one question
        oracle -p "Why?" --write-output a.md
        ## 02) another question
        oracle -p "How?" --write-output b.md

    Good::
        # 01) one question
        oracle -p "Why?" --write-output a.md
        # 02) another question
        oracle -p "How?" --write-output b.md
    """
    for merged in merged_headers(subject.pack):
        where = f"step {merged.step}" if merged.step else "the prelude"
        number = f"{merged.number:02}"
        message = f"no step header: the commands of step {number} are merged into {where}"
        hint = f"write it as # {number})"
        yield Problem(merged.comment.span, message, hint)


@rule("OP117", Severity.WARNING, Severity.ERROR)
def header_outside_block(subject: Subject) -> Iterator[Problem]:
    """Step headers stand in the bash block only.

    Why: what looks like a step before or behind the block never runs.
    Fix: move the step into the block, or title the section without a number.

    Bad file::
        ```bash
        # 01) one question
        oracle -p "Why?" --write-output a.md
        ```

        ## 02) another question

    Good file::
        ```bash
        # 01) one question
        oracle -p "Why?" --write-output a.md
        # 02) another question
        oracle -p "How?" --write-output b.md
        ```
    """
    if subject.pack.block is None:
        return
    spans = [fence.span for fence in subject.pack.fences]
    code = {line for span in spans for line in range(span.line, span.end_line + 1)}
    for number, line in enumerate(subject.lines, start=1):
        text = line.strip()
        is_like = text.startswith("#") and HEADER.match(f"#{text.lstrip('#')}")
        if is_like and number not in code:
            span = Span(number, line.index("#") + 1, number, len(line) + 1)
            hint = "move the step into the bash block, or leave out the number"
            yield Problem(span, "this step header is outside of the bash block", hint)
