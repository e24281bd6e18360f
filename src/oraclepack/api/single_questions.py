"""One question without a pack, asked as a run of one step."""

from __future__ import annotations

from pathlib import Path
from typing import Required, TypedDict

import msgspec

from oraclepack.api.run_execution import run
from oraclepack.api.run_planning import forecast
from oraclepack.api.settings_access import load_settings
from oraclepack.journal.run_state import Ask
from oraclepack.run import single_call
from oraclepack.run.planning.selection import RunArguments
from oraclepack.run.run_display import Display
from oraclepack.run.run_report import RunOutcome
from oraclepack.run.single_call import CallPreflight, CallResult
from oraclepack.settings import run_settings
from oraclepack.settings.registry import Settings
from oraclepack.shell.stop import Stop
from oraclepack.system.environment import environment
from oraclepack.system.path_jail import content_at


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
