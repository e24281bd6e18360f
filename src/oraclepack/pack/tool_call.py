"""Calls of known tools, as far as the text of a step shows."""

from enum import StrEnum

import msgspec

from oraclepack.pack.script import Enclosure, Expansion, Heredoc, Redirect, Span, Word
from oraclepack.tools.tool_names import FlagFault


class Flag(msgspec.Struct, frozen=True):
    """One flag of a call: its table name, how it was spelled, and its value."""

    name: str
    spelled: str
    value: Word | None
    span: Span
    role: str | None = None
    """What its value names (`flag_tables.Role`), if we use it: prompt, output, …"""


class FlagProblem(msgspec.Struct, frozen=True):
    """A flag the tool would refuse, and what it would have taken."""

    fault: FlagFault
    spelled: str
    span: Span
    allowed: tuple[str, ...] = ()
    nearest: str | None = None
    """For an unknown flag: the known one that looks most like it."""


class AttachmentKind(StrEnum):
    """How oracle reads a `--file` value."""

    LITERAL = "literal"
    GLOB = "glob"
    EXCLUSION = "exclusion"
    UNKNOWN = "unknown"
    """Only the running shell knows the value."""


class Attachment(msgspec.Struct, frozen=True):
    """One file, pattern or exclusion given to `--file`, after splitting at commas."""

    value: str
    kind: AttachmentKind
    word: Word
    span: Span


class Prompt(msgspec.Struct, frozen=True):
    """The question of a call: its text if the script contains it, and where the text begins."""

    text: str
    span: Span
    complete: bool
    """False when expansions inside it are only known to the running shell."""


class ToolCall(msgspec.Struct, frozen=True):
    """One call of a tool in the text of a step."""

    tool: str
    spelled: str
    argv: tuple[Word, ...]
    """The words after the tool's name."""
    flags: tuple[Flag, ...]
    operands: tuple[Word, ...]
    problems: tuple[FlagProblem, ...]
    redirects: tuple[Redirect, ...]
    heredocs: tuple[Heredoc, ...]
    places: frozenset[Enclosure]
    span: Span
    subcommand: str | None = None
    excess: tuple[Word, ...] = ()
    """Operands beyond what the tool accepts."""
    wrappers: tuple[str, ...] = ()
    """What it is called through, outermost first: `env`, `timeout`, `sh -c`, …"""
    escapes: str | None = None
    """Why oraclepack cannot intercept the call, if it cannot."""
    guarded: bool = False
    """The step asks first whether the tool is there (`command -v codex`)."""
    attachments: tuple[Attachment, ...] = ()
    prompt: Prompt | None = None
    expansions: tuple[Expansion, ...] = ()
    """What bash expands in the texts of the question: prompts, operands, standard input."""

    def values(self, name: str) -> tuple[Word, ...]:
        """The values given to a flag, in order."""
        return tuple(f.value for f in self.flags if f.name == name and f.value is not None)

    def has(self, name: str) -> bool:
        return any(flag.name == name for flag in self.flags)

    @property
    def partly_hidden(self) -> bool:
        """Some words of the call are only known to the running shell."""
        return any(word.splits for word in self.argv)
