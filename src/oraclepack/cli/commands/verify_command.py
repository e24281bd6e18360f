"""`verify-outputs`: check answers against their contract, later, without running anything."""

from __future__ import annotations

from shlex import quote

import click

from oraclepack.answers.verification import Totals, VerifyPacksReport, VerifyReport
from oraclepack.cli.command import command
from oraclepack.cli.reply import Reply, ReplyError
from oraclepack.cli.value_completion import pack_files
from oraclepack.errors import ExitCode, UsageError
from oraclepack.run.verify_outputs import verify_outputs
from oraclepack.settings import run_settings as rs
from oraclepack.settings.declaration import ValueSource
from oraclepack.settings.registry import STRICT, Settings
from oraclepack.system.printable import single_lines


@command(
    "verify-outputs",
    data="verify-report",
    settings=(
        rs.OUTPUT_VERIFY,
        rs.OUT_DIR,
        rs.OUTPUT_CONTRACT,
        rs.OUTPUT_CHUNK_MODE,
        rs.OUTPUT_REQUIRE_HEADINGS,
        STRICT,
    ),
    exit_codes=(ExitCode.CONTRACT,),
    examples=(
        "oraclepack verify-outputs pack.md",
        "oraclepack verify-outputs docs/ --json",
        "oraclepack verify-outputs --run-dir .oraclepack/runs/2026-01-09__3f2c1ab__b7a0cf10",
    ),
)
@click.argument("packs", nargs=-1, metavar="[PACK|DIR]...", shell_complete=pack_files)
@click.option("--run-dir", metavar="DIR", help="Check the outputs of this run.")
def verify(packs: tuple[str, ...], run_dir: str | None, settings: Settings) -> Reply:
    """Check outputs against their contract. Starts no process.

    Each declared output must exist and must not be empty; which sections it must have follows
    from the step's own words (`oraclepack list --contracts` shows what was understood).
    Signs of a cut or empty answer are warnings; with --strict they count as failures. The answers
    of a rehearsal fail, always, with the reason `rehearsal`.

    A file that is not a pack (no bash block, no steps) is exit code 2. This command always
    verifies: --output-verify is accepted, the variable ORACLEPACK_OUTPUT_VERIFY and the setting
    are for runs and change nothing here, and --output-verify=false is refused.
    """
    _refuse_nothing_to_do(settings)
    report = verify_outputs(packs, settings, run_dir)
    listed = report.packs
    ok = all(pack.ok for pack in listed)
    totals = report.totals
    error = None if ok else _failure(report)
    code = ExitCode.DONE if ok else ExitCode.CONTRACT
    warnings = tuple(warning for pack in listed for warning in pack.warnings)
    text = "".join(map(_text, listed)) + _totals(totals)
    return Reply(report, text, code, warnings=warnings, error=error)


def _refuse_nothing_to_do(settings: Settings) -> None:
    given = settings.origin(rs.OUTPUT_VERIFY).source is ValueSource.FLAG
    if given and not settings[rs.OUTPUT_VERIFY]:
        raise UsageError(
            "verify-outputs only verifies: --output-verify=false leaves it nothing to do",
            hint="leave the flag out; it is `run` that can go without verification",
        )


def _text(report: VerifyReport) -> str:
    pack = single_lines(report)
    lines = [f"{pack.path}: {one.line}" for one in pack.failures]
    lines += [
        f"{pack.path}: step {one.step_id}: {one.path}:{one.line}: doubtful: {one.message}"
        for one in pack.doubts
    ]
    lines += [f"{pack.path}: {one.line}" for one in pack.accepted]
    lines += [
        f"{pack.path}: step {one.step_id}: {one.declared}: unresolved, no run has recorded it"
        for one in pack.unresolved
    ]
    return "".join(f"{line}\n" for line in lines)


def _totals(totals: Totals) -> str:
    accepted = f" accepted={totals.accepted}" if totals.accepted else ""
    rehearsed = f" rehearsed={totals.rehearsed}" if totals.rehearsed else ""
    return (
        f"totals: steps={totals.steps} outputs={totals.outputs} ok={totals.ok} "
        f"failed={totals.failed} doubtful={totals.doubtful} unresolved={totals.unresolved} "
        f"skipped={totals.skipped}{accepted}{rehearsed}\n"
    )


def _failure(report: VerifyReport | VerifyPacksReport) -> ReplyError:
    totals = report.totals
    count = totals.outputs - totals.ok
    failed = [pack.path for pack in report.packs if not pack.ok]
    path = quote(failed[0]) if len(failed) == 1 else "PACK"
    if totals.rehearsed == count:
        hint = f"ask for real: oraclepack run {path} without --engine rehearsal"
    else:
        hint = (
            f"correct the files, `oraclepack step accept {path} NN`, or ask again: "
            f"oraclepack run {path} --rerun NN --refresh"
        )
    return ReplyError(
        "CONTRACT",
        f"{count} of {totals.outputs} outputs do not meet their contract",
        phase="verify",
        suggestion=hint,
    )
