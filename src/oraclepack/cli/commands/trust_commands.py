"""`trust`: take over records that are not signed with the user's key."""

from __future__ import annotations

import click

from oraclepack.cli.command import command
from oraclepack.cli.confirm import agree
from oraclepack.cli.reply import Reply
from oraclepack.cli.value_completion import run_ids
from oraclepack.errors import ExitCode, OraclePackError, UsageError
from oraclepack.journal.statuses import Status
from oraclepack.run.project_records import ForeignRecords
from oraclepack.run.trust import Candidate
from oraclepack.settings.registry import Settings
from oraclepack.system.printable import quantity

_RUN_MEANS = """From then on its answers count as verified, `run` continues it and finishes what it
left undone, and `undo` and rollback change files as it says. Its author could have written
anything into it: take over only what you made yourself or got from a person you trust.
"""
_CACHE_MEANS = """From then on these answers are served as verified answers to their questions, and
no call is made. Their author could have written anything: take over only answers that you
paid for yourself, or got from a person you trust.
"""


@command(
    "trust",
    data="trust-report",
    changes="the signatures in the run directory or the cache",
    exit_codes=(ExitCode.LOCKED,),
    examples=(
        "oraclepack runs trust 2026-03-01__abc1234__55555555",
        "oraclepack runs trust --cache --yes",
    ),
)
@click.argument("run", metavar="[RUN]", required=False, shell_complete=run_ids)
@click.option("--cache", is_flag=True, help="The answers in the cache, in place of a run.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
def trust(run: str | None, *, cache: bool, yes: bool, settings: Settings) -> Reply:
    """Take over a run, or the cache, that is not signed with your key.

    Runs and answers of oraclepack 0.1.0, of another machine or of another key are foreign: shown,
    but never continued, undone or served, since a repository can bring them along. This signs RUN
    (or the beginning of its name), or what the cache holds, as it is now. What git tracks, or a
    link leads to, cannot be taken over: untrack it or copy it first.
    """
    records = ForeignRecords(settings.root)
    if cache == (run is not None):
        raise UsageError("give the name of a run, or --cache")
    if run is not None:
        candidate = records.find_run(run)
        agree(f"{_about(candidate)}{_RUN_MEANS}", "Take it over?", is_agreed=yes)
        done = records.trust(candidate)
        text = f"run {done.run_id} is yours now\n"
        return Reply(done, text, warnings=done.still_foreign, talk=_of_the_cache(records))
    answers = records.find_answers()
    if answers.keys or answers.claims:
        entries = quantity(len(answers.keys), "answer")
        about = f"not signed: {entries} and {quantity(len(answers.claims), 'call')}\n"
        agree(f"{about}{_CACHE_MEANS}", "Take them over?", is_agreed=yes)
    done = records.trust(answers)
    text = f"taken over: {quantity(len(done.answers), 'answer')}\n"
    return Reply(done, text, warnings=done.still_foreign)


def _of_the_cache(records: ForeignRecords) -> str:
    try:
        count = len(records.find_answers().keys)
    except OraclePackError:
        return ""
    if not count:
        return ""
    answers = quantity(count, "answer")
    return f"not signed either: {answers} in the cache; see `oraclepack runs trust --cache`\n"


def _about(candidate: Candidate) -> str:
    state, created = candidate.state, candidate.state.created
    statuses = [state.step(step_id).status for step_id in state.step_ids]
    # A foreign journal may hold anything: one line stays one line.
    pack = " ".join(created.pack_path.split()) if created else "none"
    since = created.at[:20].strip() if created else "unknown"
    calls = sum(len(step.invocations) for step in state.steps.values())
    return (
        f"run {candidate.run.run_id}: {candidate.foreign.reason}\n"
        f"  pack {pack}, begun {since}\n"
        f"  {statuses.count(Status.OK)} of {len(statuses)} steps ok, "
        f"{quantity(calls, 'call')}\n"
    )
