"""Findings as SARIF 2.1.0, which code hosts show beside the lines."""

from collections.abc import Iterable, Mapping
from urllib.parse import quote

from oraclepack import __version__
from oraclepack.lint.finding import Edit, Finding, Severity
from oraclepack.lint.rule_docs import RuleDoc, explain_rules
from oraclepack.system.digests import canonical_file

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.ADVICE: "note"}


def sarif(findings: Mapping[str, Iterable[Finding]], rules: Iterable[RuleDoc], version: str) -> str:
    """One SARIF log: the findings of each file, by its path."""
    described = [_rule(rule) for rule in rules]
    index = {rule["id"]: number for number, rule in enumerate(described)}
    results = [
        _result(path, finding, index) for path, listed in findings.items() for finding in listed
    ]
    driver = {
        "name": "oraclepack",
        "version": version,
        "semanticVersion": version,
        "rules": described,
    }
    run = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}
    return canonical_file({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}).decode()


def sarif_of_rules(findings: Mapping[str, Iterable[Finding]]) -> str:
    """The same with every rule of this version."""
    return sarif(findings, explain_rules().rules, __version__)


def _rule(rule: RuleDoc) -> dict[str, object]:
    return {
        "id": rule.rule,
        "name": "".join(word.capitalize() for word in rule.name.split("-")),
        "shortDescription": {"text": rule.summary},
        "help": {"text": rule.text},
        "defaultConfiguration": {"level": _LEVELS[rule.severity]},
    }


def _result(path: str, finding: Finding, index: Mapping[object, int]) -> dict[str, object]:
    text = f"{finding.message}. {finding.hint}" if finding.hint else finding.message
    result: dict[str, object] = {
        "ruleId": finding.rule,
        "level": _LEVELS[finding.severity],
        "message": {"text": text},
        "locations": [{"physicalLocation": _place(path) | {"region": _region(finding)}}],
    }
    if finding.rule in index:
        result["ruleIndex"] = index[finding.rule]
    if finding.step_id is not None:
        result["properties"] = {"step": finding.step_id}
    if finding.fix is not None and finding.fix.edits:
        replacements = [_replacement(edit) for edit in finding.fix.edits]
        change = _place(path) | {"replacements": replacements}
        result["fixes"] = [
            {"description": {"text": finding.fix.description}, "artifactChanges": [change]}
        ]
    return result


def _place(path: str) -> dict[str, object]:
    # A name that is no UTF-8 comes as lone surrogates; its bytes are what a URI can hold.
    return {"artifactLocation": {"uri": quote(path.encode("utf-8", "surrogateescape"))}}


def _region(finding: Finding) -> dict[str, int]:
    span = finding.span
    region = {"startLine": span.line, "startColumn": span.column}
    if (span.end_line, span.end_column) > (span.line, span.column):
        region |= {"endLine": span.end_line, "endColumn": span.end_column}
    return region


def _replacement(edit: Edit) -> dict[str, object]:
    deleted = {
        "startLine": edit.line,
        "startColumn": edit.column,
        "endLine": edit.end_line,
        "endColumn": edit.end_column,
    }
    return {"deletedRegion": deleted, "insertedContent": {"text": edit.replacement}}
