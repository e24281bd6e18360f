"""The answer of `run` for several packs: each pack, one summary, the worst exit code."""

from __future__ import annotations

from pathlib import Path

from oraclepack.cli.reply import Reply, ReplyError, Styled
from oraclepack.cli.run_text import RunLocation, plan_text, run_text
from oraclepack.cli.text import columns
from oraclepack.errors import ExitCode
from oraclepack.run.run_packs import PackRun, RunPacksOutcome
from oraclepack.system.printable import single_lines


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
    pieces.append(columns(("pack", "exit code", "result"), map(_row, outcome.report.packs)))
    return Reply(
        data=outcome.report,
        text=tuple(pieces),
        exit_code=outcome.exit_code,
        warnings=warnings,
        error=_failure(outcome) if outcome.exit_code else None,
    )


def _row(pack: PackRun) -> tuple[str, str, str]:
    if pack.exit_code is None:
        return pack.path, "", "not begun"
    if pack.error is not None:
        hint = f" (hint: {pack.error.hint})" if pack.error.hint else ""
        return pack.path, str(pack.exit_code), f"{pack.error.code}: {pack.error.message}{hint}"
    return pack.path, str(pack.exit_code), pack.run.counted if pack.run else ""


def _failure(outcome: RunPacksOutcome) -> ReplyError:
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
