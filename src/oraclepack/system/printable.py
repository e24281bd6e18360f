"""Words and names from outside may hold bytes that are no text; records are always UTF-8.

They may also hold invisible characters that control a terminal, or the direction and order of a
line. `spelled` shows these, `visible` leaves them out, `screen_json` escapes them.
"""

import re
from collections.abc import Callable
from typing import TypeVar, cast

import msgspec

Record = TypeVar("Record", bound=msgspec.Struct)

_STEERING = (
    (0x00, 0x08),  # C0 controls, but for tab and line end
    (0x0B, 0x1F),
    (0x7F, 0x9F),  # DEL and the C1 controls: 0x9B alone begins a terminal sequence
    (0xAD, 0xAD),  # soft hyphen
    (0x061C, 0x061C),  # direction marks, embeddings, overrides, isolates
    (0x200E, 0x200F),
    (0x202A, 0x202E),
    (0x2066, 0x2069),
    (0x200B, 0x200B),  # zero width; the joiners U+200C and U+200D are part of scripts and emoji
    (0x2060, 0x2065),
    (0x206A, 0x206F),
    (0xFEFF, 0xFEFF),
    (0xFFF9, 0xFFFB),
    (0xE0000, 0xE007F),  # tags: a second alphabet that nothing shows
)
_SEPARATORS = "\u2028\u2029"
"""Line and paragraph ends that only some programs know."""
_REMOVED = {code: None for low, high in _STEERING for code in range(low, high + 1)}
_REPLACED = {**_REMOVED, **dict.fromkeys(map(ord, _SEPARATORS), " ")}
_INVISIBLE = (
    "["
    + "".join(f"{chr(low)}-{chr(high)}" for low, high in _STEERING if low)
    + f"\x00-\x08{_SEPARATORS}\ud800-\udfff]"
)


def visible(text: str) -> str:
    """The text without anything that would control a terminal; tabs and line ends stay."""
    return text if text.isascii() and text.isprintable() else text.translate(_REPLACED)


def one_line(text: str) -> str:
    """The same on one line: a value from outside cannot look like a line of ours."""
    return " ".join(visible(text).split()) if not text.isprintable() else text


def single_lines(record: Record) -> Record:
    """The record with every text in it on one line; what people are shown is made of this one."""
    return cast("Record", changed_texts(record, one_line))


def quantity(number: int, noun: str, plural: str = "") -> str:
    """`1 task`, `3 tasks`."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def changed_texts(value: object, change: Callable[[str], str]) -> object:
    """The value with every text in it changed, keys of mappings too; all shapes stay."""
    # Exactly `str`: a member of an enum is a word of ours, not a text from outside.
    if type(value) is str:
        return change(value)
    match value:
        case msgspec.Struct():
            before = {name: getattr(value, name) for name in value.__struct_fields__}
            after = {name: changed_texts(part, change) for name, part in before.items()}
            return value if after == before else msgspec.structs.replace(value, **after)
        case tuple() | list():
            return type(value)(changed_texts(item, change) for item in value)
        case dict():
            return {
                changed_texts(key, change): changed_texts(item, change)
                for key, item in value.items()
            }
        case _:
            return value


def spelled(text: str) -> str:
    r"""The text with every invisible character spelled out, as `\x1b` or `\u202e`.

    For text files: nothing is lost, and no control character reaches a terminal.
    """
    if text.isascii() and text.isprintable():
        return text
    return re.sub(_INVISIBLE, lambda match: _spelling(ord(match[0])), text)


def _spelling(code: int) -> str:
    if code <= 0xFF:  # as Python and C write it
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


def screen_json(data: bytes) -> bytes:
    """JSON whose decoded value is the same, with every invisible character escaped.

    Only strings hold such characters.
    """
    if data.isascii() and b"\x7f" not in data:
        return data
    return re.sub(_INVISIBLE, lambda match: _json_escape(match[0]), data.decode()).encode()


def _json_escape(sign: str) -> str:
    if sign < " ":
        return sign  # the line ends between values; inside strings JSON has none
    units = sign.encode("utf-16-be")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))


def readable(text: str) -> str:
    """The text with every byte that is none spelled out, so that it can be written anywhere."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "backslashreplace").decode()
    return text


def readable_record(record: Record) -> Record:
    """The record with every text in it readable, keys of mappings too."""
    return cast("Record", changed_texts(record, readable))
