"""A pipeline as Markdown, for the summary page of a GitHub workflow."""

from oraclepack.core.pipeline_report import PipelineTold, StageStatus
from oraclepack.report.github import plain

_SIGNS = {StageStatus.OK: "✅", StageStatus.FAILED: "❌", StageStatus.SKIPPED: "⏭️"}


def pipeline_summary(told: PipelineTold) -> str:
    """The stages, the figures of the policy, and where the work lies."""
    rows = "".join(
        f"| {one.stage} | {_SIGNS[one.status]} {one.status} | {plain(one.reason)} |\n"
        for one in told.stages
    )
    table = f"| stage | result | what |\n|---|---|---|\n{rows}"
    return f"### oraclepack pipeline: {plain(told.pack)}\n\n{table}{_policy(told)}{_place(told)}\n"


def _policy(told: PipelineTold) -> str:
    figures = told.policy
    if figures is None or not figures.applies:
        return ""
    share, work = figures.completion, figures.action_yield
    verdict = "met" if figures.met else "**not met**"
    return (
        f"\nPolicy {verdict}: completion {share.figure:.2f} ({share.ok} of {share.to_run}, "
        f"wanted {share.required:g}), yield {work.figure:.2f} ({work.actionable} actionable "
        f"from {work.answered} answers, wanted {work.required:g}).\n"
    )


def _place(told: PipelineTold) -> str:
    work = told.actionize
    if work is None or not work.artifacts:
        return ""
    names = ", ".join(plain(one.path) for one in work.artifacts)
    return f"\nIn {plain(work.out_dir)}: {names}.\n"
