"""A person's own text in `backlog.md`: between marked lines it survives regeneration."""

import re
from collections.abc import Mapping

from oraclepack.errors import InputError

END = "<!-- /keep -->"
NOTES = "notes"
"""The place for text about the backlog as a whole."""

_BEGIN = re.compile(r"<!-- keep: (?P<name>\S+) -->\s*")
_END = re.compile(r"<!-- /keep -->\s*")
_BROKEN = re.compile(r"\s*<!--\s*/?keep\b")
"""Begins like a mark; no line of ours does but the marks."""


def begin(name: str) -> str:
    return f"<!-- keep: {name} -->"


def read_person_notes(text: str, path: str = "backlog.md") -> dict[str, str]:
    """The texts between marked lines, by name; several of one name are joined.

    A beginning without an end would swallow what is generated, and a mark that does not stand
    alone, or an end without a beginning, would lose what a person wrote: each is an error.
    """
    texts: dict[str, str] = {}
    name: str | None = None
    since = 0
    lines: list[str] = []
    for number, line in enumerate(text.split("\n"), start=1):
        begins, ends = _BEGIN.fullmatch(line), _END.fullmatch(line)
        if name is None and begins is not None:
            name, since, lines = begins["name"], number, []
        elif name is not None and begins is not None:
            raise _unclosed(path, since)
        elif name is not None and ends is not None:
            texts[name] = texts.get(name, "") + "".join(f"{line}\n" for line in lines)
            name = None
        elif name is not None:
            lines.append(line)
        elif _BROKEN.match(line):
            raise _broken(path, number)
    if name is not None:
        raise _unclosed(path, since)
    return {name: words for name, words in texts.items() if words.strip()}


def _unclosed(path: str, line: int) -> InputError:
    return InputError(
        f"{path}: the text that begins at line {line} has no end",
        hint=f"put a line `{END}` after it; nothing was written",
    )


def _broken(path: str, line: int) -> InputError:
    return InputError(
        f"{path}: the mark in line {line} is not on a line of its own, or has no beginning",
        hint=f"put `{begin('NAME')}` on a line of its own before your text and `{END}` after it; "
        "nothing was written",
    )


def slot(name: str, texts: Mapping[str, str]) -> str:
    """The marked lines for a name, with what was kept between them."""
    return f"{begin(name)}\n{texts.get(name, '')}{END}\n"
