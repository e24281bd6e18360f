"""Rows of words as aligned columns."""

from collections.abc import Iterable, Sequence


def columns(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of plain text: each column as wide as its widest cell, the last one as it is."""
    table = [tuple(head), *(tuple(" ".join(cell.split()) for cell in row) for row in rows)]
    widths = [max(len(row[at]) for row in table) for at in range(len(head))]
    lines = (
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in table
    )
    return "\n".join(lines) + "\n"
