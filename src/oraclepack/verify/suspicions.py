"""Signs that an answer is not what it seems: cut off, a placeholder, an echo of the question."""

import re
from collections.abc import Iterator

import msgspec

from oraclepack.core.sections import normalise

_FENCE = re.compile(r"^ {0,3}(?P<mark>`{3,}|~{3,})(?P<info>[^`]*)$")
_PLACEHOLDERS = frozenset(
    {"answer now", "pro thinking", "thinking", "todo", "tbd", "n a", "lorem ipsum", "placeholder"}
)
_ELLIPSIS = re.compile(r"^[\s.…\-_*#>]*(?:…|\.{3,})[\s.…]*$")
_BARE_MARKER = re.compile(r"^\s*(?:[-*+]|\d+[.)])\s*$")
_DANGLING = re.compile(
    r"(?:[,:;(\[{—–&/]|\b(?:and|or|but|the|a|an|of|to|in|with|for|from|that|because|which|if|is))$",
    re.IGNORECASE,
)
_HEADING = re.compile(r"^ {0,3}#{1,6}\s+\S")
_SHORTEST_ECHO = 80


class Suspicion(msgspec.Struct, frozen=True):
    """A sign at a line of an answer."""

    code: str
    """`unclosed_fence`, `placeholder`, `cut_off` or `echo`."""
    message: str
    line: int


def suspicions(text: str, prompt: str | None = None) -> tuple[Suspicion, ...]:
    """Everything about an answer that a careful reader would doubt."""
    lines = text.rstrip().split("\n")
    found = [*_unclosed(lines), *_placeholders(lines)]
    if not any(sign.code == "unclosed_fence" for sign in found):
        found.extend(_cut(lines))
    if prompt is not None:
        found.extend(_echo(text, prompt))
    return tuple(sorted(found, key=lambda sign: (sign.line, sign.code)))


def _unclosed(lines: list[str]) -> Iterator[Suspicion]:
    opened: tuple[str, int] | None = None
    for number, line in enumerate(lines, start=1):
        match = _FENCE.match(line)
        if match is None:
            continue
        mark = match["mark"]
        if opened is None:
            opened = (mark, number)
        elif mark[0] == opened[0][0] and len(mark) >= len(opened[0]) and not match["info"].strip():
            opened = None
    if opened is not None:
        yield Suspicion("unclosed_fence", "a code block is never closed", opened[1])


def _placeholders(lines: list[str]) -> Iterator[Suspicion]:
    """A placeholder counts where nothing else stands: in the whole answer, or below a heading."""
    body: list[tuple[int, str]] = []
    for number, line in [*enumerate(lines, start=1), (len(lines) + 1, "# end")]:
        if not _HEADING.match(line):
            if line.strip():
                body.append((number, line))
            continue
        if len(body) == 1 and _is_placeholder(body[0][1]):
            shown = body[0][1].strip()
            yield Suspicion("placeholder", f"nothing but {shown!r} stands here", body[0][0])
        body = []


def _is_placeholder(line: str) -> bool:
    folded = normalise(line).strip()
    return folded in _PLACEHOLDERS or _ELLIPSIS.match(line) is not None


def _cut(lines: list[str]) -> Iterator[Suspicion]:
    last, number = lines[-1].rstrip(), len(lines)
    if not last or _FENCE.match(last) or last.lstrip().startswith("|"):
        return
    if _BARE_MARKER.match(last):
        yield Suspicion("cut_off", "it ends with an empty list item", number)
    elif _HEADING.match(last):
        yield Suspicion("cut_off", "it ends with a heading and nothing below it", number)
    elif _DANGLING.search(last):
        yield Suspicion("cut_off", f"it ends in the middle of a sentence: …{last[-40:]}", number)
    elif last.count("`") % 2 or last.count("**") % 2 or _opens_more(last):
        yield Suspicion("cut_off", "its last line opens something it never closes", number)


def _opens_more(line: str) -> bool:
    return line.count("(") > line.count(")") or line.count("[") > line.count("]")


def _echo(text: str, prompt: str) -> Iterator[Suspicion]:
    """The answer repeats the question: its own words are fewer than those of the prompt."""
    asked, said = normalise(prompt).strip(), normalise(text).strip()
    if len(asked) >= _SHORTEST_ECHO and asked in said and len(said) < 2 * len(asked):
        yield Suspicion("echo", "it repeats the prompt and adds little", 1)
