"""`pipeline`: validate, run, verify and actionize a pack under one lock, with one report."""

from pathlib import Path

import msgspec

from oraclepack.answers.verification import VerifyReport
from oraclepack.answers.verify_pack import RecordedOutputs, VerifyOptions, verify_pack
from oraclepack.errors import SIGNALLED, ExitCode, OraclePackError
from oraclepack.journal.run_dir import is_rehearsal
from oraclepack.journal.run_state import Ask
from oraclepack.journal.statuses import RollbackStatus, Status
from oraclepack.lint.validate import CheckedPack, check_pack
from oraclepack.pack.answer_sections import refuse_export
from oraclepack.pack.model import PRELUDE, Pack
from oraclepack.pack.pack_files import read_pack
from oraclepack.pipeline.pipeline_exports import (
    annotations_for_github,
    append_pipeline_summary,
    refuse_bad_place,
    write_junit,
)
from oraclepack.pipeline.pipeline_report import (
    PipelineReport,
    PipelineStage,
    PolicyReport,
    StageReport,
    StageStatus,
    policy,
    verdict,
)
from oraclepack.run.planning.plan import Decision
from oraclepack.run.planning.selection import RunArguments
from oraclepack.run.request import FollowUpResult, RunRequest, request_for
from oraclepack.run.run import RunResult, run_pack
from oraclepack.run.run_display import Display
from oraclepack.run.run_report import RunReport, continue_command, notices, recorded_warnings
from oraclepack.run.run_report import report_of as run_report_of
from oraclepack.run.verify_outputs import verify_options
from oraclepack.settings import run_settings as rs
from oraclepack.settings.call_settings import ENGINE
from oraclepack.settings.registry import CWD, LINT_IGNORE, LINT_SELECT, STRICT, Settings
from oraclepack.shell.stop import Stop
from oraclepack.system.path_jail import content_at
from oraclepack.system.printable import quantity
from oraclepack.view.report.write import write_report
from oraclepack.work.actionize import Writer, actionize_run
from oraclepack.work.backlog import ActionizeReport, WorkStatus, read_exports
from oraclepack.work.load_answers import FOLDER


class PipelineRequest(msgspec.Struct, frozen=True):
    """What the user asked for."""

    pack: str
    settings: Settings
    arguments: RunArguments = msgspec.field(default_factory=RunArguments)
    exports: tuple[str, ...] = ()
    """Words that name trackers."""
    allow_rehearsal: bool = False
    """Export even what a rehearsal answered."""
    junit: str | None = None
    """Where to write JUnit XML, a case for every step."""
    github: bool = False
    """Where GitHub runs the command, append to its summary page and make annotations."""
    page: bool = False
    """Write the HTML report of the run at the end."""


class PipelineOutcome(msgspec.Struct, frozen=True):
    """The result of a pipeline."""

    report: PipelineReport
    exit_code: ExitCode
    warnings: tuple[str, ...]
    recorded_warnings: tuple[str, ...]
    """Those of `warnings` that are events too: a display that shows events has shown them."""
    continue_command: str
    """The command line that continues the run; empty when nothing ran."""
    suggestion: str
    """What to do about the stage that failed, where it said so."""
    checked: CheckedPack | None
    """The pack with its findings; None when it was not validated."""
    annotations: str
    """Workflow commands for GitHub; empty elsewhere."""
    root: Path


def run_pipeline(
    wish: PipelineRequest,
    display: Display | None = None,
    ask: Ask | None = None,
    stop: Stop | None = None,
) -> PipelineOutcome:
    """All stages, then what is written for other programs."""
    if wish.junit is not None:
        refuse_bad_place(Path(wish.junit), wish.settings[CWD])
    work = Pipeline(wish)
    command = ""
    recorded: tuple[str, ...] = ()
    if work.validate():
        request = work.prepare(display, ask)
        result = work.run(stop)
        command = continue_command(request.argv, result.plan, result.state)
        recorded = recorded_warnings(result)
        work.warnings += notices(result.selected) + recorded
    report, code = work.report()
    warnings, root = work.warnings, Path(wish.settings.root)
    if wish.junit is not None:
        warnings += write_junit(Path(wish.junit), report, work.pack, root)
    if wish.page and report.run is not None:
        report, more = _with_page(report, report.run.run_dir, root)
        warnings += more
    if wish.github:
        warnings += append_pipeline_summary(report, work.pack)
    return PipelineOutcome(
        report=report,
        exit_code=ExitCode(code),
        warnings=warnings,
        recorded_warnings=recorded,
        continue_command=command,
        suggestion=work.suggestion,
        checked=work.checked,
        annotations=annotations_for_github(report, work.checked, work.pack) if wish.github else "",
        root=root,
    )


def _with_page(
    report: PipelineReport, run_dir: str, root: Path
) -> tuple[PipelineReport, tuple[str, ...]]:
    """The report with the page of its run, which is written now; where it cannot be, a warning."""
    try:
        written = write_report(root, str(root / run_dir)).report
    except OraclePackError as trouble:
        return report, (f"the report of the run was not written: {trouble.message}",)
    page = f"{written.run_dir}/{Path(written.path).name}"
    return msgspec.structs.replace(report, page=page), ()


class Pipeline:
    """A running pipeline and the results of its stages so far."""

    def __init__(self, wish: PipelineRequest) -> None:
        self._wish = wish
        self._exports = read_exports(wish.exports)
        self._settings = wish.settings
        if self._exports and is_rehearsal(wish.settings[ENGINE]):
            refuse_export(allowed=wish.allow_rehearsal)
        self._stages: dict[PipelineStage, StageReport] = {}
        self._verified: VerifyReport | None = None
        self._work: ActionizeReport | None = None
        self._result: RunResult | None = None
        self._request: RunRequest | None = None
        self.checked: CheckedPack | None = None
        self.warnings: tuple[str, ...] = ()
        self.suggestion = ""
        """What to do about the stage that failed, where it said so."""

    def validate(self) -> bool:
        """The first stage; False when the pack is not to be run."""
        if not self._settings[rs.VALIDATE]:
            self._end(PipelineStage.VALIDATE, StageStatus.SKIPPED, "--no-validate was given")
            return True
        self.checked = check_pack(Path(self._wish.pack), self._settings)
        report = self.checked.report
        errors = sum(finding.severity == "error" for finding in report.findings)
        counts = report.counts
        counted = ", ".join(
            (quantity(counts.steps, "step"), quantity(counts.oracle_questions, "question"))
        )
        detail = counted if report.ok else f"{quantity(errors, 'error')} in {counted}"
        self._end(
            PipelineStage.VALIDATE, StageStatus.OK if report.ok else StageStatus.FAILED, detail
        )
        return report.ok

    def prepare(self, display: Display | None = None, ask: Ask | None = None) -> RunRequest:
        """The request for the stages that follow, with the pack that was validated."""
        pack = self.checked.pack if self.checked else read_pack(Path(self._wish.pack))
        request = request_for(pack, self._settings, self._wish.arguments, display, ask)
        # Rules that --select and --ignore leave out may still find what prevents any run.
        checks_all_rules = not self._settings[LINT_SELECT] and not self._settings[LINT_IGNORE]
        check = None if self.checked is not None and checks_all_rules else request.check
        given = rs.MIN_YIELD if self._settings.is_given(rs.MIN_YIELD) else None
        noted = {given.name: self._settings[given]} if given else {}
        self._request = msgspec.structs.replace(
            request,
            command="pipeline",
            check=check,
            then=self._after_steps,
            recorded={**request.recorded, **noted},
        )
        return self._request

    @property
    def prepared(self) -> RunRequest:
        assert self._request is not None, "the pack was not valid"
        return self._request

    @property
    def pack(self) -> Pack | None:
        """The pack, as far as it was read."""
        if self._request is not None:
            return self._request.pack
        return self.checked.pack if self.checked else None

    def run(self, stop: Stop | None = None) -> RunResult:
        """The other stages."""
        self._result = run_pack(self.prepared, stop=stop)
        return self._result

    def report(self) -> tuple[PipelineReport, int]:
        """The report, and the exit code."""
        result = self._result
        for stage in PipelineStage:
            if stage not in self._stages:
                self._end(stage, StageStatus.SKIPPED, self._why_not())
        report = PipelineReport(
            pack=self._wish.pack,
            stages=tuple(self._stages[stage] for stage in PipelineStage),
            validate=self.checked.report if self.checked else None,
            verify=self._verified,
            actionize=self._work,
        )
        if result is None:
            return report, verdict(report.stages, None, unweighable=False)
        return self._with_run(report, run_report_of(result)), result.exit_code

    def _with_run(self, report: PipelineReport, run_report: RunReport) -> PipelineReport:
        after = [one.stage for one in self._later() if one.status is StageStatus.FAILED]
        status, error = _rollback(run_report, self._work)
        return msgspec.structs.replace(
            report,
            completed_steps=run_report.completed_steps,
            failed_step=run_report.failed_step or next(iter(after), None),
            failed_steps=run_report.failed_steps,
            skipped_steps=run_report.skipped_steps,
            resume_from=run_report.resume_from or next(iter(after), None),
            rollback_status=status,
            rollback_error=error,
            rolled_back_steps=run_report.rolled_back_steps,
            not_rolled_back=run_report.not_rolled_back
            + (self._work.not_rolled_back if self._work else ()),
            policy=self._policy(run_report),
            run=run_report,
        )

    def _after_steps(self, result: RunResult) -> FollowUpResult:
        """Verify and actionize while the run is still locked; what that means for its end."""
        report = run_report_of(result)
        prelude, stopped = report.failed_step == PRELUDE, result.exit_code >= SIGNALLED
        self._end(PipelineStage.RUN, *_of_run(report, stopped=stopped))
        steps = (result.state.step(step.id) for step in self.prepared.pack.steps)
        has_work = not report.budget_steps or any(step.status is Status.OK for step in steps)
        if has_work and not prelude and not stopped and self._continues():
            self._verify(result)
            if self._continues():
                self._actionize(result)
        code = verdict(
            [*self._stages.values()],
            self._policy(report),
            unweighable=prelude,
            over_budget=bool(report.budget_steps),
            undecided=result.reply.needs_decision,
        )
        later = any(one.status is StageStatus.FAILED for one in self._later())
        return FollowUpResult(code, failed=result.reply.is_unfinished or later)

    def _continues(self) -> bool:
        """Whether the next stage runs.

        After a failure only where the user wants to get as far as possible, or where the
        policy is to weigh everything; never where all of it is going to be taken back.
        """
        if all(one.status is not StageStatus.FAILED for one in self._stages.values()):
            return True
        further = self._settings[rs.CI] or self._settings[rs.KEEP_GOING]
        return further and not self._settings[rs.ROLLBACK_ON_FAILURE]

    def _verify(self, result: RunResult) -> None:
        """Every output of the chosen steps that went well. The run reports the others."""
        request = self.prepared
        chosen = {s.step_id for s in result.plan.steps if s.decision is not Decision.NOT_SELECTED}
        well = [
            step
            for step in request.pack.steps
            if step.id in chosen and result.state.step(step.id).status is Status.OK
        ]
        recorded = {
            str(step.id): tuple(
                out.declared_path
                for out in result.state.step(step.id).outputs
                if out.declared_path is not None
            )
            for step in well
        }
        accepted = {str(step.id): result.state.step(step.id).accepted_at for step in well}
        self._verified = verify_pack(
            msgspec.structs.replace(request.pack, steps=tuple(well)),
            lambda name: content_at(result.root, name),
            self._verify_options(),
            RecordedOutputs(result.selected.run.run_id, recorded, accepted=accepted),
        )
        totals = self._verified.totals
        detail = (
            f"{totals.ok - totals.accepted} of {totals.outputs} outputs have what was asked for"
        )
        detail += f", {totals.accepted} accepted by a person" if totals.accepted else ""
        detail += f", {totals.doubtful} doubtful" if totals.doubtful else ""
        detail += f"; {totals.rehearsed} rehearsed, none of them an answer" * bool(totals.rehearsed)
        status = StageStatus.OK if self._verified.ok else StageStatus.FAILED
        self._end(PipelineStage.VERIFY, status, detail)

    def _verify_options(self) -> VerifyOptions:
        """A rehearsal is checked for its structure; that it is rehearsed is only noted."""
        rehearsal = bool(self.prepared.is_rehearsal)
        return msgspec.structs.replace(verify_options(self._settings), rehearsal=rehearsal)

    def _actionize(self, result: RunResult) -> None:
        run, root = result.selected.run, self.prepared.root
        try:
            writer = Writer(
                root,
                run.path / FOLDER,
                undo=self._settings[rs.ROLLBACK_ON_FAILURE],
                allow_rehearsal=self._wish.allow_rehearsal,
            )
            done = actionize_run(run.path, writer, self._exports)
        except OraclePackError as trouble:
            self.suggestion = trouble.hint
            self._end(PipelineStage.ACTIONIZE, StageStatus.FAILED, trouble.message)
            return
        self._work = msgspec.structs.replace(done.report, out_dir=f"{run.relative}/{FOLDER}")
        self.warnings += done.warnings
        if not done.report.ok:
            self.suggestion = done.report.suggestion
            self._end(PipelineStage.ACTIONIZE, StageStatus.FAILED, done.report.error or "")
            return
        counts = ", ".join(f"{done.report.tasks[status]} {status.words}" for status in WorkStatus)
        detail = f"{counts} from {quantity(done.report.answered, 'answer')}"
        self._end(PipelineStage.ACTIONIZE, StageStatus.OK, detail)

    def _policy(self, report: RunReport) -> PolicyReport:
        verified = self._verified
        bad = {one.step_id for one in verified.failures} if verified else set()
        if verified and self._settings[STRICT]:
            bad |= {one.step_id for one in verified.doubts}
        return policy(
            report.completion,
            len(bad),
            self._work,
            self._settings[rs.MIN_YIELD],
            ci=self._settings[rs.CI] and not self.prepared.is_rehearsal,
        )

    def _later(self) -> list[StageReport]:
        """The stages after the steps that have run."""
        return [
            self._stages[one]
            for one in (PipelineStage.VERIFY, PipelineStage.ACTIONIZE)
            if one in self._stages
        ]

    def _failed(self, stage: PipelineStage) -> bool:
        return self._stages[stage].status is StageStatus.FAILED

    def _why_not(self) -> str:
        failed = [stage for stage in PipelineStage if stage in self._stages and self._failed(stage)]
        return f"{failed[0]} failed" if failed else "the run was stopped"

    def _end(self, stage: PipelineStage, status: StageStatus, reason: str) -> None:
        self._stages[stage] = StageReport(stage, status, reason)


def _of_run(report: RunReport, *, stopped: bool) -> tuple[StageStatus, str]:
    if report.failed_step == PRELUDE:
        return StageStatus.FAILED, "the prelude failed"
    failed = (
        report.failed_step is not None
        or stopped
        or bool(report.budget_steps or report.awaited_steps)
    )
    return (StageStatus.FAILED if failed else StageStatus.OK), report.counted


def _rollback(report: RunReport, work: ActionizeReport | None) -> tuple[RollbackStatus, str | None]:
    """The result of rolling back both the answers and the backlog."""
    ends = [(RollbackStatus(report.rollback_status), report.rollback_error)]
    ends += [(work.rollback_status, work.rollback_error)] if work else []
    worst = next((end for end in ends if end[0] is RollbackStatus.FAILED), ends[0])
    errors = [error for _, error in ends if error]
    return worst[0], "; ".join(errors) or None
