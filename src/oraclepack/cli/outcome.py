"""What a run, several runs or a pipeline came to, for people and programs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from shlex import quote
from typing import Any

import msgspec

from oraclepack.cli.finding_text import as_text
from oraclepack.cli.reply import Reply, ReplyError, Styled
from oraclepack.cli.text import before_rerun, columns, seconds, some_of
from oraclepack.errors import SIGNALLED, ExitCode
from oraclepack.journal.costs import cost_text, money
from oraclepack.journal.statuses import RollbackStatus
from oraclepack.lint.validate import CheckedPack
from oraclepack.pipeline.pipeline_report import PipelineReport, PolicyReport, StageReport
from oraclepack.run.run_packs import PackRun, RunPacksOutcome
from oraclepack.run.run_report import PlanOutcome, RunOutcome, RunReport, StepReport, ways_on
from oraclepack.run.start_run import StartedRun
from oraclepack.settings import run_settings as rs
from oraclepack.settings.declaration import Setting, ValueSource
from oraclepack.settings.registry import Settings
from oraclepack.shell.logs import last_lines
from oraclepack.system.printable import single_lines


def idle_thresholds(settings: Settings, *thresholds: Setting[Any]) -> tuple[str, ...]:
    """A warning for each threshold that was given and decides nothing."""
    if settings[rs.CI]:
        return ()
    return tuple(
        f"{setting.flag} decides nothing without --ci"
        for setting in thresholds
        if settings.origin(setting).source is ValueSource.FLAG
    )


def policy_line(*, met: bool, figures: str) -> tuple[str | Styled, ...]:
    """The line of the policy in a text."""
    verdict = Styled("met    ", "green") if met else Styled("not met", "red")
    return ("policy     ", verdict, f"  {figures}\n")


NO_POLICY = "policy     not judged: a rehearsal has no answers\n"


def policy_failure(
    shortfalls: tuple[str, ...], suggestion: str, run: RunReport | None = None
) -> ReplyError:
    """Why the exit code is 5, and what failed in the run that it is about."""
    causes = (run.cause,) if run is not None and run.cause else ()
    return ReplyError(
        "POLICY",
        "; ".join((*shortfalls, *causes)),
        retryable=run.is_retryable if run is not None else False,
        phase="policy",
        suggestion=suggestion,
        retry_after=run.retry_after if run is not None else None,
    )


_TAIL = 10
_WITHOUT_CAUSE = frozenset({ExitCode.INTERRUPTED.name, ExitCode.TERMINATED.name})
"""Errors that do not say why a step failed."""
_LONGEST = 300


class RunLocation(msgspec.Struct, frozen=True):
    """Where a run lies, seen from where the user stands."""

    root: Path
    here: Path
    pack: str
    """The path of its pack, as the user gave it."""

    def read(self, relative: str) -> Path:
        return self.root / relative

    def display_path(self, relative: str) -> str:
        """A path that works from here: as the records have it, where that is the same."""
        return relative if self.root == self.here else (self.root / relative).as_posix()


def plan_text(report: RunReport) -> str:
    """What would be done with every step, and why."""
    head = (
        f"run {report.run_id} ({'continued' if report.continued else 'new'}: {report.reason})\n\n"
    )
    asks = any(step.expected_calls for step in report.steps)
    rows = [
        (
            *(step.step_id, step.decision, step.status),
            *((step.expected_calls.text if step.expected_calls else "",) if asks else ()),
            step.reason,
        )
        for step in report.steps
    ]
    heads = ("step", "decision", "status", *(("calls",) if asks else ()), "reason")
    table = columns(heads, rows)
    forecast = report.forecast
    return head + table + (f"\nforecast: {forecast.text}\n" if forecast is not None else "")


def run_text(
    report: RunReport,
    place: RunLocation,
    command: str | None,
    error: ReplyError | None = None,
) -> tuple[str | Styled, ...]:
    """How it went, and if not well: the end of the log, and the command that continues.

    No command where the error names it already. What the error says is not said again: why the
    first step failed, and the ways on from answers that miss their contracts.
    """
    is_cause_shown = error is not None and error.code not in _WITHOUT_CAUSE
    ways_on = report.ways_on(place.pack)
    are_ways_shown = error is not None and ways_on is not None and error.suggestion == ways_on
    pieces: list[str | Styled] = []
    failed = [step for step in report.steps if step.step_id in report.failed_steps]
    if report.failed_step is not None and not failed:
        if not is_cause_shown:
            why = f": {report.prelude_error}" if report.prelude_error else ""
            pieces += [Styled(f"the {report.failed_step} failed", "red"), f"{why}\n"]
        logs = _log_names(report.run_dir, report.prelude_stderr_log, report.prelude_stdout_log)
        pieces += _tail(logs, place, report.prelude_error or "")
    for number, step in enumerate(failed):
        if number or not is_cause_shown:
            pieces += _step_failure(step)
        logs = _log_names(report.run_dir, step.stderr_log, step.stdout_log)
        pieces += _log_line(logs, place) if number else _tail(logs, place, step.message or "")
        mine = [one for one in report.output_failures if one.step_id == step.step_id]
        pieces += [f"{one.line}\n" for one in mine]
        pieces += _ways_on(report, place.pack, step.step_id, are_shown=are_ways_shown)
    for step in report.steps:
        if step.changed_files and step.step_id in {*report.completed_steps, *report.failed_steps}:
            pieces.append(_changed(step, place.pack, failed=step in failed))
    pieces.append(_summary(report))
    if report.rollback_status != RollbackStatus.NOT_ATTEMPTED:
        rollback_error = f": {report.rollback_error}" if report.rollback_error else ""
        pieces.append(f"rollback {report.rollback_status}{rollback_error}\n")
        pieces += [f"not rolled back: {path}\n" for path in report.not_rolled_back]
    pieces += _answers(report, place)
    pieces.append(f"run directory: {place.display_path(report.run_dir)}\n")
    if report.resume_from is not None and command is not None:
        pieces.append(f"to continue: {command}\n")
    elif error is None:
        pieces += _next_command(report, place)
    return tuple(pieces)


def gitignore_lines(unignored: tuple[str, ...]) -> tuple[str, ...]:
    """What to add to .gitignore, said after the first run of a project."""
    instead = "legacy_files = false keeps these files in .oraclepack instead"
    line = f"add to .gitignore: *.state.json and *.report.json ({instead})\n"
    return (line,) if unignored else ()


def _asked(report: RunReport) -> list[StepReport]:
    """The steps that are done and whose answers came from a model."""
    done = {*report.completed_steps, *report.done_steps}
    return [
        step
        for step in report.steps
        if step.step_id in done and any(call.tool == "oracle" for call in step.invocations)
    ]


def _answers(report: RunReport, place: RunLocation) -> list[str]:
    """Where the answers are: their folder, or the files where they have none in common."""
    paths = [Path(one.path) for step in _asked(report) for one in step.outputs]
    if not paths or report.is_rehearsal:
        return []
    folders = {path.parent for path in paths}
    if len(paths) > 1 and len(folders) == 1:
        where = place.display_path(folders.pop().as_posix())
        return [f"answers: {len(paths)} files in {where}\n"]
    return [f"answers: {some_of(tuple(place.display_path(one.as_posix()) for one in paths))}\n"]


def _next_command(report: RunReport, place: RunLocation) -> list[str]:
    """The command that usually follows."""
    if not _asked(report):
        return []
    if report.is_rehearsal:
        return [f"next: oraclepack run {quote(place.pack)}\n"]
    return ["next: oraclepack actionize\n"]


def _ways_on(report: RunReport, pack: str, step_id: str, *, are_shown: bool) -> list[str | Styled]:
    """What to do about an answer that misses its contract, unless the hint of the error says it."""
    if step_id not in report.unmet_steps:
        return []
    if are_shown:
        is_held = step_id in report.held_steps
        return ["  not asked again, because it was paid for\n"] if is_held else []
    held = "not asked again: " if step_id in report.held_steps else ""
    return [f"  {held}{ways_on(pack, (step_id,))}\n"]


def _step_failure(step: StepReport) -> list[str | Styled]:
    reason = f" ({step.error}): {step.message}" if step.error else ""
    return [Styled(f"step {step.step_id} failed", "red"), f"{reason}\n"]


def _log_names(run_dir: str, *names: str | None) -> list[str]:
    return [f"{run_dir}/{name}" for name in names if name]


def _log_line(logs: list[str], place: RunLocation) -> list[str | Styled]:
    log_with_text = next((log for log in logs if last_lines(place.read(log), 1)), None)
    return [f"  log: {place.display_path(log_with_text)}\n"] if log_with_text else []


def _tail(logs: list[str], place: RunLocation, message: str) -> list[str | Styled]:
    """The end of the first log that says something, and where it lies; nothing twice."""
    for log in logs:
        lines = last_lines(place.read(log), _TAIL)
        if len(lines) == 1 and lines[0].strip() in message:
            return [f"log: {place.display_path(log)}\n"]
        if lines:
            quoted = [Styled(f"  | {_short(line)}\n", "dim") for line in lines]
            return [f"the end of {place.display_path(log)}:\n", *quoted]
    return [f"its logs are empty: {place.display_path(log)}\n" for log in logs[:1]]


def _changed(step: StepReport, pack: str, *, failed: bool) -> str:
    before = f"\n  {before_rerun(pack, step.step_id)}" if failed else ""
    return f"step {step.step_id} changed {some_of(step.changed_files)}{before}\n"


def _short(line: str) -> str:
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]}… ({len(line)} characters)"


def _summary(report: RunReport) -> str:
    spent = sum(s.duration_ms or 0 for s in report.steps if s.step_id in report.completed_steps)
    took = f" ({seconds(spent)} of work)" if report.completed_steps else ""
    cost = cost_text(report.cost)
    costs = f"cost of the run so far: {cost}\n" if cost else ""
    forecast = report.forecast
    if forecast is not None and forecast.likely is not None and forecast.actual is not None:
        likely = money(forecast.likely)
        costs += f"this command: {money(forecast.actual)}, forecast: likely {likely}\n"
    return f"{report.counted}{took}\n{costs}"


def plan_reply(outcome: PlanOutcome) -> Reply:
    text = plan_text(single_lines(outcome.report))
    return Reply(outcome.report, text, warnings=outcome.warnings)


def started_reply(started: StartedRun) -> Reply:
    """A run that goes on by itself: one line of JSON for programs."""
    text = (
        f"run {started.name} goes on in the background, process {started.pid}\n"
        f"to watch it: oraclepack runs watch {started.name}\n"
        f"to stop it:  oraclepack runs stop {started.name}\n"
        f"console log: {started.console_log}\n"
    )
    return Reply(started, text, one_line_json=True)


def run_reply(outcome: RunOutcome, warnings: tuple[str, ...]) -> Reply:
    report, code, way_on = outcome.report, outcome.exit_code, outcome.continue_command
    place = RunLocation(outcome.root, Path.cwd(), outcome.pack.path)
    error = run_failure(outcome) if code else None
    return Reply(
        data=report,
        text=(
            *run_text(single_lines(report), place, None if code else way_on, error),
            *gitignore_lines(outcome.unignored),
        ),
        exit_code=code,
        warnings=warnings,
        error=error,
    )


def budget_failure(report: RunReport, command: str) -> ReplyError:
    """Why the exit code is 7: what is spent, reserved and left."""
    also = f"; {report.cause}" if report.cause else ""
    message = f"{report.budget_cause}{also}"
    way_on = f"to continue, once the limit has room for the call: {command}"
    return ReplyError("BUDGET", message, phase="run", suggestion=way_on)


def decision_failure(report: RunReport, command: str) -> ReplyError:
    """Why the exit code is 8: what is waited for, or how a person decides."""
    if report.awaited_cause is not None and report.cause is None:
        way_on = f"to go on waiting, without asking again: {command}"
        return ReplyError(
            report.awaited_code,
            report.awaited_cause,
            retryable=True,
            phase="run",
            suggestion=way_on,
        )
    ways = f"{command} --on-unknown retry asks again, and may pay a second time"
    message = report.cause or ExitCode.DECISION.meaning
    return ReplyError(ExitCode.DECISION.name, message, phase="run", suggestion=ways)


def run_failure(outcome: RunOutcome) -> ReplyError:
    report, code, command = outcome.report, outcome.exit_code, outcome.continue_command
    way_on = f"to continue: {command}"
    if code is ExitCode.POLICY:
        shortfall = report.completion.shortfall or code.meaning
        return policy_failure((shortfall,), way_on, report)
    if code is ExitCode.BUDGET:
        return budget_failure(report, command)
    if code is ExitCode.DECISION:
        return decision_failure(report, command)
    if code in {ExitCode.INTERRUPTED, ExitCode.TERMINATED}:
        return ReplyError(code.name, code.meaning, retryable=True, phase="run", suggestion=way_on)
    back = report.rollback_status
    rolled = "" if back == "not_attempted" else f"; rollback {back}"
    failed = [step for step in report.steps if step.step_id in report.failed_steps]
    changed = [step.step_id for step in failed if step.changed_files]
    way_on = report.way_on(outcome.pack.path, command)
    if changed and not rolled:
        way_on = f"step {changed[0]} changed files; {before_rerun(outcome.pack.path, changed[0])}"
    return ReplyError(
        "PARTIAL_FAILURE",
        f"{report.cause}{rolled}",
        detail=report.rollback_error or "",
        retryable=report.is_retryable,
        phase="run",
        suggestion=way_on,
        retry_after=report.retry_after,
    )


def packs_plan_reply(outcome: RunPacksOutcome) -> Reply:
    """What would be done with every step of every pack."""
    texts = (
        f"{one.path}: {plan_text(single_lines(one.run))}"
        for one in outcome.report.packs
        if one.run is not None
    )
    return Reply(outcome.report, "\n".join(texts), warnings=outcome.warnings)


def packs_reply(outcome: RunPacksOutcome, warnings: tuple[str, ...]) -> Reply:
    """How each pack went, then all of them."""
    pieces: list[str | Styled] = []
    ran = {one.pack.path: one for one in outcome.outcomes}
    for pack in outcome.report.packs:
        own = ran.get(pack.path)
        if own is not None and own.exit_code:
            pieces.append(Styled(f"{pack.path}\n", "bold"))
            place = RunLocation(own.root, Path.cwd(), pack.path)
            pieces += run_text(single_lines(own.report), place, own.continue_command)
    pieces.append(columns(("pack", "exit code", "result"), map(_pack_row, outcome.report.packs)))
    return Reply(
        data=outcome.report,
        text=tuple(pieces),
        exit_code=outcome.exit_code,
        warnings=warnings,
        error=_packs_failure(outcome) if outcome.exit_code else None,
    )


def _pack_row(pack: PackRun) -> tuple[str, str, str]:
    if pack.exit_code is None:
        return pack.path, "", "not begun"
    if pack.error is not None:
        hint = f" (hint: {pack.error.hint})" if pack.error.hint else ""
        return pack.path, str(pack.exit_code), f"{pack.error.code}: {pack.error.message}{hint}"
    return pack.path, str(pack.exit_code), pack.run.counted if pack.run else ""


def _packs_failure(outcome: RunPacksOutcome) -> ReplyError:
    totals = outcome.report.totals
    failed = [one for one in outcome.report.packs if one.exit_code]
    names = ", ".join(one.path for one in failed)
    rest = f"; {totals.not_begun} not begun" if totals.not_begun else ""
    reports = [one.run for one in failed if one.run is not None]
    stopped = outcome.exit_code in {ExitCode.INTERRUPTED, ExitCode.TERMINATED}
    passing = len(reports) == len(failed) and all(one.is_retryable for one in reports)
    return ReplyError(
        outcome.exit_code.name if outcome.exit_code is not ExitCode.STEP_FAILED else _PARTIAL,
        f"{totals.failed} of {totals.packs} packs did not end well: {names}{rest}",
        retryable=stopped or passing,
        phase="run",
        suggestion="the same command continues every run, without --new-run and --rerun",
    )


_PARTIAL = "PARTIAL_FAILURE"

_LOOKS = {"ok": "green", "failed": "red", "skipped": "dim"}


def pipeline_text(
    report: PipelineReport,
    checked: CheckedPack | None,
    place: RunLocation,
    junit: str | None,
    error: ReplyError | None = None,
) -> tuple[str | Styled, ...]:
    """What went wrong in detail, then a line for each stage, then where to look."""
    pieces: list[str | Styled] = []
    if checked is not None and not checked.report.ok:
        pieces += [*as_text((checked,)), "\n"]
    if report.run is not None and report.status("run") == "failed":
        text = run_text(report.run, place, None, error)
        pieces += [*text, "\n"]
    pieces += [f"{line}\n" for line in _lacks(report)]
    for one in report.stages:
        pieces += [f"{one.stage:<9}  ", Styled(f"{one.status:<7}", _LOOKS[one.status])]
        pieces.append(f"  {one.reason}\n")
    if report.policy is not None and report.policy.applies:
        pieces += policy_line(met=report.policy.met, figures=_figures(report.policy))
    return (
        *pieces,
        *(f"{name}: {where}\n" for name, where in _result_places(report, place, junit)),
    )


def failure_of(
    report: PipelineReport, pack: str, code: int, way_on: str, suggestion: str
) -> ReplyError:
    """Why the exit code is not 0."""
    onwards = f"to continue: {way_on}"
    if code == ExitCode.INVALID:
        fix = "fix the findings of severity error; see `oraclepack explain RULE`"
        return ReplyError(
            "INVALID_PACK", f"not valid: {report.pack}", phase="validate", suggestion=fix
        )
    if code >= SIGNALLED:
        how = ExitCode(code)
        return ReplyError(how.name, how.meaning, retryable=True, phase="run", suggestion=onwards)
    if code in {ExitCode.BUDGET, ExitCode.DECISION} and report.run is not None:
        failure = budget_failure if code == ExitCode.BUDGET else decision_failure
        return failure(report.run, way_on)
    if code == ExitCode.POLICY and report.policy is not None:
        return policy_failure(report.policy.shortfalls, _way_out(report, onwards), report.run)
    if code == ExitCode.CONTRACT and report.verify is not None:
        totals = report.verify.totals
        message = f"{totals.failed} of {totals.outputs} outputs lack what was asked for"
        again = (
            f"correct the files, `oraclepack step accept {quote(pack)} NN`, or ask again: "
            f"oraclepack pipeline {quote(pack)} --rerun NN --refresh"
        )
        return ReplyError("CONTRACT", message, phase="verify", suggestion=again)
    ways = report.run.way_on(pack, way_on) if report.run is not None else onwards
    return _partial_failure(report, suggestion or ways)


def _way_out(report: PipelineReport, onwards: str) -> str:
    """More steps give more completion; more yield is a matter of the answers."""
    steps = report.policy.completion if report.policy else None
    if report.actionize is None or (steps is not None and steps.ok < steps.to_run):
        return onwards
    return f"what is blocked is listed in {report.actionize.out_dir}/backlog.md"


def _partial_failure(report: PipelineReport, suggestion: str) -> ReplyError:
    failed = report.failed_step or ""
    later = next((one for one in report.stages if one.stage == failed), None)
    run = report.run if later is None else None
    why = run.cause if run is not None and run.cause else f"step {failed} failed"
    message = why if later is None else f"{later.stage} failed: {later.reason}"
    if report.rollback_status is not RollbackStatus.NOT_ATTEMPTED:
        message += f"; rollback {report.rollback_status}"
    return ReplyError(
        "PARTIAL_FAILURE",
        message,
        detail=report.rollback_error or "",
        retryable=_is_retryable(report, later),
        phase="run" if later is None else later.stage,
        suggestion=suggestion,
        retry_after=run.retry_after if run is not None else None,
    )


def _is_retryable(report: PipelineReport, later: StageReport | None) -> bool:
    """Whether the same command may succeed later without any change."""
    if later is None:
        return report.run is not None and report.run.is_retryable
    work = report.actionize
    return later.stage == "actionize" and work is not None and work.retryable


def _lacks(report: PipelineReport) -> Iterator[str]:
    return (one.line for one in (report.verify.failures if report.verify else ()))


def _figures(policy: PolicyReport) -> str:
    share, work = policy.completion, policy.action_yield
    return (
        f"completion {share.ratio:.2f} of {share.required:g}, "
        f"yield {work.ratio:.2f} of {work.required:g}"
    )


def _result_places(
    report: PipelineReport, place: RunLocation, junit: str | None
) -> Iterator[tuple[str, str]]:
    if report.run is not None and report.status("run") != "failed":
        yield "run directory", place.display_path(report.run.run_dir)
    work = report.actionize
    names = [artifact.path for artifact in work.artifacts] if work else []
    if work is not None and "backlog.md" in names:
        yield "backlog", place.display_path(f"{work.out_dir}/backlog.md")
        yield "beside it", ", ".join(name for name in names if name != "backlog.md")
    if junit is not None:
        yield "junit", junit
    if report.page is not None:
        yield "report", place.display_path(report.page)
