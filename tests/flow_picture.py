"""Draws the pictures of the pages from text: boxes on a grid, joined by arrows."""

from html import escape
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "docs/data_flow.txt"
PAID_ONCE = ROOT / "docs/paid_once.txt"

WIDTH, HEIGHT = 190, 52
ACROSS, DOWN = 270, 104
MARGIN = 20
_FONT = 'font-family="sans-serif" font-size="13"'
_HEAD = (
    '<marker id="head" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8" '
    'orient="auto"><path d="M0 0 8 4 0 8z" fill="#555"/></marker>'
)


class Box(NamedTuple):
    """A box by its place in the grid, with one or two lines of text."""

    column: int
    row: int
    lines: tuple[str, ...]

    @property
    def left(self) -> int:
        return MARGIN + self.column * ACROSS

    @property
    def top(self) -> int:
        return MARGIN + self.row * DOWN

    @property
    def middle(self) -> tuple[int, int]:
        return self.left + WIDTH // 2, self.top + HEIGHT // 2


class Arrow(NamedTuple):
    """An arrow between two boxes, and the word beside it."""

    start: str
    end: str
    label: str


def read(text: str) -> tuple[dict[str, Box], list[Arrow]]:
    """The boxes and arrows of a drawing; ValueError names the line that cannot be read."""
    boxes: dict[str, Box] = {}
    arrows: list[Arrow] = []
    for number, line in enumerate(text.splitlines(), start=1):
        match line.split():
            case [] | ["#", *_]:
                continue
            case ["box", name, column, row, *words] if words:
                lines = tuple(part.strip() for part in " ".join(words).split("|"))
                boxes[name] = Box(int(column), int(row), lines)
            case ["arrow", start, end, *words] if start in boxes and end in boxes:
                arrows.append(Arrow(start, end, " ".join(words)))
            case _:
                raise ValueError(f"line {number} of the drawing cannot be read: {line}")
    return boxes, arrows


def draw(text: str, title: str = "The data flow of oraclepack") -> str:
    """The drawing as SVG."""
    boxes, arrows = read(text)
    width = max(box.left for box in boxes.values()) + WIDTH + MARGIN
    height = max(box.top for box in boxes.values()) + HEIGHT + MARGIN
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" {_FONT}>',
        f"<title>{escape(title)}</title>",
        f"<defs>{_HEAD}</defs>",
        f'<rect width="{width}" height="{height}" fill="#fff"/>',
        *(_arrow(boxes[arrow.start], boxes[arrow.end], arrow.label) for arrow in arrows),
        *map(_box, boxes.values()),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _box(box: Box) -> str:
    across, down = box.middle
    first = down + 5 - 8 * (len(box.lines) - 1)
    texts = "".join(
        f'<text x="{across}" y="{first + 17 * number}" text-anchor="middle" '
        f'fill="{"#111" if number == 0 else "#555"}">{escape(line)}</text>'
        for number, line in enumerate(box.lines)
    )
    frame = (
        f'<rect x="{box.left}" y="{box.top}" width="{WIDTH}" height="{HEIGHT}" rx="6" '
        'fill="#eef3fb" stroke="#4a6fa5"/>'
    )
    return frame + texts


def _arrow(start: Box, end: Box, label: str) -> str:
    (x1, y1), (x2, y2) = start.middle, end.middle
    if start.row == end.row:
        right = end.column > start.column
        x1, x2 = (start.left + WIDTH, end.left) if right else (start.left, end.left + WIDTH)
        place = f'x="{(x1 + x2) // 2}" y="{y1 - 6}" text-anchor="middle"'
        points = f"{x1},{y1} {x2},{y2}"
    elif start.column == end.column:
        below = end.row > start.row
        y1, y2 = (start.top + HEIGHT, end.top) if below else (start.top, end.top + HEIGHT)
        place = f'x="{x1 + 8}" y="{(y1 + y2) // 2 + 4}"'
        points = f"{x1},{y1} {x2},{y2}"
    else:
        y2 = end.top if end.row > start.row else end.top + HEIGHT
        x1 = start.left + WIDTH if end.column > start.column else start.left
        place = f'x="{(x1 + x2) // 2}" y="{y1 - 6}" text-anchor="middle"'
        points = f"{x1},{y1} {x2},{y1} {x2},{y2}"
    line = f'<polyline points="{points}" fill="none" stroke="#555" marker-end="url(#head)"/>'
    return f'{line}<text {place} fill="#555" font-size="12">{escape(label)}</text>'


def flow_picture() -> str:
    return draw(SOURCE.read_text(encoding="utf-8"))


def paid_once_picture() -> str:
    return draw(PAID_ONCE.read_text(encoding="utf-8"), "How one call is answered")
