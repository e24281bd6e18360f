"""The evidence of an answer: files, lines, symbols and commands, and whether it is valid."""

from enum import StrEnum

import msgspec


class CitationState(StrEnum):
    """The result of checking a cited line."""

    VERIFIED = "verified"
    """The file was attached, is unchanged, and has that line."""
    STALE = "stale"
    """The file was attached, and has changed or gone since."""
    NOT_ATTACHED = "not_attached"
    """The question never had that file."""
    OUT_OF_RANGE = "out_of_range"
    """The file has fewer lines."""
    UNKNOWN = "unknown"
    """The attachments were not recorded."""

    @property
    def is_bad(self) -> bool:
        """Whether the citation is invalid."""
        return self in {self.STALE, self.NOT_ATTACHED, self.OUT_OF_RANGE}


class Citation(msgspec.Struct, frozen=True, order=True):
    """A place in a file that an answer names, and what is known of it."""

    path: str
    first_line: int
    last_line: int
    state: CitationState = CitationState.UNKNOWN

    def __str__(self) -> str:
        if self.first_line == self.last_line:
            return f"{self.path}:{self.first_line}"
        return f"{self.path}:{self.first_line}-{self.last_line}"

    def near(self, other: "Citation", distance: int) -> bool:
        """Whether both cite the same place, within a few lines."""
        gap = max(self.first_line, other.first_line) - min(self.last_line, other.last_line)
        return self.path == other.path and gap <= distance


class Evidence(msgspec.Struct, frozen=True):
    """What a statement names, each sorted and once."""

    paths: tuple[str, ...] = ()
    symbols: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    citations: tuple[Citation, ...] = ()

    def with_other(self, other: "Evidence") -> "Evidence":
        """Both together."""
        return Evidence(
            tuple(sorted({*self.paths, *other.paths})),
            tuple(sorted({*self.symbols, *other.symbols})),
            tuple(dict.fromkeys((*self.commands, *other.commands))),
            tuple(sorted({*self.citations, *other.citations})),
        )


NO_EVIDENCE = Evidence()


class QuestionFile(msgspec.Struct, frozen=True):
    """A file that a question was asked about: as recorded then, and as it is now."""

    path: str
    recorded: str | None = None
    """SHA-256 when the question was asked; None when it was not recorded."""
    current: str | None = None
    """SHA-256 now; None when the file is gone or cannot be read."""
    lines: int | None = None
    """How many lines it has now."""
