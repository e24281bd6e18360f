"""Which display a run gets: a table, lines, JSON lines, or silence."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Self

from oraclepack import api
from oraclepack.api import COLOR, OUTPUT
from oraclepack.api import run_settings as rs
from oraclepack.cli.event_lines import JsonLog, Lines, NullDisplay
from oraclepack.cli.live.screen import LiveTable
from oraclepack.cli.signals import StopOnSignals
from oraclepack.system.terminal import ask, can_ask, is_terminal, stdout_is_terminal


def screen_for(settings: api.Settings) -> NullDisplay:
    """On a terminal a live table, unless a plainer one is wanted; elsewhere lines.

    A coding agent that reads our stdout gets neither: it pays for every line.
    """
    if settings[rs.JSON_LOG] or settings[rs.CI]:
        return JsonLog()
    if settings[rs.QUIET] or (api.is_agent() and not stdout_is_terminal()):
        return NullDisplay()
    plain = not settings[rs.TUI] or settings[OUTPUT] == "json" or not is_terminal()
    return Lines() if plain else LiveTable(color=settings[COLOR] != "never")


class DisplaySession:
    """What the command line adds to a run: a screen, signals, questions to the person."""

    def __init__(self, settings: api.Settings, *, yes: bool) -> None:
        self._screen = screen_for(settings)
        self._is_json = settings[OUTPUT] == "json"
        self._signals = StopOnSignals()
        self.ask = _asking(settings, self._screen, yes=yes)
        """Asks the user at the terminal; None where nothing may be asked."""

    @property
    def stop(self) -> api.Stop:
        return self._signals.stop

    def unshown_warnings(self, outcome: api.RunOutcome | api.PipelineOutcome) -> tuple[str, ...]:
        """What the reply warns of: JSON of everything, text of what was not on the screen."""
        if self._is_json or not self._screen.shows_warnings:
            return outcome.warnings
        return tuple(one for one in outcome.warnings if one not in outcome.recorded_warnings)

    def begin(self, preview: api.RunPreview) -> None:
        self._screen.begin(preview)
        self._signals.listen()

    def event(self, event: api.KnownEvent, state: api.RunState) -> None:
        self._screen.event(event, state)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with self._signals:
            self._screen.close()


def _asking(settings: api.Settings, screen: NullDisplay, *, yes: bool) -> api.Ask | None:
    silent = yes or not settings[rs.INTERACTIVE] or settings[rs.CI] or settings[OUTPUT] == "json"
    if silent or not can_ask():
        return None
    one_at_a_time = threading.Lock()

    def put(question: str, pause: Callable[[float], bool]) -> bool:
        with one_at_a_time, screen.suspended():
            return ask(question, pause)

    return put
