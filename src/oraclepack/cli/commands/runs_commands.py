"""`runs`: look at runs, and remove old ones; those that steer them are in `job_commands`."""

from __future__ import annotations

import click

from oraclepack.cli.command import Group, LazyCommand, command, paged
from oraclepack.cli.reply import Reply, Styled
from oraclepack.cli.text import columns, seconds, size, some_of
from oraclepack.cli.value_completion import run_ids
from oraclepack.errors import UsageError
from oraclepack.journal.costs import cost_text, short_cost
from oraclepack.run.project_records import ProjectRuns
from oraclepack.run.prune_runs import RunsPruneReport
from oraclepack.settings import value_kinds
from oraclepack.settings.registry import Settings
from oraclepack.system.paging import page
from oraclepack.system.printable import quantity, single_lines
from oraclepack.view.past_runs import CallTimes, RunDetails, RunListEntry
from oraclepack.view.step import StepView

_JOBS = "oraclepack.cli.commands.job_commands"

runs = Group(
    "runs",
    entries={
        "list": LazyCommand(
            f"{__name__}:list_all", "List the runs of the project, the newest first."
        ),
        "show": LazyCommand(
            f"{__name__}:show", "Show one run in full: its commands and its steps."
        ),
        "watch": LazyCommand(
            f"{_JOBS}:watch", "Watch a run of another process, or see a finished one again."
        ),
        "logs": LazyCommand(
            f"{_JOBS}:logs", "Print what a step printed, or the console of a detached command."
        ),
        "stop": LazyCommand(f"{_JOBS}:stop", "Stop a run of another process, or one of its steps."),
        "pause": LazyCommand(
            f"{_JOBS}:pause", "Let the running calls of a run finish, and start none."
        ),
        "resume": LazyCommand(f"{_JOBS}:resume", "Let a paused run go on."),
        "set": LazyCommand(f"{_JOBS}:set_values", "Change limits of a run while it runs."),
        "answer": LazyCommand(
            f"{_JOBS}:answer_question",
            "Answer the question of a call of a detached run.",
        ),
        "diff": LazyCommand(
            "oraclepack.cli.commands.diff_command:diff",
            "Compare the answers and tasks of two runs.",
        ),
        "prune": LazyCommand(f"{__name__}:prune", "Remove finished runs that hold nothing unique."),
        "trust": LazyCommand(
            "oraclepack.cli.commands.trust_commands:trust",
            "Take over a run, or the cache, that is not signed with your key.",
        ),
        "repair": LazyCommand(
            "oraclepack.cli.commands.doctor_command:repair",
            "Compute the files of runs from their journals.",
        ),
    },
    help="List, watch, control, compare and repair runs.",
)


@command(
    "list",
    data="runs",
    examples=("oraclepack runs list", "oraclepack runs list --limit 5 --json"),
)
@paged
def list_all(limit: int | None, cursor: str | None, settings: Settings) -> Reply:
    """List the runs of the project, the newest first.

    Rehearsals are marked as such, and named `rehearsals/ID`. A run whose journal is damaged is
    listed as damaged, with the reason. A foreign one cannot be proven to be yours: no command acts
    on it, unless you take it over with `oraclepack runs trust`.
    """
    every = ProjectRuns(settings.root).list()
    summaries = page(every, "runs", lambda run: run.name, limit, cursor)
    if not every.runs:
        return Reply(summaries, talk=f"there are no runs in {settings.root}\n")
    heads = ("run", "pack", "commit", "status", "ok", "created", "worked", "cost", "note")
    return Reply(summaries, columns(heads, map(_listed, summaries.runs)))


@command(
    "show",
    data="run-details",
    examples=(
        "oraclepack runs show",
        "oraclepack runs show 2026-03-01__abc1234__55555555",
        "oraclepack runs show 2026-03 --json",
    ),
)
@click.argument("run", metavar="[RUN]", default="latest", shell_complete=run_ids)
def show(run: str, settings: Settings) -> Reply:
    """Show one run in full: its commands and its steps.

    RUN may be the beginning of a run's name, if no other begins so; a rehearsal is `rehearsals/ID`.
    Without it the newest run is shown. Of a damaged run everything before the damage is shown.
    """
    details = ProjectRuns(settings.root).show(run)
    return Reply(details, _run(single_lines(details)))


@command(
    "prune",
    data="runs-prune-report",
    changes="the directories of the runs that it names as removed, and locks of killed commands",
    effect="destructive",
    examples=(
        "oraclepack runs prune --older-than 30d --dry-run",
        "oraclepack runs prune --keep 3",
    ),
)
@click.option("--older-than", metavar="DURATION", help="Only runs without events for this long.")
@click.option("--keep", type=click.IntRange(0), metavar="N", help="Keep the newest N of each pack.")
@click.option("--dry-run", is_flag=True, help="Only list what would be removed.")
def prune(older_than: str | None, keep: int | None, *, dry_run: bool, settings: Settings) -> Reply:
    """Remove finished runs that hold nothing unique.

    Always kept: runs that are in use, unfinished, damaged or foreign; the only copy of
    an answer or of a file that one replaced; the newest run of a pack, unless the cache has all of
    its answers, so that the next `run` pays for nothing again; and files that are not of the run.
    Each one is named with its reason. Of rehearsals only those in use, and what they replaced.

    A change that a removed run made in the work tree stays, but `undo` can no longer take it back.
    """
    if older_than is None and keep is None:
        raise UsageError("nothing to go by", hint="give --older-than, --keep or both")
    age = None if older_than is None else value_kinds.seconds_of(older_than, "--older-than")
    report = ProjectRuns(settings.root).prune(older_than=age, keep=keep, dry_run=dry_run)
    return Reply(report, _pruned(report))


def _pruned(report: RunsPruneReport) -> str:
    done, rest = ("would remove", "would keep") if report.dry_run else ("removed", "kept")
    lines = [f"{done} {one.run_id}, {size(one.bytes)}\n" for one in report.removed]
    lines += [f"{rest} {one.run_id}: {one.reason}\n" for one in report.kept]
    count = f"{quantity(len(report.removed), 'run')}, {size(report.bytes)}"
    return "".join([*lines, f"{done} {count}; {rest} {len(report.kept)}\n"])


def _listed(run: RunListEntry) -> tuple[str, ...]:
    notes = (
        run.foreign or run.damage or run.holder,
        "rehearsal" if run.rehearsal else None,
        f"{run.accepted} accepted" if run.accepted else None,
    )
    return (
        run.name,
        run.pack_path or "-",
        (run.git_sha or "-")[:7],
        run.status,
        f"{run.ok}/{run.total}",
        (run.created_at or "-")[:16].replace("T", " "),
        seconds(run.duration_ms),
        short_cost(run.cost),
        ", ".join(note for note in notes if note),
    )


def _run(details: RunDetails) -> tuple[str | Styled, ...]:
    run, manifest = details.run, details.manifest
    pieces: list[str | Styled] = [Styled(f"run {run.run_id}", "bold"), f": {run.status}\n"]
    if run.foreign is not None:
        pieces += [Styled("foreign", "red"), f": {run.foreign}; no command acts on it\n"]
    if run.rehearsal:
        pieces += [Styled("a rehearsal", "yellow"), ": no model was asked, no tool was started\n"]
    if run.damage is not None:
        pieces += [Styled("damaged", "red"), f": {run.damage}; only what precedes it is shown\n"]
    if run.holder is not None:
        pieces.append(f"in use by {run.holder}\n")
    if manifest is not None:
        clean = {True: ", with uncommitted changes", False: "", None: ""}[manifest.git_dirty]
        pieces.append(f"pack {manifest.pack_path}, commit {manifest.git_sha or 'none'}{clean}\n")
        pieces.append(f"created {manifest.created_at}, worked on for {seconds(run.duration_ms)}\n")
        for session in manifest.sessions:
            end = "no end" if session.exit_code is None else f"exit code {session.exit_code}"
            words = " ".join(session.argv) or session.command
            pieces.append(f"  {session.started_at}  {words}: {end}\n")
        cost = cost_text(manifest.cost)
        pieces += [f"cost: {cost}\n"] if cost else []
    pieces.append(f"directory {details.run_dir}\n\n")
    heads = ("step", "status", "attempts", "time", "cost", "output", "title")
    pieces.append(columns(heads, map(_step, details.steps)))
    if details.calls:
        heads = ("step", "call", "tool", "end", "time", "tries", "waits")
        pieces += ["\n", columns(heads, map(_call, details.calls))]
    pieces += _troubles(details)
    return tuple(pieces)


def _call(call: CallTimes) -> tuple[str, ...]:
    end = {True: "cached" if call.cache_hit else "ok", False: "failed", None: "open"}[call.ok]
    waits = (f"{reason} {seconds(spent)}" for reason, spent in call.waits.items())
    return (
        call.step_id,
        f"{call.attempt}.{call.call}",
        call.tool or "-",
        end,
        seconds(call.duration_ms),
        str(call.tries),
        ", ".join(waits) or "-",
    )


def _step(step: StepView) -> tuple[str, ...]:
    more = f" (+{len(step.outputs) - 1})" if len(step.outputs) > 1 else ""
    return (
        step.step_id,
        step.state,
        str(step.attempts),
        "-" if step.duration_ms is None else seconds(step.duration_ms),
        short_cost(step.cost),
        f"{step.output_path}{more}" if step.output_path else "-",
        step.title or step.question_id or step.reference or "-",
    )


def _troubles(details: RunDetails) -> list[str | Styled]:
    pieces: list[str | Styled] = []
    for step in details.steps:
        if step.changes is not None:
            changed = f"{some_of(step.changes.files)} ({details.run_dir}/{step.changes.patch})"
            pieces.append(f"\nstep {step.step_id} changed {changed}\n")
        for acceptance in step.accepted:
            why = f": {acceptance.reason}" if acceptance.reason else ""
            pieces.append(f"\nstep {step.step_id}: {acceptance.path} was accepted as it is{why}\n")
        if step.last_error is not None:
            changed = f": {step.last_error.code}: {step.last_error.message}\n"
            pieces += ["\n", Styled(f"step {step.step_id}", "red"), changed]
            pieces.append(
                f"  log: {details.run_dir}/{step.stderr_log}\n" if step.stderr_log else ""
            )
        elif step.skip_reason is not None:
            pieces.append(f"\nstep {step.step_id} skipped: {step.skip_reason}\n")
    for notice in details.manifest.warnings if details.manifest else ():
        if notice.code != "unknown_value":
            where = f"step {notice.step_id}: " if notice.step_id else ""
            pieces.append(f"warning: {where}{notice.message}\n")
    return pieces
