"""What a bash text says, as plain values: words, redirections, heredocs, commands."""

from collections.abc import Mapping
from enum import StrEnum

import msgspec


class Span(msgspec.Struct, frozen=True, order=True):
    """A stretch of a file: lines and columns count from 1, in characters; the end is exclusive."""

    line: int
    column: int
    end_line: int
    end_column: int

    @classmethod
    def at(cls, line: int, column: int = 1) -> "Span":
        """The empty span at one place."""
        return cls(line, column, line, column)

    def contains(self, other: "Span") -> bool:
        """Whether another stretch lies wholly within this one."""
        begins = (self.line, self.column) <= (other.line, other.column)
        return begins and (other.end_line, other.end_column) <= (self.end_line, self.end_column)

    def holds_line(self, line: int) -> bool:
        return self.line <= line <= self.end_line


class ExpansionKind(StrEnum):
    """What bash puts in place of a stretch of text."""

    BACKQUOTES = "backquotes"
    COMMAND = "command"
    """`$(…)`."""
    VARIABLE = "variable"


class Expansion(msgspec.Struct, frozen=True):
    """Something in a text, between double quotes or in a heredoc, that bash does not pass on."""

    kind: ExpansionKind
    span: Span
    text: Span
    """The whole text in which it stands."""
    name: str = ""
    """Of a variable."""
    has_default: bool = False
    """The text says what stands for a variable that is not set: `${name:-…}`."""
    quoted: bool = True
    """The text is between double quotes."""
    is_whole: bool = False
    """The text holds nothing else."""
    is_nested: bool = False
    """It is in a text within a text, such as the string of `sh -c`: `span` is that of all."""


class Word(msgspec.Struct, frozen=True):
    """One shell word: as written and, where the text alone decides it, as bash passes it on."""

    source: str
    value: str | None
    """What the program receives; None when only the running shell knows."""
    span: Span
    template: str = ""
    """The value with what is unknown left as it was written, such as `docs/${name}.md`."""
    origin: Span | None = None
    """Where the text itself begins, when the word only refers to it: a variable, a heredoc."""
    splits: bool = False
    """It may become no word or several: an unquoted expansion or an array."""
    globs: bool = False
    """It holds unquoted `*`, `?` or `[`: bash itself may replace it by file names."""
    expansions: tuple[Expansion, ...] = ()
    """What bash expands in its texts, and in those of the variables it refers to."""

    @property
    def display_text(self) -> str:
        """The value as far as it is known: what to print in a message."""
        return self.template if self.value is None else self.value

    @property
    def beginning(self) -> str:
        """The certain beginning of an unknown value."""
        length = len(self.template)
        for sign in "$`<>":
            at = self.template.find(sign, 0, length)
            length = length if at < 0 else at
        return self.template[:length]


class Redirect(msgspec.Struct, frozen=True):
    """A redirection of a command to or from a file."""

    operator: str
    """One of `<`, `>`, `>>`, `>|`, `&>`, `&>>`, `<>`, or `>&`/`<&` for copies of descriptors."""
    descriptor: int | None
    target: Word
    span: Span

    @property
    def takes_stdout(self) -> bool:
        """It sends standard output into a file."""
        if self.operator in {"&>", "&>>"}:
            return True
        return self.operator in {">", ">>", ">|"} and self.descriptor in {None, 1}

    @property
    def writes(self) -> bool:
        return self.operator in {">", ">>", ">|", "&>", "&>>", "<>"}


class Heredoc(msgspec.Struct, frozen=True):
    """A here-document."""

    quoted: bool
    body: str
    span: Span
    """From the first line of the body to the line of the delimiter."""
    expansions: tuple[Expansion, ...] = ()


class Substitution(msgspec.Struct, frozen=True):
    """A `$(…)` or `<(…)` that holds heredocs, the outermost of several."""

    span: Span
    quoted: bool
    """It is between double quotes."""


class Enclosure(StrEnum):
    """What encloses a command, as far as it matters for when it runs."""

    FUNCTION = "function"
    CONDITION = "condition"
    LOOP = "loop"
    SUBSTITUTION = "substitution"
    PIPELINE = "pipeline"
    BACKGROUND = "background"
    SUBSHELL = "subshell"


class SimpleCommand(msgspec.Struct, frozen=True):
    """A simple command: its words (the name first), what it sets and where its output goes."""

    words: tuple[Word, ...]
    assignments: tuple[tuple[str, Word], ...]
    redirects: tuple[Redirect, ...]
    heredocs: tuple[Heredoc, ...]
    places: frozenset[Enclosure]
    span: Span
    function: str = ""
    """The function whose body it is in, if any."""
    fed: tuple[Expansion, ...] = ()
    """What bash expands in the heredocs and strings that it reads as standard input."""

    @property
    def name(self) -> str | None:
        return self.words[0].value if self.words else None


class Comment(msgspec.Struct, frozen=True):
    """A comment of the script."""

    text: str
    span: Span
    top_level: bool
    """It is between complete commands, not inside one."""
    in_function: bool = False
    trailing: bool = False
    """Code is before it on its line."""


class Script(msgspec.Struct, frozen=True):
    """Everything read from the tree of a stretch of bash, in the order of the text."""

    commands: tuple[SimpleCommand, ...] = ()
    heredocs: tuple[Heredoc, ...] = ()
    comments: tuple[Comment, ...] = ()
    functions: tuple[str, ...] = ()
    substitutions: tuple[Substitution, ...] = ()
    """Those with heredocs inside, which old bash versions misread."""
    texts: Mapping[str, tuple[Expansion, ...]] = msgspec.field(default_factory=dict)
    """By variable: what bash expands in the texts that are assigned to it somewhere."""
    sets: frozenset[str] = frozenset()
    """Every variable that may be set somewhere in it."""
    sets_anything: bool = False
    """It runs something that may set any variable: `source`, `eval`."""
    misread: tuple[Span, ...] = ()
    """Places the tree could not read. Never a verdict: `bash -n` decides about syntax."""
