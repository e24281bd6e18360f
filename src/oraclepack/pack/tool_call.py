"""Calls of known tools, as far as the text of a step shows."""

from enum import StrEnum

import msgspec
from msgspec.structs import replace

from oraclepack.pack.script import Enclosure, Expansion, Heredoc, Redirect, Span, Word
from oraclepack.tools.argv import FlagUse, ParsedArgv
from oraclepack.tools.flag_tables import Role


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

    @property
    def span(self) -> Span:
        return self.word.span


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
    parsed: ParsedArgv
    """The same as the tool reads them; places in it count the words of `argv`."""
    redirects: tuple[Redirect, ...]
    heredocs: tuple[Heredoc, ...]
    places: frozenset[Enclosure]
    span: Span
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

    @property
    def subcommand(self) -> str | None:
        return self.parsed.subcommand

    @property
    def operands(self) -> tuple[Word, ...]:
        return tuple(self.argv[at] for at in self.parsed.operands)

    def value(self, use: FlagUse) -> Word | None:
        """The value of a flag, of which it may be a part: `--file=a.md`."""
        word = self.argv[use.value_at] if use.value_at is not None else None
        if word is None or use.value_at != use.at:
            return word
        return replace(word, value=use.value, template=word.template[use.value_offset :])

    def given(self, role: Role) -> tuple[Word, ...]:
        """The values of the flags that name this, in order."""
        values = map(self.value, self.parsed.with_role(role))
        return tuple(word for word in values if word is not None)

    def values(self, name: str) -> tuple[Word, ...]:
        """The values given to a flag, in order."""
        values = map(self.value, self.parsed.uses(name))
        return tuple(word for word in values if word is not None)

    def has(self, *names: str) -> bool:
        return any(use.name in names for use in self.parsed.flags)

    @property
    def partly_hidden(self) -> bool:
        """Some words of the call are only known to the running shell."""
        return any(word.splits for word in self.argv)
