"""Planning and running packs: what front ends and programs call."""

from __future__ import annotations

from pathlib import Path

from oraclepack.journal.run_state import Ask
from oraclepack.run import run as running
from oraclepack.run import (
    run_report,
)
from oraclepack.run.planning.selection import RunArguments
from oraclepack.run.preview import expected_cost, preview_run
from oraclepack.run.request import read_request
from oraclepack.run.run_display import Display
from oraclepack.run.run_report import PlanOutcome, RunOutcome
from oraclepack.settings.loading import load_settings
from oraclepack.settings.registry import Settings
from oraclepack.shell.stop import Stop


def run_pack(
    pack: str | Path,
    settings: Settings | None = None,
    arguments: RunArguments | None = None,
    *,
    display: Display | None = None,
    stop: Stop | None = None,
    ask: Ask | None = None,
) -> RunOutcome:
    """Run a pack, or continue its run.

    `display` receives the plan and every event. Another thread, or a signal handler, asks
    `stop` to end the run; the caller closes it afterwards. `ask` puts a question to a person;
    without it nothing is asked.
    """
    settings = settings or load_settings(pack)
    request = read_request(pack, settings, arguments, display, ask)
    return run_report.run_outcome(request, running.run_pack(request, stop=stop))


def plan_run(
    pack: str | Path, settings: Settings | None = None, arguments: RunArguments | None = None
) -> PlanOutcome:
    """What `run_pack` would do with every step, and why. Changes nothing."""
    request = read_request(pack, settings or load_settings(pack), arguments)
    selected, planned = preview_run(request)
    expected = expected_cost(request, selected, planned)
    return run_report.plan_outcome(selected, planned, expected)
