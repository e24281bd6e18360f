"""`tui`: the screens, also those of `runs watch --inline`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

import click

from oraclepack.cli.command import command
from oraclepack.cli.crash import log_crash
from oraclepack.cli.reply import Reply
from oraclepack.errors import ExitCode, UsageError
from oraclepack.settings.registry import STRICT, Settings
from oraclepack.system.terminal import can_ask, stdout_is_terminal


@command(
    "tui",
    data="screen-session",
    changes="what you do there: packs, backlogs, runs",
    effect="execute",
    starts="what you start there: runs, which cost money; $PAGER and $EDITOR",
    settings=(STRICT,),
    examples=("oraclepack tui", "oraclepack tui docs/pack.md", "oraclepack tui --demo"),
)
@click.argument("place", metavar="[PACK|DIR]", default=".", type=click.Path())
@click.option("--demo", is_flag=True, help="Open a recorded run, in a copy that is removed.")
def tui(place: str, *, demo: bool, settings: Settings) -> Reply:
    """Browse, prepare, run, watch and read packs on the screen.

    Needs a terminal and the extra `tui`: pip install 'oraclepack[tui]'. Runs that are started there
    go on when the screen is left; the next `oraclepack tui` shows them again.
    """
    _require_terminal("tui", "`oraclepack list` and `runs watch` work without one")
    if not Path(place).exists():
        raise UsageError(f"{place}: no such file or directory", hint="name a pack or a folder")
    with _textual_needed("tui"):
        from oraclepack.tui.app import TuiApp
        from oraclepack.tui.demo_project import demo_project
    with demo_project() if demo else nullcontext(Path(place)) as opened:
        app = TuiApp(str(opened), settings, is_pack=opened.is_file(), log_fault=_log_fault)
        code = app.run()
    if app.fatal is not None:
        raise app.fatal
    return Reply({"place": str(opened)}, exit_code=ExitCode(code or 0))


def watch_inline(name: str, settings: Settings) -> ExitCode | None:
    """Show a run below the prompt; None where it ended, else why it is not watched any more."""
    _require_terminal("--inline", "`oraclepack runs watch --display plain` works without one")
    with _textual_needed("--inline"):
        from oraclepack.tui.inline_watch import InlineWatchApp
    app = InlineWatchApp(name, settings)
    code = app.run(inline=True, mouse=False)
    if app.fatal is not None:
        raise app.fatal
    return None if code is None else ExitCode(code)


def _require_terminal(what: str, hint: str) -> None:
    if not (can_ask() and stdout_is_terminal()):
        raise UsageError(f"{what} needs a terminal", hint=hint)


@contextmanager
def _textual_needed(what: str) -> Iterator[None]:
    try:
        yield
    except ModuleNotFoundError as missing:
        if (missing.name or "").partition(".")[0] != "textual":
            raise
        raise UsageError(
            f"{what} needs the package textual", hint="pip install 'oraclepack[tui]'"
        ) from None


def _log_fault(error: BaseException) -> str:
    path = log_crash(error, "tui")
    return str(path) if path else ""
