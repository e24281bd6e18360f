"""The answers of a run beside their questions: search, and the source lines they cite."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.widgets import Footer, Header, Input, Static

from oraclepack.tui import step_details
from oraclepack.tui.dialogs import ChoiceDialog
from oraclepack.tui.outside_programs import OpenTarget
from oraclepack.tui.pack_screen import PackScreen, Rows, TextPane
from oraclepack.tui.screen_text import cell
from oraclepack.view.report import figures
from oraclepack.view.report.data import Report, ReportStep, SourceQuote
from oraclepack.view.report.write import read_run


class ReadScreen(PackScreen):
    """Answers beside their questions. / searches all of them, c goes to a cited source line."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("slash", "search", "Search", key_display="/", id="read.search", priority=True),
        Binding("enter", "open", "Open", id="read.open", priority=True),
        Binding("c", "citations", "Citations", id="read.citations"),
        Binding("b", "backlog", "Backlog", id="read.backlog"),
    ]

    def __init__(self, pack: str, run_name: str = "", step_id: str = "") -> None:
        super().__init__()
        self.pack = pack
        self.run_name = run_name
        self._first = step_id
        """The step that is shown at first."""
        self._data: Report | None = None
        self._rows: list[ReportStep] = []
        self._quote: SourceQuote | None = None

    def compose(self) -> ComposeResult:
        yield Header(icon="≡")
        yield Input(placeholder="search questions and answers", id="search", compact=True)
        yield Static("Reading…", id="read-note", classes="note", markup=False)
        with Horizontal(classes="columns"):
            with Vertical(classes="list"):
                yield Rows(("Step", "State", "Hits"), (), id="answers")
            yield TextPane(id="read-question", classes="half")
            yield TextPane(id="read-answer", classes="half")
        yield Footer()

    def on_mount(self) -> None:
        self.title = f"Answers – {Path(self.pack).name}"
        self.query_one("#answers", Rows).focus()
        self.load()

    def load(self) -> None:
        self.start("read", self._read, self._show)

    def _read(self) -> Report:
        settings = self.program.load_settings(self.pack)
        return read_run(self.run_name or self.pack, settings)

    def _show(self, data: Report) -> None:
        self._data = data
        self.sub_title = step_details.pack_note(data) or data.run.status
        self._fill()
        ids = [one.step_id for one in self._rows]
        if self._first in ids:
            self.query_one("#answers", Rows).move_cursor(row=ids.index(self._first))
            self._first = ""

    def _fill(self) -> None:
        words = self.query_one("#search", Input).value.lower().split()
        steps = self._data.steps if self._data else ()
        hits = {one.step_id: count_hits(one, words) for one in steps}
        rows = self._rows = [one for one in steps if not words or hits[one.step_id]]
        table = self.query_one("#answers", Rows)
        table.fill(
            len(rows),
            lambda at: (
                cell(rows[at].step_id),
                step_details.state_of(rows[at]),
                cell(str(hits[rows[at].step_id]) if words else ""),
            ),
        )
        answered = self._data.answered if self._data else 0
        note = f"{figures.count(answered, 'answer')}"
        if words:
            note = f"{figures.count(len(self._rows), 'step')} with {' '.join(words)}"
        self.query_one("#read-note", Static).update(note)
        self._show_step()

    def on_input_changed(self) -> None:
        if self._data is not None:
            self._fill()

    def on_input_submitted(self) -> None:
        self.query_one("#answers", Rows).focus()

    def on_data_table_row_highlighted(self) -> None:
        self._show_step()

    def current_step(self) -> ReportStep | None:
        row = self.query_one("#answers", Rows).cursor_row
        return self._rows[row] if 0 <= row < len(self._rows) else None

    def _show_step(self) -> None:
        step = self.current_step()
        self._quote = None
        question, answer = (
            self.query_one("#read-question", TextPane),
            self.query_one("#read-answer", TextPane),
        )
        if step is None:
            question.show("No step fits.")
            answer.show("")
            return
        question.show(step_details.asked_text(step.question or step.title, step.prompts))
        answer.show(step_details.answer_text(step))

    def action_open(self) -> None:
        self.query_one("#read-answer", TextPane).focus()

    def action_search(self) -> None:
        self.set_focus(self.query_one("#search", Input))

    def action_back(self) -> None:
        search = self.query_one("#search", Input)
        if self._quote is not None:
            self._show_step()
        elif self.focused is search or search.value:
            search.value = ""
            self.query_one("#answers", Rows).focus()
        else:
            super().action_back()

    @work(group="dialog")
    async def action_citations(self) -> None:
        step = self.current_step()
        quotes = [quote for one in (step.answers if step else ()) for quote in one.quotes]
        if not quotes:
            self.say("this answer cites no source line")
            return
        choices = [(str(at), f"{one}  {one.state}") for at, one in enumerate(quotes)]
        chosen = await self.app.push_screen_wait(ChoiceDialog("Go to a cited place", choices))
        if chosen is not None:
            self._quote = quotes[int(chosen)]
            pane = self.query_one("#read-question", TextPane)
            pane.show(step_details.quote_text(self._quote))
            pane.focus()

    def current_file(self) -> OpenTarget | None:
        root = Path(self.program.load_settings(self.pack).root)
        if self._quote is not None:
            return OpenTarget(root / self._quote.path, self._quote.first_line)
        step = self.current_step()
        if step is None or not step.answers or self._data is None:
            return None
        path = step.answers[0].path
        return OpenTarget(step_details.answer_file(root, self._data.run.name, path))

    def current_text(self) -> str:
        focused = self.focused
        pane = (
            focused if isinstance(focused, TextPane) else self.query_one("#read-answer", TextPane)
        )
        return pane.plain

    def action_backlog(self) -> None:
        self.program.open_backlog(self.pack, self._data.run.name if self._data else self.run_name)


def count_hits(step: ReportStep, words: list[str]) -> int:
    """How often the words occur in a step; 0 where one of them is missing."""
    text = "\n".join(
        (step.title, step.question, *step.prompts, *(one.text for one in step.answers))
    ).lower()
    counts = [text.count(word) for word in words]
    return sum(counts) if all(counts) else 0
