"""The work of a run: tasks to tick, notes to keep, exports, the follow-up pack."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import ClassVar

from rich.text import Text
from textual import work
from textual.binding import Binding, BindingType

from oraclepack.pipeline.run_followup import followup_run
from oraclepack.tui import step_details
from oraclepack.tui.dialogs import ChoiceDialog, NoteDialog
from oraclepack.tui.outside_programs import OpenTarget
from oraclepack.tui.pack_screen import ListScreen
from oraclepack.tui.screen_text import cell, state_cell
from oraclepack.view.report import figures
from oraclepack.view.report.data import Report
from oraclepack.view.report.write import read_run
from oraclepack.work.actionize import ActionizeResult, actionize_and_weigh
from oraclepack.work.backlog import Record, WorkStatus
from oraclepack.work.backlog_edit import (
    BacklogNotes,
    read_notes,
    tick_task,
    write_backlog,
    write_note,
)

_EXPORTS = [("github", "GitHub issues"), ("taskmaster", "tasks of Task Master")]


class BacklogScreen(ListScreen[Record]):
    """The tasks of a run. Space ticks, n edits your note; both are written to backlog.md."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("space", "tick", "Tick", id="backlog.tick"),
        Binding("n", "note", "Note", id="backlog.note"),
        Binding("x", "export", "Export", id="backlog.export"),
        Binding("u", "followup", "Follow-up pack", id="backlog.followup"),
    ]
    TABLE = "tasks"
    COLUMNS = ("", "Priority", "Step", "Kind", "Task")
    FLEXIBLE = "Task"

    def __init__(self, pack: str, run_name: str = "") -> None:
        super().__init__(f"Backlog – {Path(pack).name}")
        self.pack = pack
        self.run_name = run_name
        self._data: Report | None = None
        self._notes: BacklogNotes | None = None
        self._run_dir = ""

    def load(self) -> None:
        self.start("backlog", self._read, self._show)

    def _read(self) -> tuple[Report, str, BacklogNotes | None]:
        settings = self.program.load_settings(self.pack)
        data = read_run(self.run_name or self.pack, settings)
        run_dir = Path(settings.root, data.run_dir)
        notes = read_notes(run_dir)
        if notes is None and data.run.foreign is None:
            notes = write_backlog(run_dir)
        return data, str(run_dir), notes

    def _show(self, read: tuple[Report, str, BacklogNotes | None]) -> None:
        self._data, self._run_dir, self._notes = read
        self.sub_title = step_details.pack_note(self._data) or self._data.run.status
        self._changed(self._notes)

    def _changed(self, notes: BacklogNotes | None) -> None:
        self._notes = notes
        assert self._data is not None
        # What asks for nothing stands in the answers.
        tasks = [one for one in self._data.records if one.status is not WorkStatus.NOOP]
        note = f"{figures.count(self._data.tasks, 'task')}, {len(self._ticked)} ticked"
        counts = Counter(str(one.status) for one in tasks if not one.is_work)
        for status, count in sorted(counts.items()):
            note += f"; {count} {'in conflict' if status == WorkStatus.CONFLICT else status}"
        self.show_items(tasks, note)

    @property
    def _ticked(self) -> tuple[str, ...]:
        return self._notes.ticked if self._notes else ()

    def row(self, item: Record) -> tuple[Text, ...]:
        is_ticked = item.task_id in self._ticked
        box = "☑" if is_ticked else "☐"
        return (
            cell(box if item.is_work else " "),
            cell(item.priority),
            cell(item.step_id),
            cell(item.kind) if item.kind else state_cell(item.status),
            cell(item.title, "dim" if is_ticked else ""),
        )

    def detail(self, item: Record | None) -> Text | str:
        if item is None:
            return "There is no work yet." if self._data else ""
        note = self._notes.notes.get(item.task_id, "") if self._notes else ""
        return step_details.record_text(item, is_ticked=item.task_id in self._ticked, note=note)

    def _own_task(self, what: str) -> Record | None:
        """The chosen task, where it is one of a backlog of the user's own."""
        task = self.current
        if task is not None and self._notes is not None and task.is_work:
            return task
        self.say(f"only a task of a backlog of your own can {what}")
        return None

    def action_tick(self) -> None:
        task = self._own_task("be ticked")
        if task is not None:
            run_dir, task_id = Path(self._run_dir), task.task_id
            done = task_id not in self._ticked
            self.start("edit", lambda: tick_task(run_dir, task_id, done=done), self._changed)

    @work(group="dialog")
    async def action_note(self) -> None:
        task = self._own_task("have a note")
        if task is None or self._notes is None:
            return
        before = self._notes.notes.get(task.task_id, "")
        text = await self.app.push_screen_wait(NoteDialog(f"Note: {task.title}", before))
        if text is not None:
            run_dir, task_id = Path(self._run_dir), task.task_id
            self.start("edit", lambda: write_note(run_dir, task_id, text), self._changed)

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

    def _exported(self, outcome: ActionizeResult) -> None:
        changed = [one.path for one in outcome.report.artifacts if one.changed]
        self.say(f"wrote {', '.join(changed) or 'nothing new'} in {outcome.report.out_dir}")
        self.load()

    def action_followup(self) -> None:
        settings, run_dir = self.program.load_settings(self.pack), self._run_dir

        def followup() -> str:
            report = followup_run(run_dir, Path(settings.root)).report
            if not report.pack:
                return "no question of this run is open"
            return f"wrote {report.pack}: {figures.count(len(report.questions), 'question')}"

        self.start("followup", followup, self.say)

    def current_file(self) -> OpenTarget | None:
        return OpenTarget(Path(self._notes.path)) if self._notes else None
