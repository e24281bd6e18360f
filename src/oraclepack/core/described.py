"""What the program tells other programs about its commands."""

from typing import Any

import msgspec


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


class Described(msgspec.Struct, frozen=True):
    """Every command of this version of the program."""

    program: str
    version: str
    schema_version: int
    commands: tuple[CommandFacts, ...]
    exit_codes: tuple[ExitMeaning, ...]
