"""Running packs in a process of its own."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from oraclepack.api.settings_access import load_settings
from oraclepack.run import start_run
from oraclepack.run.planning.selection import RunArguments
from oraclepack.run.start_run import DetachedReport, StartedRun, start_detached
from oraclepack.settings.registry import Settings


def start(
    pack: str | Path,
    settings: Settings | None = None,
    arguments: RunArguments | None = None,
    *,
    command: str = "run",
    more: Sequence[str] = (),
) -> StartedRun:
    """Run a pack in a process of its own that outlives this one; returns once its run has begun.

    `command` is `run` or `pipeline`; `more` are words of its command line that are no settings.
    The process reads the pack itself: `arguments.expect_pack` makes it refuse another one.
    `runs(root).watch`, `.logs`, `.status` and `.control` observe and steer it.
    """
    chosen = settings or load_settings(pack)
    return start_detached(command, pack, chosen, arguments or RunArguments(), more)


def detached_report() -> DetachedReport | None:
    """Where this process reports, if it is the command of a detached run."""
    return start_run.detached_report()
