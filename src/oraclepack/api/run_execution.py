"""Running packs: one, or one after another."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from oraclepack.api.settings_access import load_settings
from oraclepack.journal.run_state import Ask
from oraclepack.run import run_packs as several
from oraclepack.run import run_report
from oraclepack.run.planning.selection import RunArguments
from oraclepack.run.request import read_request
from oraclepack.run.run import run_pack
from oraclepack.run.run_display import Display
from oraclepack.run.run_packs import FrontEnds, RunPacksOutcome
from oraclepack.run.run_report import RunOutcome
from oraclepack.settings.registry import Settings
from oraclepack.shell.stop import Stop
from oraclepack.system.environment import GITHUB_SUMMARY_VARIABLE, environment


def run(
    pack: str | Path,
    settings: Settings | None = None,
    arguments: RunArguments | None = None,
    *,
    display: Display | None = None,
    stop: Stop | None = None,
    ask: Ask | None = None,
    github: bool = False,
) -> RunOutcome:
    """Run a pack, or continue its run.

    `display` receives the plan and every event. Another thread, or a signal handler, asks
    `stop` to end the run; the caller closes it afterwards. `ask` puts a question to a person;
    without it nothing is asked. With `github`, a table is appended to the summary page of GitHub
    where there is one.
    """
    settings = settings or load_settings(pack)
    request = read_request(pack, settings, arguments, display, ask)
    outcome = run_report.run_outcome(request, run_pack(request, stop=stop))
    if not github or not environment().get(GITHUB_SUMMARY_VARIABLE):
        return outcome
    from oraclepack.pipeline.pipeline_exports import append_run_summary

    warnings = append_run_summary(outcome.report, outcome.pack)
    return msgspec.structs.replace(outcome, warnings=outcome.warnings + warnings)


def run_packs(
    paths: Sequence[str],
    settings: Settings | None = None,
    arguments: RunArguments | None = None,
    *,
    front_ends: FrontEnds,
) -> RunPacksOutcome:
    """Run several packs, or those of directories, one after another under one budget.

    `front_ends` makes the display, the stop switch and the questions of each pack.
    """
    chosen, wanted = settings or load_settings(paths[0]), arguments or RunArguments()
    packs = several.packs_to_run(paths, chosen, wanted)
    return several.run_packs(packs, chosen, wanted, front_ends)
