"""`doctor`: what is installed, what would not work, and what can be fixed in past runs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from oraclepack.cli.command import command
from oraclepack.cli.reply import Reply, ReplyError, Styled
from oraclepack.cli.value_completion import run_ids
from oraclepack.doctor import Health, ProgramCheck, ProviderKey, examine_machine
from oraclepack.errors import ExitCode, LockedError, UsageError
from oraclepack.run.project_records import ProjectRuns
from oraclepack.run.rebuild import RebuildReport, RunRebuild
from oraclepack.settings import call_settings
from oraclepack.settings.registry import Settings
from oraclepack.system.printable import quantity, single_lines


@command(
    "doctor",
    data="doctor",
    changes="nothing",
    starts="installed programs, to ask for their versions",
    settings=(call_settings.ORACLE_BIN,),
    exit_codes=(ExitCode.LOCKED,),
    runs_something=True,
    examples=("oraclepack doctor", "oraclepack doctor --json"),
)
@click.option("--rebuild", is_flag=True, hidden=True, help="The same as `runs repair`.")
@click.option("--run-id", metavar="ID", hidden=True, help="With --rebuild: only this run.")
def doctor(*, settings: Settings, rebuild: bool, run_id: str | None) -> Reply:
    """Check what is installed and what would not work.

    Asks each program for its version and times a login shell. Exit code 2 when bash is missing:
    nothing can be run without it; or when --oracle-bin, or its variable or user setting, names
    no program. Every other program is optional.
    """
    if rebuild:
        return _rebuilt(Path(settings.root), run_id)
    if run_id is not None:
        raise UsageError("--run-id needs --rebuild", hint="doctor itself is not about runs")
    health = examine_machine(settings)
    named = ("oracle",) if settings[call_settings.ORACLE_BIN] else ()
    missing = [one for one in health.programs if one.name in named and one.path is None]
    if health.usable and not missing:
        return Reply(data=health, text=_text(single_lines(health)))
    failure = ReplyError("ENVIRONMENT", "bash is missing", suggestion="install bash 4 or newer")
    if health.usable:
        failure = ReplyError("USAGE", missing[0].problem, suggestion="name a program by its path")
    return Reply(
        data=health, text=_text(single_lines(health)), exit_code=ExitCode.INVALID, error=failure
    )


@command(
    "repair",
    data="doctor",
    changes="what a killed command left, and the files about runs",
    exit_codes=(ExitCode.LOCKED,),
    examples=("oraclepack runs repair", "oraclepack runs repair 2026-03-01__abc1234__55555555"),
)
@click.argument("run", metavar="[RUN]", required=False, shell_complete=run_ids)
def repair(run: str | None, *, settings: Settings) -> Reply:
    """Compute the files of runs from their journals.

    What a killed command left is cleaned up, as the next run would do; run.json, steps.json, the
    state and the report file are written again. Damage of a journal is reported, nothing of its
    run is touched, and the exit code is 2; 6 when a run is in use.
    """
    return _rebuilt(Path(settings.root), run)


def _text(health: Health) -> tuple[str | Styled, ...]:
    pieces: list[str | Styled] = [f"oraclepack {health.oraclepack}, Python {health.python}\n"]
    for check in health.programs:
        pieces += _lines(check)
    pieces += _keys(health.keys)
    shell = health.login_shell
    if shell is not None:
        pieces.append(f"bash -lc true: {shell.login_ms} ms, bash -c true: {shell.plain_ms} ms\n")
        pieces += [f"  {shell.advice}\n"] if shell.advice else []
    if health.lacks_space:
        pieces += [Styled("disk   ", "yellow"), f" {health.lacks_space}; `run` asks nothing\n"]
    for skill in health.skills:
        fix = "" if skill.state == "current" else " (see `oraclepack skills check`)"
        pieces.append(f"skill for {skill.agent}: {skill.path} is {skill.state}{fix}\n")
    return tuple(pieces)


def _keys(keys: Sequence[ProviderKey]) -> list[str | Styled]:
    found = [f"{one.provider} ({one.found})" for one in keys if one.found]
    lacking = [f"{one.provider} ({one.variables[0]})" for one in keys if not one.found]
    pieces: list[str | Styled] = []
    if found:
        pieces += [Styled("ok     ", "green"), f" keys, not tried: {', '.join(found)}\n"]
    if lacking:
        pieces += [Styled("no key ", "yellow"), f" {', '.join(lacking)}\n"]
    if not found:
        pieces.append(
            "          without one: oracle asks through Chrome and your ChatGPT login\n"
            "          fix: echo 'export OPENAI_API_KEY=…' >> ~/.bash_profile\n"
        )
    return pieces


def _lines(check: ProgramCheck) -> list[str | Styled]:
    if check.status == "ok":
        text = f" {check.name} {check.version} ({check.path})\n"
        return [Styled("ok     ", "green"), text]
    what = f" {check.name} {check.version or ''}".rstrip()
    return [
        Styled(f"{check.status.value:<7}", "yellow"),
        f"{what}: {check.problem}\n",
        f"          without it: {check.without}\n          fix: {check.fix}\n",
    ]


def _rebuilt(root: Path, run_id: str | None) -> Reply:
    done = ProjectRuns(root).rebuild(run_id)
    pieces = tuple(piece for run in done.runs for piece in _run(single_lines(run)))
    code, failure = _verdict(done)
    talk = "" if done.runs else f"there are no runs in {root}\n"
    warnings = tuple(f"{run.run_id}: {notice}" for run in done.runs for notice in run.notices)
    return Reply(done, pieces, code, warnings, failure, talk)


def _run(run: RunRebuild) -> list[str | Styled]:
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
        message = f"{foreign} of {len(done.runs)} runs foreign; nothing of them was changed"
        hint = "`oraclepack runs trust RUN` takes one over, if you know where it comes from"
        return ExitCode.INVALID, ReplyError("FOREIGN", message, suggestion=hint)
    if locked:
        message = f"{locked} of {len(done.runs)} runs in use by another process"
        hint = "wait for it to end; a run brings its files up to date by itself"
        return ExitCode.LOCKED, _locked(message, hint)
    return ExitCode.DONE, None


def _locked(message: str, hint: str) -> ReplyError:
    return ReplyError(
        LockedError.code,
        message,
        retryable=LockedError.retryable,
        suggestion=hint,
        retry_after=LockedError.retry_after,
    )
