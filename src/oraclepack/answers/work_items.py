"""What an answer states as work in a fixed form, read tolerantly; what cannot be read is a doubt.

    [oraclepack-work]
    {"verdict": "…", "items": [{"title": "…", "kind": "change", "files": ["…"], …}]}
    [/oraclepack-work]

A code block that holds such JSON is the same. Older prompts ask for lines:

    WORK: <title> | files: <paths> | done when: <check> | effort: S|M|L | evidence: <path:line>
    WORK: none
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Any

import msgspec

from oraclepack.answers.sentences import masked
from oraclepack.answers.statements import BodyLine, row_cells, without_marker
from oraclepack.pack.answer_sections import FENCE

BLOCK = "oraclepack-work"
BEGIN, END = f"[{BLOCK}]", f"[/{BLOCK}]"

_BEGIN = re.compile(r"\\?[\[<]\s?oraclepack[-_ ]work\s?\\?[\]>]", re.IGNORECASE)
_END = re.compile(r"\\?[\[<]\s?/\s?oraclepack[-_ ]work\s?\\?[\]>]", re.IGNORECASE)
_KEYS = [re.compile(rf"[\"“']{key}[\"”']\s*:") for key in ("verdict", "items")]
_LINE = re.compile(
    r"[\s>*_`#|+•-]{0,40}(?:\d{1,2}[.)]\s{0,9})?[*_`\[]{0,4}(?P<word>WORK|Work)"
    r"(?:[ -](?:ITEM|Item))?(?:[ #]{0,2}\d{1,2})?[*_`]*\s?(?:[:：]|\]:?|\s[—–-](?=\s))[*_`]*\s*"
)
_STRAY = re.compile(r"[\s>*_`#|+•-]{0,40}WORK\b")
_NEXT = re.compile(r"(?<=[\s|;])[*_]*WORK[*_]*\s*:[*_]*\s*")
_NAMES = r"(?:files?|paths?|done[ _-]when|effort|evidence)"
_FIELD = re.compile(
    rf"[\s*_`-]*(?P<name>{_NAMES})[*_`]*\s*[:=：][*_]*\s*(?P<value>.*)", re.IGNORECASE | re.DOTALL
)
_WRAPPED = re.compile(rf"\s*\||[\s*_`•+-]*{_NAMES}[*_`]*\s*:", re.IGNORECASE)
_BAR = re.compile(rf"\\?\||;(?=\s*{_NAMES}\s*[:=])", re.IGNORECASE)
_ASKED = re.compile(rf"^[\s>*-]*WORK:\s*<|\[{BLOCK}\]", re.MULTILINE)
_COMMA = re.compile(r"\s*[,;]\s*")
_EFFORT = re.compile(r"[\W_]*(?P<size>x?s(?:mall)?|m(?:edium)?|x?l(?:arge)?)\b", re.IGNORECASE)
_NONE = re.compile(
    r"\W*(?:none|n/a|nothing)(?: (?:to do|is |needed|required|at all))*\W*", re.IGNORECASE
)
_STRING = r"\"(?:\\.|[^\"\\])*\""
_NOT_JSON = re.compile(
    rf"{_STRING}|(?P<drop>//[^\n]*|/\*[^*]*\*/|(?<=\s)#[^\n]*)"
    r"|(?P<key>(?<=[{,])\s*[A-Za-z_]\w*)(?=\s*:)|'(?P<quoted>(?:\\.|[^'\\\n])*)'"
    r"|\b(?P<word>True|False|None)\b",
    re.DOTALL,
)
"""What models write that is not JSON: comments, bare names, Python."""
_LAST_COMMA = re.compile(r",(?=\s*[}\]])")
_FLAT_OBJECT = re.compile(r"\{[^{}]*\}")
_PYTHON = {"True": "true", "False": "false", "None": "null"}
_ALIASES = {"file": "files", "path": "files", "paths": "files"}
_OUTER = frozenset({"verdict", "items", "none"})
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


class StatedWork(msgspec.Struct):
    """The work that an answer states, and what of it could not be read."""

    items: list[WorkItem] = []
    verdict: str = ""
    is_none: bool = False
    """It says that there is nothing to do."""
    doubts: list[tuple[int, str]] = []
    """What could not be read, and its line."""
    lines: set[int] = set()
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

    def add(self, line: int, title: str, fields: Mapping[str, Any]) -> None:
        """Take an item; what of its fields cannot be understood is a doubt."""
        kind = _text(fields.get("kind")).lower()
        if kind and kind not in set(ItemKind):
            self.doubts.append((line, f"{kind!r} is no kind of work: {title}"))
        said = _text(fields.get("effort"))
        size = _EFFORT.match(said)
        if said and size is None:
            self.doubts.append((line, f"effort is S, M or L, not {said!r}"))
        self.doubts += [(line, f"no known field: {name!r}") for name in sorted({*fields} - _KNOWN)]
        item = WorkItem(
            line=line,
            title=title,
            kind=ItemKind(kind) if kind in set(ItemKind) else ItemKind.CHANGE,
            files=tuple(_names(fields.get("files"))),
            done_when=_text(fields.get("done_when")),
            effort=Effort(size["size"].lower().removeprefix("x")[0].upper()) if size else None,
            evidence=tuple(_names(fields.get("evidence"))),
            quote=_text(fields.get("quote")),
            after=tuple(filter(None, map(_text, _listed(fields.get("after"))))),
        )
        self.items.append(item)


def asks_for_work(prompt: str) -> bool:
    """Whether a prompt shows one of the forms."""
    return _ASKED.search(prompt) is not None


def read_work(lines: Sequence[BodyLine]) -> StatedWork:
    """The blocks of an answer, else its WORK lines."""
    work = StatedWork()
    for block in _blocks(lines):
        _read_block(work, block)
    work.is_block = bool(work.lines)
    if not work.is_stated:
        _read_lines(work, lines)
    if work.items and work.is_none:
        message = "it says that there is no work, and states some"
        work.doubts.append((work.items[0].line, message))
    return work


def _blocks(lines: Sequence[BodyLine]) -> Iterator[Sequence[BodyLine]]:
    """The blocks between the marks, and the code blocks that hold the same."""
    position = 0
    while position < len(lines):
        text = lines[position].text
        fence = FENCE.match(text)
        if not _BEGIN.search(text) and fence is None:
            position += 1
            continue
        is_end = _END.search if _BEGIN.search(text) else FENCE.match
        first = position if is_end is _END.search else position + 1
        ends = (at for at in range(first, len(lines)) if is_end(lines[at].text))
        end = next(ends, len(lines) - 1)
        block = lines[position : end + 1]
        whole = "\n".join(line.text for line in block)
        is_named = fence is not None and BLOCK in fence["info"]
        if is_named or _BEGIN.search(text) or _states_work(whole):
            yield block
        elif _BEGIN.search(whole):
            end = position  # a code block around the marks
        position = end + 1


def _states_work(block: str) -> bool:
    """Whether a code block without our name is one of ours: other JSON may have items too."""
    if _BEGIN.search(block) or not all(key.search(block) for key in _KEYS):
        return False
    content = decoded(block)
    return content is None or (isinstance(content, dict) and {*content} <= _OUTER)


def _read_block(work: StatedWork, block: Sequence[BodyLine]) -> None:
    text = "\n".join(line.text for line in block if not FENCE.match(line.text))
    start, first = _BEGIN.search(text), block[0].number
    body = text[start.end() :] if start is not None else text
    end = _END.search(body)
    is_closed = end is not None or (start is None and FENCE.match(block[-1].text) is not None)
    if not is_closed or (len(block) == 1 and end is None):
        work.doubts.append((first, "its block of work is never closed"))
    content = decoded(body[: end.start()] if end is not None else body)
    if content is None:
        content = list(_whole_items(body))
        more = f"; {len(content)} of its items were read" if content else ""
        work.doubts.append((first, f"its block of work is not JSON{more}"))
    else:
        work.lines |= {line.number for line in block}
    while isinstance(content, dict) and len(content) == 1 and not {*content} & {"items", "title"}:
        (inner,) = content.values()
        if not isinstance(inner, dict | list):
            break
        content = inner
    if isinstance(content, dict) and "title" in content:
        content = [content]
    about = content if isinstance(content, dict) else {"items": content}
    work.verdict = work.verdict or _text(about.get("verdict"))
    key = next((key for key in ("items", "tasks", "work") if key in about), "")
    entries = _listed(about.get(key))
    says_none = str(about.get("none", "")).lower() in {"true", "yes"}
    work.is_none = work.is_none or says_none or bool(key and not entries and not work.doubts)
    if not key and not says_none:
        work.doubts.append((first, "its block of work has no items"))
    for entry in entries:
        fields = {"title": entry} if isinstance(entry, str) else entry
        title = _text(fields.get("title")) if isinstance(fields, dict) else ""
        line = next((one.number for one in block if title and title in one.text), first)
        if title:
            work.add(line, title, {name: one for name, one in fields.items() if name != "title"})
        else:
            work.doubts.append((line, "an item of its block has no title"))


def _read_lines(work: StatedWork, lines: Sequence[BodyLine]) -> None:
    header: tuple[str, ...] = ()
    for position, line in enumerate(lines):
        cells = row_cells(line.text)
        if cells and _bare(cells[0]).lower() in {"work", "task", "title"} and len(cells) > 1:
            names = tuple(_field_name(cell) for cell in cells[1:])
            header = names if all(name in _KNOWN for name in names) else ()
            work.lines |= {line.number} if header else set()
        elif header and cells:
            work.lines.add(line.number)
            if not all(set(cell) <= set(" :-") for cell in cells):
                title = _bare(cells[0].removeprefix("WORK:"))
                work.add(line.number, title, dict(zip(header, cells[1:], strict=False)))
        elif line.number not in work.lines:
            header = ()
            _read_line(work, lines, position)


def _read_line(work: StatedWork, lines: Sequence[BodyLine], position: int) -> None:
    line = lines[position]
    match = _LINE.match(line.text)
    if match is None:
        if _STRAY.match(line.text) and not line.in_code:
            work.doubts.append((line.number, "it looks like a WORK line and has not its form"))
        return
    text, last = line.text[match.end() :], position
    is_list = not text.strip(" |*_`")
    while last + 1 < len(lines):
        following = lines[last + 1].text
        is_point = is_list and without_marker(following) != following.strip()
        if not (is_point or _WRAPPED.match(following)):
            break
        last += 1
        is_field = _WRAPPED.match(following) is not None
        joint = "|" if is_field else "WORK:"
        text += f" {joint} {without_marker(following).lstrip('|')}"
    pieces = [piece for piece in _NEXT.split(text) if piece.strip(" |*_`")]
    has_form = any(_BAR.search(piece) or _NONE.fullmatch(piece) for piece in pieces)
    if match["word"] != "WORK" and not has_form:
        return  # a sentence that begins with the word
    if not pieces:
        work.doubts.append((line.number, "a WORK line without any text"))
    for piece in pieces:
        _read_piece(work, line.number, piece)
    work.lines |= {one.number for one in lines[position : last + 1]}


def _read_piece(work: StatedWork, line: int, text: str) -> None:
    title, *fields = _split(text.strip().rstrip("*_`|; ").strip())
    if _NONE.fullmatch(title) and not fields:
        work.is_none = True
        return
    values: dict[str, str] = {}
    for field in (one for one in fields if one.strip()):
        parsed = _FIELD.fullmatch(field)
        if parsed is None:
            work.doubts.append((line, f"no known field: {field.strip()!r}"))
            continue
        values[_field_name(parsed["name"])] = parsed["value"].strip()
    if _bare(title):
        work.add(line, _bare(title), values)
    else:
        work.doubts.append((line, "a WORK line without a title"))


def decoded(text: str) -> dict[str, Any] | list[Any] | None:
    """An object or a list as models write them: with remarks around it, or one object per line."""
    starts = [at for at in (text.find("{"), text.find("[")) if at >= 0]
    whole = text[min(starts, default=0) : max(text.rfind("}"), text.rfind("]")) + 1]
    lines = [line.strip().rstrip(",") for line in whole.split("\n") if line.strip()]
    for candidate in (whole, _repaired(whole), f"[{','.join(lines)}]"):
        try:
            found = json.loads(candidate, strict=False)
        except (ValueError, RecursionError):
            continue
        if isinstance(found, dict | list) and found:
            return found
    return None


def _repaired(text: str) -> str:
    """What models write, as JSON."""
    straight = text.translate(str.maketrans("“”„‘’", '"""\'\''))

    def spelled(match: re.Match[str]) -> str:
        if match["quoted"] is not None:
            return json.dumps(match["quoted"].replace("\\'", "'"), ensure_ascii=False)
        if match["key"] is not None:
            return f'"{match["key"].strip()}"'
        return "" if match["drop"] else _PYTHON.get(match[0], match[0])

    return _LAST_COMMA.sub("", _NOT_JSON.sub(spelled, straight))


def _whole_items(text: str) -> Iterator[dict[str, Any]]:
    """The items that can be read of a block that cannot, as one that is cut off."""
    for match in _FLAT_OBJECT.finditer(_repaired(text)):
        found = decoded(match[0])
        if isinstance(found, dict) and "title" in found:
            yield found


def _split(text: str) -> list[str]:
    """The parts between bars; a bar in code, or between the words of one value, is none."""
    bars = [*_BAR.finditer(masked(text))]
    if " | " in text:
        spaced = [one for one in bars if text[one.start() - 1 : one.end() + 1] == " | "]
        bars = [one for one in bars if one in spaced or one.end() == len(text) or one[0] != "|"]
    starts = [0, *(one.end() for one in bars)]
    ends = [*(one.start() for one in bars), len(text)]
    return [text[start:end] for start, end in zip(starts, ends, strict=True)]


def _bare(text: str) -> str:
    return text.strip().strip("*_").strip()


def _field_name(name: str) -> str:
    plain = re.sub(r"[ _-]+", "_", _bare(name).lower())
    return _ALIASES.get(plain, plain)


def _text(value: object) -> str:
    return value.strip() if isinstance(value, str) else ""


def _listed(value: object) -> Sequence[Any]:
    """The entries of a list; of an object its values; anything else is one entry, null is none."""
    if isinstance(value, dict) and "title" not in value:
        return list(value.values())
    return value if isinstance(value, list) else [] if value is None else [value]


def _names(value: object) -> Iterator[str]:
    """A list of names; also one text with commas between them."""
    if isinstance(value, list):
        for one in value:
            yield from _names(one)
    elif isinstance(value, str):
        bare = (name.strip().strip("`*").strip() for name in _COMMA.split(value.strip()))
        yield from (name for name in bare if name and name.lower() not in {"none", "n/a", "-"})
