"""What we know about the command lines of the tools: one table each, kept as data."""

import functools
from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Literal

import msgspec

from oraclepack.system.files import shipped
from oraclepack.tools.tool_names import TOOLS


class Effect(StrEnum):
    """What a flag changes."""

    ANSWER = "answer"
    """What is asked, of whom, or how it is answered: part of an invocation's key."""
    OUTPUT = "output"
    """Where the answer is put."""
    INSPECT = "inspect"
    """The tool shows something and asks no model."""
    NONE = "none"
    """Time limits, verbosity, names, windows: the answer stays the same."""


class Role(StrEnum):
    """What the value of a flag names, where that matters to us."""

    PROMPT = "prompt"
    ATTACHMENT = "attachment"
    OUTPUT = "output"
    """A file that holds the answer: a declared output."""
    SIDE_FILE = "side-file"
    """Another path the tool writes to."""


class FlagSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One flag as the tool declares it. `name` is its long spelling, dashes included."""

    name: str
    short: str | None = None
    aliases: tuple[str, ...] = ()
    value: Literal["none", "required", "optional"] = "none"
    variadic: bool = False
    split: str | None = None
    """The tool itself cuts a value into several at this mark."""
    choices: tuple[str, ...] = ()
    negates: str | None = None
    role: Role | None = None
    secret: bool = False
    effect: Effect = Effect.ANSWER
    project: bool = False
    """A project's own settings may give it to every call: it names no host, program, key or file,
    attaches nothing, and leaves what is asked, checked and paid for as it is."""

    @property
    def spellings(self) -> tuple[str, ...]:
        return (self.name, *self.aliases, *((self.short,) if self.short else ()))


class _Command(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    name: str
    complete: bool
    flags: tuple[FlagSpec, ...]
    aliases: tuple[str, ...] = ()
    max_operands: int | None = None
    commands: "tuple[_Command, ...]" = ()


class _Table(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    tool: str
    package: str
    version: str
    grammar: Literal["commander", "clap", "yargs"]
    root: _Command


class ToolCommand(msgspec.Struct, frozen=True):
    """A tool or one of its sub-commands: the flags it takes, by every spelling."""

    name: str
    complete: bool
    """Every flag is listed, so one that is not listed is an error."""
    flags: tuple[FlagSpec, ...]
    by_spelling: Mapping[str, FlagSpec]
    commands: Mapping[str, "ToolCommand"]
    """Sub-commands, by name and alias."""
    max_operands: int | None = None

    def walk(self) -> Iterator["ToolCommand"]:
        """The command and everything below it, each once."""
        yield self
        for name, command in self.commands.items():
            if name == command.name:
                yield from command.walk()


class FlagTable(msgspec.Struct, frozen=True):
    """The command line of one tool, and the version it was taken from."""

    tool: str
    package: str
    version: str
    grammar: Literal["commander", "clap", "yargs"]
    root: ToolCommand


def _command(raw: _Command) -> ToolCommand:
    by_spelling = {spelling: spec for spec in raw.flags for spelling in spec.spellings}
    below = [(name, _command(sub)) for sub in raw.commands for name in (sub.name, *sub.aliases)]
    return ToolCommand(
        raw.name, raw.complete, raw.flags, by_spelling, dict(below), raw.max_operands
    )


@functools.cache
def table_of(tool: str) -> FlagTable:
    """The table of a tool we know (one of `call.TOOLS`)."""
    if tool not in TOOLS:
        raise KeyError(tool)
    content = shipped("oraclepack.tools", f"flag_data/{tool}.json")
    raw = msgspec.json.decode(content, type=_Table)
    return FlagTable(raw.tool, raw.package, raw.version, raw.grammar, _command(raw.root))
