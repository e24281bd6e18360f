"""What an answer states as work in a fixed form, read tolerantly; what cannot be read is a doubt.

    [oraclepack-work]
    {"verdict": "…", "items": [{"title": "…", "kind": "change", "files": ["…"], …}]}
    [/oraclepack-work]

A code block with the info string `oraclepack-work` is the same. Older prompts ask for lines:

    WORK: <title> | files: <paths> | done when: <check> | effort: S|M|L | evidence: <path:line>
    WORK: none
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Any

import msgspec

from oraclepack.answers.sentences import masked
from oraclepack.answers.statements import BodyLine, row_cells
from oraclepack.pack.answer_sections import FENCE

BLOCK = "oraclepack-work"
BEGIN, END = f"[{BLOCK}]", f"[/{BLOCK}]"

_LINE = re.compile(
    r"[\s>*_`#|+•-]{0,40}(?:\d{1,2}[.)]\s{0,9})?[*_`]{0,4}(?P<word>WORK|Work)[*_`]*\s*:[*_`]*\s*"
)
_STRAY = re.compile(r"[\s>*_`#|+•-]{0,40}WORK\b")
_NEXT = re.compile(r"(?<=[\s|;])[*_]*WORK[*_]*\s*:[*_]*\s*")
_FIELD = re.compile(
    r"[\s*_`-]*(?P<name>files?|paths?|done[ _-]when|effort|evidence)[*_`]*\s*:[*_]*\s*"
    r"(?P<value>.*)",
    2 | 16,  # re.IGNORECASE | re.DOTALL
)
_WRAPPED = re.compile(
    r"\s*\||[\s*_`•+-]*(?:files?|paths?|done[ _-]when|effort|evidence)[*_`]*\s*:", 2
)
_ASKED = re.compile(rf"^[\s>*-]*WORK:\s*<|\[{BLOCK}\]", re.MULTILINE)
_COMMA = re.compile(r"\s*[,;]\s*")
_EFFORT = re.compile(r"[\W_]*(?P<size>x?s(?:mall)?|m(?:edium)?|x?l(?:arge)?)\b", re.IGNORECASE)
_TRAILING_COMMA = re.compile(r",(?=\s*[}\]])")
_NAMES = {"file": "files", "path": "files", "paths": "files"}
_KNOWN = frozenset({"title", "kind", "files", "done_when", "effort", "evidence", "quote", "after"})


class Effort(StrEnum):
    """The size of a piece of work."""

    S = "S"
    M = "M"
    L = "L"


class ItemKind(StrEnum):
    """What sort of work an item is."""

    CHANGE = "change"
    FINDING = "finding"
    EXPERIMENT = "experiment"
    QUESTION = "question"


class WorkItem(msgspec.Struct, frozen=True, kw_only=True):
    """One item of work, its texts as they are in the answer."""

    line: int
    title: str
    kind: ItemKind = ItemKind.CHANGE
    files: tuple[str, ...] = ()
    done_when: str = ""
    effort: Effort | None = None
    evidence: tuple[str, ...] = ()
    quote: str = ""
    after: tuple[str, ...] = ()
    """Titles of items that come first."""


class WorkDoubt(msgspec.Struct, frozen=True):
    """What could not be read, and where."""

    line: int
    message: str


class StatedWork(msgspec.Struct, frozen=True):
    """The work that an answer states, and what of it could not be read."""

    items: tuple[WorkItem, ...] = ()
    verdict: str = ""
    is_none: bool = False
    """It says that there is nothing to do."""
    doubts: tuple[WorkDoubt, ...] = ()
    lines: frozenset[int] = frozenset()
    """The lines that were understood; all others are prose."""

    is_block: bool = False

    @property
    def is_whole(self) -> bool:
        """Whether nothing is cut off: a closed block, or lines up to one of the last fields."""
        last = self.items[-1] if self.items else None
        has_end = last is not None and bool(last.effort or last.evidence)
        return not self.doubts and (self.is_block or self.is_none or has_end)

    @property
    def is_stated(self) -> bool:
        """Whether the answer says what there is to do, be it nothing."""
        return bool(self.items) or self.is_none


def asks_for_work(prompt: str) -> bool:
    """Whether a prompt shows one of the forms."""
    return _ASKED.search(prompt) is not None


def read_work(lines: Sequence[BodyLine]) -> StatedWork:
    """The blocks of an answer, else its WORK lines."""
    reader = _Reader(lines)
    reader.read_blocks()
    is_block = bool(reader.used)
    if not reader.items and not reader.is_none:
        reader.read_work_lines()
    if reader.items and reader.is_none:
        reader.doubt(reader.items[0].line, "it says that there is no work, and states some")
    return StatedWork(
        items=tuple(reader.items),
        verdict=reader.verdict,
        is_none=reader.is_none,
        doubts=tuple(reader.doubts),
        lines=frozenset(reader.used),
        is_block=is_block,
    )


class _Reader:
    """Collects items and doubts from the lines of one answer."""

    def __init__(self, lines: Sequence[BodyLine]) -> None:
        self._lines = lines
        self.items: list[WorkItem] = []
        self.verdict = ""
        self.is_none = False
        self.doubts: list[WorkDoubt] = []
        self.used: set[int] = set()

    def doubt(self, line: int, message: str) -> None:
        self.doubts.append(WorkDoubt(line, message))

    def read_blocks(self) -> None:
        position = 0
        while position < len(self._lines):
            end = self._block_end(position)
            if end is None:
                position += 1
                continue
            self._read_block(self._lines[position : end + 1])
            position = end + 1

    def _block_end(self, start: int) -> int | None:
        """The last line of a block that begins here; None where none begins."""
        text = self._lines[start].text
        fence = FENCE.match(text)
        is_fenced = fence is not None and BLOCK in fence["info"]
        if not is_fenced and BEGIN not in text:
            return None
        for position in range(start, len(self._lines)):
            line = self._lines[position]
            if END in line.text:
                return position
            if is_fenced and position > start and FENCE.match(line.text):
                return position
        self.doubt(self._lines[start].number, "its block of work is never closed")
        return len(self._lines) - 1

    def _read_block(self, block: Sequence[BodyLine]) -> None:
        text = "\n".join(line.text for line in block if not FENCE.match(line.text))
        text = text.partition(BEGIN)[2] if BEGIN in text else text
        first = block[0].number
        content = decoded(text.partition(END)[0])
        if content is None:
            self.doubt(first, "its block of work is not JSON")
            return
        if isinstance(content, list):
            content = {"items": content}
        elif "title" in content:
            content = {"items": [content]}
        self.used |= {line.number for line in block}
        self.verdict = self.verdict or _text(content.get("verdict"))
        entries = content.get("items", [])
        self.is_none = self.is_none or content.get("none") is True or content.get("items") == []
        for entry in entries if isinstance(entries, list) else [entries]:
            self._read_entry(entry, block)

    def _read_entry(self, entry: object, block: Sequence[BodyLine]) -> None:
        if isinstance(entry, str):
            entry = {"title": entry}
        title = _text(entry.get("title")) if isinstance(entry, dict) else ""
        line = next((one.number for one in block if title and title in one.text), block[0].number)
        if not isinstance(entry, dict) or not title:
            self.doubt(line, "an item of its block has no title")
            return
        self._add(line, title, {name: value for name, value in entry.items() if name != "title"})

    def _add(self, line: int, title: str, fields: Mapping[str, Any]) -> None:
        kind = _text(fields.get("kind")).lower()
        if kind and kind not in set(ItemKind):
            self.doubt(line, f"{kind!r} is no kind of work: {title}")
        said = _text(fields.get("effort"))
        size = _EFFORT.match(said)
        if said and size is None:
            self.doubt(line, f"effort is S, M or L, not {said!r}")
        for name in sorted(set(fields) - _KNOWN):
            self.doubt(line, f"no known field: {name!r}")
        self.items.append(
            WorkItem(
                line=line,
                title=title,
                kind=ItemKind(kind) if kind in set(ItemKind) else ItemKind.CHANGE,
                files=_names(fields.get("files")),
                done_when=_text(fields.get("done_when")),
                effort=Effort(size["size"].lower().removeprefix("x")[0].upper()) if size else None,
                evidence=_names(fields.get("evidence")),
                quote=_text(fields.get("quote")),
                after=_texts(fields.get("after")),
            )
        )

    def read_work_lines(self) -> None:
        header: tuple[str, ...] = ()
        for position, line in enumerate(self._lines):
            cells = row_cells(line.text)
            if cells and _bare(cells[0]).lower() in {"work", "task", "title"} and len(cells) > 1:
                names = tuple(_field_name(cell) for cell in cells[1:])
                header = names if all(name in _KNOWN for name in names) else ()
                self.used |= {line.number} if header else set()
            elif header and cells:
                self._read_row(line, header, cells)
            elif line.number not in self.used:
                header = ()
                self._read_line(position)

    def _read_row(self, line: BodyLine, header: Sequence[str], cells: Sequence[str]) -> None:
        self.used.add(line.number)
        if not all(set(cell) <= set(" :-") for cell in cells):
            title = _bare(cells[0].removeprefix("WORK:"))
            self._add(line.number, title, dict(zip(header, cells[1:], strict=False)))

    def _read_line(self, position: int) -> None:
        line = self._lines[position]
        match = _LINE.match(line.text)
        if match is None:
            if _STRAY.match(line.text) and not line.in_code:
                self.doubt(line.number, "it looks like a WORK line and has not its form")
            return
        text, last = line.text[match.end() :], position
        while last + 1 < len(self._lines) and _WRAPPED.match(self._lines[last + 1].text):
            last += 1
            text += f" | {self._lines[last].text.strip().lstrip('|')}"
        pieces = [piece for piece in _NEXT.split(text) if piece.strip(" |*_`")]
        has_form = any("|" in piece or _is_none(piece) for piece in pieces)
        if match["word"] != "WORK" and not has_form:
            return  # a sentence that begins with the word
        if not pieces:
            self.doubt(line.number, "a WORK line without any text")
        for piece in pieces:
            self._read_piece(line.number, piece)
        self.used |= {one.number for one in self._lines[position : last + 1]}

    def _read_piece(self, line: int, text: str) -> None:
        title, *fields = _split(text.strip().rstrip("*_`|; ").strip())
        if _is_none(title) and not fields:
            self.is_none = True
            return
        values: dict[str, str] = {}
        for field in (one for one in fields if one.strip()):
            parsed = _FIELD.fullmatch(field)
            if parsed is None:
                self.doubt(line, f"no known field: {field.strip()!r}")
                continue
            values[_field_name(parsed["name"])] = parsed["value"].strip()
        if not _bare(title):
            self.doubt(line, "a WORK line without a title")
            return
        self._add(line, _bare(title), values)


def decoded(text: str) -> Any:  # noqa: ANN401 - whatever the model wrote
    """An object or a list, also one with remarks around it, comments of commas, or one per line."""
    starts = [at for at in (text.find("{"), text.find("[")) if at >= 0]
    end = max(text.rfind("}"), text.rfind("]"))
    whole = text[min(starts, default=0) : end + 1]
    for candidate in (whole, _TRAILING_COMMA.sub("", whole)):
        try:
            found = msgspec.json.decode(candidate)
        except (msgspec.DecodeError, UnicodeError, RecursionError):
            continue
        if isinstance(found, dict | list):
            return found
    lines = [line.strip().rstrip(",") for line in whole.split("\n") if line.strip()]
    try:
        return [msgspec.json.decode(line) for line in lines] or None
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return None


def _split(text: str) -> list[str]:
    """The parts between bars; a bar in code, or between the words of one value, is none."""
    bars = [at for at, sign in enumerate(masked(text)) if sign == "|"]
    if " | " in text:
        bars = [at for at in bars if text[at - 1 : at + 2] == " | " or at + 1 == len(text)]
    starts = [0, *(at + 1 for at in bars)]
    return [text[start:end] for start, end in zip(starts, [*bars, len(text)], strict=True)]


def _bare(text: str) -> str:
    return text.strip().strip("*_").strip()


def _is_none(text: str) -> bool:
    return text.strip(" .*_`|").lower() in {"none", "n/a", "nothing"}


def _field_name(name: str) -> str:
    plain = re.sub(r"[ _-]+", "_", _bare(name).lower())
    return _NAMES.get(plain, plain)


def _text(value: object) -> str:
    return value.strip() if isinstance(value, str) else ""


def _texts(value: object) -> tuple[str, ...]:
    values = value if isinstance(value, list) else [value]
    return tuple(text for one in values if (text := _text(one)))


def _names(value: object) -> tuple[str, ...]:
    """A list of names; also one text with commas between them."""
    if isinstance(value, list):
        return tuple(name for one in value for name in _names(one))
    return tuple(_iterate(value)) if isinstance(value, str) else ()


def _iterate(text: str) -> Iterator[str]:
    for name in _COMMA.split(text.strip()):
        bare = name.strip().strip("`*").strip()
        if bare and bare.lower() not in {"none", "n/a", "-"}:
            yield bare
