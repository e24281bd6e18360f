"""Signs of an unusable answer: cut off, a placeholder, an echo of the question."""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

import msgspec

from oraclepack.answers.answer_reader import read_answer_text
from oraclepack.answers.outline import OutlinePart, parts_of
from oraclepack.answers.statements import body_lines
from oraclepack.answers.work_items import asks_for_work, read_work
from oraclepack.pack.answer_sections import Section, is_rehearsed, normalise, numbered
from oraclepack.pack.contract import requested_format
from oraclepack.system.text_limits import ANSWER


class Suspicion(msgspec.Struct, frozen=True):
    """One sign, and the line of the answer that shows it."""

    code: str
    """`unclosed_fence`, `cut_off`, `placeholder`, `empty_section`, `refusal`, `echo`, `script`,
    `work_lines`."""
    message: str
    line: int


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


def other_script(parts: tuple[OutlinePart, ...], prompt: str) -> Iterator[Suspicion]:
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


def placeholders(parts: Sequence[OutlinePart]) -> Iterator[Suspicion]:
    """Empty parts and placeholders."""
    whole = len(parts) == 1
    for part in parts:
        if part.body and _is_placeholder([line for _, line in part.body], alone=whole):
            number, line = part.body[0]
            yield Suspicion("placeholder", f"nothing but {line.strip()!r} stands here", number)
    yield from _empty(parts)
    yield from _refusal(parts)


def _empty(parts: Sequence[OutlinePart]) -> Iterator[Suspicion]:
    last = parts[-1]
    filled = {section for part in parts if part.body for section in part.sections}
    for part, following in pairwise(parts):
        named = part.sections
        # A section may begin with a heading of its own, and be listed before its text.
        ends = not part.body and following.sections - named
        if ends and named and not named & filled:
            yield Suspicion("empty_section", "a section without any text", part.line)
    if last.line and not last.body:
        yield Suspicion("cut_off", "it ends with a heading and nothing below it", last.line)


def _is_placeholder(lines: Sequence[str], *, alone: bool) -> bool:
    if not any(map(normalise, lines)):
        return True
    if len(lines) > 1:
        return False
    known = _ALONE if alone else PLACEHOLDERS
    return normalise(lines[0]) in known or _TEMPLATE.match(lines[0]) is not None


def _refusal(parts: Sequence[OutlinePart]) -> Iterator[Suspicion]:
    """An answer that begins with a refusal or an error message."""
    first = parts[0].body
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
        return _broken_json(text)
    if "." in name.rpartition("/")[2] and not name.endswith(_PROSE):
        return ()
    if ANSWER.excess(text) is not None:
        return ()
    repeated = tuple(echo(text, prompt or ""))
    if repeated:
        return repeated
    lines = text.rstrip().split("\n")
    parts = parts_of(lines)
    suspects = [*unclosed_fence(lines), *placeholders(parts)]
    if not suspects:
        cut = read_answer_text(text, prompt=prompt or "").cut
        suspects += [Suspicion("cut_off", cut.reason, cut.line)] if cut is not None else []
    if prompt is not None:
        # An end that is cut off explains why the lines at the end are missing.
        suspects.extend([] if suspects else work_faults(text, prompt))
        suspects.extend(other_script(parts, prompt))
    return tuple(sorted(suspects, key=lambda sign: (sign.line, sign.code)))


def _broken_json(text: str) -> tuple[Suspicion, ...]:
    try:
        msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError) as trouble:
        return (Suspicion("cut_off", f"it is no whole JSON: {trouble}", 1),)
    return ()
