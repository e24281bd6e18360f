"""Planning and running packs: what front ends and programs call."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from oraclepack.journal.run_state import Ask
from oraclepack.run import (
    explain_steps,
    plan_costs,
    plan_token,
    run_report,
)
from oraclepack.run import run as running
from oraclepack.run.explain_steps import WhyReport
from oraclepack.run.forecast import CostForecast
from oraclepack.run.plan_token import RunPlan
from oraclepack.run.planning.selection import RunArguments
from oraclepack.run.preview import expected_cost, preview_run
from oraclepack.run.request import read_request
from oraclepack.run.run_display import Display
from oraclepack.run.run_report import PlanOutcome, RunOutcome
from oraclepack.run.start_run import StartedRun, start_detached
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


def start_run(
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
    """
    chosen = settings or load_settings(pack)
    return start_detached(command, pack, chosen, arguments or RunArguments(), more)


def plan_run(
    pack: str | Path, settings: Settings | None = None, arguments: RunArguments | None = None
) -> PlanOutcome:
    """What `run_pack` would do with every step, and why. Changes nothing."""
    request = read_request(pack, settings or load_settings(pack), arguments)
    selected, planned = preview_run(request)
    expected = expected_cost(request, selected, planned)
    return run_report.plan_outcome(selected, planned, expected)


def forecast_run(
    pack: str | Path,
    settings: Settings | None = None,
    arguments: RunArguments | None = None,
    stop: Stop | None = None,
) -> tuple[CostForecast, tuple[str, ...]]:
    """What a run would ask and cost, from a rehearsal in a copy of the project; and warnings."""
    chosen = settings or load_settings(pack)
    return plan_costs.forecast(pack, chosen, arguments or RunArguments(), stop)


def explain_step(
    pack: str | Path, step: str, settings: Settings | None = None
) -> tuple[str, WhyReport]:
    """Why a step ran, was left out or would run: in one sentence, and everything behind it."""
    request = read_request(pack, settings or load_settings(pack))
    return explain_steps.why_step(request, *preview_run(request), step)


def plan_with_token(
    pack: str | Path, settings: Settings, arguments: RunArguments
) -> tuple[RunPlan, tuple[str, ...]]:
    """What a run would do, and a token that lets exactly that begin; also warnings."""
    subject = plan_token.plan_subject(pack, settings, arguments)
    # The token must be for the pack that the plan shows, although it is read twice.
    shown = msgspec.structs.replace(arguments, expect_pack=subject.pack_hash)
    outcome = plan_run(pack, settings, shown)
    return plan_token.planned(outcome.report, subject), outcome.warnings
