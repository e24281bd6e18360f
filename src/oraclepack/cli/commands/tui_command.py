"""`tui`: the screens."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path

import click

from oraclepack import api
from oraclepack.cli.command import command
from oraclepack.cli.crash import log_crash
from oraclepack.cli.reply import Reply
from oraclepack.errors import ExitCode, UsageError
from oraclepack.system.terminal import can_ask, stdout_is_terminal


@command(
    "tui",
    data="screen-session",
    changes="what you do there: packs, backlogs, runs",
    effect="execute",
    starts="what you start there: runs, which cost money; $PAGER and $EDITOR",
    settings=(api.STRICT,),
    examples=("oraclepack tui", "oraclepack tui docs/pack.md", "oraclepack tui --demo"),
)
@click.argument("place", metavar="[PACK|DIR]", default=".", type=click.Path())
@click.option("--demo", is_flag=True, help="Open a recorded run, in a copy that is removed.")
def tui(place: str, *, demo: bool, settings: api.Settings) -> Reply:
    """Browse, prepare, run, watch and read packs on the screen.

    Needs a terminal and the extra `tui`: pip install 'oraclepack[tui]'. Runs that are started there
    go on when the screen is left; the next `oraclepack tui` shows them again.
    """
    if not (can_ask() and stdout_is_terminal()):
        raise UsageError(
            "tui needs a terminal", hint="`oraclepack list` and `runs watch` work without one"
        )
    if not Path(place).exists():
        raise UsageError(f"{place}: no such file or directory", hint="name a pack or a folder")
    try:
        from oraclepack.tui.app import TuiApp
        from oraclepack.tui.demo_project import demo_project
    except ModuleNotFoundError as missing:
        if (missing.name or "").partition(".")[0] != "textual":
            raise
        raise UsageError(
            "tui needs the package textual", hint="pip install 'oraclepack[tui]'"
        ) from None
    with demo_project() if demo else nullcontext(Path(place)) as opened:
        app = TuiApp(str(opened), settings, is_pack=opened.is_file(), log_fault=_log_fault)
        code = app.run()
    if app.fatal is not None:
        raise app.fatal
    return Reply({"place": str(opened)}, exit_code=ExitCode(code or 0))


def _log_fault(error: BaseException) -> str:
    path = log_crash(error, "tui")
    return str(path) if path else ""
