"""What a check has to say about a place in a pack."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from oraclepack.core.source import Span


class Severity(StrEnum):
    """How much a finding weighs: only an error stops anything."""

    ERROR = "error"
    WARNING = "warning"
    ADVICE = "advice"


@dataclass(frozen=True, slots=True)
class Edit:
    """Replace a stretch of the pack by another text."""

    span: Span
    replacement: str


@dataclass(frozen=True, slots=True)
class Fix:
    """A change that mends a finding without changing what the author meant."""

    description: str
    edits: tuple[Edit, ...]


@dataclass(frozen=True, slots=True)
class Finding:
    """One fault, where it stands, and how to mend it."""

    rule: str
    name: str
    severity: Severity
    span: Span
    message: str
    hint: str = ""
    step: str | None = None
    fix: Fix | None = None

    @property
    def order(self) -> tuple[int, int, str, str]:
        return (self.span.line, self.span.column, self.rule, self.message)


def in_order(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Findings as people read a file: by place, then by rule."""
    return tuple(sorted(findings, key=lambda finding: finding.order))


def has_errors(findings: Iterable[Finding]) -> bool:
    return any(finding.severity is Severity.ERROR for finding in findings)
