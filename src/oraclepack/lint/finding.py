"""What a check reports about a place in a pack."""

from collections.abc import Iterable
from enum import StrEnum

import msgspec

from oraclepack.pack.script import Span


class Severity(StrEnum):
    """The severity of a finding: only an error stops a command."""

    ERROR = "error"
    WARNING = "warning"
    ADVICE = "advice"


class Edit(msgspec.Struct, frozen=True):
    """Replace a stretch of the pack by another text."""

    span: Span
    replacement: str


class Fix(msgspec.Struct, frozen=True):
    """A change that fixes a finding without changing what the author meant."""

    description: str
    edits: tuple[Edit, ...]


class Finding(msgspec.Struct, frozen=True):
    """One fault, its place, and how to fix it."""

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
