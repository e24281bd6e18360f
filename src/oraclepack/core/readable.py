"""Words and names from outside may hold bytes that are no text; records are UTF-8 all the same."""

from typing import TypeVar

import msgspec

Record = TypeVar("Record", bound=msgspec.Struct)


def readable(text: str) -> str:
    """The text with every byte that is none spelled out, so that it can be written anywhere."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "backslashreplace").decode()
    return text


def readable_record(record: Record) -> Record:
    """The record with every text in it readable, keys of mappings too."""
    return msgspec.convert(_readable_parts(msgspec.to_builtins(record)), type(record))


def _readable_parts(value: object) -> object:
    match value:
        case str():
            return readable(value)
        case list() | tuple():
            return [_readable_parts(item) for item in value]
        case dict():
            return {_readable_parts(key): _readable_parts(item) for key, item in value.items()}
        case _:
            return value
