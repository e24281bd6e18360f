"""`runs`: look at runs, steer, compare, trust, repair and remove them."""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click

from oraclepack.cli import render
from oraclepack.cli.command import Group, agree, command, option, paged
from oraclepack.cli.display import WatchingScreen
from oraclepack.cli.reply import Reply, ReplyError, Styled
from oraclepack.cli.text import columns, seconds, size, some_of
from oraclepack.cli.value_completion import run_ids, step_of_run
from oraclepack.errors import ExitCode, LockedError, OraclePackError, UsageError
from oraclepack.journal.costs import cost_text, short_cost
from oraclepack.journal.run_state import EMPTY, RunState
from oraclepack.journal.statuses import Status
from oraclepack.run.control import ControlRequest
from oraclepack.run.project_records import ProjectRuns
from oraclepack.run.prune_runs import RunsPruneReport
from oraclepack.run.rebuild import RebuildReport, RunRebuild
from oraclepack.run.trust import (
    Candidate,
    find_cache_candidates,
    find_candidate,
    trust_cache,
    trust_run,
)
from oraclepack.settings import run_settings
from oraclepack.settings.registry import OUTPUT, Settings
from oraclepack.settings.value_kinds import Duration, flag_value
from oraclepack.system.paging import page
from oraclepack.system.printable import one_line, quantity, single_lines
from oraclepack.view.calls import RunCall
from oraclepack.view.past_runs import RunDetails, RunListEntry
from oraclepack.view.report.diff import QuestionComparison, RunComparison, diff_runs
from oraclepack.view.run_status import RunStatus
from oraclepack.view.step import StepView

runs = Group("runs", "List, watch, control, compare and repair runs.")


@command(
    "list",
    group=runs,
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
    table = columns(heads, map(_listed, summaries.runs))
    return Reply(summaries, table, next="oraclepack runs show RUN")


@command(
    "show",
    group=runs,
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
        pieces += [Styled("not signed by you", "red"), f": {run.foreign}; no command acts on it\n"]
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


def _call(call: RunCall) -> tuple[str, ...]:
    waits = (f"{reason} {seconds(spent)}" for reason, spent in call.waits.items())
    return (
        call.step_id,
        f"{call.attempt}.{call.call}",
        call.tool or "-",
        call.end,
        seconds(call.end_ms - call.start_ms),
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


_LATEST = "latest"


def run_argument(function: Callable[..., Any]) -> Callable[..., Any]:
    """RUN: a name, the beginning of one, or `latest`."""
    return click.argument("run", metavar="RUN", shell_complete=run_ids)(function)


@command(
    "watch",
    group=runs,
    data="run-status",
    settings=(run_settings.DISPLAY,),
    exit_codes=(ExitCode.STEP_FAILED, ExitCode.POLICY, ExitCode.TERMINATED),
    examples=(
        "oraclepack runs watch",
        "oraclepack runs watch 2026-03 --display plain",
        "oraclepack runs watch latest --json",
    ),
)
@click.argument("run", metavar="[RUN]", default=_LATEST, shell_complete=run_ids)
@option("--all", "Also show earlier commands.", name="from_start")
def watch(run: str, *, from_start: bool, settings: Settings) -> Reply:
    """Watch a run of another process, or see a finished one again.

    RUN may be the beginning of a run's name, or `latest`, the default. Only the journal and the
    logs are read: Ctrl-C ends the watching and leaves the run alone. With --json each event is a
    line of JSON, and the last line is the result. The exit code is that of the command that was
    watched; 3 where it was killed.
    """
    runs = ProjectRuns(settings.root)
    streams = settings[OUTPUT] != "text"
    name = runs.status(run).name  # `latest` stays the same run from here on
    with WatchingScreen(settings, streams=streams) as screen:
        state = EMPTY
        for update in runs.watch(name, screen, from_start=from_start):
            state = update.state
            if update.progress is not None:
                screen.progress(update.progress)
    return _watched(runs.status(name), state)


def _watched(status: RunStatus, state: RunState) -> Reply:
    ended = state.sessions[-1].finished if state.sessions else None
    counted = sum(step.state in {"ok", "skipped"} for step in status.steps)
    text = f"run {status.run_id}: {status.state}, {counted} of {len(status.steps)} steps done\n"
    cost = cost_text(status.cost)
    text += f"cost of the run so far: {cost}\n" if cost else ""
    code = ExitCode.STEP_FAILED if ended is None else ExitCode(ended.exit_code)
    if code is ExitCode.DONE:
        return Reply(status, text, one_line_json=True)
    failed = next((step for step in status.steps if step.error), None)
    cause = f"step {failed.step_id}: {failed.error}" if failed else code.meaning
    message = "the command was killed" if ended is None else cause
    error = ReplyError(
        "INTERRUPTED" if ended is None else code.name,
        message,
        phase="run",
        suggestion=f"see oraclepack runs show {status.run_id}",
    )
    return Reply(status, text, code, error=error, one_line_json=True)


@command(
    "logs",
    group=runs,
    data="log-report",
    examples=(
        "oraclepack runs logs latest",
        "oraclepack runs logs latest 03 --follow",
        "oraclepack runs logs 2026-03 --failed --stderr",
    ),
)
@run_argument
@click.argument("step", metavar="[NN]", required=False, shell_complete=step_of_run)
@option("--follow -f", "Go on until no command works on the run.")
@option("--stderr", "Only what was written to stderr.")
@option("--failed", "The logs of all failed steps.")
def logs(
    run: str, step: str | None, *, follow: bool, stderr: bool, failed: bool, settings: Settings
) -> Reply:
    """Print what a step printed, or the console of a detached command.

    Without NN: the console log of the last command if that was detached, else the logs of all
    steps. Control characters are removed.
    """
    if step is not None and failed:
        raise UsageError("--failed picks the steps itself", hint="leave the step or --failed out")
    runs = ProjectRuns(settings.root)
    if settings[OUTPUT] != "text":
        return Reply(runs.log_files(run, step, stderr=stderr, failed=failed))
    decoders: dict[str, codecs.IncrementalDecoder] = {}
    last = ""
    for chunk in runs.logs(run, step, stderr=stderr, failed=failed, follow=follow):
        if chunk.path != last and chunk.step is not None:
            render.stream_text(f"==> {chunk.path} <==\n")
        last = chunk.path
        if chunk.path not in decoders:
            decoders[chunk.path] = codecs.getincrementaldecoder("utf-8")("replace")
        if not render.stream_text(decoders[chunk.path].decode(chunk.data)):
            break
    return Reply()


def _request(name: str, run: str, settings: Settings, **fields: Any) -> Reply:
    request = ControlRequest(action=name, by=f"oraclepack runs {name}", **fields)
    runs = ProjectRuns(settings.root)
    reply = runs.control(run, request)
    return Reply(reply, f"{one_line(reply.message)}\n")


@command(
    "stop",
    group=runs,
    data="control-reply",
    changes="the run: it ends, or one of its steps",
    examples=("oraclepack runs stop latest", "oraclepack runs stop latest 03 --now"),
)
@run_argument
@click.argument("step", metavar="[NN]", required=False, shell_complete=step_of_run)
@option("--now", "Cancel running calls; they may still be billed.")
def stop(run: str, step: str | None, *, now: bool, settings: Settings) -> Reply:
    """Stop a run of another process, or one of its steps.

    Nothing new starts, and calls that are being asked finish, so that their answers are taken;
    other commands of steps are ended. Finished steps stay finished, and `oraclepack run` continues
    the run. When only a step is stopped, the run goes on with the steps that do not need it.
    """
    return _request("stop", run, settings, step=_step_id(step), now=now)


@command(
    "pause",
    group=runs,
    data="control-reply",
    changes="the run: it starts nothing until it is resumed",
    examples=("oraclepack runs pause latest",),
)
@run_argument
def pause(run: str, *, settings: Settings) -> Reply:
    """Let the running calls of a run finish, and start none."""
    return _request("pause", run, settings)


@command(
    "resume",
    group=runs,
    data="control-reply",
    changes="the run: it goes on",
    examples=("oraclepack runs resume latest",),
)
@run_argument
def resume(run: str, *, settings: Settings) -> Reply:
    """Let a paused run go on."""
    return _request("resume", run, settings)


@command(
    "set",
    group=runs,
    data="control-reply",
    changes="the run: the limits that it names",
    examples=("oraclepack runs set latest max_parallel=4",),
)
@run_argument
@click.argument("values", nargs=-1, required=True, metavar="NAME=VALUE…")
def set_values(run: str, values: tuple[str, ...], *, settings: Settings) -> Reply:
    """Change limits of a run while it runs.

    `max_parallel` is how many steps may run at once; the limits of the budget can be raised too.
    """
    pairs = [value.partition("=") for value in values]
    for name, equals, _ in pairs:
        if not equals:
            raise UsageError(f"{name}: not NAME=VALUE", hint="for example max_parallel=4")
    new = {name.replace("-", "_"): value for name, _, value in pairs}
    return _request("set", run, settings, values=new)


@command(
    "answer",
    group=runs,
    data="control-reply",
    changes="the run: a call that waits goes on",
    examples=("oraclepack runs answer latest 03 retry", "oraclepack runs answer latest 03 accept"),
)
@run_argument
@click.argument("step", metavar="NN", shell_complete=step_of_run)
@click.argument("answer", metavar="retry|fail|accept")
@option("--call N", "Which call, where several wait.", least=1)
def answer_question(
    run: str, step: str, answer: str, *, call: int | None, settings: Settings
) -> Reply:
    """Answer the question of a call of a detached run.

    `oraclepack runs show` has the question and the answers that it takes: `retry` makes the call,
    even if that may pay twice; `accept` takes an answer that misses its contract as it is now;
    `fail` fails it.
    """
    return _request("answer", run, settings, step=_step_id(step), call=call, answer=answer)


def _step_id(step: str | None) -> str | None:
    return None if step is None else step.zfill(2)


_LONGEST = 150


@command(
    "diff",
    group=runs,
    data="run-comparison",
    changes="the page of --html",
    exit_codes=(ExitCode.POLICY,),
    examples=(
        "oraclepack runs diff 2026-03-01 2026-03-08",
        "oraclepack runs diff 2026-03-01 2026-03-08 --html diff.html",
        "oraclepack runs diff 2026-03-01 2026-03-08 --fail-on dropped-tasks,cost+20%",
    ),
)
@click.argument("first", metavar="A", shell_complete=run_ids)
@click.argument("second", metavar="B", shell_complete=run_ids)
@option("--html FILE", "Also write the comparison as a page.")
@option(
    "--fail-on POLICY",
    "dropped-tasks, added-tasks, changed-answers, dropped-answers, cost+N%, time+N%, with commas.",
    many=True,
)
def diff(
    first: str, second: str, html: str, fail_on: tuple[str, ...], *, settings: Settings
) -> Reply:
    """Compare the answers and tasks of two runs.

    A and B are runs, run directories or packs, as for `report`. Questions are matched by their
    QuestionId, then by their text, so that two versions of a pack and two models can be compared.
    Per question: the same answer, reworded, changed, or only in one run; statements and tasks that
    were added and dropped, cost and time. With --fail-on the exit code is 5 where B is
    worse than the policy allows.
    """
    comparison = diff_runs(Path(settings.root), first, second, fail_on=fail_on, html=html)
    error = None
    if comparison.breaches:
        reasons = "; ".join(f"{one.policy}: {one.reason}" for one in comparison.breaches)
        error = ReplyError("POLICY", reasons, suggestion="look at the differences above")
    code = ExitCode.POLICY if comparison.breaches else ExitCode.DONE
    return Reply(comparison, tuple(_diff_text(single_lines(comparison))), code, error=error)


def _diff_text(diff: RunComparison) -> Iterator[str | Styled]:
    for mark, side in (("A", diff.first), ("B", diff.second)):
        yield Styled(f"{mark} {side.run.name}", "bold")
        models = ", ".join(side.models) or "no model"
        yield (
            f": {side.run.status}, {models}, {side.answered} of {side.questions} answered, "
            f"{quantity(side.tasks, 'task')}, {short_cost(side.run.cost)}, "
            f"{seconds(side.run.duration_ms)}\n"
        )
    counted = [f"{number} {_words(change)}" for change, number in diff.totals.items() if number]
    yield f"answers: {', '.join(counted) or 'none'}\n"
    yield (
        f"tasks: {diff.kept_tasks} kept, {diff.added_tasks} added, {diff.dropped_tasks} dropped\n"
    )
    for one in diff.questions:
        if one.is_different:
            yield from _question(one)
    if diff.html:
        yield f"{diff.html} written\n"


def _question(one: QuestionComparison) -> Iterator[str | Styled]:
    steps = dict.fromkeys(step for step in (one.first_step, one.second_step) if step)
    yield Styled(f"\n{' → '.join(steps)} {_words(one.change)}", "bold")
    yield f": {_diff_short(one.title)}\n"
    for mark, look, texts in (
        ("-", "red", one.dropped),
        ("+", "green", one.added),
        ("- task:", "red", one.dropped_tasks),
        ("+ task:", "green", one.added_tasks),
    ):
        for text in texts:
            yield "  "
            yield Styled(mark, look)
            yield f" {_diff_short(text)}\n"
    for _, now in one.reworded:
        yield f"  ~ {_diff_short(now)}\n"


def _words(change: str) -> str:
    return change.replace("_", " ")


def _diff_short(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


@command(
    "prune",
    group=runs,
    data="runs-prune-report",
    changes="the directories of the runs that it names as removed, and locks of killed commands",
    effect="destructive",
    examples=(
        "oraclepack runs prune --older-than 30d --dry-run",
        "oraclepack runs prune --keep 3",
    ),
)
@option("--older-than DURATION", "Only runs without events for this long.")
@option("--keep N", "Keep the newest N of each pack.", least=0)
@option("--dry-run", "Only list what would be removed.")
def prune(older_than: str, keep: int | None, *, dry_run: bool, settings: Settings) -> Reply:
    """Remove finished runs that hold nothing unique.

    Always kept: runs that are in use, unfinished, damaged or foreign; the only copy of
    an answer or of a file that one replaced; the newest run of a pack, unless the cache has all of
    its answers, so that the next `run` pays for nothing again; and files that are not of the run.
    Each one is named with its reason. Of rehearsals only those in use, and what they replaced.

    A change that a removed run made in the work tree stays, but `undo` can no longer take it back.
    """
    if not older_than and keep is None:
        raise UsageError("nothing to go by", hint="give --older-than, --keep or both")
    age = flag_value(Duration(), older_than, "--older-than") if older_than else None
    report = ProjectRuns(settings.root).prune(older_than=age, keep=keep, dry_run=dry_run)
    return Reply(report, _pruned(report))


def _pruned(report: RunsPruneReport) -> str:
    done, rest = ("would remove", "would keep") if report.dry_run else ("removed", "kept")
    lines = [f"{done} {one.run_id}, {size(one.bytes)}\n" for one in report.removed]
    lines += [f"{rest} {one.run_id}: {one.reason}\n" for one in report.kept]
    count = f"{quantity(len(report.removed), 'run')}, {size(report.bytes)}"
    return "".join([*lines, f"{done} {count}; {rest} {len(report.kept)}\n"])


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
    group=runs,
    data="trust-report",
    changes="the signatures in the run directory or the cache",
    exit_codes=(ExitCode.LOCKED,),
    examples=(
        "oraclepack runs trust 2026-03-01__abc1234__55555555",
        "oraclepack runs trust --cache --yes",
    ),
)
@click.argument("run", metavar="[RUN]", required=False, shell_complete=run_ids)
@option("--cache", "The answers in the cache, in place of a run.")
@option("-y --yes", "Do not ask.")
def trust(run: str | None, *, cache: bool, yes: bool, settings: Settings) -> Reply:
    """Take over a run, or the cache, that is not signed with your key.

    Runs and answers of oraclepack 0.1.0, of another machine or of another key are foreign: shown,
    but never continued, undone or served, since a repository can bring them along. This signs RUN
    (or the beginning of its name), or what the cache holds, as it is now. What git tracks, or a
    link leads to, cannot be taken over: untrack it or copy it first.
    """
    root = Path(settings.root)
    if cache == (run is not None):
        raise UsageError("give the name of a run, or --cache")
    if run is not None:
        candidate = find_candidate(root, run)
        agree(f"{_about(candidate)}{_RUN_MEANS}", "Take it over?", is_agreed=yes)
        done = trust_run(candidate)
        text = f"run {done.run_id} is yours now\n"
        return Reply(done, text, warnings=done.still_foreign, talk=_of_the_cache(root))
    answers = find_cache_candidates(root)
    if answers.keys or answers.claims:
        entries = quantity(len(answers.keys), "answer")
        about = f"not signed: {entries} and {quantity(len(answers.claims), 'call')}\n"
        agree(f"{about}{_CACHE_MEANS}", "Take them over?", is_agreed=yes)
    done = trust_cache(answers)
    text = f"taken over: {quantity(len(done.answers), 'answer')}\n"
    return Reply(done, text, warnings=done.still_foreign)


def _of_the_cache(root: Path) -> str:
    try:
        count = len(find_cache_candidates(root).keys)
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


@command(
    "repair",
    group=runs,
    data="doctor",
    changes="what a killed command left, and the files about runs",
    exit_codes=(ExitCode.LOCKED,),
    examples=("oraclepack runs repair", "oraclepack runs repair 2026-03-01__abc1234__55555555"),
)
@click.argument("run", metavar="[RUN]", required=False, shell_complete=run_ids)
@option("--run-id RUN", "The same as RUN.", hidden=True)
def repair(run: str | None, run_id: str, *, settings: Settings) -> Reply:
    """Compute the files of runs from their journals.

    What a killed command left is cleaned up, as the next run would do; run.json, steps.json, the
    state and the report file are written again. Damage of a journal is reported, nothing of its
    run is touched, and the exit code is 2; 6 when a run is in use.
    """
    root = settings.root
    done = ProjectRuns(root).rebuild(run or run_id or None)
    pieces = tuple(piece for one in done.runs for piece in _rebuilt_run(single_lines(one)))
    code, failure = _verdict(done)
    talk = "" if done.runs else f"there are no runs in {root}\n"
    warnings = tuple(f"{one.run_id}: {notice}" for one in done.runs for notice in one.notices)
    return Reply(done, pieces, code, warnings, failure, talk)


def _rebuilt_run(run: RunRebuild) -> list[str | Styled]:
    colour = {"rebuilt": "green", "empty": "yellow"}.get(run.result, "red")
    problem = f": {run.problem}" if run.problem else ""
    torn = "; a last line that a crash cut short was left out" if run.torn else ""
    pieces: list[str | Styled] = [
        Styled(run.result.value, colour),
        f" {run.run_id}: {quantity(run.events, 'intact event')}{torn}{problem}\n",
    ]
    return pieces + [f"  {path}\n" for path in run.files]


def _verdict(done: RebuildReport) -> tuple[ExitCode, ReplyError | None]:
    damaged, locked = done.count("damaged"), done.count("locked")
    foreign = done.count("foreign")
    if damaged:
        message = f"{damaged} of {len(done.runs)} runs damaged; nothing of them was changed"
        hint = "their outputs and logs are as they were; --new-run starts a run afresh"
        return ExitCode.INVALID, ReplyError("INVALID_INPUT", message, suggestion=hint)
    if foreign:
        message = (
            f"{foreign} of {len(done.runs)} runs are not signed by you; nothing of them was changed"
        )
        hint = "`oraclepack runs trust RUN` takes one over, if you know where it comes from"
        return ExitCode.INVALID, ReplyError("FOREIGN", message, suggestion=hint)
    if locked:
        message = f"{locked} of {len(done.runs)} runs in use by another process"
        hint = "wait for it to end; a run brings its files up to date by itself"
        return ExitCode.LOCKED, ReplyError(
            LockedError.code,
            message,
            retryable=True,
            suggestion=hint,
            retry_after=LockedError.retry_after,
        )
    return ExitCode.DONE, None
