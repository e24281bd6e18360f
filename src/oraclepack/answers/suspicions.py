"""Signs of an unusable answer: cut off, a placeholder, an echo of the question."""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

import msgspec

from oraclepack.answers.answer_reader import read_answer_text
from oraclepack.answers.statements import body_lines
from oraclepack.answers.work_items import asks_for_work, read_work
from oraclepack.pack.answer_sections import (
    Section,
    is_bare_heading,
    is_rehearsed,
    normalise,
    numbered,
    section_of_heading,
    sections_named,
)
from oraclepack.pack.contract import requested_format
from oraclepack.system.text_limits import ANSWER


class Suspicion(msgspec.Struct, frozen=True):
    """One sign, and the line of the answer that shows it."""

    code: str
    """`unclosed_fence`, `cut_off`, `placeholder`, `empty_section`, `refusal`, `echo`, `script`,
    `work_lines`."""
    message: str
    line: int


_ATX = re.compile(r"^ {0,3}#{1,6}(?:\s+(?P<text>.*))?$")
_UNDERLINE = re.compile(r"^ {0,3}(?:={3,}|-{3,})\s*$")


class _Part(msgspec.Struct):
    """A heading and the lines below it that are not blank; before the first its line is 0."""

    line: int = 0
    sections: frozenset[Section] = frozenset()
    """The sections that the heading names."""
    body: list[tuple[int, str]] = []


def _parts_of(lines: Sequence[str]) -> list[_Part]:
    """The parts of an answer.

    A Markdown heading starts a part, and so does a line that is only the name of a section: bold,
    numbered or plain. Lines in code blocks never do.
    """
    parts = [_Part()]
    underlines = set[int]()
    for number, line, block in numbered(lines):
        is_underlined = not block and number < len(lines) and _UNDERLINE.match(lines[number])
        atx = None if block else _ATX.match(line)
        section = None if block else section_of_heading(line)
        text = line.strip()
        is_named = section is not None and (
            text.startswith(("**", "__")) or text[:1].isdigit() or is_bare_heading(line)
        )
        if atx is not None or is_named or (is_underlined and normalise(line)):
            heading = (atx["text"] or "") if atx is not None else line
            titled = section_of_heading(heading)
            named = sections_named(normalise(heading)) | ({titled} if titled is not None else set())
            parts.append(_Part(number, named))
            underlines |= {number + 1} if is_underlined else set()
        elif text and number not in underlines:
            parts[-1].body.append((number, line))
    return parts


_SHORTEST_ECHO = 80
_LAST_LATIN = "ɏ"
"""The end of Latin Extended-B: letters beyond it belong to another script."""


def echo(text: str, prompt: str) -> Iterator[Suspicion]:
    """The answer repeats the question: its own words are fewer than those of the prompt."""
    prompt_text, answer_text = normalise(prompt), normalise(text)
    if len(answer_text) < _SHORTEST_ECHO or len(prompt_text) < _SHORTEST_ECHO:
        return
    whole = prompt_text in answer_text and len(answer_text) < 2 * len(prompt_text)
    if whole or _lines(text) <= _lines(prompt):
        yield Suspicion("echo", "it repeats the prompt and adds little", 1)


def other_script(parts: Sequence[_Part], prompt: str) -> Iterator[Suspicion]:
    """The question is in Latin letters and most of the answer is not."""
    body = [line for part in parts for line in part.body]
    if body and _foreign(prompt) < _LITTLE and _foreign("".join(line for _, line in body)) > _MOST:
        yield Suspicion("script", "it is written in another script than the prompt", body[0][0])


_LITTLE, _MOST = 0.1, 0.5


def _lines(text: str) -> set[str]:
    return {normalise(line) for line in text.split("\n")} - {""}


def _foreign(text: str) -> float:
    """The share of letters that are not Latin."""
    letters = [letter for letter in text if letter.isalpha()]
    return sum(letter > _LAST_LATIN for letter in letters) / len(letters) if letters else 0.0


def unclosed_fence(lines: Sequence[str]) -> Iterator[Suspicion]:
    *_, (_, _, opened) = numbered((*lines, ""))  # a further line belongs to the open block
    if opened:
        yield Suspicion("unclosed_fence", "a code block is never closed", opened)


PLACEHOLDERS = frozenset(
    {
        "answer now",
        "analyzing",
        "generating",
        "loading",
        "lorem ipsum",
        "placeholder",
        "pro thinking",
        "reasoning",
        "tbd",
        "thinking",
        "todo",
    }
)
"""Placeholders of chat pages and drafts."""

_ALONE = PLACEHOLDERS | {"n a", "none"}
"""Allowed below a heading, but not as the whole answer."""

PAGE_WORDS = (
    "something went wrong",
    "error in message stream",
    "an error occurred",
    "network error",
    "there was an error generating a response",
    "this conversation could not be loaded",
    "too many requests",
)
"""How a chat page begins when it has no answer to show, folded."""

_REFUSAL = re.compile(
    r"(?:i m|i am|sorry|unfortunately)?\b.{0,20}\bi?\s?(?:can t|cannot|can not|won t|am unable to"
    r"|m unable to)\s(?:\w+ )?(?:help|assist|give|provide|answer|access|open|read|comply)\b"
)
_TEMPLATE = re.compile(
    r"^\W*[\[<{][^\]>}]*\b(?:here|your|insert|todo|tbd|fill)\b[^\]>}]*[\]>}]\W*$", re.IGNORECASE
)
_SHORT = 600
"""Longer texts are not a refusal or an error page."""


def placeholders(parts: Sequence[_Part]) -> Iterator[Suspicion]:
    """Empty parts, placeholders, refusals and error pages."""
    known = _ALONE if len(parts) == 1 else PLACEHOLDERS
    for part in parts:
        lines = [line for _, line in part.body]
        only = lines[0] if len(lines) == 1 else ""
        is_template = len(only) <= _SHORT and _TEMPLATE.match(only) is not None
        is_alone = len(lines) == 1 and (is_template or normalise(only) in known)
        if lines and (is_alone or not any(map(normalise, lines))):
            number, line = part.body[0]
            yield Suspicion("placeholder", f"nothing but {line.strip()!r} stands here", number)
    filled = {section for part in parts if part.body for section in part.sections}
    for part, following in pairwise(parts):
        # A section may begin with a heading of its own, and be listed before its text.
        ends = not part.body and following.sections - part.sections
        if ends and part.sections and not part.sections & filled:
            yield Suspicion("empty_section", "a section without any text", part.line)
    last, first = parts[-1], parts[0].body
    if last.line and not last.body:
        yield Suspicion("cut_off", "it ends with a heading and nothing below it", last.line)
    if len(parts) > 1 or not first or sum(len(line) for _, line in first) > _SHORT:
        return
    opening = normalise(first[0][1])
    if opening.startswith(PAGE_WORDS):
        yield Suspicion("placeholder", "the words of an error page, not of an answer", first[0][0])
    elif _REFUSAL.match(opening):
        yield Suspicion("refusal", "it begins by refusing to answer", first[0][0])


def work_faults(text: str, prompt: str) -> Iterator[Suspicion]:
    """The prompt asks for stated work, and there is none, or some of it cannot be read."""
    if not asks_for_work(prompt) or is_rehearsed(text):
        return
    # A prompt for one part of an answer quotes the form; only the first part has the work.
    if requested_format(prompt).only not in {None, Section.DIRECT_ANSWER}:
        return
    work = read_work(body_lines(text.split("\n")))
    if not work.is_stated and not work.doubts:
        last = text.rstrip().count("\n") + 1
        yield Suspicion("work_lines", "the prompt asks for stated work, and there is none", last)
    for line, message in work.doubts:
        yield Suspicion("work_lines", f"stated work is not in its form: {message}", line)


INCOMPLETE = frozenset({"cut_off", "unclosed_fence", "placeholder"})
"""Signs of an incomplete answer: it is asked for again, like an empty one."""
_PROSE = (".md", ".markdown", ".txt")


def suspicions(
    text: str, prompt: str | None = None, path: str = "answer.md"
) -> tuple[Suspicion, ...]:
    """All signs of an unusable answer.

    Prose is checked for all of them, JSON only for completeness, and other files not at all.
    """
    name = path.lower()
    if name.endswith(".json"):
        try:
            msgspec.json.decode(text)
        except (msgspec.DecodeError, RecursionError) as trouble:
            return (Suspicion("cut_off", f"it is no whole JSON: {trouble}", 1),)
        return ()
    if "." in name.rpartition("/")[2] and not name.endswith(_PROSE):
        return ()
    if ANSWER.excess(text) is not None:
        return ()
    repeated = tuple(echo(text, prompt or ""))
    if repeated:
        return repeated
    lines = text.rstrip().split("\n")
    parts = _parts_of(lines)
    suspects = [*unclosed_fence(lines), *placeholders(parts)]
    if not suspects:
        cut = read_answer_text(text, prompt=prompt or "").cut
        suspects += [Suspicion("cut_off", cut.reason, cut.line)] if cut is not None else []
    if prompt is not None:
        # An end that is cut off explains why the lines at the end are missing.
        suspects.extend([] if suspects else work_faults(text, prompt))
        suspects.extend(other_script(parts, prompt))
    return tuple(sorted(suspects, key=lambda sign: (sign.line, sign.code)))
