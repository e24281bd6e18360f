"""The reply of `pipeline`: its four stages, the figures of the policy, and the verdict."""

from collections.abc import Sequence
from enum import StrEnum

import msgspec

from oraclepack.answers.verification import VerifyReport
from oraclepack.errors import ExitCode
from oraclepack.journal.statuses import RollbackStatus
from oraclepack.lint.finding import Validation
from oraclepack.run.policy import CompletionReport, YieldReport, weigh, yield_of
from oraclepack.run.run_report import RunReport
from oraclepack.system.printable import quantity
from oraclepack.view.report.github import plain
from oraclepack.work.backlog import ActionizeReport, WorkStatus


class PipelineStage(StrEnum):
    """A stage of the pipeline, in this order."""

    VALIDATE = "validate"
    RUN = "run"
    VERIFY = "verify"
    ACTIONIZE = "actionize"


class StageStatus(StrEnum):
    """The result of a stage."""

    OK = "ok"
    FAILED = "failed"
    SKIPPED = "skipped"


class StageReport(msgspec.Struct, frozen=True):
    """One stage at a glance."""

    stage: PipelineStage
    status: StageStatus
    reason: str
    """Its result, what failed, or why it was left out."""


class PolicyReport(msgspec.Struct, frozen=True, kw_only=True):
    """The figures of the CI policy, also where it does not decide."""

    applies: bool
    """`--ci` was given, so the policy decides about the exit code."""
    met: bool
    completion: CompletionReport
    """A step whose outputs lack what was asked for does not count as ok here."""
    action_yield: YieldReport

    @property
    def shortfalls(self) -> tuple[str, ...]:
        """Every figure that is below its threshold, in words."""
        shortfalls = (self.completion.shortfall, self.action_yield.shortfall)
        return tuple(one for one in shortfalls if one is not None)


class PipelineReport(msgspec.Struct, frozen=True, kw_only=True):
    """The data of `pipeline`: one report of all stages."""

    pack: str
    stages: tuple[StageReport, ...]
    completed_steps: tuple[str, ...] = ()
    """Those that this command completed, also when a rollback took them back afterwards."""
    failed_step: str | None = None
    """The first that failed: a step, `prelude`, or a stage after the steps."""
    failed_steps: tuple[str, ...] = ()
    skipped_steps: tuple[str, ...] = ()
    resume_from: str | None = None
    """What the same command does first: a step, or a stage after the steps."""
    rollback_status: RollbackStatus = RollbackStatus.NOT_ATTEMPTED
    rollback_error: str | None = None
    rolled_back_steps: tuple[str, ...] = ()
    """Those of the completed steps of which a rollback took back files; they are pending again."""
    not_rolled_back: tuple[str, ...] = ()
    """The files that a failed rollback left as they were."""
    policy: PolicyReport | None = None
    """Null when nothing ran."""
    validate: Validation | None = None
    run: RunReport | None = None
    verify: VerifyReport | None = None
    actionize: ActionizeReport | None = None
    page: str | None = None
    """The HTML report of the run that was written, relative to the project root."""

    def status(self, stage: str) -> StageStatus:
        return next(one.status for one in self.stages if one.stage == stage)


def policy(
    completion: CompletionReport,
    broken: int,
    work: ActionizeReport | None,
    min_yield: float,
    *,
    ci: bool,
) -> PolicyReport:
    """The figures; `broken` steps are ok by themselves, but their outputs are not."""
    ok = completion.ok - broken
    share = msgspec.structs.replace(
        completion, ok=ok, ratio=round(ok / completion.to_run, 4) if completion.to_run else 1.0
    )
    answered = work.answered if work else 0
    actionable = work.tasks[WorkStatus.ACTIONABLE] if work else 0
    action_yield = yield_of(actionable, answered, min_yield)
    figures = PolicyReport(applies=ci, met=True, completion=share, action_yield=action_yield)
    return msgspec.structs.replace(figures, met=not figures.shortfalls)


def verdict(
    stages: Sequence[StageReport],
    figures: PolicyReport | None,
    *,
    unweighable: bool,
    over_budget: bool = False,
    undecided: bool = False,
) -> ExitCode:
    """The exit code: what the steps come to, unless a stage before or after them failed."""
    failed = {one.stage for one in stages if one.status is StageStatus.FAILED}
    if PipelineStage.VALIDATE in failed:
        return ExitCode.INVALID
    met = figures.met if figures is not None and figures.applies else None
    code = weigh(
        failed=PipelineStage.RUN in failed,
        met=met,
        unweighable=unweighable or PipelineStage.ACTIONIZE in failed,
        over_budget=over_budget,
        undecided=undecided,
    )
    broken = met is None and PipelineStage.VERIFY in failed
    return ExitCode.CONTRACT if code is ExitCode.DONE and broken else code


_SIGNS = {StageStatus.OK: "✅", StageStatus.FAILED: "❌", StageStatus.SKIPPED: "⏭️"}


def pipeline_summary(report: PipelineReport) -> str:
    """The stages, the figures of the policy, and where the work lies."""
    rows = "".join(
        f"| {one.stage} | {_SIGNS[one.status]} {one.status} | {plain(one.reason)} |\n"
        for one in report.stages
    )
    table = f"| stage | result | what |\n|---|---|---|\n{rows}"
    title = f"### oraclepack pipeline: {plain(report.pack)}"
    return f"{title}\n\n{table}{_policy(report)}{_place(report)}\n"


def _policy(report: PipelineReport) -> str:
    figures = report.policy
    if figures is None or not figures.applies:
        return ""
    share, work = figures.completion, figures.action_yield
    verdict = "met" if figures.met else "**not met**"
    return (
        f"\nPolicy {verdict}: completion {share.ratio:.2f} ({share.ok} of {share.to_run}, "
        f"wanted {share.required:g}), yield {work.ratio:.2f} ({work.actionable} actionable "
        f"from {quantity(work.answered, 'answer')}, wanted {work.required:g}).\n"
    )


def _place(report: PipelineReport) -> str:
    work = report.actionize
    if work is None or not work.artifacts:
        return ""
    names = ", ".join(plain(one.path) for one in work.artifacts)
    return f"\nIn {plain(work.out_dir)}: {names}.\n"
