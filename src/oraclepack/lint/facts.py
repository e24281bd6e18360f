"""External facts about a pack, passed to the rules as values: rules do no I/O."""

from collections.abc import Mapping
from enum import StrEnum

import msgspec


class CheckStatus(StrEnum):
    """How an outside check ended. `skipped` always comes with a reason."""

    OK = "ok"
    FAILED = "failed"
    SKIPPED = "skipped"


class Diagnostic(msgspec.Struct, frozen=True):
    """One complaint of an outside program, at a line of the Markdown file."""

    line: int
    column: int
    message: str
    code: str = ""
    level: str = "error"


class CheckResult(msgspec.Struct, frozen=True):
    """The result of an outside program such as `bash -n` or `shellcheck`."""

    name: str
    status: CheckStatus
    reason: str = ""
    diagnostics: tuple[Diagnostic, ...] = ()


def skipped(name: str, reason: str) -> CheckResult:
    return CheckResult(name, CheckStatus.SKIPPED, reason)


class PathKind(StrEnum):
    """What is at a path in the project."""

    FILE = "file"
    DIRECTORY = "directory"
    MISSING = "missing"
    OUTSIDE = "outside"
    """It leaves the project root, by itself or through a symbolic link."""


class PathFact(msgspec.Struct, frozen=True):
    """A path of the pack as it is in the project now."""

    kind: PathKind
    size: int = 0
    nearest: str = ""
    """Of a missing attachment: the file that may be meant."""


class Facts(msgspec.Struct, frozen=True):
    """Everything outside the text that a rule may know."""

    syntax: CheckResult = msgspec.field(default_factory=lambda: skipped("bash -n", "not asked"))
    shellcheck: CheckResult = msgspec.field(
        default_factory=lambda: skipped("shellcheck", "not asked")
    )
    paths: Mapping[str, PathFact] = msgspec.field(default_factory=dict)
    """The literal attachments and known output paths, as written in the pack. Empty: not looked."""
    quotes: Mapping[tuple[str, str, int], str | None] = msgspec.field(default_factory=dict)
    """Commit, path and line of quoted evidence to what is there; None: no such line. Empty: not
    looked."""
