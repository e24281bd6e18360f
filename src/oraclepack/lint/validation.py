"""The reply of `validate`: the shape of its data."""

from collections.abc import Mapping

import msgspec

from oraclepack.lint.facts import CheckResult, CheckStatus
from oraclepack.lint.finding import Finding, Fix, Severity
from oraclepack.pack.questions import Counts, Disorder


class Ordering(msgspec.Struct, frozen=True):
    """ROI descending, ties by effort ascending."""

    ok: bool
    violations: tuple[Disorder, ...] = ()


class Fields(msgspec.Struct, frozen=True):
    """Which required header fields each step has."""

    ok: bool
    required: tuple[str, ...]
    steps: Mapping[str, Mapping[str, bool]]


class EditReport(msgspec.Struct, frozen=True):
    """One edit of a fix; lines and columns count from 1, the end is exclusive."""

    line: int
    column: int
    end_line: int
    end_column: int
    replacement: str


class OfferedFix(msgspec.Struct, frozen=True):
    """A fix that `--fix` would apply."""

    description: str
    edits: tuple[EditReport, ...]


class FindingReport(msgspec.Struct, frozen=True):
    """A finding as programs read it."""

    rule: str
    name: str
    severity: Severity
    step_id: str | None
    line: int
    column: int
    message: str
    hint: str
    fix: OfferedFix | None


class CheckRun(msgspec.Struct, frozen=True):
    """An outside check and how it ended."""

    name: str
    status: CheckStatus
    reason: str


class Validation(msgspec.Struct, frozen=True):
    """Everything validate says about one pack."""

    path: str
    ok: bool
    strict: bool
    pack_hash: str
    counts: Counts
    ordering: Ordering
    fields: Fields
    findings: tuple[FindingReport, ...]
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


def finding_report(finding: Finding) -> FindingReport:
    return FindingReport(
        rule=finding.rule,
        name=finding.name,
        severity=finding.severity,
        step_id=finding.step,
        line=finding.span.line,
        column=finding.span.column,
        message=finding.message,
        hint=finding.hint,
        fix=None if finding.fix is None else _offered(finding.fix),
    )


def check_run(check: CheckResult) -> CheckRun:
    return CheckRun(check.name, check.status, check.reason)


def _offered(fix: Fix) -> OfferedFix:
    changes = tuple(
        EditReport(
            edit.span.line,
            edit.span.column,
            edit.span.end_line,
            edit.span.end_column,
            edit.replacement,
        )
        for edit in fix.edits
    )
    return OfferedFix(fix.description, changes)
