"""Every command, described from its own declaration: for programs and for the documentation."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import click
import msgspec

from oraclepack import __version__, api
from oraclepack.cli.command import Command, Group
from oraclepack.cli.reply import SCHEMA_VERSION
from oraclepack.errors import ExitCode


class ExitMeaning(msgspec.Struct, frozen=True):
    """An exit code and what it says."""

    code: int
    meaning: str


class Parameter(msgspec.Struct, frozen=True):
    """An argument or option of a command."""

    name: str
    kind: str
    """`argument` or `option`."""
    flags: tuple[str, ...]
    """How an option is spelled; the spellings that switch it off come last."""
    type: str
    required: bool
    repeatable: bool
    choices: tuple[str, ...]
    default: Any
    variable: str | None
    """The environment variable that gives the same, if there is one."""
    key: str | None
    """The key in TOML files that gives the same, if there is one."""
    help: str


class CommandFacts(msgspec.Struct, frozen=True):
    """Everything a program must know to call a command and read its answer."""

    name: str
    summary: str
    help: str
    parameters: tuple[Parameter, ...]
    changes: str
    data_schema: str
    """The name of the schema of `data`."""
    exit_codes: tuple[ExitMeaning, ...]
    rollback_available: bool
    examples: tuple[str, ...]


class CommandManifest(msgspec.Struct, frozen=True):
    """Every command of this version of the program."""

    program: str
    version: str
    schema_version: int
    commands: tuple[CommandFacts, ...]
    exit_codes: tuple[ExitMeaning, ...]


def describe(program: Group) -> CommandManifest:
    """The whole command line as one value."""
    return CommandManifest(
        program=program.name or "",
        version=__version__,
        schema_version=SCHEMA_VERSION,
        commands=tuple(_facts(name, command) for name, command in commands(program)),
        exit_codes=tuple(map(_meaning, ExitCode)),
    )


def commands(group: Group, prefix: str = "") -> Iterator[tuple[str, Command]]:
    """Every command below a group with its full name, in the order of the help."""
    for name in group.entries:
        command = group.get_command(click.Context(group), name)
        if isinstance(command, Group):
            yield from commands(command, f"{prefix}{name} ")
        elif isinstance(command, Command):
            yield f"{prefix}{name}", command


def help_of(name: str, command: click.Command) -> str:
    """The help of a command as the command line prints it."""
    context = click.Context(command, info_name=f"oraclepack {name}".strip(), terminal_width=80)
    context.help_option_names = ["-h", "--help"]
    return command.get_help(context)


def _facts(name: str, command: Command) -> CommandFacts:
    facts = command.facts
    settings = {setting.parameter: setting for setting in facts.settings}
    summary, _, rest = inspect.cleandoc(command.help or "").partition("\n")
    return CommandFacts(
        name=name,
        summary=summary,
        help=rest.strip(),
        parameters=tuple(_parameter(param, settings) for param in command.params),
        changes=facts.changes,
        data_schema=facts.data,
        exit_codes=tuple(map(_meaning, facts.exit_codes)),
        rollback_available=facts.rollback_available,
        examples=facts.examples,
    )


def _parameter(param: click.Parameter, settings: dict[str, api.Setting[Any]]) -> Parameter:
    setting = settings.get(param.name or "")
    optional = isinstance(param, click.Option)
    switch = isinstance(param, click.Option) and param.is_flag
    return Parameter(
        name=param.name or "",
        kind="option" if optional else "argument",
        flags=(*param.opts, *param.secondary_opts) if optional else (),
        type=setting.kind.name if setting else "bool" if switch else param.type.name,
        required=param.required,
        repeatable=param.multiple or param.nargs == -1,
        choices=tuple(map(str, getattr(param.type, "choices", ()))),
        default=setting.default if setting else _default(param, switch=switch),
        variable=setting.variable
        if setting and api.ValueSource.ENVIRONMENT in setting.sources
        else None,
        key=setting.name if setting and api.ValueSource.PROJECT in setting.sources else None,
        help=setting.help if setting else getattr(param, "help", None) or "",
    )


def _default(param: click.Parameter, *, switch: bool) -> object:
    """A default of click's own, where it is a plain value."""
    default = param.get_default(click.Context(click.Command("")), call=False)
    if isinstance(default, str | int | float | bool | list | tuple):
        return default
    return False if switch else None


def _meaning(code: ExitCode) -> ExitMeaning:
    return ExitMeaning(int(code), code.meaning)
