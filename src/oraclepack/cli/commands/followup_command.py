"""`followup`: the open questions of a run as the next pack."""

from __future__ import annotations

import click

from oraclepack import api
from oraclepack.cli.command import command
from oraclepack.cli.reply import Reply
from oraclepack.cli.text import from_here
from oraclepack.system.printable import quantity, single_lines


@command(
    "followup",
    data="followup-report",
    changes="the pack that it writes",
    examples=(
        "oraclepack followup",
        "oraclepack followup --run-dir .oraclepack/runs/2026-01-09__3f2c1ab__b7a0cf10",
        "oraclepack followup --run-dir DIR --out docs/next.md",
    ),
)
@click.option("--run-dir", metavar="DIR", default="", help="The run; by default the newest one.")
@click.option(
    "--out", metavar="PACK", default="", help="The pack to write; by default NAME-followup.md."
)
@click.option("--force", is_flag=True, help="Replace the pack if it exists and is different.")
def followup(run_dir: str, out: str, *, force: bool, settings: api.Settings) -> Reply:
    """Write a pack that asks the open questions of a run again.

    Open are questions whose answer was cut off, could not decide, is missing or contradicts
    another. Each gets the files that its missing evidence names in the repository, a summary of
    what is known, and an output of its own. Files that look like secrets are never attached.
    """
    done = api.work(settings).followup(run_dir, out, force=force)
    report = single_lines(done.report)
    if not report.pack:
        return Reply(done.report, "nothing is open: no pack was written\n", warnings=done.warnings)
    lines = [
        f"{one.step_id} asks question {one.original_step} again ({', '.join(one.reasons)}): "
        f"{', '.join(one.files) or 'no file'}"
        for one in report.questions
    ]
    for one in report.questions:
        lines += [f"{one.step_id} not found: {name}" for name in one.unmatched]
        lines += [f"{one.step_id} not attached, a secret or too large: {p}" for p in one.refused]
        if one.not_attached:
            lines.append(f"{one.step_id} also matching: {quantity(one.not_attached, 'file')}")
    lines.append(f"{from_here(report.pack)} {'written' if report.changed else 'unchanged'}")
    return Reply(done.report, "".join(f"{line}\n" for line in lines), warnings=done.warnings)
