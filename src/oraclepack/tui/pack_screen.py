"""What all screens have in common: work in threads, errors as messages, copy, pager, editor."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, ClassVar, TypeVar, cast

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import VerticalScroll
from textual.message import Message
from textual.screen import Screen
from textual.widgets import DataTable, Footer, Input, Static
from textual.worker import get_current_worker

from oraclepack.system.printable import visible
from oraclepack.tui.faults import FaultGuard
from oraclepack.tui.key_table import EVERY_SCREEN
from oraclepack.tui.outside_programs import OpenTarget
from oraclepack.tui.screen_text import block

if TYPE_CHECKING:
    from textual.notifications import SeverityLevel

    from oraclepack.tui.app import TuiApp

T = TypeVar("T")
NARROWEST = 20
"""Characters that a flexible column of a table has at least."""


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
        with FaultGuard(self.program.report):
            event.apply()

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
        """Keys that go before the focused widget leave a slash to the field it is typed into."""
        is_typing = isinstance(self.focused, Input)
        return not (is_typing and action in {"filter", "search"})

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

    def compose_footer(self) -> ComposeResult:
        yield Footer()


def keep_cursor(
    table: DataTable[Text], fill: Callable[[], None], flexible: Sequence[str] = ()
) -> None:
    """Fill a table again; the cursor stays on its row, by number."""
    row = table.cursor_row
    table.clear()
    fill()
    fit_columns(table, flexible)
    if table.row_count:
        table.move_cursor(row=min(row, table.row_count - 1))


def fit_columns(table: DataTable[Text], flexible: Sequence[str] = ()) -> None:
    """Make every column as wide as what it shows now; `flexible` ones as far as there is room.

    By itself the table measures new rows when it is idle, and keeps the width of former ones.
    """
    columns = table.ordered_columns
    for column in columns:
        widths = [cell.cell_len for cell in table.get_column(column.key)]
        column.content_width = max([*widths, column.label.cell_len])
    if not flexible or not table.region.width:
        return
    padding = 2 * table.cell_padding * len(columns)
    room = table.region.width - table.styles.scrollbar_size_vertical - padding
    chosen = [number for number, one in enumerate(columns) if one.key.value in flexible]
    fitted = fitted_widths([one.content_width for one in columns], chosen, room)
    for number in chosen:
        columns[number].auto_width = False
        columns[number].width = fitted[number]


def fitted_widths(widths: Sequence[int], flexible: Sequence[int], room: int) -> list[int]:
    """The widths of columns that fit, where flexible ones give way, the widest first."""
    fitted = list(widths)
    while sum(fitted) > room:
        widest = max(flexible, key=lambda number: fitted[number])
        if fitted[widest] <= NARROWEST:
            break
        fitted[widest] -= 1
    return fitted
