"""The steps of a pack: a table with filter, order and selection, and the details of one step."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.widgets import Footer, Header, Input, Static, TabbedContent, TabPane

from oraclepack.errors import OraclePackError, UsageError
from oraclepack.journal.costs import money
from oraclepack.pack.pack_files import read_pack
from oraclepack.pack.questions import question_text
from oraclepack.run.explain_steps import WhyReport, explain_step
from oraclepack.run.forecast import CostForecast, PlannedStepCost
from oraclepack.run.plan_costs import forecast_run
from oraclepack.run.project_records import ProjectRuns
from oraclepack.run.step_content import StepContent, step_content
from oraclepack.settings.registry import Settings
from oraclepack.tui import step_details
from oraclepack.tui.findings_screen import FindingsScreen
from oraclepack.tui.log_view import LogView
from oraclepack.tui.outside_programs import OpenTarget
from oraclepack.tui.pack_screen import PackScreen, Rows, TextPane
from oraclepack.tui.screen_text import block, cell, number_cell, state_cell
from oraclepack.tui.step_filter import HELP, SORTS, StepFilter, read_filter, sorted_steps
from oraclepack.view.report import figures
from oraclepack.view.report.data import Report, ReportStep
from oraclepack.view.report.write import read_run
from oraclepack.view.step_listing import ListedStep, StepList, list_steps

_COLUMNS = ("", "Step", "State", "Title", "ROI", "Cost")


class StepsScreen(PackScreen):
    """The steps of a pack. Space selects, / filters, tab goes to the details."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("slash", "filter", "Filter", key_display="/", id="steps.filter", priority=True),
        Binding("enter", "open", "Open", id="steps.open", priority=True),
        Binding("space", "select", "Select", id="steps.select"),
        Binding("a", "select_all", "Select all shown", id="steps.all", show=False),
        Binding("x", "select_none", "Select none", id="steps.none", show=False),
        Binding("s", "sort", "Sort", id="steps.sort"),
        Binding("S", "reverse", "Reverse order", id="steps.reverse", show=False),
        Binding("p", "prepare", "Run…", id="steps.prepare"),
        Binding("w", "watch", "Watch", id="steps.watch"),
        Binding("r", "read", "Read", id="steps.read"),
        Binding("b", "backlog", "Backlog", id="steps.backlog"),
        Binding("v", "findings", "Findings", id="steps.findings"),
        Binding("c", "estimate", "Costs", id="steps.estimate"),
        Binding("1", "tab('question')", "Question", id="tab.question", show=False),
        Binding("2", "tab('files')", "Files", id="tab.files", show=False),
        Binding("3", "tab('command')", "Command", id="tab.command", show=False),
        Binding("4", "tab('answer')", "Answer", id="tab.answer", show=False),
        Binding("5", "tab('log')", "Log", id="tab.log", show=False),
        Binding("6", "tab('why')", "Why", id="tab.why", show=False),
        Binding("7", "tab('work')", "Work", id="tab.work", show=False),
    ]

    def __init__(self, pack: str) -> None:
        super().__init__()
        self.pack = pack
        self.values: dict[str, object] = {}
        """Settings that were chosen for the next run, by name."""
        self._steps: StepList | None = None
        self._questions: dict[str, str] = {}
        """What each step asks, without metadata."""
        self._run: Report | None = None
        self._ran_steps: dict[str, ReportStep] = {}
        self._run_is_read = False
        self._after_reading: Callable[[], None] | None = None
        """What a key asked for before the run was read."""
        self._forecast: dict[str, PlannedStepCost] = {}
        self._rows: list[int] = []
        self._selected: set[int] = set()
        self._filter = StepFilter()
        self._sort, self._reverse = SORTS[0], False
        self._shown_step = ""

    def compose(self) -> ComposeResult:
        yield Header(icon="≡")
        with Horizontal(classes="columns"):
            with Vertical(classes="main"):
                yield Input(placeholder=HELP, id="filter", compact=True)
                yield Static("Reading…", id="steps-note", markup=False)
                yield Rows(_COLUMNS, ("Title",), id="steps")
            with TabbedContent(id="tabs", classes="detail"):
                for name in step_details.TABS:
                    with TabPane(name.capitalize(), id=f"tab-{name}"):
                        if name == "log":
                            yield LogView(id="text-log")
                        else:
                            yield TextPane(id=f"text-{name}")
        yield Footer()

    def on_mount(self) -> None:
        self.title = Path(self.pack).name
        self.table.focus()
        self.load()

    @property
    def table(self) -> Rows:
        return self.query_one("#steps", Rows)

    def load(self) -> None:
        self._shown_step = ""
        self.start("steps", self._list, self._show)
        self.start("run", self._read_run, self._show_run)

    def settings(self) -> Settings:
        """The settings of this command and of this screen."""
        return self.program.load_settings(self.pack, self.values)

    def _list(self) -> StepList:
        pack = read_pack(Path(self.pack))
        self._questions = {str(step.id): question_text(step) for step in pack.steps}
        return list_steps(self.pack, self.settings())

    def _read_run(self) -> Report | None:
        try:
            return read_run(self.pack, self.settings())
        except OraclePackError:
            return None  # it has not run yet

    def _show(self, steps: StepList) -> None:
        self._steps = steps
        self._fill()

    def _show_run(self, run: Report | None) -> None:
        self._run, self._run_is_read = run, True
        self._ran_steps = {one.step_id: one for one in run.steps} if run else {}
        self._shown_step = ""
        if run is not None:
            note = step_details.pack_note(run)
            self.sub_title = f"{run.run.status}{f' ({note})' if note else ''}"
        if self._steps is not None:
            self._fill()
        asked, self._after_reading = self._after_reading, None
        if asked is not None:
            asked()

    # The table

    def _state(self, step: ListedStep) -> str | None:
        ran = self._report_step(step.step_id)
        return ran.state if ran is not None else step.status

    def _report_step(self, step_id: str) -> ReportStep | None:
        return self._ran_steps.get(step_id)

    def _fill(self) -> None:
        assert self._steps is not None
        rows = [(at, step, self._state(step)) for at, step in enumerate(self._steps.steps)]
        fitting = [row for row in rows if self._filter.accepts(row[1], row[2])]
        ordered = sorted_steps(fitting, self._sort, reverse=self._reverse)
        table = self.table
        current = self._rows[table.cursor_row] if table.cursor_row < len(self._rows) else 0
        shown = self._rows = [at for at, _, _ in ordered]
        table.fill(len(shown), lambda row: self._row(shown[row]))
        if current in shown and shown.index(current) < table.row_count:
            table.move_cursor(row=shown.index(current))
        self._show_note(len(rows))
        self._show_details()

    def _row(self, at: int) -> tuple[Text, ...]:
        assert self._steps is not None
        step = self._steps.steps[at]
        ran = self._report_step(step.step_id)
        return (
            cell("●" if at in self._selected else " ", "bold cyan"),
            cell(step.step_id),
            step_details.state_of(ran) if ran else state_cell(step.status or "pending"),
            cell(step.title or step.reference or "-"),
            number_cell("-" if step.roi is None else f"{step.roi:g}"),
            number_cell(self._cost(step.step_id)),
        )

    def _cost(self, step_id: str) -> str:
        """What the step cost, else what it would cost as far as that was forecast."""
        ran = self._report_step(step_id)
        if ran is not None and ran.cost.calls:
            return figures.cost_cell(ran.cost)
        planned = self._forecast.get(step_id)
        if planned is None:
            return "–"
        return f"~{money(planned.cost.likely)}" if planned.cost else "unknown"

    def _show_note(self, total: int) -> None:
        assert self._steps is not None
        chosen = f", {len(self._selected)} selected" if self._selected else ""
        order = f"by {self._sort}{' ↑' if self._reverse else ''}"
        part = f"{len(self._rows)} of " if len(self._rows) != total else ""
        attention = self._run.attention if self._run else ()
        look = f"; {figures.count(len(attention), 'thing')} to look at" if attention else ""
        note = f"{part}{figures.count(total, 'step')} {order}{chosen}{look}"
        self.query_one("#steps-note", Static).update(note)

    def current_step(self) -> ListedStep | None:
        row = self.table.cursor_row
        if self._steps is None or not 0 <= row < len(self._rows):
            return None
        return self._steps.steps[self._rows[row]]

    def selected_ids(self) -> tuple[str, ...]:
        """The selected steps, in the order of the pack."""
        steps = self._steps.steps if self._steps else ()
        return tuple(steps[at].step_id for at in sorted(self._selected))

    # Keys

    def action_filter(self) -> None:
        # The binding has priority, so that it acts before the next key is given to a widget:
        # what is typed fast after it must not reach the table.
        self.set_focus(self.query_one("#filter", Input))

    def on_input_changed(self, event: Input.Changed) -> None:
        if event.input.id != "filter" or self._steps is None:
            return
        try:
            self._filter = read_filter(event.value)
        except UsageError as trouble:
            self.query_one("#steps-note", Static).update(f"{trouble.message}; {trouble.hint}")
            return
        self._fill()

    def on_input_submitted(self) -> None:
        self.table.focus()

    def action_back(self) -> None:
        field = self.query_one("#filter", Input)
        if self.focused is field or field.value:
            field.value = ""
            self.table.focus()
        else:
            super().action_back()

    def action_select(self) -> None:
        row = self.table.cursor_row
        if 0 <= row < len(self._rows):
            self._selected ^= {self._rows[row]}
            self._mark({self._rows[row]})
            self.table.action_cursor_down()

    def action_select_all(self) -> None:
        self._selected |= set(self._rows)
        self._mark(set(self._rows))

    def action_select_none(self) -> None:
        changed, self._selected = self._selected, set()
        self._mark(changed)

    def _mark(self, changed: set[int]) -> None:
        for row, at in enumerate(self._rows[: self.table.row_count]):
            if at in changed:
                mark = "●" if at in self._selected else " "
                self.table.update_cell(str(row), "mark", cell(mark, "bold cyan"))
        self._show_note(len(self._steps.steps) if self._steps else 0)

    def action_open(self) -> None:
        """The answer of a step, or what is known of one that has none."""
        step = self.current_step()
        ran = self._report_step(step.step_id) if step else None
        if ran is not None and ran.answers:
            self.program.open_read(self.pack, step_id=ran.step_id)
        elif step is not None and self.active_tab != "log":
            self._pane(self.active_tab).focus()

    def action_sort(self) -> None:
        self._sort = SORTS[(SORTS.index(self._sort) + 1) % len(SORTS)]
        if self._steps is not None:
            self._fill()

    def action_reverse(self) -> None:
        self._reverse = not self._reverse
        if self._steps is not None:
            self._fill()

    def action_prepare(self) -> None:
        self.program.open_prepare(self.pack, self.selected_ids(), self.values)

    def action_watch(self) -> None:
        if self._ran(self.action_watch):
            self.program.open_watch(self.pack, self._run.run.name if self._run else "")

    def action_read(self) -> None:
        if self._ran(self.action_read):
            self.program.open_read(self.pack)

    def action_backlog(self) -> None:
        if self._ran(self.action_backlog):
            self.program.open_backlog(self.pack)

    def _ran(self, asked: Callable[[], None]) -> bool:
        """Whether there is a run; `asked` is done later if it is still being read."""
        if self._run is None and not self._run_is_read:
            self._after_reading = asked
        elif self._run is None:
            self.say("this pack has not run yet; press p to prepare a run")
        return self._run is not None

    def action_findings(self) -> None:
        self.app.push_screen(FindingsScreen(self.pack))

    def action_estimate(self) -> None:
        self.say("rehearsing the steps in a copy of the project; nothing is asked…")
        settings = self.settings()
        self.start("forecast", lambda: forecast_run(self.pack, settings), self._show_forecast)

    def _show_forecast(self, done: tuple[CostForecast, tuple[str, ...]]) -> None:
        forecast, warnings = done
        self._forecast = {one.step_id: one for one in forecast.steps}
        likely = f"likely {money(forecast.cost.likely)}" if forecast.cost else "no known cost"
        asked = figures.count(forecast.to_ask, "call")
        self.say("\n".join((f"{asked} to ask, {likely}", *warnings)))
        self._fill()

    # The details

    def on_data_table_row_highlighted(self) -> None:
        self._show_details()

    def on_tabbed_content_tab_activated(self) -> None:
        self._show_details(again=True)

    def action_tab(self, name: str) -> None:
        self.query_one("#tabs", TabbedContent).active = f"tab-{name}"

    @property
    def active_tab(self) -> str:
        return self.query_one("#tabs", TabbedContent).active.removeprefix("tab-")

    def _show_details(self, *, again: bool = False) -> None:
        step = self.current_step()
        if step is None or (step.step_id == self._shown_step and not again):
            return
        self._shown_step = step.step_id
        pack, settings, name = self.pack, self.settings, step.step_id
        self._pane("answer").show(step_details.answer_text(self._report_step(name)))
        records = self._run.records if self._run else ()
        ticked = self._run.ticked if self._run else ()
        self._pane("work").show(step_details.work_text(name, records, ticked))
        if self.active_tab == "log":
            self._follow_log(name)
        if self.active_tab == "why":
            self.start("why", lambda: explain_step(pack, name, settings()), self._show_why)
        else:
            self.start("content", lambda: step_content(pack, name, settings()), self._show_content)

    def _pane(self, name: str) -> TextPane:
        return self.query_one(f"#text-{name}", TextPane)

    def _show_content(self, content: StepContent) -> None:
        step = self.current_step()
        question = self._questions.get(step.step_id, "") if step else ""
        asked = step_details.asked_text(question, step_details.prompts_of(content), content.code)
        self._pane("question").show(asked)
        self._pane("files").show(step_details.files_text(content))
        self._pane("command").show(step_details.command_text(content))

    def _show_why(self, answer: tuple[str, WhyReport]) -> None:
        self._pane("why").show(step_details.why_text(*answer))

    def failed(self, group: str, message: str) -> None:
        if group == "why":
            self._pane("why").show(block(message))
        else:
            super().failed(group, message)

    def _follow_log(self, step_id: str) -> None:
        view = self.query_one("#text-log", LogView)
        run = self._run
        if run is None:
            view.clear()
            view.write_line("This step has not run yet.")
            return
        settings, name = self.settings, run.run.name
        view.follow(step_id, lambda: ProjectRuns(settings().root).log_windows(name, step_id))

    def current_text(self) -> str:
        """The text of the open tab, whatever has the focus: the table only chooses the step."""
        if self.active_tab == "log":
            return self.query_one("#text-log", LogView).plain
        return self._pane(self.active_tab).plain

    def current_file(self) -> OpenTarget | None:
        step = self.current_step()
        ran = self._report_step(step.step_id) if step else None
        if self.active_tab == "answer" and ran is not None and ran.answers and self._run:
            root = Path(self.settings().root)
            path = ran.answers[0].path
            return OpenTarget(step_details.answer_file(root, self._run.run.name, path))
        return OpenTarget(Path(self.pack), step.line if step else 0)
