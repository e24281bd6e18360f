"""The answer of `run`: what was done or would be, for people and programs."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from shlex import join

from oraclepack.cli.reply import Reply, ReplyError
from oraclepack.cli.run_options import notices
from oraclepack.cli.run_text import RunLocation, plan_text, policy_failure, run_text
from oraclepack.errors import ExitCode
from oraclepack.journal.run_state import RunState
from oraclepack.pipeline.pipeline_exports import tell_github
from oraclepack.run.open_run import SelectedRun
from oraclepack.run.planning.plan import Plan
from oraclepack.run.run_pack import RunRequest, RunResult
from oraclepack.run.run_report import RunReport, told, told_plan
from oraclepack.system.printable import single_lines

_ONCE = frozenset({"--new-run", "--resume", "--no-resume"})
"""They would begin another run, or say what is so anyway."""
_ONCE_WITH_VALUE = frozenset({"--import-state", "--rerun"})


def continuing(argv: Sequence[str], plan: Plan, state: RunState) -> str:
    """The words of this command without those that must not be said twice.

    A rerun goes on with exactly the steps it did not get to: the others may have been ok
    before, so that only `--rerun` picks them.
    """
    words = list(_lasting(argv))
    if _is_rerun(argv):
        left = [step.step_id for step in plan.to_run if not _is_settled(state, step.step_id)]
        end = words.index("--") if "--" in words else len(words)
        words[end:end] = ["--rerun", ranges(left)] if left else []
    return join(["oraclepack", *words])


def ranges(ids: Iterable[str]) -> str:
    """Step ids as `--rerun` and `--steps` take them: `03,07-09`."""
    ordered = sorted(ids)
    breaks = [at for at, (one, two) in enumerate(pairwise(ordered), 1) if int(two) - int(one) > 1]
    runs = [ordered[a:b] for a, b in pairwise([0, *breaks, len(ordered)])] if ordered else []
    return ",".join(run[0] if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)


def _is_settled(state: RunState, step_id: str) -> bool:
    """It went well in the last command; an earlier success does not count for a rerun."""
    began = state.sessions[-1].started.at if state.sessions else ""
    step = state.step(step_id)
    return step.status.is_settled and (step.finished_at or "") >= began


def _is_rerun(argv: Sequence[str]) -> bool:
    options = argv[: list(argv).index("--")] if "--" in argv else argv
    return any(word.partition("=")[0] == "--rerun" for word in options)


def _lasting(argv: Sequence[str]) -> Iterator[str]:
    rest = iter(argv)
    for word in rest:
        name, equals, _ = word.partition("=")
        if word == "--":
            yield word
            yield from rest
        elif name in _ONCE_WITH_VALUE:
            if not equals:
                next(rest, None)
        elif name not in _ONCE:
            yield word


def plan_reply(found: SelectedRun, plan: Plan) -> Reply:
    report = told_plan(found, plan)
    warnings = notices(found.notice) + plan.warnings
    if plan.refusal is not None:
        said = plan.refusal
        warnings += (f"without --dry-run this is refused: {said.message} (hint: {said.hint})",)
    return Reply(report, plan_text(single_lines(report)), warnings=warnings)


def run_reply(request: RunRequest, result: RunResult) -> Reply:
    report = told(result)
    code = ExitCode(result.exit_code)
    way_on = continuing(request.argv, result.plan, result.state)
    return Reply(
        data=report,
        text=run_text(
            single_lines(report), RunLocation(request.root, Path.cwd()), None if code else way_on
        ),
        exit_code=code,
        warnings=notices(result.found.notice) + tell_github(report, request.pack),
        error=_failure(report, code, way_on) if code else None,
    )


def _failure(told: RunReport, code: ExitCode, command: str) -> ReplyError:
    way_on = f"to continue: {command}"
    if code is ExitCode.POLICY:
        shortfall = told.completion.shortfall or code.meaning
        return policy_failure((shortfall,), way_on, told)
    if code in {ExitCode.INTERRUPTED, ExitCode.TERMINATED}:
        return ReplyError(code.name, code.meaning, retryable=True, phase="run", suggestion=way_on)
    rolled = f"; rollback {told.rollback_status}" if told.rollback_status != "not_attempted" else ""
    return ReplyError(
        "PARTIAL_FAILURE",
        f"{told.cause}{rolled}",
        detail=told.rollback_error or "",
        retryable=told.is_retryable,
        phase="run",
        suggestion=told.ways_on or way_on,
        retry_after=told.retry_after,
    )
