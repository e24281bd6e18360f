"""Which display a run gets: a table, lines, JSON lines, or silence."""

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self

from oraclepack.cli.event_lines import JsonLog, Lines
from oraclepack.journal.run_state import Ask
from oraclepack.pack.model import Pack
from oraclepack.run.planning.plan import Plan
from oraclepack.run.recorder import Observer
from oraclepack.settings import run_settings as rs
from oraclepack.settings.registry import COLOR, OUTPUT, Settings
from oraclepack.system.terminal import ask, can_ask, is_terminal


class Display(Protocol):
    """What watches a run; entered before it begins and left after it ended."""

    @property
    def observers(self) -> tuple[Observer, ...]: ...

    def expect(self, plan: Plan, pack: Pack, run_dir: Path) -> None:
        """Learn what is going to be done, and where its logs will be."""

    def aside(self) -> AbstractContextManager[None]:
        """Leave the screen to somebody else for a while."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
        /,
    ) -> None: ...


def display(settings: Settings) -> Display:
    """On a terminal a live table, unless somebody wants it plainer; elsewhere lines."""
    if settings[rs.JSON_LOG] or settings[rs.CI]:
        return Plain(JsonLog())
    if settings[rs.QUIET]:
        return Plain()
    plain = not settings[rs.TUI] or settings[OUTPUT] == "json" or not is_terminal()
    return Plain(Lines()) if plain else Table(settings)


class Plain:
    """Lines, or nothing at all."""

    def __init__(self, observer: Lines | JsonLog | None = None) -> None:
        self._observer = observer

    @property
    def observers(self) -> tuple[Observer, ...]:
        return () if self._observer is None else (self._observer,)

    def expect(self, plan: Plan, pack: Pack, run_dir: Path) -> None:
        pass

    def aside(self) -> AbstractContextManager[None]:
        return nullcontext()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if isinstance(self._observer, Lines):
            self._observer.close()


class Table:
    """The live table."""

    def __init__(self, settings: Settings) -> None:
        from oraclepack.cli.live.screen import LiveTable  # noqa: PLC0415
        from oraclepack.run.run_request import limits_of  # noqa: PLC0415 - only on a terminal

        self._table = LiveTable(
            color=settings[COLOR] != "never",
            parallel=settings[rs.MAX_PARALLEL],
            limits=limits_of(settings),
        )

    @property
    def observers(self) -> tuple[Observer, ...]:
        return (self._table,)

    def expect(self, plan: Plan, pack: Pack, run_dir: Path) -> None:
        from oraclepack.cli.live.table_rows import PlannedRow  # noqa: PLC0415 - only on a terminal
        from oraclepack.pack.questions import title_of  # noqa: PLC0415

        titles = {step.id: title_of(step) for step in pack.steps}
        steps = [PlannedRow(s.step_id, titles.get(s.step_id, ""), s.decision) for s in plan.steps]
        self._table.expect(steps, run_dir)
        # Not before: a mistake in the request is told without waiting for a screen.
        self._table.start()

    def aside(self) -> AbstractContextManager[None]:
        return self._table.aside()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._table.close()


def asking(settings: Settings, shown: Display, *, yes: bool) -> Ask | None:
    """Who asks the person at the terminal; None where nobody is to be asked."""
    silent = yes or not settings[rs.INTERACTIVE] or settings[rs.CI] or settings[OUTPUT] == "json"
    if silent or not can_ask():
        return None
    one_at_a_time = threading.Lock()

    def put(question: str, pause: Callable[[float], bool]) -> bool:
        with one_at_a_time, shown.aside():
            return ask(question, pause)

    return put
