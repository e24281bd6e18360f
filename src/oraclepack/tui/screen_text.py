"""Text for the screen. Whatever came from outside passes through here before it is shown.

Control characters are removed and nothing is read as markup: a pack, an answer or a log cannot
write to the terminal.
"""

from collections.abc import Iterable

from rich.text import Text

from oraclepack.system.printable import one_line, visible

LONGEST_LINE = 2_000
"""Characters of a line that are shown."""
MOST_SHOWN = 200_000
"""Characters of a text that are shown at once; `o` opens all of it."""
_CUT = "… (cut; press o for all of it)"

STATE_STYLES = {
    "ok": "green",
    "accepted": "green",
    "done": "green",
    "cached": "green",
    "valid": "green",
    "running": "cyan",
    "waiting": "yellow",
    "paused": "yellow",
    "stopping": "yellow",
    "interrupted": "yellow",
    "incomplete": "yellow",
    "needs_decision": "bold magenta",
    "failed": "bold red",
    "damaged": "bold red",
    "refused": "bold red",
    "error": "bold red",
    "warning": "yellow",
    "foreign": "magenta",
    "skipped": "dim",
    "pending": "dim",
    "advice": "dim",
}
_MARKS = {
    "ok": "✓",
    "accepted": "✓",
    "running": "▶",
    "waiting": "…",
    "paused": "‖",
    "stopping": "‖",
    "needs_decision": "?",
    "failed": "✗",
    "damaged": "✗",
    "interrupted": "!",
    "incomplete": "!",
    "foreign": "~",
    "skipped": "-",
    "pending": "·",
}
"""A state is never shown by colour alone."""


def cell(value: object, style: str = "", longest: int = 300) -> Text:
    """One line for a table."""
    line = one_line(str(value))
    short = line if len(line) <= longest else f"{line[: longest - 1]}…"
    return Text(short, style=style, no_wrap=True, overflow="ellipsis")


def state_cell(state: str | None) -> Text:
    """A state with its mark."""
    word = state or "-"
    mark = _MARKS.get(word, "")
    return cell(f"{mark} {word}" if mark else word, STATE_STYLES.get(word, ""))


def number_cell(value: object) -> Text:
    return Text(one_line(str(value)), justify="right", no_wrap=True)


def block(text: str, style: str = "") -> Text:
    """A text of many lines, each at most `LONGEST_LINE` long, all at most `MOST_SHOWN`."""
    return Text("\n".join(shown_lines(text)), style=style)


def shown_lines(text: str) -> list[str]:
    """The lines of a text as they are shown."""
    short = text[:MOST_SHOWN]
    lines = [shown_line(line) for line in visible(short).split("\n")]
    return [*lines, _CUT] if len(text) > MOST_SHOWN else lines


def shown_line(line: str) -> str:
    bare = line.expandtabs(4)
    return bare if len(bare) <= LONGEST_LINE else f"{bare[:LONGEST_LINE]}…"


def joined(parts: Iterable[Text | str]) -> Text:
    """Several texts as one; a plain string is ours, and shown as it is."""
    whole = Text()
    for part in parts:
        whole.append_text(part if isinstance(part, Text) else Text(part))
    return whole


def heading(text: str) -> Text:
    return Text(f"{one_line(text)}\n", style="bold underline")


def field(name: str, value: object, style: str = "") -> Text:
    """`name: value` on a line."""
    return Text.assemble((f"{name:<12} ", "dim"), (one_line(str(value)), style), "\n")
