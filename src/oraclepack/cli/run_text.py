"""The summary of a run, for people."""

from __future__ import annotations

from pathlib import Path
from shlex import quote
from typing import Any

import msgspec

from oraclepack.cli.reply import ReplyError, Styled
from oraclepack.cli.text import before_rerun, columns, seconds, some_of
from oraclepack.errors import ExitCode
from oraclepack.journal.costs import cost_text, money
from oraclepack.journal.statuses import RollbackStatus
from oraclepack.run.run_report import RunReport, StepReport
from oraclepack.settings import run_settings as rs
from oraclepack.settings.declaration import Setting, ValueSource
from oraclepack.settings.registry import Settings
from oraclepack.shell.logs import last_lines


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
        logs = _logs(report.run_dir, report.prelude_stderr_log, report.prelude_stdout_log)
        pieces += _tail(logs, place, report.prelude_error or "")
    for number, step in enumerate(failed):
        if number or not is_cause_shown:
            pieces += _failure(step)
        logs = _logs(report.run_dir, step.stderr_log, step.stdout_log)
        pieces += _log(logs, place) if number else _tail(logs, place, step.message or "")
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
        pieces += _next(report, place)
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


def _next(report: RunReport, place: RunLocation) -> list[str]:
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
    return [f"  {held}{report.ways_on_from(pack, step_id)}\n"]


def _failure(step: StepReport) -> list[str | Styled]:
    reason = f" ({step.error}): {step.message}" if step.error else ""
    return [Styled(f"step {step.step_id} failed", "red"), f"{reason}\n"]


def _logs(run_dir: str, *names: str | None) -> list[str]:
    return [f"{run_dir}/{name}" for name in names if name]


def _log(logs: list[str], place: RunLocation) -> list[str | Styled]:
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
