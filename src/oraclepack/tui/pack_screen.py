"""What all screens have in common: work in threads, errors as messages, copy, pager, editor."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Generic, TypeVar, cast

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.message import Message
from textual.screen import Screen
from textual.widgets import DataTable, Footer, Header, Input, Static
from textual.worker import get_current_worker

from oraclepack.system.printable import visible
from oraclepack.tui.key_table import EVERY_SCREEN
from oraclepack.tui.outside_programs import OpenTarget
from oraclepack.tui.screen_text import block

if TYPE_CHECKING:
    from textual.notifications import SeverityLevel

    from oraclepack.tui.app import TuiApp

T = TypeVar("T")
NARROWEST = 20
"""Characters that a flexible column of a table has at least."""
_AT_ONCE = 300
"""Rows that are drawn at once."""


class Finished(Message):
    """A thread is done; `apply` shows its result, in the thread of the screen."""

    def __init__(self, apply: Callable[[], None]) -> None:
        super().__init__()
        self.apply = apply


class TextPane(VerticalScroll, can_focus=True):
    """A text that can be scrolled, copied and opened."""

    def __init__(self, *, id: str, classes: str = "") -> None:
        super().__init__(id=id, classes=classes)
        self.plain = ""

    def compose(self) -> ComposeResult:
        yield Static(markup=False)

    def show(self, text: Text | str, plain: str | None = None) -> None:
        """Show a text; `plain` is what is copied, where that is more than what is shown."""
        rich = block(text) if isinstance(text, str) else text
        self.plain = plain if plain is not None else (text if isinstance(text, str) else rich.plain)
        for static in self.query(Static):
            static.update(rich)


class PackScreen(Screen[None]):
    """A screen of the program."""

    BINDINGS: ClassVar[list[BindingType]] = EVERY_SCREEN

    @property
    def program(self) -> TuiApp:
        return cast("TuiApp", self.app)

    def start(self, group: str, call: Callable[[], T], done: Callable[[T], None]) -> None:
        """Call the api in a thread; only the last call of a group is shown."""

        def work() -> None:
            worker = get_current_worker()
            try:
                apply = partial(done, call())
            except Exception as trouble:  # noqa: BLE001 - one failed look must not end the program
                apply = partial(self.failed, group, self.program.message_of(trouble))
            if not worker.is_cancelled:
                self.post_message(Finished(apply))

        self.run_worker(work, thread=True, group=group, exclusive=True)

    def on_finished(self, event: Finished) -> None:
        event.stop()
        try:
            event.apply()
        except Exception as error:  # noqa: BLE001 - one failed look must not end the program
            self.program.report(error)

    def failed(self, group: str, message: str) -> None:
        """A call of the api failed: say so."""
        self.say(message, severity="error")

    def say(self, message: str, severity: SeverityLevel = "information") -> None:
        """A short message, as text."""
        self.notify(visible(message), severity=severity, markup=False, timeout=4)

    # What can be done with the text of a screen

    def current_text(self) -> str:
        """What `y` copies and `o` opens: the focused text, else the chosen row."""
        focused = self.focused
        if isinstance(focused, TextPane):
            return focused.plain
        if isinstance(focused, DataTable) and focused.row_count:
            row = focused.get_row_at(focused.cursor_row)
            return "  ".join(one.plain if isinstance(one, Text) else str(one) for one in row)
        return next((pane.plain for pane in self.query(TextPane) if pane.plain), "")

    def current_file(self) -> OpenTarget | None:
        """The file that `e` edits."""
        return None

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Keys that go before the focused widget leave slash and enter to the field it is in."""
        is_typing = isinstance(self.focused, Input)
        return not (is_typing and action in {"filter", "search", "open"})

    def action_back(self) -> None:
        self.program.go_back()

    def action_reload(self) -> None:
        """Read again what the screen shows."""
        self.load()

    def load(self) -> None:
        """Begin to read what the screen shows."""

    def action_copy_text(self) -> None:
        text = self.current_text()
        if not text:
            self.say("nothing to copy here")
            return
        self.app.copy_to_clipboard(text)
        self.say(f"copied {len(text):,} characters")

    def action_open_pager(self) -> None:
        text = self.current_text()
        if text:
            self.program.show_in_pager(text)

    def action_open_editor(self) -> None:
        target = self.current_file()
        if target is None:
            self.say("there is no file to edit here")
            return
        self.program.edit(target)
        self.load()


class Rows(DataTable[Text]):
    """A table whose cursor stays on its row, by number; flexible columns take what width is left.

    A long table is filled while it is shown, so that it never blocks the keys.
    """

    def __init__(self, names: Sequence[str], flexible: Sequence[str], *, id: str) -> None:
        super().__init__(id=id, cursor_type="row")
        self._names, self._flexible = names, flexible
        self._row: Callable[[int], Sequence[Text]] | None = None

    def on_mount(self) -> None:
        for name in self._names:
            self.add_column(name, key=name or "mark")

    def fill(self, count: int, row: Callable[[int], Sequence[Text]]) -> None:
        """Show so many rows, each made by its number."""
        at = self.cursor_row
        self.clear()
        self._row = row
        self._add(0, count, row)
        self._fit()
        if self.row_count:
            self.move_cursor(row=min(at, self.row_count - 1))

    def _add(self, first: int, count: int, row: Callable[[int], Sequence[Text]]) -> None:
        if row is not self._row:
            return  # it was filled again meanwhile
        for at in range(first, min(count, first + _AT_ONCE)):
            self.add_row(*row(at), key=str(at))
        if first + _AT_ONCE < count:
            self.set_timer(0.01, partial(self._add, first + _AT_ONCE, count, row))

    def _fit(self) -> None:
        """Make every column as wide as what it shows now, flexible ones as far as there is room.

        By itself the table measures new rows when it is idle, and keeps the width of former ones.
        """
        columns = self.ordered_columns
        for column in columns:
            widths = [cell.cell_len for cell in self.get_column(column.key)]
            column.content_width = max([*widths, column.label.cell_len])
        if not self._flexible or not self.region.width:
            return
        padding = 2 * self.cell_padding * len(columns)
        room = self.region.width - self.styles.scrollbar_size_vertical - padding
        chosen = [number for number, one in enumerate(columns) if one.key.value in self._flexible]
        fitted = fitted_widths([one.content_width for one in columns], chosen, room)
        for number in chosen:
            columns[number].auto_width = False
            columns[number].width = fitted[number]


class ListScreen(PackScreen, Generic[T]):
    """A note, a table of things, and the chosen one in full. Enter goes to it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "open", "Open", id="open", priority=True)
    ]
    TABLE = ""
    """The id of the table; its note is `TABLE-note`, the chosen thing `TABLE-detail`."""
    COLUMNS: ClassVar[tuple[str, ...]] = ()
    FLEXIBLE = ""
    """The column that takes what width is left."""

    def __init__(self, title: str) -> None:
        super().__init__()
        self._title = title
        self.items: Sequence[T] = ()

    def compose(self) -> ComposeResult:
        yield Header(icon="≡")
        with Horizontal(classes="columns"):
            with Vertical(classes="main"):
                yield Static("Reading…", id=f"{self.TABLE}-note", classes="note", markup=False)
                yield Rows(self.COLUMNS, (self.FLEXIBLE,), id=self.TABLE)
            yield TextPane(id=f"{self.TABLE}-detail", classes="detail")
        yield Footer()

    def on_mount(self) -> None:
        self.title = self._title
        self.table.focus()
        self.load()

    @property
    def table(self) -> Rows:
        return self.query_one(f"#{self.TABLE}", Rows)

    def show_items(self, items: Sequence[T], note: str) -> None:
        self.items = items
        self.query_one(f"#{self.TABLE}-note", Static).update(note)
        self.table.fill(len(items), lambda at: self.row(items[at]))
        self.show_detail()

    def row(self, item: T) -> Sequence[Text]:
        """A thing in the table, as `COLUMNS`."""
        raise NotImplementedError

    def detail(self, item: T | None) -> Text | str:
        """A thing in full; None where the table is empty."""
        raise NotImplementedError

    @property
    def current(self) -> T | None:
        row = self.table.cursor_row
        return self.items[row] if 0 <= row < len(self.items) else None

    def show_detail(self) -> None:
        self.query_one(f"#{self.TABLE}-detail", TextPane).show(self.detail(self.current))

    def on_data_table_row_highlighted(self) -> None:
        self.show_detail()

    def action_open(self) -> None:
        self.query_one(f"#{self.TABLE}-detail", TextPane).focus()


def fitted_widths(widths: Sequence[int], flexible: Sequence[int], room: int) -> list[int]:
    """The widths of columns that fit, where flexible ones give way, the widest first."""
    fitted = list(widths)
    while sum(fitted) > room:
        widest = max(flexible, key=lambda number: fitted[number])
        if fitted[widest] <= NARROWEST:
            break
        fitted[widest] -= 1
    return fitted
