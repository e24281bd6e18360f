"""The live table as lines of text. The only module that imports rich."""

import re
from collections.abc import Iterator

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from oraclepack.cli.live import Frame, Row, RowState, fitting
from oraclepack.cli.text import clock, size
from oraclepack.journal.costs import money, short_cost
from oraclepack.system.printable import visible

_COLOURS = {
    RowState.RUNNING: "cyan",
    RowState.WAITING: "yellow",
    RowState.OK: "green",
    RowState.FAILED: "bold red",
    RowState.INTERRUPTED: "yellow",
    RowState.BUDGET: "yellow",
    RowState.AWAITED: "yellow",
    RowState.HELD: "bold red",
    RowState.SKIPPED: "yellow",
    RowState.QUEUED: "dim",
    RowState.DONE: "dim green",
    RowState.LEFT: "dim",
    RowState.NOT_STARTED: "dim",
}
_COLUMNS = (
    ("step", 0),
    ("state", 0),
    ("elapsed", 0),
    ("output", 40),
    ("attempt", 50),
    ("retries", 60),
    ("title", 72),
)
"""Each column and the width of the screen from which it is shown."""
_RIGHT = frozenset({"elapsed", "output", "attempt", "retries"})
_GAP = 2
_INDENT = " " * 6
_PAINT = re.compile(r"\x1b\[[0-9;]*m")


class Painting:
    """Turns frames into lines that fit a screen."""

    def __init__(self, *, color: bool) -> None:
        self._console = Console(
            color_system="standard" if color else None,
            force_terminal=True,
            highlight=False,
            emoji=False,
            markup=False,
            soft_wrap=False,
            legacy_windows=False,
        )

    def lines(self, frame: Frame, width: int, height: int | None = None) -> list[str]:
        """The frame in at most `height` lines, each narrower than `width`."""
        # The last column stays free: a cursor behind it is drawn differently everywhere.
        wide = max(width - 1, 1)
        self._console.width = wide  # else a variable COLUMNS of the shell would decide
        every = sum(row.lines for row in frame.rows)
        room = every if height is None else max(height - 3 - bool(frame.stopping), 1)
        rows, rest = fitting(frame.rows, room)
        with self._console.capture() as captured:
            self._console.print(_table(rows, width), width=wide)
        table = captured.get().splitlines()
        with self._console.capture() as captured:
            if rest:
                self._print(Text(rest, "dim"), wide)
            if frame.stopping:
                self._print(Text(frame.stopping, "yellow"), wide)
            self._print(_total(frame), wide)
        return [*self._with_notes(table, rows, wide), *captured.get().splitlines()]

    def _with_notes(self, table: list[str], rows: tuple[Row, ...], wide: int) -> Iterator[str]:
        """Each row takes one line below the heads; its note follows in a line of its own."""
        heads = len(table) - len(rows)
        yield from table[:heads]
        for line, row in zip(table[heads:], rows, strict=True):
            yield line
            if row.note:
                with self._console.capture() as captured:
                    note = " ".join(visible(row.note).split())
                    self._print(Text(f"{_INDENT}{note}", _COLOURS[row.state]), wide)
                yield captured.get().rstrip("\n")

    def _print(self, text: Text, wide: int) -> None:
        text.truncate(wide, overflow="ellipsis")
        self._console.print(text, width=wide, no_wrap=True)


def width_of(line: str) -> int:
    """How many columns a painted line takes."""
    return cell_len(_PAINT.sub("", line))


def _table(rows: tuple[Row, ...], width: int) -> Table:
    columns = [name for name, least in _COLUMNS if width >= least]
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, _GAP, 0, 0))
    cells = [_cells(row) for row in rows]
    needed = {name: max([len(name), *(one[name].cell_len for one in cells)]) for name in columns}
    # Cut here: rich would make all columns shrink together.
    room = width - 1 - sum(needed[name] + _GAP for name in columns if name != "title")
    for one in cells:
        one["title"].truncate(max(room, 1), overflow="ellipsis")
    for name in columns:
        table.add_column(
            name,
            justify="right" if name in _RIGHT else "left",
            no_wrap=True,
            overflow="ellipsis",
        )
    for one in cells:
        table.add_row(*(one[name] for name in columns))
    return table


def _cells(row: Row) -> dict[str, Text]:
    ran = row.attempts > 0
    return {
        "step": Text(row.step_id),
        "state": Text(row.state.value, _COLOURS[row.state]),
        "elapsed": Text("" if row.elapsed_ms is None else clock(row.elapsed_ms)),
        "output": Text("" if row.bytes is None else size(row.bytes)),
        "attempt": Text(str(row.attempts) if ran else ""),
        "retries": Text(str(row.retries) if ran else ""),
        "title": Text(
            " ".join(visible(row.title).split()), "dim" if row.state is RowState.LEFT else ""
        ),
    }


def _total(frame: Frame) -> Text:
    """`3/20 done, 2 running · 7:12, about 41:00 left · 2 from the cache, $0.84 saved · $0.42`."""
    counts = [
        (frame.count(RowState.RUNNING), "running"),
        (frame.count(RowState.WAITING), "waiting"),
        (frame.count(RowState.FAILED), "failed"),
        (frame.count(RowState.INTERRUPTED), "interrupted"),
        (frame.count(RowState.BUDGET), "over budget"),
        (frame.count(RowState.AWAITED), "awaited"),
        (frame.count(RowState.HELD), "held"),
        (frame.count(RowState.QUEUED), "queued"),
        (frame.count(RowState.NOT_STARTED), "not started"),
    ]
    figures = [f"{frame.done}/{frame.total} done"]
    figures += [f"{count} {word}" for count, word in counts if count]
    time = clock(frame.elapsed_ms)
    time += f", about {clock(frame.eta_ms)} left" if frame.eta_ms is not None else ""
    parts = [", ".join(figures), time]
    saved = f", {money(frame.cost.saved)} saved" if frame.cost.saved else ""
    parts += [f"{frame.cache_hits} from the cache{saved}"] if frame.cache_hits else []
    parts += [short_cost(frame.cost)] if frame.cost.calls else []
    return Text(" · ".join(parts), "bold")
