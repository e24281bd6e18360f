"""What the world says about a pack, handed to the rules as values: they never look themselves."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class CheckStatus(StrEnum):
    """How an outside check ended. `skipped` always comes with a reason: silence is not a result."""

    OK = "ok"
    FAILED = "failed"
    SKIPPED = "skipped"


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One complaint of an outside program, at a line of the Markdown file."""

    line: int
    column: int
    message: str
    code: str = ""
    level: str = "error"


@dataclass(frozen=True, slots=True)
class Check:
    """The result of an outside program such as `bash -n` or `shellcheck`."""

    name: str
    status: CheckStatus
    reason: str = ""
    diagnostics: tuple[Diagnostic, ...] = ()


def skipped(name: str, reason: str) -> Check:
    return Check(name, CheckStatus.SKIPPED, reason)


class PathKind(StrEnum):
    """What stands at a path in the project."""

    FILE = "file"
    DIRECTORY = "directory"
    MISSING = "missing"
    OUTSIDE = "outside"
    """It leaves the project root, by itself or through a symbolic link."""


@dataclass(frozen=True, slots=True)
class PathFact:
    """A path of the pack as it stands in the project now."""

    kind: PathKind
    size: int = 0


@dataclass(frozen=True, slots=True)
class Facts:
    """Everything outside the text that a rule may know."""

    syntax: Check = field(default_factory=lambda: skipped("bash -n", "not asked"))
    shellcheck: Check = field(default_factory=lambda: skipped("shellcheck", "not asked"))
    paths: Mapping[str, PathFact] = field(default_factory=dict)
    """The literal attachments and known output paths, as written in the pack. Empty: not looked."""
