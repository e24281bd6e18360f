"""The packs of the project."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from rich.text import Text
from textual import work
from textual.binding import Binding, BindingType

from oraclepack.authoring.blank import new_pack
from oraclepack.authoring.generate import GenerateRequest, generate
from oraclepack.lint.finding import Severity
from oraclepack.lint.validate import ValidateResult, validate_packs
from oraclepack.tui.dialogs import LineDialog
from oraclepack.tui.findings_screen import FindingsScreen, findings_text
from oraclepack.tui.outside_programs import OpenTarget
from oraclepack.tui.pack_screen import ListScreen
from oraclepack.tui.screen_text import cell, field, joined, number_cell, state_cell
from oraclepack.tui.steps_screen import StepsScreen
from oraclepack.view.past_runs import PackEntry, list_packs
from oraclepack.view.report import figures

_NO_PACKS = """\
There are no packs below this folder.

Press n to write an empty pack that explains the format, or g to generate
a pack of questions about this repository.
"""


class PacksScreen(ListScreen[PackEntry]):
    """The packs of the project: whether they are valid, their last run and what they cost."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("v", "validate", "Findings", id="packs.validate"),
        Binding("w", "watch", "Watch", id="packs.watch"),
        Binding("n", "new", "New", id="packs.new"),
        Binding("g", "generate", "Generate", id="packs.generate"),
    ]
    TABLE = "packs"
    COLUMNS = ("Pack", "Valid", "Steps", "Last run", "Done", "Cost")
    FLEXIBLE = "Pack"

    def __init__(self, folder: str) -> None:
        super().__init__("Packs")
        place = Path(folder)
        self.folder = str(place if place.is_dir() else place.parent)
        self._checked: dict[str, ValidateResult | str] = {}

    def load(self) -> None:
        folder, load_settings = self.folder, self.program.load_settings
        self.start("packs", lambda: list_packs(folder, load_settings(folder)), self._show)

    def failed(self, group: str, message: str) -> None:
        if group.startswith("check "):
            self._checked[group.removeprefix("check ")] = message
            self._refill()
        else:
            super().failed(group, message)

    def _show(self, packs: tuple[PackEntry, ...]) -> None:
        self.items = packs
        self._refill()
        for pack in packs:
            self._check(pack.path)

    def _check(self, path: str) -> None:
        def checked(result: ValidateResult) -> None:
            self._checked[path] = result
            self._refill()

        load_settings = self.program.load_settings
        self.start(f"check {path}", lambda: validate_packs(path, load_settings(path)), checked)

    def _refill(self) -> None:
        folder = "this folder" if self.folder == "." else self.folder
        count = figures.count(len(self.items), "pack")
        self.show_items(self.items, f"{count} below {folder}" if self.items else _NO_PACKS)
        # Names that do not fit are cut at their beginning: packs differ at the end.
        column = self.table.ordered_columns[0]
        for at, pack in enumerate(self.items):
            name = cell(pack.name).plain
            if not column.auto_width and len(name) > column.width:
                short = cell(f"…{name[1 - column.width :]}", "bold")
                self.table.update_cell(str(at), column.key, short)

    def row(self, item: PackEntry) -> tuple[Text, ...]:
        run = item.last_run
        valid, steps = self._validity(item.path)
        return (
            cell(item.name, "bold"),
            valid,
            number_cell(steps),
            state_cell(run.status if run else None),
            number_cell(f"{run.ok}/{run.total}" if run else "-"),
            number_cell(figures.cost_cell(item.cost)),
        )

    def _validity(self, path: str) -> tuple[Text, str]:
        result = self._checked.get(path)
        if result is None:
            return cell("…", "dim"), ""
        if isinstance(result, str):
            return cell("✗ unreadable", "bold red"), "-"
        report = result.checked[0].report
        errors = sum(one.severity is Severity.ERROR for one in report.findings)
        others = len(report.findings) - errors
        more = f", {others} more" if others else ""
        steps = str(len(result.checked[0].pack.steps))
        if errors:
            return cell(f"✗ {figures.count(errors, 'error')}{more}", "bold red"), steps
        notes = f", {figures.count(others, 'note')}" if others else ""
        return cell(f"✓ valid{notes}", "green"), steps

    def detail(self, item: PackEntry | None) -> Text | str:
        if item is None:
            return ""
        run = item.last_run
        parts: list[Text | str] = [field("pack", item.name, "bold")]
        if run is not None:
            parts += [
                field("last run", run.run_id),
                field("began", figures.moment(run.created_at)),
                field("worked", figures.duration(run.duration_ms)),
                field("done", f"{run.ok} of {run.total} steps"),
                field("cost", figures.cost_cell(run.cost)),
            ]
            parts += [field("rehearsal", "no model was asked")] if run.rehearsal else []
            parts += [field("foreign", run.foreign, "magenta")] if run.foreign else []
        else:
            parts.append(field("last run", "none"))
        if item.runs > 1:
            parts.append(field("all runs", f"{item.runs}, {figures.cost_cell(item.cost)}"))
        result = self._checked.get(item.path)
        if isinstance(result, str):
            parts += ["\n", cell(result, "bold red")]
        elif result is not None:
            parts += ["\n", findings_text(result.checked[0].report.findings)]
        return joined(parts)

    def current_file(self) -> OpenTarget | None:
        return OpenTarget(Path(self.current.path)) if self.current else None

    def action_open(self) -> None:
        if self.current is not None:
            self.app.push_screen(StepsScreen(self.current.path))

    def on_data_table_row_selected(self) -> None:
        self.action_open()

    def action_validate(self) -> None:
        if self.current is not None:
            self.app.push_screen(FindingsScreen(self.current.path))

    def action_watch(self) -> None:
        """Watch the newest run of a pack."""
        pack = self.current
        if pack is None or pack.last_run is None:
            self.say("this pack has not run yet")
        else:
            self.program.open_watch(pack.path, pack.last_run.name)

    @work(group="dialog")
    async def action_new(self) -> None:
        name = str(Path(self.folder, "pack.md"))
        path = await self.app.push_screen_wait(LineDialog("Write an empty pack to", name))
        if path is not None:
            self.start("new", lambda: new_pack(path), lambda _: self._made(path))

    @work(group="dialog")
    async def action_generate(self) -> None:
        name = str(Path(self.folder, "review-pack.md"))
        question = "Generate a pack of questions about this repository into"
        path = await self.app.push_screen_wait(LineDialog(question, name))
        if path is None:
            return
        root = Path(self.program.load_settings(self.folder).root)
        self.say("reading the repository…")
        self.start(
            "new",
            lambda: generate(GenerateRequest(root=root, out=path)),
            lambda _: self._made(path),
        )

    def _made(self, path: str) -> None:
        self.say(f"wrote {path}")
        self.load()
