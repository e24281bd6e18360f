"""What is known about a pack from outside, what a check reports, and the reply of `validate`."""

from collections.abc import Iterable, Mapping
from enum import StrEnum

import msgspec

from oraclepack.pack.questions import Counts, Disorder
from oraclepack.pack.script import Span


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


class CheckRun(msgspec.Struct, frozen=True):
    """An outside check, such as `bash -n` or `shellcheck`, and how it ended."""

    name: str
    status: CheckStatus
    reason: str = ""


class CheckResult(CheckRun, frozen=True):
    """The same with what it found."""

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


class Severity(StrEnum):
    """The severity of a finding: only an error stops a command."""

    ERROR = "error"
    WARNING = "warning"
    ADVICE = "advice"


class Edit(Span, frozen=True):
    """Replace a stretch of the pack by another text."""

    replacement: str

    @classmethod
    def of(cls, span: Span, replacement: str) -> "Edit":
        return cls(span.line, span.column, span.end_line, span.end_column, replacement)


class Fix(msgspec.Struct, frozen=True):
    """A change that fixes a finding without changing what the author meant."""

    description: str
    edits: tuple[Edit, ...]


class Finding(msgspec.Struct, frozen=True):
    """One fault, its place, and how to fix it."""

    rule: str
    name: str
    severity: Severity
    step_id: str | None
    line: int
    column: int
    end_line: int
    end_column: int
    message: str
    hint: str = ""
    fix: Fix | None = None

    @property
    def span(self) -> Span:
        return Span(self.line, self.column, self.end_line, self.end_column)


def in_order(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Findings as people read a file: by place, then by rule."""
    return tuple(sorted(findings, key=lambda one: (one.line, one.column, one.rule, one.message)))


def has_errors(findings: Iterable[Finding]) -> bool:
    return any(finding.severity is Severity.ERROR for finding in findings)


class Ordering(msgspec.Struct, frozen=True):
    """ROI descending, ties by effort ascending."""

    ok: bool
    violations: tuple[Disorder, ...] = ()


class Fields(msgspec.Struct, frozen=True):
    """Which required header fields each step has."""

    ok: bool
    required: tuple[str, ...]
    steps: Mapping[str, Mapping[str, bool]]


class Validation(msgspec.Struct, frozen=True):
    """Everything validate says about one pack."""

    path: str
    ok: bool
    strict: bool
    pack_hash: str
    counts: Counts
    ordering: Ordering
    fields: Fields
    findings: tuple[Finding, ...]
    checks: tuple[CheckRun, ...]
    fixed: int = 0
    """How many faults `--fix` has fixed in this call."""


class UnreadablePack(msgspec.Struct, frozen=True):
    """A pack among several that could not be read at all."""

    path: str
    ok: bool
    error: str
    suggestion: str


class Validations(msgspec.Struct, frozen=True):
    """What validate says about several packs."""

    packs: tuple[Validation | UnreadablePack, ...]
    totals: Mapping[str, int] = msgspec.field(default_factory=dict)
