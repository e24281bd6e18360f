"""Findings as GitHub workflow commands, which become annotations of the changed lines."""

from collections.abc import Iterable, Mapping

from oraclepack.lint.finding import Finding, Severity

_COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.ADVICE: "notice"}


def annotations(findings: Mapping[str, Iterable[Finding]]) -> str:
    """One workflow command per finding."""
    return "".join(
        _annotation(path, finding) for path, listed in findings.items() for finding in listed
    )


def _annotation(path: str, finding: Finding) -> str:
    where = {
        "file": path,
        "line": finding.span.line,
        "col": finding.span.column,
        "title": f"{finding.rule} {finding.name}",
    }
    properties = ",".join(f"{key}={_property(str(value))}" for key, value in where.items())
    step = f"step {finding.step}: " if finding.step else ""
    text = f"{step}{finding.message}" + (f" ({finding.hint})" if finding.hint else "")
    return f"::{_COMMANDS[finding.severity]} {properties}::{_message(text)}\n"


def _message(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _message(text).replace(":", "%3A").replace(",", "%2C")
