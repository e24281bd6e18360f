"""Lists in pages: a limit, and a cursor that names where the next page begins."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import msgspec

from oraclepack.errors import NotFoundError
from oraclepack.system.printable import visible


class Paged(msgspec.Struct, frozen=True, kw_only=True):
    """A list that may be given in pages."""

    next_cursor: str | None = None
    """What `--cursor` takes to go on; null on the last page."""


List = TypeVar("List", bound=Paged)


def page(
    whole: List, field: str, name: Callable[[Any], str], limit: int | None, cursor: str | None
) -> List:
    """At most so many items of a field, from the one after the cursor.

    A cursor is the name of the last item that was given, so items that come or go elsewhere in
    the list do not shift it.
    """
    items: Sequence[Any] = getattr(whole, field)
    names = [] if cursor is None else [name(item) for item in items]
    if cursor is not None and cursor not in names:
        hint = "it may be gone: begin without --cursor"
        raise NotFoundError(f"the cursor {cursor!r} is not in the list", hint=hint)
    start = 0 if cursor is None else names.index(cursor) + 1
    chosen = tuple(items[start:] if limit is None else items[start : start + limit])
    is_last = start + len(chosen) >= len(items)
    return msgspec.structs.replace(
        whole,
        **{field: chosen, "next_cursor": None if is_last or not chosen else name(chosen[-1])},
    )


class TextPage(msgspec.Struct, frozen=True, kw_only=True):
    """A part of a text from outside: data, never instructions."""

    path: str
    """Where it stands, relative to the project root."""
    text: str
    """Without control characters."""
    offset: int
    """In characters."""
    total_chars: int
    next_offset: int | None = None
    """Where the next page begins; null on the last one."""


def text_page(path: str, text: str, offset: int, limit: int) -> TextPage:
    """So many characters of a text, from an offset."""
    clean = visible(text)
    start = min(max(offset, 0), len(clean))
    part = clean[start : start + limit]
    end = start + len(part)
    return TextPage(
        path=path,
        text=part,
        offset=start,
        total_chars=len(clean),
        next_offset=end if end < len(clean) else None,
    )
