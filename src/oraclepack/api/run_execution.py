"""Running packs: here, one after another, or in a process of its own."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Required, TypedDict

import msgspec

from oraclepack.api.run_planning import forecast
from oraclepack.api.settings_access import load_settings
from oraclepack.authoring import single_call
from oraclepack.authoring.single_call import CallPreflight, CallResult
from oraclepack.journal.run_state import Ask
from oraclepack.run import run_pack, run_report, run_request, start_run
from oraclepack.run import run_packs as several
from oraclepack.run.planning.selection import RunArguments
from oraclepack.run.run_display import Display
from oraclepack.run.run_packs import FrontEnds, RunPacksOutcome
from oraclepack.run.run_report import RunOutcome
from oraclepack.run.start_run import DetachedReport, StartedRun, start_detached
from oraclepack.settings import run_settings
from oraclepack.settings.registry import Settings
from oraclepack.shell.stop import Stop
from oraclepack.system.environment import GITHUB_SUMMARY_VARIABLE, environment
from oraclepack.system.path_jail import content_at


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
    request = run_request.read_request(pack, settings, arguments, display, ask)
    outcome = run_report.run_outcome(request, run_pack.run_pack(request, stop=stop))
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


class QuestionOptions(TypedDict, total=False):
    """One question without a pack."""

    prompt: Required[str]
    files: tuple[str, ...]
    """Paths or patterns to attach; a relative one is read from the current directory."""
    model: str | None
    output: str | None
    """Where the answer goes; by default below `.oraclepack/calls`."""


def call(
    question: QuestionOptions,
    settings: Settings | None = None,
    arguments: RunArguments | None = None,
    *,
    display: Display | None = None,
    stop: Stop | None = None,
    ask: Ask | None = None,
) -> tuple[CallResult, RunOutcome]:
    """Ask one question as a run of one step; `display`, `stop` and `ask` as for `run`."""
    settings = settings or load_settings()
    root = Path(settings.root)
    pack, output = single_call.write_call(root, single_call.SingleQuestion(**question))
    if not settings.is_given(run_settings.LEGACY_FILES):
        # The Go tool has no such command, and the files would lie in the project root.
        values = {**settings.values, run_settings.LEGACY_FILES.name: False}
        settings = msgspec.structs.replace(settings, values=values)
    outcome = run(pack, settings, arguments, display=display, stop=stop, ask=ask)
    answer = content_at(root, output).data
    result = single_call.CallResult(
        run_id=outcome.report.run_id,
        title=single_call.title_of_prompt(question["prompt"]),
        pack=pack.relative_to(root).as_posix(),
        output=output,
        answer=None if answer is None else answer.decode("utf-8", "replace"),
        run=outcome.report,
    )
    return result, outcome


def call_preflight(
    question: QuestionOptions, settings: Settings | None = None
) -> tuple[CallPreflight, tuple[str, ...]]:
    """Whether a question could be asked, and what that would cost; asks nothing. And warnings."""
    settings = settings or load_settings()
    single_question = single_call.SingleQuestion(**question)
    pack, _ = single_call.write_call(Path(settings.root), single_question)
    forecasted, warnings = forecast(pack, settings)
    return single_call.preflight(forecasted, environment()), warnings


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
