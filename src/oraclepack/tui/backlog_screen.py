"""The work of a run: tasks to tick, notes to keep, exports, the follow-up pack."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import ClassVar

from rich.text import Text
from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.widgets import DataTable, Header, Static

from oraclepack.pipeline.run_followup import followup_run
from oraclepack.run.project_records import ProjectRuns
from oraclepack.settings.registry import Settings
from oraclepack.tui import step_details
from oraclepack.tui.dialogs import ChoiceDialog, NoteDialog
from oraclepack.tui.outside_programs import OpenTarget
from oraclepack.tui.pack_screen import PackScreen, TextPane, keep_cursor
from oraclepack.tui.screen_text import cell, state_cell
from oraclepack.view.report import figures
from oraclepack.view.report.data import Report
from oraclepack.view.report.write import read_run
from oraclepack.work.actionize import ActionizeOutcome, actionize_and_weigh
from oraclepack.work.backlog import Record
from oraclepack.work.backlog_edit import (
    BacklogNotes,
    read_notes,
    tick_task,
    write_backlog,
    write_note,
)

_EXPORTS = [("github", "GitHub issues"), ("taskmaster", "tasks of Task Master")]


_OTHER_STATUSES = {"conflict": "in conflict", "noop": "without work"}
"""Words for the states of records that are no tasks."""


class BacklogScreen(PackScreen):
    """The tasks of a run. Space ticks, n edits your note; both are written to backlog.md."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("space", "tick", "Tick", id="backlog.tick"),
        Binding("n", "note", "Note", id="backlog.note"),
        Binding("x", "export", "Export", id="backlog.export"),
        Binding("u", "followup", "Follow-up pack", id="backlog.followup"),
    ]

    def __init__(self, pack: str, run_name: str = "") -> None:
        super().__init__()
        self.pack = pack
        self.run_name = run_name
        self._data: Report | None = None
        self._notes: BacklogNotes | None = None
        self._run_dir = ""

    def compose(self) -> ComposeResult:
        yield Header(icon="≡")
        with Horizontal(classes="columns"):
            with Vertical(classes="main"):
                yield Static("Reading…", id="backlog-note", classes="note", markup=False)
                yield DataTable[Text](id="tasks", cursor_type="row")
            yield TextPane(id="task", classes="detail")
        yield from self.compose_footer()

    def on_mount(self) -> None:
        self.title = f"Backlog – {Path(self.pack).name}"
        table = self.query_one("#tasks", DataTable)
        for name in ("", "Priority", "Step", "Kind", "Task"):
            table.add_column(name, key=name or "tick")
        table.focus()
        self.load()

    def load(self) -> None:
        self.start("backlog", self._read, self._show)

    def _read(self) -> tuple[Report, str, BacklogNotes | None]:
        settings = self.program.load_settings(self.pack)
        data = read_run(self.run_name or self.pack, settings)
        run_dir = Path(settings.root, ProjectRuns(settings.root).show(data.run.name).run_dir)
        notes = read_notes(run_dir)
        if notes is None and data.run.foreign is None:
            notes = write_backlog(run_dir)
        return data, str(run_dir), notes

    def _show(self, read: tuple[Report, str, BacklogNotes | None]) -> None:
        self._data, self._run_dir, self._notes = read
        self.sub_title = step_details.pack_note(self._data) or self._data.run.status
        self._fill()

    def _fill(self) -> None:
        records = self._data.records if self._data else ()
        ticked = set(self._notes.ticked) if self._notes else set()
        table = self.query_one("#tasks", DataTable)

        def rows() -> None:
            for one in records:
                box = "☑" if one.task_id in ticked else "☐"
                is_task = one.status == "actionable"
                table.add_row(
                    cell(box if is_task else " "),
                    cell(one.priority),
                    cell(one.step_id),
                    cell(one.kind) if one.kind else state_cell(one.status),
                    cell(one.title, "dim" if one.task_id in ticked else "", longest=70),
                )

        keep_cursor(table, rows, ("Task",))
        tasks = sum(one.status == "actionable" for one in records)
        note = f"{figures.count(tasks, 'task')}, {len(ticked)} ticked"
        others = Counter(str(one.status) for one in records if one.status != "actionable")
        for status, count in sorted(others.items()):
            note += f"; {count} {_OTHER_STATUSES.get(status, status)}"
        self.query_one("#backlog-note", Static).update(note)
        self._show_task()

    def on_data_table_row_highlighted(self) -> None:
        self._show_task()

    def current_task(self) -> Record | None:
        row = self.query_one("#tasks", DataTable).cursor_row
        records = self._data.records if self._data else ()
        return records[row] if 0 <= row < len(records) else None

    def _show_task(self) -> None:
        task = self.current_task()
        pane = self.query_one("#task", TextPane)
        if task is None:
            pane.show("There is no work yet." if self._data else "")
            return
        notes = self._notes
        is_ticked = notes is not None and task.task_id in notes.ticked
        note = notes.notes.get(task.task_id, "") if notes else ""
        pane.show(step_details.record_text(task, is_ticked=is_ticked, note=note))

    def _changed(self, notes: BacklogNotes) -> None:
        self._notes = notes
        self._fill()

    def action_tick(self) -> None:
        task = self.current_task()
        if task is None or self._notes is None or task.status != "actionable":
            self.say("only a task of a backlog of your own can be ticked")
            return
        run_dir, done = self._run_dir, task.task_id not in self._notes.ticked
        task_id = task.task_id
        self.start("edit", lambda: tick_task(Path(run_dir), task_id, done=done), self._changed)

    @work(group="dialog")
    async def action_note(self) -> None:
        task = self.current_task()
        if task is None or self._notes is None or task.status != "actionable":
            self.say("only a task of a backlog of your own can have a note")
            return
        before = self._notes.notes.get(task.task_id, "")
        text = await self.app.push_screen_wait(NoteDialog(f"Note: {task.title}", before))
        if text is not None:
            run_dir, task_id = self._run_dir, task.task_id
            self.start("edit", lambda: write_note(Path(run_dir), task_id, text), self._changed)

    @work(group="dialog")
    async def action_export(self) -> None:
        word = await self.app.push_screen_wait(ChoiceDialog("Export the tasks as", _EXPORTS))
        if word is None:
            return
        settings, run_dir = self.program.load_settings(self.pack), self._run_dir
        self.start(
            "export",
            lambda: actionize_and_weigh(settings, run_dir=run_dir, exports=(word,)),
            self._exported,
        )

    def _exported(self, outcome: ActionizeOutcome) -> None:
        changed = [one.path for one in outcome.report.artifacts if one.changed]
        self.say(f"wrote {', '.join(changed) or 'nothing new'} in {outcome.report.out_dir}")
        self.load()

    def action_followup(self) -> None:
        settings, run_dir = self.program.load_settings(self.pack), self._run_dir
        self.start("followup", lambda: _followup(settings, run_dir), self.say)

    def current_file(self) -> OpenTarget | None:
        return OpenTarget(Path(self._notes.path)) if self._notes else None


def _followup(settings: Settings, run_dir: str) -> str:
    report = followup_run(run_dir, Path(settings.root)).report
    if not report.pack:
        return "no question of this run is open"
    return f"wrote {report.pack}: {figures.count(len(report.questions), 'question')}"
