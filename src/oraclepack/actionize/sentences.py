"""Running text → sentences, titles and notes of a bearable length."""

import re

from oraclepack.actionize.intent import is_action
from oraclepack.actionize.verbs import OPENERS
from oraclepack.system.markdown_text import code_spans

LONGEST_TITLE = 110
LONGEST_NOTE = 400

_CODE = re.compile(r"`[^`]*`")
_SHORTENED = re.compile(
    r"\b(?:e\.g|i\.e|etc|vs|cf|approx|z\.\s?B|bzw|ca|d\.\s?h|p\.\s?ex|No|Nr)\.", re.IGNORECASE
)
_END = re.compile(r"(?<=[.!?])[\"”’)]?\s+(?=[^\Wa-z_]|[`\"“(])|(?<=[。！？])")
_HALF = re.compile(r"(?<=;)\s+")
_LABEL = re.compile(
    r"(?:fix|action|todo|recommendation|mitigation|suggestion|suggested fix|proposed fix|"
    r"next step)\s*[:：—–]\s*",
    re.IGNORECASE,
)
_HIDDEN = "\x01"
"""Stands for a character that must not end a sentence; it is in no cleaned text."""


def sentences(text: str) -> tuple[str, ...]:
    """The sentences of a text. A part after a semicolon is one of its own when it is a request."""
    hidden = _CODE.sub(lambda m: re.sub(r"[.!?;\s]", _hide, m[0]), text)
    hidden = _SHORTENED.sub(lambda m: re.sub(r"[.\s]", _hide, m[0]), hidden)
    found: list[str] = []
    for part in _END.split(hidden):
        pieces = _HALF.split(part)
        for piece in pieces:
            said = _shown(piece).strip()
            if found and piece is not pieces[0] and not is_action(said):
                found[-1] = f"{found[-1]} {said}"
            elif said:
                found.append(said)
    return tuple(found)


def _hide(match: re.Match[str]) -> str:
    return f"{_HIDDEN}{ord(match[0])}{_HIDDEN}"


def _shown(text: str) -> str:
    return re.sub(rf"{_HIDDEN}(\d+){_HIDDEN}", lambda m: chr(int(m[1])), text)


def title_of(text: str, longest: int = LONGEST_TITLE) -> str:
    """A line that names a piece of work."""
    bare = _LABEL.sub("", text.strip(), count=1).rstrip(" .;:,。")
    opener = OPENERS.match(bare)
    bare = bare[opener.end() :] if opener is not None and is_action(text) else bare
    return cut(bare[:1].upper() + bare[1:], longest)


def cut(text: str, longest: int = LONGEST_NOTE) -> str:
    """A text of at most that length, cut between words and never inside code."""
    if len(text) <= longest:
        return text
    short = text[: longest - 1]
    for start, end, _ in code_spans(text[: 2 * longest]):
        if start < len(short) < end:
            short = short[:start]
    words = short.rsplit(" ", 1)[0] if " " in short.strip() else short
    return f"{words.rstrip(' ,;:(')}…"
