"""`runs watch`, `logs`, `stop`, `pause`, `resume`, `set`, `answer`: runs of other processes."""

from __future__ import annotations

import codecs
from collections.abc import Callable
from typing import Any

import click

from oraclepack.cli import render
from oraclepack.cli.command import command
from oraclepack.cli.commands.tui_command import watch_inline
from oraclepack.cli.display import watching_screen
from oraclepack.cli.reply import Reply, ReplyError
from oraclepack.cli.value_completion import run_ids, step_of_run
from oraclepack.errors import ExitCode, UsageError
from oraclepack.journal.costs import cost_text
from oraclepack.journal.run_state import EMPTY, RunState
from oraclepack.run.project_records import ProjectRuns
from oraclepack.run.run_control import ControlRequest
from oraclepack.settings import run_settings
from oraclepack.settings.declaration import ValueSource
from oraclepack.settings.registry import OUTPUT, Settings
from oraclepack.system.printable import one_line
from oraclepack.view.run_status import RunStatus

_LATEST = "latest"


def run_argument(function: Callable[..., Any]) -> Callable[..., Any]:
    """RUN: a name, the beginning of one, or `latest`."""
    return click.argument("run", metavar="RUN", shell_complete=run_ids)(function)


@command(
    "watch",
    data="run-status",
    settings=(run_settings.DISPLAY,),
    exit_codes=(ExitCode.STEP_FAILED, ExitCode.POLICY, ExitCode.TERMINATED),
    examples=(
        "oraclepack runs watch",
        "oraclepack runs watch 2026-03 --display plain",
        "oraclepack runs watch latest --json",
        "oraclepack runs watch --inline",
    ),
)
@click.argument("run", metavar="[RUN]", default=_LATEST, shell_complete=run_ids)
@click.option("--all", "from_start", is_flag=True, help="Also show earlier commands.")
@click.option("--inline", is_flag=True, help="In a few lines below the prompt; extra `tui`.")
def watch(run: str, *, from_start: bool, inline: bool, settings: Settings) -> Reply:
    """Watch a run of another process, or see a finished one again.

    RUN may be the beginning of a run's name, or `latest`, the default. Only the journal and the
    logs are read: Ctrl-C ends the watching and leaves the run alone. With --json each event is a
    line of JSON, and the last line is the result. The exit code is that of the command that was
    watched; 3 where it was killed, 0 where `q` left --inline.
    """
    runs = ProjectRuns(settings.root)
    streams = settings[OUTPUT] != "text"
    if inline:
        display = settings.origin(run_settings.DISPLAY).source
        if streams or from_start or display is ValueSource.FLAG:
            others = "--json, --output, --all and --display"
            raise UsageError("--inline is a display of its own", hint=f"leave out {others}")
    name = runs.status(run).name  # `latest` stays the same run from here on
    if inline:
        return _watch_inline(name, settings)
    with watching_screen(settings, streams=streams) as screen:
        state = EMPTY
        for update in runs.watch(name, screen, from_start=from_start):
            state = update.state
            if update.progress is not None:
                screen.progress(update.progress)
    return _watched(runs.status(name), state)


def _watch_inline(name: str, settings: Settings) -> Reply:
    runs = ProjectRuns(settings.root)
    left = watch_inline(name, settings)
    if left is ExitCode.INTERRUPTED:
        raise KeyboardInterrupt
    if left is not None:
        return Reply(runs.status(name), f"run {name} goes on\n", left)
    state = EMPTY
    for update in runs.watch(name):
        state = update.state
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
    data="log-report",
    examples=(
        "oraclepack runs logs latest",
        "oraclepack runs logs latest 03 --follow",
        "oraclepack runs logs 2026-03 --failed --stderr",
    ),
)
@run_argument
@click.argument("step", metavar="[NN]", required=False, shell_complete=step_of_run)
@click.option("--follow", "-f", is_flag=True, help="Go on until no command works on the run.")
@click.option("--stderr", is_flag=True, help="Only what was written to stderr.")
@click.option("--failed", is_flag=True, help="The logs of all failed steps.")
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
    data="control-reply",
    changes="the run: it ends, or one of its steps",
    examples=("oraclepack runs stop latest", "oraclepack runs stop latest 03 --now"),
)
@run_argument
@click.argument("step", metavar="[NN]", required=False, shell_complete=step_of_run)
@click.option("--now", is_flag=True, help="Cancel running calls; they may still be billed.")
def stop(run: str, step: str | None, *, now: bool, settings: Settings) -> Reply:
    """Stop a run of another process, or one of its steps.

    Nothing new starts, and calls that are being asked finish, so that their answers are taken;
    other commands of steps are ended. Finished steps stay finished, and `oraclepack run` continues
    the run. When only a step is stopped, the run goes on with the steps that do not need it.
    """
    return _request("stop", run, settings, step=_step_id(step), now=now)


@command(
    "pause",
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
    data="control-reply",
    changes="the run: a call that waits goes on",
    examples=("oraclepack runs answer latest 03 retry", "oraclepack runs answer latest 03 accept"),
)
@run_argument
@click.argument("step", metavar="NN", shell_complete=step_of_run)
@click.argument("answer", metavar="retry|fail|accept")
@click.option("--call", type=click.IntRange(1), metavar="N", help="Which call, where several wait.")
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
