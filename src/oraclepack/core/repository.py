"""A repository as its commit tells it: tracked files, their texts, who changed with whom."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Tracked:
    """A file of the commit that also stands in the work tree."""

    path: str
    """POSIX, relative to the project root."""
    size: int
    """Bytes; the greater one of commit and work tree."""
    text: str | None = None
    """The beginning of its content; None when it is binary or was not worth reading."""


@dataclass(frozen=True, slots=True)
class Repository:
    """Everything a survey may know. Nothing in it depends on where the clone lies."""

    files: tuple[Tracked, ...]
    """In the order of their paths."""
    commits: tuple[tuple[str, ...], ...] = ()
    """The paths each commit touched, the newest commit first; merges left out."""
    sha: str | None = None
    date: str | None = None
    """The day of the commit in UTC, `YYYY-MM-DD`."""
    dirty: bool = False
    """Tracked files of the work tree differ from the commit."""
    shallow: bool = False
    """The clone holds only the end of the history."""
