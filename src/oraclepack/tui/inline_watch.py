"""`runs watch --inline`: a run in a few lines below the prompt. It only reads."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.widgets import DataTable, Static

from oraclepack.errors import ExitCode
from oraclepack.run.project_records import ProjectRuns
from oraclepack.settings.registry import Settings
from oraclepack.tui.app import TuiApp
from oraclepack.tui.pack_screen import PackScreen, keep_cursor
from oraclepack.tui.screen_text import cell
from oraclepack.tui.watch_screen import COLUMNS, EVERY, FLEXIBLE, step_row, summary
from oraclepack.view.run_status import RunStatus, StepStatus

MOST_STEPS = 8
_OTHER_LINES = 5
"""The summary, the names of columns, what is left out, the keys, and the prompt."""
_FIRST = ("needs_decision", "running", "waiting", "failed", "interrupted", "pending")
"""The states whose steps are shown first; the others are left out first."""


class InlineWatchScreen(PackScreen, inherit_bindings=False):
    """A run: its summary, and the steps that matter now."""

    def __init__(self, root: str, run_name: str) -> None:
        super().__init__()
        self._root, self._run_name = root, run_name

    def compose(self) -> ComposeResult:
        yield Static("Reading…", id="inline-note", classes="note", markup=False)
        table = DataTable[Text](id="inline-steps", cursor_type="none")
        table.can_focus = False
        yield table
        yield Static("", id="inline-rest", classes="note", markup=False)

    def on_mount(self) -> None:
        table = self.query_one("#inline-steps", DataTable)
        for name in COLUMNS:
            table.add_column(name, key=name)
        self.load()
        self.set_interval(EVERY, self.load)

    def load(self) -> None:
        root, name = self._root, self._run_name
        self.start("watch", lambda: ProjectRuns(root).status(name), self._show)

    def failed(self, group: str, message: str) -> None:
        self.query_one("#inline-note", Static).update(cell(message, "bold red"))

    def _show(self, status: RunStatus) -> None:
        room = max(1, min(MOST_STEPS, self.app.size.height - _OTHER_LINES))
        shown = shown_steps(status.steps, room)
        calls = {one.step_id: one for one in status.calls}
        table = self.query_one("#inline-steps", DataTable)

        def rows() -> None:
            for step in shown:
                table.add_row(*step_row(step, calls.get(step.step_id)))

        with self.app.batch_update():
            self.query_one("#inline-note", Static).update(summary(status, keys=False))
            keep_cursor(table, rows, FLEXIBLE)
            left_out = rest_text(status.steps, shown)
            line = f"{left_out}q leaves; the run goes on"
            self.query_one("#inline-rest", Static).update(cell(line, "dim"))
        if not status.alive:
            self.app.exit(None)


class InlineWatchApp(TuiApp, inherit_bindings=False):
    """The program of `runs watch --inline`. It returns None where the run has ended."""

    ENABLE_COMMAND_PALETTE = False
    INLINE_PADDING = 0
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("q,escape", "quit", "Leave", id="quit"),
        Binding("ctrl+c", "interrupt", "Leave", show=False, priority=True),
    ]

    def __init__(self, run_name: str, settings: Settings) -> None:
        super().__init__(settings.root, settings)
        self._run_name = run_name

    def open_first_screen(self) -> None:
        self.push_screen(InlineWatchScreen(self.path, self._run_name))

    def action_interrupt(self) -> None:
        self.exit(ExitCode.INTERRUPTED)


def shown_steps(steps: Sequence[StepStatus], room: int) -> list[StepStatus]:
    """The steps that are shown where there is room for so many, in the order of the pack."""
    rank = {state: number for number, state in enumerate(_FIRST)}
    by_rank = sorted(range(len(steps)), key=lambda n: rank.get(steps[n].state, len(rank)))
    return [steps[n] for n in sorted(by_rank[:room])]


def rest_text(steps: Sequence[StepStatus], shown: Sequence[StepStatus]) -> str:
    """How many steps of which state are not shown."""
    names = {one.step_id for one in shown}
    counts = Counter(one.state for one in steps if one.step_id not in names)
    listed = ", ".join(f"{count} {state}" for state, count in sorted(counts.items()))
    return f"… and {listed} · " if listed else ""
