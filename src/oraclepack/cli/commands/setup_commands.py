"""`doctor`: what is installed, what would not work, and what can be fixed in past runs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from oraclepack import api
from oraclepack.cli.command import Group, LazyCommand, command
from oraclepack.cli.commands.trust_commands import agree
from oraclepack.cli.reply import Reply, ReplyError, Styled
from oraclepack.cli.text import columns
from oraclepack.cli.value_completion import run_ids
from oraclepack.errors import ExitCode, LockedError, UsageError
from oraclepack.system.printable import quantity, single_lines

_MEANS = "These count from then on, until one of them changes; they are less strict than yours.\n"

config = Group(
    "config",
    entries={
        "show": LazyCommand(f"{__name__}:show", "Show every setting, its value and its origin."),
        "trust": LazyCommand(f"{__name__}:trust", "Let this project be less strict than you."),
    },
    help="Show the settings and their origin, trust a project.",
)


@command(
    "show",
    data="config",
    examples=("oraclepack config show", "oraclepack config show --json"),
)
def show(settings: api.Settings) -> Reply:
    """Show every setting, its value and its origin.

    Stronger first: flag, ORACLEPACK_* variable, .env, oraclepack.toml or [tool.oraclepack],
    your own config file, default. A project may set what is free; of what is tighten-only it may
    only choose a stricter value than yours; what is user-only is yours alone. What a project set
    and may not set is ignored, and listed below the table. A .env that git does not track is your
    own: it may also be less strict, and so may what `config trust` trusts.
    """
    config = api.settings_shown(settings)
    rows = [(row.name, _spelled(row.value), row.scope, row.where) for row in config.settings]
    text = f"project root: {config.root}\n\n"
    text += columns(("setting", "value", "project", "origin"), rows)
    notes = [f"{one.where}: {one.reason}" for one in config.ignored]
    text += "".join(("\nignored:\n", *(f"  {note}\n" for note in notes))) if notes else ""
    return Reply(data=config, text=text)


@command(
    "trust",
    data="config-trust",
    changes="the record of trusted settings in your state directory",
    examples=("oraclepack config trust", "oraclepack config trust --yes"),
)
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
def trust(*, yes: bool, settings: api.Settings) -> Reply:
    """Let this project be less strict than you.

    What its oraclepack.toml, its [tool.oraclepack] or a .env that git tracks sets less strictly
    than you counts from now on, until one of its settings changes. What is user-only (programs,
    hosts, keys) never comes from a project.
    """
    found = api.find_untrusted(settings)
    lines = "".join(f"{one.path}: {', '.join(one.settings)}\n" for one in found.files)
    if not found.files:
        return Reply(found, "no settings of this project are less strict than yours\n")
    agree(f"{lines}{_MEANS}", "Trust them?", is_agreed=yes)
    api.trust_settings(found)
    return Reply(found, f"trusted:\n{lines}")


def _spelled(value: object) -> str:
    match value:
        case None:
            return "-"
        case bool():
            return str(value).lower()
        case tuple():
            return ", ".join(map(str, value)) or "-"
        case dict():
            return ", ".join(f"{name}={part}" for name, part in value.items()) or "-"
        case _:
            return str(value) or "-"


@command(
    "doctor",
    data="doctor",
    changes="nothing; with --rebuild what a killed command left, and the files about runs",
    starts="installed programs, to ask for their versions",
    settings=(api.call_settings.ORACLE_BIN,),
    exit_codes=(ExitCode.LOCKED,),
    runs_something=True,
    examples=(
        "oraclepack doctor",
        "oraclepack doctor --json",
        "oraclepack doctor --rebuild",
        "oraclepack doctor --rebuild --run-id 2026-03-01__abc1234__55555555",
    ),
)
@click.option(
    "--rebuild",
    is_flag=True,
    help="Clean up killed runs and compute their files from the journals.",
)
@click.option(
    "--run-id", metavar="ID", help="With --rebuild: only this run.", shell_complete=run_ids
)
def doctor(*, settings: api.Settings, rebuild: bool, run_id: str | None) -> Reply:
    """Check what is installed and what would not work.

    Asks each program for its version and times a login shell. Exit code 2 when bash is missing:
    nothing can be run without it; or when --oracle-bin, or its variable or user setting, names
    no program. Every other program is optional.

    With --rebuild, runs are fixed instead: what a killed command left is cleaned up, as the next
    run would do, and run.json, steps.json, the state and the report file are computed again from
    the journal. Damage of a journal is reported, nothing of its run is
    touched, and the exit code is 2; 6 when a run is in use.
    """
    if rebuild:
        return _rebuilt(Path(settings.root), run_id)
    if run_id is not None:
        raise UsageError("--run-id needs --rebuild", hint="doctor itself is not about runs")
    health = api.examine_machine(settings)
    named = ("oracle",) if settings[api.call_settings.ORACLE_BIN] else ()
    missing = [one for one in health.programs if one.name in named and one.path is None]
    if health.usable and not missing:
        return Reply(data=health, text=_text(single_lines(health)))
    failure = ReplyError("ENVIRONMENT", "bash is missing", suggestion="install bash 4 or newer")
    if health.usable:
        failure = ReplyError("USAGE", missing[0].problem, suggestion="name a program by its path")
    return Reply(
        data=health, text=_text(single_lines(health)), exit_code=ExitCode.INVALID, error=failure
    )


def _text(health: api.Health) -> tuple[str | Styled, ...]:
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


def _keys(keys: Sequence[api.ProviderKey]) -> list[str | Styled]:
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


def _lines(check: api.ProgramCheck) -> list[str | Styled]:
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
    done = api.runs(root).rebuild(run_id)
    pieces = tuple(piece for run in done.runs for piece in _run(single_lines(run)))
    code, failure = _verdict(done)
    talk = "" if done.runs else f"there are no runs in {root}\n"
    warnings = tuple(f"{run.run_id}: {notice}" for run in done.runs for notice in run.notices)
    return Reply(done, pieces, code, warnings, failure, talk)


def _run(run: api.RunRebuild) -> list[str | Styled]:
    colour = {"rebuilt": "green", "empty": "yellow"}.get(run.result, "red")
    problem = f": {run.problem}" if run.problem else ""
    torn = "; a last line that a crash cut short was left out" if run.torn else ""
    pieces: list[str | Styled] = [
        Styled(run.result.value, colour),
        f" {run.run_id}: {quantity(run.events, 'intact event')}{torn}{problem}\n",
    ]
    return pieces + [f"  {path}\n" for path in run.files]


def _verdict(done: api.RebuildReport) -> tuple[ExitCode, ReplyError | None]:
    damaged, locked = done.count("damaged"), done.count("locked")
    foreign = done.count("foreign")
    if damaged:
        message = f"{damaged} of {len(done.runs)} runs damaged; nothing of them was changed"
        hint = "their outputs and logs are as they were; --new-run starts a run afresh"
        return ExitCode.INVALID, ReplyError("INVALID_INPUT", message, suggestion=hint)
    if foreign:
        message = f"{foreign} of {len(done.runs)} runs foreign; nothing of them was changed"
        hint = "`oraclepack trust RUN` takes one over, if you know where it comes from"
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
