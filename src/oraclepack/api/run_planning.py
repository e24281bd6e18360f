"""What a run would do, ask and cost, and why."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from oraclepack.api.settings_access import load_settings
from oraclepack.run import (
    explain_steps,
    plan_costs,
    plan_token,
    run_report,
)
from oraclepack.run import run_packs as several
from oraclepack.run import (
    step_content as content_of_steps,
)
from oraclepack.run.explain_steps import WhyReport
from oraclepack.run.forecast import CostForecast
from oraclepack.run.plan_token import PlanSubject, RunPlan
from oraclepack.run.planning.selection import RunArguments
from oraclepack.run.preview import expected_cost, preview_run
from oraclepack.run.request import read_request
from oraclepack.run.run_packs import RunPacksOutcome
from oraclepack.run.run_report import PlanOutcome
from oraclepack.run.step_content import StepContent
from oraclepack.settings.registry import Settings
from oraclepack.shell.stop import Stop


def plan(
    pack: str | Path, settings: Settings | None = None, arguments: RunArguments | None = None
) -> PlanOutcome:
    """What `run` would do with every step, and why. Changes nothing."""
    request = read_request(pack, settings or load_settings(pack), arguments)
    selected, planned = preview_run(request)
    expected = expected_cost(request, selected, planned)
    return run_report.plan_outcome(selected, planned, expected)


def plan_packs(
    paths: Sequence[str],
    settings: Settings | None = None,
    arguments: RunArguments | None = None,
) -> RunPacksOutcome:
    """What `run_packs` would do with every step of every pack. Changes nothing."""
    chosen, wanted = settings or load_settings(paths[0]), arguments or RunArguments()
    return several.plan_packs(several.packs_to_run(paths, chosen, wanted), chosen, wanted)


def forecast(
    pack: str | Path,
    settings: Settings | None = None,
    arguments: RunArguments | None = None,
    stop: Stop | None = None,
) -> tuple[CostForecast, tuple[str, ...]]:
    """What `run` would ask and cost, from a rehearsal in a copy of the project; and warnings."""
    chosen = settings or load_settings(pack)
    return plan_costs.forecast(pack, chosen, arguments or RunArguments(), stop)


def why(pack: str | Path, step: str, settings: Settings | None = None) -> tuple[str, WhyReport]:
    """Why a step ran, was left out or would run: in one sentence, and everything behind it."""
    request = read_request(pack, settings or load_settings(pack))
    return explain_steps.why_step(request, *preview_run(request), step)


def step_content(pack: str | Path, step: str, settings: Settings | None = None) -> StepContent:
    """What a step would send: prompts, files and calls with the overrides of the settings."""
    return content_of_steps.step_content(Path(pack), step, settings or load_settings(pack))


def check_overrides(pack: str | Path, settings: Settings) -> None:
    """Raise UsageError where oracle would refuse an override, or a step is not there."""
    content_of_steps.check_overrides(Path(pack), settings)


def plan_with_token(
    pack: str | Path, settings: Settings, arguments: RunArguments | None = None
) -> tuple[RunPlan, tuple[str, ...]]:
    """What `run` would do, and a token that lets exactly that begin; also warnings."""
    wanted = arguments or RunArguments()
    subject = plan_token.plan_subject(pack, settings, wanted)
    # The token must be for the pack that the plan shows, although it is read twice.
    outcome = plan(pack, settings, msgspec.structs.replace(wanted, expect_pack=subject.pack_hash))
    return plan_token.planned(outcome.report, subject), outcome.warnings


def plan_subject(
    pack: str | Path, settings: Settings, arguments: RunArguments | None = None
) -> PlanSubject:
    """What decides what a run does (pack, project, settings, arguments), as hashes."""
    return plan_token.plan_subject(pack, settings, arguments or RunArguments())


def redeem_plan(
    token: str, pack: str | Path, settings: Settings, arguments: RunArguments | None = None
) -> str:
    """Use the token of a plan; raises where it is wrong, expired, used or for another plan.

    Returns the hash of the pack it was issued for: `RunArguments.expect_pack` of the run.
    """
    return plan_token.redeem(token, pack, settings, arguments or RunArguments())
