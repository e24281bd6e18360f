"""Which files a call attaches: told by its words alone, or only by the tool itself."""

from collections.abc import Sequence

import msgspec

from oraclepack.system.text_limits import regex

RENDER = ("--render", "--render-plain")
"""With these oracle prints what it would send, for nothing: no key, no network, no session."""

_DYNAMIC = regex(r"[*?\[\]{}\\]|[@!+]\(|\([^(]*\|")
_HEADER = "### File: "
_BLANKS = regex(r"\n{3,}")


class Rendering(msgspec.Struct, frozen=True):
    """What oracle says it would send."""

    files: tuple[str, ...]
    """The attached files, relative to the working directory."""
    notes: tuple[str, ...] = ()
    """What it says it leaves out, and why."""


def is_plain(value: str) -> bool:
    """A value of `--file` that can only be a name, not a pattern or an exclusion."""
    return not value.startswith("!") and _DYNAMIC.search(value) is None


def literal_part(value: str) -> str:
    """The beginning of a value of `--file` that is no pattern: where the tool starts to look."""
    found = _DYNAMIC.search(value)
    return value if found is None else value[: found.start()].rpartition("/")[0]


def only_plain(values: Sequence[str]) -> bool:
    """No pattern anywhere; whether one of the names is a directory only the disk knows.

    One pattern, directory or exclusion sends everything, plain names too, through rules
    of its own (ignore files, links, hidden files), which are the tool's to apply.
    """
    return all(is_plain(value) for value in values)


def rendering_argv(argv: Sequence[str]) -> tuple[str, ...]:
    """The same call, only asking what would be sent. In front: nothing can swallow it there."""
    return (*RENDER, *argv)


def read_rendering(text: str, prompt: str) -> Rendering | None:
    """The files in what oracle printed; None when it is not what we know how to read.

    The prompt may hold lines that look like file headers; the bodies of files cannot,
    since every line of theirs is numbered.
    """
    head, mark, _ = text.partition("\n[SYSTEM]\n")
    # The tool squeezes empty lines, in the prompt too.
    opening = "\n\n[USER]\n" + _BLANKS.sub("\n\n", f"{prompt.strip()}\n")
    _, found, rest = text.partition(opening)
    if not mark or not found:
        return None
    files = [line[len(_HEADER) :] for line in rest.split("\n") if line.startswith(_HEADER)]
    return Rendering(tuple(files), tuple(head.split("\n")[1:]))
