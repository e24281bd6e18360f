"""Signs that an answer stops before its end."""

from collections.abc import Iterator, Sequence

from oraclepack.pack.answer_sections import FENCE, numbered
from oraclepack.system.text_limits import regex
from oraclepack.verify.suspicion import Suspicion

_BARE_MARKER = regex(r"^\s*(?:[-*+]|\d+[.)])\s*$")
_DANGLING = regex(
    r"(?:[,:;(\[{—–&]|\b(?:and|or|but|the|a|an|of|to|in|with|for|from|that|because|which|if|is))$"
)
_CODE = regex(r"`[^`]*`")
_OPEN_BOLD = regex(r"(?:^|[\s(])\*\*(?=[^\s*])(?!.*\S\*\*)")
_CLOSED = regex(r"[.!?:;…。！？)\]}\"'”’»`*_|>]$")
_ITEM = regex(r"^\s*(?:[-*+>]|\d+[.)])\s+")
_SENTENCE = 4
"""From so many words on a line is read as a sentence."""
_ENOUGH = 3
"""So many sentences show that the writer ends them with a mark."""


def unclosed_fence(lines: Sequence[str]) -> Iterator[Suspicion]:
    *_, (_, _, opened) = numbered((*lines, ""))  # a line after the last belongs to what is open
    if opened:
        yield Suspicion("unclosed_fence", "a code block is never closed", opened)


def cut_off(lines: Sequence[str]) -> Iterator[Suspicion]:
    """The last line of an answer, read as one that something was to follow."""
    reason = _reason(lines)
    if reason is not None:
        yield Suspicion("cut_off", reason, len(lines))


def _reason(lines: Sequence[str]) -> str | None:
    last = lines[-1].rstrip()
    if not last or FENCE.match(last):
        return None
    if last.lstrip().startswith("|"):
        open_row = not last.endswith("|") and any(line.rstrip().endswith("|") for line in lines)
        return "its last table row is not finished" if open_row else None
    if _BARE_MARKER.match(last):
        return "it ends with an empty list item"
    plain = _CODE.sub("", last)
    if "`" in plain or _OPEN_BOLD.search(plain) or _opens_more(plain):
        return "its last line opens something it never closes"
    if _DANGLING.search(last) or _stops_short(lines):
        return f"it ends in the middle of a sentence: …{last[-40:]}"
    return None


def _opens_more(line: str) -> bool:
    return line.count("(") > line.count(")") or line.count("[") > line.count("]")


def _stops_short(lines: Sequence[str]) -> bool:
    """Every sentence ends with a mark, only the last one does not."""
    *others, last = [block for block in _blocks(lines) if block.count(" ") >= _SENTENCE - 1] or [""]
    if not last.endswith(lines[-1].strip()) or _CLOSED.search(last):
        return False
    return len(others) >= _ENOUGH and all(_CLOSED.search(other) for other in others)


def _blocks(lines: Sequence[str]) -> list[str]:
    """Paragraphs and list items, each as one line; headings and code are none."""
    blocks: list[str] = []
    begins = True
    for _, line, block in numbered(lines):
        if block or not line.strip() or line.startswith("#"):
            begins = True
        elif begins or _ITEM.match(line):
            blocks.append(_ITEM.sub("", line).strip())
            begins = False
        else:
            blocks[-1] += f" {line.strip()}"
    return blocks
