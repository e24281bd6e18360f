"""What the command line adds to a run: a display, signals, questions to the person."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from types import FrameType
from typing import Any, Self

from oraclepack.cli import render
from oraclepack.cli.command import logs_json
from oraclepack.cli.lines import CTRL_C, STOP_NOW, JsonLog, Lines, NullDisplay
from oraclepack.cli.live import LiveTable
from oraclepack.cli.render import to_stderr
from oraclepack.cli.reply import Reply
from oraclepack.journal.events import KnownEvent, SessionStarted
from oraclepack.journal.run_state import Ask, RunState
from oraclepack.pipeline.run_pipeline import PipelineOutcome
from oraclepack.run.run_display import RunPreview
from oraclepack.run.run_packs import RunPacksOutcome
from oraclepack.run.run_report import RunOutcome
from oraclepack.run.start_run import StartFailure, detached_report
from oraclepack.settings import run_settings as rs
from oraclepack.settings.registry import COLOR, OUTPUT, Settings
from oraclepack.shell.attempt import StopLevel
from oraclepack.shell.stop import Stop
from oraclepack.system.clock import Clock, SystemClock
from oraclepack.system.environment import is_agent, is_detached
from oraclepack.system.printable import visible
from oraclepack.system.terminal import ask, can_ask, is_terminal, stdout_is_terminal
from oraclepack.view.step import shaped


def display_kind(settings: Settings, *, on_terminal: bool, for_agent: bool = False) -> str:
    """`table`, `text`, `json` or `quiet`: what was asked for, else what the screen can show.

    The older flags --json-log, --quiet and --no-tui mean the same as --log with json, quiet
    and text. Without a terminal a table is never drawn. A coding agent that reads our stdout gets
    nothing by default: it pays for every line.
    """
    kind = settings[rs.DISPLAY]
    if settings[OUTPUT] == "jsonl" or logs_json(settings):
        return "json"
    if kind == "auto" and (settings[rs.QUIET] or for_agent):
        return "quiet"
    if kind in {"auto", "table"}:
        is_plain = kind == "auto" and (not settings[rs.TUI] or settings[OUTPUT] != "text")
        return "text" if is_plain or not on_terminal else "table"
    return kind


def screen_for(
    settings: Settings,
    *,
    is_detached: bool = False,
    clock: Clock | None = None,
    cancel: str = CTRL_C,
) -> NullDisplay:
    """The display of a command; `cancel` says how a stop that waits for calls is made urgent."""
    for_agent = is_agent() and not stdout_is_terminal() and not is_detached
    match display_kind(settings, on_terminal=is_terminal(), for_agent=for_agent):
        case "json":
            return JsonLog(to_stdout if settings[OUTPUT] == "jsonl" else to_stderr)
        case "quiet":
            return NullDisplay()
        case "text":
            return Lines(clock=clock, cancel=cancel)
        case _:
            return LiveTable(color=settings[COLOR] != "never", clock=clock, cancel=cancel)


def to_stdout(text: str) -> None:
    """Events are the answer itself."""
    render.stream(text.encode())


class WatchingScreen:
    """A `Display` of a run of another process, on one of the displays of `run`.

    It is also the clock of that display: while an event is shown, the time at which it happened.
    A watcher may come hours later, and still shows how long a step has been running.
    """

    def __init__(self, settings: Settings, *, streams: bool) -> None:
        """With `streams` the events go to stdout."""
        self._local = threading.local()
        """For the thread that shows an event only: the table is painted by another one."""
        self._preview: RunPreview | None = None
        self._screen = (
            JsonLog(to_stdout) if streams else screen_for(settings, clock=self, cancel=STOP_NOW)
        )
        self.progress = self._screen.progress

    def monotonic_ns(self) -> int:
        moment: datetime = getattr(self._local, "moment", None) or self.now()
        return int(moment.timestamp() * 1e9)

    def now(self) -> datetime:
        return SystemClock().now()

    def begin(self, preview: RunPreview) -> None:
        self._preview = preview

    def event(self, event: KnownEvent, state: RunState) -> None:
        with suppress(ValueError):
            self._local.moment = datetime.fromisoformat(event.at)
        if self._preview is not None:
            self._screen.begin(self._preview)
            self._preview = None
        self._screen.event(event, state)
        self._local.moment = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._screen.close()


class DisplaySession:
    """What the command line adds to a run: a screen, signals, questions to the person."""

    def __init__(self, settings: Settings, *, yes: bool) -> None:
        self._report = detached_report() if is_detached() else None
        self._preview: RunPreview | None = None
        cancel = STOP_NOW if self.is_detached else CTRL_C
        self._screen = screen_for(settings, is_detached=self.is_detached, cancel=cancel)
        self._is_json = settings[OUTPUT] != "text"
        self._signals = StopOnSignals()
        self.ask = _asking(settings, self._screen, yes=yes)
        """Asks the user at the terminal; None where nothing may be asked."""

    @property
    def stop(self) -> Stop:
        return self._signals.stop

    def unshown_warnings(self, outcome: RunOutcome | PipelineOutcome) -> tuple[str, ...]:
        """What the reply warns of: JSON of everything, text of what was not on the screen."""
        if self._is_json or not self._screen.shows_warnings:
            return outcome.warnings
        return tuple(one for one in outcome.warnings if one not in outcome.recorded_warnings)

    def announce(self, line: str) -> bool:
        """Say which pack comes next, where lines are shown; whether the display shows warnings."""
        if isinstance(self._screen, Lines):
            to_stderr(f"{visible(line)}\n")
        return self._screen.shows_warnings

    @property
    def is_detached(self) -> bool:
        """The command runs in the background, and reports to the one that started it."""
        return self._report is not None

    def begin(self, preview: RunPreview) -> None:
        self._preview = preview
        self._screen.begin(preview)
        self._signals.listen()

    def event(self, event: KnownEvent, state: RunState) -> None:
        # The run has begun with the first event of the command itself.
        if self._report and self._preview and isinstance(event, SessionStarted):
            self._report.begun(self._preview.run_id, self._preview.run_dir)
        self._screen.event(event, state)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with self._signals:
            self._screen.close()


class PackSessions:
    """The displays of several packs, one after another."""

    def __init__(self, settings: Settings, *, yes: bool) -> None:
        self._settings = settings
        self._yes = yes
        self._shows_warnings = False

    def open(self, pack: Path, number: int, count: int) -> DisplaySession:
        """The display of the next pack."""
        session = DisplaySession(self._settings, yes=self._yes)
        self._shows_warnings = session.announce(f"--  pack {number} of {count}: {pack}")
        return session

    def unshown_warnings(self, outcome: RunPacksOutcome) -> tuple[str, ...]:
        """What the reply warns of: JSON of everything, text of what was not on the screen."""
        if self._settings[OUTPUT] != "text" or not self._shows_warnings:
            return outcome.warnings
        shown = {
            f"{one.pack.path}: {text}" for one in outcome.outcomes for text in one.recorded_warnings
        }
        return tuple(one for one in outcome.warnings if one not in shown)


def _asking(settings: Settings, screen: NullDisplay, *, yes: bool) -> Ask | None:
    silent = yes or not settings[rs.INTERACTIVE] or settings[rs.CI] or settings[OUTPUT] != "text"
    if silent or not can_ask():
        return None
    one_at_a_time = threading.Lock()

    def put(question: str, pause: Callable[[float], bool]) -> bool:
        with one_at_a_time, screen.suspended():
            return ask(question, pause)

    return put


_NUMBERS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class StopOnSignals:
    """The first signal stops the run politely; another one, while it stops, stops it at once.

    A terminal that closes sends HUP, sometimes twice (the shell and the kernel): it never stops at
    once. Before `listen` a signal ends the command as usual: nothing has begun. Only the main
    thread can listen.
    """

    def __init__(self) -> None:
        self.stop = Stop()
        self._before: dict[int, Any] = {}

    def listen(self) -> None:
        if threading.current_thread() is threading.main_thread():
            self._before = {number: signal.signal(number, self._ask) for number in _NUMBERS}

    def _ask(self, number: int, _frame: FrameType | None) -> None:
        # Also after `runs stop`: the screen says then that Ctrl-C cancels.
        is_stopping = self.stop.level is not StopLevel.NONE
        is_urgent = is_stopping and number != signal.SIGHUP
        level = StopLevel.AT_ONCE if is_urgent else StopLevel.POLITE
        # A terminal that was closed is a request to end, and there is one exit code for that.
        self.stop.ask(level, signal.SIGTERM if number == signal.SIGHUP else number)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        self.stop.close()


def report_start(reply: Reply) -> None:
    """Report why no run has begun, if so: the command has ended."""
    report = detached_report() if is_detached() else None
    if report is None:
        return
    error = reply.error
    failure = StartFailure(
        exit_code=int(reply.exit_code),
        code="NOT_STARTED",
        message="the command ended without a run",
    )
    if error is not None:
        failure = shaped(StartFailure, error, exit_code=int(reply.exit_code), hint=error.suggestion)
    report.failed(failure)
