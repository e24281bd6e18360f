"""What a source text shows of itself, and the names it offers to others."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from oraclepack.authoring.signs import SIGNS, Sign, Trait

MOST_NAMES = 6
_LONGEST_NAME = 48
_SAFE = re.compile(r"[^\w/{}:<>.@*+=~-]+")
"""Names come from files that nobody vouches for: what is left of them is one plain word."""


@dataclass(frozen=True, slots=True)
class Trace:
    """How often a trait shows in a file, and by which names."""

    count: int
    names: tuple[str, ...] = ()


_SYMBOLS: Mapping[str, re.Pattern[str]] = {
    "Python": re.compile(r"^(?:async\s+)?(?:def|class)\s+([A-Za-z]\w*)", re.MULTILINE),
    "JavaScript": re.compile(
        r"^export\s+(?:default\s+)?(?:async\s+)?(?:function\*?|class|const|let|enum)\s+(\w+)"
        r"|^(?:module\.)?exports\.(\w+)",
        re.MULTILINE,
    ),
    "Go": re.compile(
        r"^(?:func\s+(?:\([^)]*\)\s*)?|type\s+|var\s+|const\s+)([A-Z]\w*)", re.MULTILINE
    ),
    "Rust": re.compile(
        r"^\s*pub(?:\([^)]*\))?\s+(?:async\s+)?(?:fn|struct|enum|trait)\s+(\w+)", re.MULTILINE
    ),
    "Ruby": re.compile(r"^\s*(?:class|module|def)\s+((?:self\.)?\w+[?!]?)", re.MULTILINE),
    "Shell": re.compile(r"^(?:function\s+)?(\w+)\s*\(\)", re.MULTILINE),
}
_TYPESCRIPT = re.compile(
    r"^export\s+(?:default\s+)?(?:declare\s+)?(?:abstract\s+)?(?:async\s+)?"
    r"(?:function\*?|class|const|let|enum|interface|type)\s+(\w+)",
    re.MULTILINE,
)
_CURLY = re.compile(
    r"^(?:[ \t]|public|protected|internal|export|open|data|sealed|abstract|final|static)*"
    r"(?:class|interface|enum|record|trait|struct|object|func|fun|function)[ \t]+(\w+)",
    re.MULTILINE,
)


def traits_of(text: str) -> dict[Trait, Trace]:
    """Every trait that a text shows."""
    found = ((trait, _trace(text, sign)) for trait, sign in SIGNS.items())
    return {trait: trace for trait, trace in found if trace.count}


def _trace(text: str, sign: Sign) -> Trace:
    count, names = 0, dict[str, None]()
    for match in sign.pattern.finditer("\n".join(_telling(text, sign))):
        count += 1
        if match.lastgroup is not None and len(names) < MOST_NAMES:
            names |= dict.fromkeys(filter(None, [spoken(match[match.lastgroup] or "")]))
    return Trace(count, tuple(names))


def _telling(text: str, sign: Sign) -> Iterator[str]:
    """The lines that hold one of the words, each with what may belong to it."""
    starts: set[int] = set()
    for word in sign.words:
        at = text.find(word)
        while at >= 0:
            starts.add(text.rfind("\n", 0, at) + 1)
            end = text.find("\n", at)
            at = text.find(word, end) if end >= 0 else -1
    past = 0
    for start in sorted(starts):
        end = start - 1
        for _ in range(sign.lines):
            following = text.find("\n", end + 1)
            end = following if following >= 0 else len(text)
        if end > past:
            yield text[max(start, past) : end]
            past = end + 1


def symbols_of(language: str | None, text: str) -> Trace | None:
    """The names that a file offers to others."""
    pattern = _TYPESCRIPT if language in {"TypeScript", "Vue", "Svelte"} else None
    pattern = pattern or _SYMBOLS.get(language or "") or (_CURLY if language else None)
    if pattern is None:
        return None
    names = dict.fromkeys(
        spoken(next(group for group in match.groups() if group)) for match in pattern.finditer(text)
    )
    names.pop("", None)
    return Trace(len(names), tuple(names)[:MOST_NAMES]) if names else None


def spoken(name: str) -> str:
    """A name as it may stand in a prompt: one word of harmless characters."""
    return _SAFE.sub("", name)[:_LONGEST_NAME].strip(".:-=~*+")
