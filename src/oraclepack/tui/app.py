"""The program of `oraclepack tui`: its screens, keys, themes and palette."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.text import Text
from textual.app import App
from textual.binding import Binding
from textual.command import DiscoveryHit, Hit, Hits, Provider
from textual.drivers.linux_driver import LinuxDriver
from textual.screen import Screen
from textual.worker import WorkerFailed

from oraclepack.errors import ExitCode
from oraclepack.settings.declaration import ValueSource
from oraclepack.settings.loading import load_settings
from oraclepack.settings.registry import CWD, TUI_KEYS, TUI_THEME, Settings, SettingValue
from oraclepack.system.environment import root_of_place
from oraclepack.system.printable import visible
from oraclepack.tui import key_table, outside_programs
from oraclepack.tui.backlog_screen import BacklogScreen
from oraclepack.tui.dialogs import DIALOGS, TextDialog
from oraclepack.tui.faults import LogFault, fault_message, is_expected
from oraclepack.tui.findings_screen import FindingsScreen
from oraclepack.tui.outside_programs import OpenTarget
from oraclepack.tui.pack_screen import PackScreen
from oraclepack.tui.packs_screen import PacksScreen
from oraclepack.tui.prepare_screen import PrepareScreen
from oraclepack.tui.read_screen import ReadScreen
from oraclepack.tui.screen_text import field, heading, joined
from oraclepack.tui.steps_screen import StepsScreen
from oraclepack.tui.watch_screen import WatchScreen

if TYPE_CHECKING:
    from textual.actions import ActionParseResult
    from textual.dom import DOMNode

SCREENS: tuple[type[PackScreen], ...] = (
    PacksScreen,
    FindingsScreen,
    StepsScreen,
    PrepareScreen,
    WatchScreen,
    ReadScreen,
    BacklogScreen,
)

_KEY_NOTE = """
Your config file sets other keys by the names on the right: tui.keys = ["copy=ctrl+y"]
Leaving this program never stops a run.
"""


class TextTerminal(LinuxDriver):
    """The terminal; input that is not UTF-8 is ignored, where Textual would end the program."""

    def run_input_thread(self) -> None:
        while not self.exit_event.is_set():
            try:
                super().run_input_thread()
            except UnicodeDecodeError:
                continue
            return


class ActionCommands(Provider):
    """Every key of the screen as an entry of the command palette."""

    async def discover(self) -> Hits:
        for name, action, key in self._actions():
            yield DiscoveryHit(name, lambda action=action: self._run(action), help=f"key {key}")

    async def search(self, query: str) -> Hits:
        matcher = self.matcher(query)
        for name, action, key in self._actions():
            score = matcher.match(name)
            if score > 0:
                shown = matcher.highlight(name)
                yield Hit(score, shown, lambda action=action: self._run(action), help=f"key {key}")

    def _actions(self) -> Iterable[tuple[str, str, str]]:
        for active in self.screen.active_bindings.values():
            binding = active.binding
            if binding.id and binding.description and not binding.id.startswith("dialog."):
                yield binding.description, binding.action, binding.key

    async def _run(self, action: str) -> None:
        await self.app.run_action(action, default_namespace=self.screen)


class TuiApp(App[int]):
    """Browse, prepare, run, watch and read packs."""

    TITLE = "oraclepack"
    CSS_PATH = "screens.tcss"
    BINDINGS = key_table.PROGRAM
    COMMANDS = App.COMMANDS | {ActionCommands}
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (100, "-wide")]

    def __init__(
        self,
        path: str,
        settings: Settings,
        *,
        is_pack: bool = False,
        log_fault: LogFault = lambda _: "",
    ) -> None:
        super().__init__(driver_class=TextTerminal)
        self.faults: list[BaseException] = []
        """Errors of the program itself, so far."""
        self.fatal: Exception | None = None
        """The error that ended the program."""
        self._log_fault = log_fault
        self.path = path
        self.settings = settings
        self._is_pack = is_pack
        self._place_values = _place_values(path, settings)
        self.set_keymap(key_table.keymap(settings[TUI_KEYS], known_keys()))
        theme = settings[TUI_THEME]
        if theme in self.available_themes:
            self.theme = theme

    def on_mount(self) -> None:
        # Without a handler, a signal would leave the terminal in its alternate screen.
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(number, self.exit, int(ExitCode.TERMINATED))
        self.open_first_screen()

    def open_first_screen(self) -> None:
        """Open the list of packs, and on top of it the pack that the command named."""
        self.push_screen(PacksScreen(self.path))
        if self._is_pack:
            self.push_screen(StepsScreen(self.path))

    def load_settings(self, pack: str, values: dict[str, object] | None = None) -> Settings:
        """The settings for a pack: those of this command, then those of the screen."""
        own = {
            name: SettingValue(self.settings.values[name], origin.where)
            for name, origin in self.settings.origins.items()
            if origin.source is ValueSource.FLAG
        }
        return load_settings(pack, {**self._place_values, **own, **(values or {})})

    # Faults

    async def run_action(
        self,
        action: str | ActionParseResult,
        default_namespace: DOMNode | None = None,
        namespaces: Mapping[str, DOMNode] | None = None,
    ) -> bool:
        """Run the action of a key or the palette; an error is shown, and the screen stays open."""
        try:
            return await super().run_action(action, default_namespace, namespaces)
        except Exception as error:  # noqa: BLE001 - one failed action must not end the program
            self.report(error)
            return False

    def message_of(self, error: BaseException) -> str:
        """The message of an error; the details of an unexpected one are written to a file."""
        if not is_expected(error):
            self.faults.append(error)
        return fault_message(error, self._log_fault)

    def report(self, error: BaseException) -> None:
        """Show an error as a message."""
        text = visible(self.message_of(error))
        self.notify(text, severity="error", markup=False, timeout=10)

    def _handle_exception(self, error: Exception) -> None:
        """Called by Textual with an exception that no handler caught.

        A failed worker is reported, and the program continues. After any other exception a part
        of the screen no longer works, so the program ends; the command prints the reason.
        """
        if isinstance(error, WorkerFailed):
            self.report(error.error)
            return
        self.fatal = self.fatal or error
        self._exception_event.set()
        self._return_code = 1
        self._close_messages_no_wait()

    # Navigation

    def open_prepare(
        self, pack: str, selected: Sequence[str] = (), values: dict[str, object] | None = None
    ) -> None:
        """Open the form for a run, which writes the choices of the user into `values`."""
        self.load_settings(pack, values)  # raises if they are invalid
        self.clear_notifications()
        self.push_screen(PrepareScreen(pack, selected, {} if values is None else values))

    def open_watch(self, pack: str, run_name: str) -> None:
        """Watch a run, and close the form that started it."""
        if isinstance(self.screen, PrepareScreen):
            self.pop_screen()
        self.push_screen(WatchScreen(pack, run_name))

    def open_read(self, pack: str, run_name: str = "", step_id: str = "") -> None:
        self.push_screen(ReadScreen(pack, run_name, step_id))

    def open_backlog(self, pack: str, run_name: str = "") -> None:
        self.push_screen(BacklogScreen(pack, run_name))

    def go_back(self) -> None:
        """Close the current screen, except the first one."""
        if len(self.screen_stack) > 2:
            self.pop_screen()
            shown = self.screen
            if isinstance(shown, PackScreen):
                shown.load()
        else:
            self.notify("this is the first screen; q leaves the program")

    def show_in_pager(self, text: str) -> None:
        with self.suspend():
            trouble = outside_programs.page_text(text)
        self._show_error(trouble)

    def edit(self, target: OpenTarget) -> None:
        with self.suspend():
            trouble = outside_programs.edit_file(target)
        self._show_error(trouble)

    def _show_error(self, trouble: str) -> None:
        if trouble:
            self.notify(trouble, severity="error", markup=False)

    def action_show_help(self) -> None:
        """Show the keys of the screen, with the ids for `tui.keys`."""
        self.push_screen(TextDialog("Keys of this screen", help_text(self.screen)))

    async def action_quit(self) -> None:
        self.exit(0)


def help_text(screen: Screen[Any]) -> Text:
    """The keys of a screen, and those that work everywhere."""
    doc = (screen.__doc__ or "").strip()
    parts: list[Text | str] = [f"{doc}\n\n"] if isinstance(screen, PackScreen) else []
    rows: dict[str, tuple[str, str]] = {}
    for key, active in screen.active_bindings.items():
        binding = active.binding
        if binding.id and binding.description:
            shown = binding.key_display or key.replace("question_mark", "?")
            rows.setdefault(binding.id, (shown, binding.description))
    for name, (key, description) in sorted(rows.items(), key=lambda row: row[1][1]):
        parts.append(field(key, f"{description:<32} {name}"))
    parts += [
        "\n",
        heading("Everywhere"),
        field("ctrl+p", "command palette: every action by name, and the themes"),
        field("tab", "next part of the screen"),
        field("mouse", "works; hold shift to select text with the terminal"),
        _KEY_NOTE,
    ]
    return joined(parts)


def known_keys() -> frozenset[str]:
    """The ids of all bindings of the program."""
    classes: tuple[type[App[Any] | Screen[Any]], ...] = (TuiApp, PackScreen, *DIALOGS, *SCREENS)
    return frozenset(
        binding.id
        for one in classes
        for binding in one.BINDINGS
        if isinstance(binding, Binding) and binding.id
    )


def _place_values(place: str, settings: Settings) -> dict[str, SettingValue]:
    """What screens that open a place add to the flags: the root of a project elsewhere.

    `--cwd` takes precedence.
    """
    root = None if settings.is_given(CWD) else root_of_place(Path(place))
    return {} if root is None else {CWD.name: SettingValue(str(root), place)}
