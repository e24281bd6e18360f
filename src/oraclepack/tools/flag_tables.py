"""What we know about the command lines of the tools: one table each, kept as data."""

from collections.abc import Iterator
from enum import StrEnum
from functools import cache, cached_property
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


class ToolCommand(msgspec.Struct, frozen=True, forbid_unknown_fields=True, dict=True):
    """A tool or one of its sub-commands, and the flags it takes."""

    name: str
    complete: bool
    """Every flag is listed, so one that is not listed is an error."""
    flags: tuple[FlagSpec, ...]
    aliases: tuple[str, ...] = ()
    max_operands: int | None = None
    commands: "tuple[ToolCommand, ...]" = ()

    @cached_property
    def by_spelling(self) -> dict[str, FlagSpec]:
        """The flags by every spelling."""
        return {spelling: spec for spec in self.flags for spelling in spec.spellings}

    @cached_property
    def below(self) -> dict[str, "ToolCommand"]:
        """The sub-commands by name and alias."""
        return {name: sub for sub in self.commands for name in (sub.name, *sub.aliases)}

    def walk(self) -> Iterator["ToolCommand"]:
        """The command and everything below it."""
        yield self
        for command in self.commands:
            yield from command.walk()


class FlagTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The command line of one tool, and the version it was taken from."""

    tool: str
    package: str
    version: str
    grammar: Literal["commander", "clap", "yargs"]
    root: ToolCommand


@cache
def table_of(tool: str) -> FlagTable:
    """The table of a tool we know (one of `TOOLS`)."""
    if tool not in TOOLS:
        raise KeyError(tool)
    content = shipped("oraclepack.tools", f"flag_data/{tool}.json")
    return msgspec.json.decode(content, type=FlagTable)
