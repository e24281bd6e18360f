"""Findings for people: the place, the rule, the line itself, and how to fix it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from oraclepack.cli.reply import Styled
from oraclepack.lint.finding import CheckRun, Finding, Severity, UnreadablePack
from oraclepack.lint.validate import CheckedPack
from oraclepack.system.printable import one_line, single_lines, visible

_LOOKS = {Severity.ERROR: "red", Severity.WARNING: "yellow", Severity.ADVICE: "cyan"}
_WIDEST_LINE = 120
_CONTEXT_CELLS = 40
"""How much of a long line is shown before the place that matters."""


def as_text(
    packs: Sequence[CheckedPack], unreadable: Sequence[UnreadablePack] = ()
) -> tuple[str | Styled, ...]:
    """All findings of all packs, then one line that sums up each pack."""
    pieces: list[str | Styled] = []
    for checked in packs:
        lines = checked.pack.text.split("\n")
        for finding in checked.report.findings:
            pieces += _finding(one_line(checked.report.path), single_lines(finding), lines)
    for checked in packs:
        pieces += _summary(checked)
    for broken in unreadable:
        pieces += [
            Styled("error", "red"),
            f": {one_line(broken.error)}\n  hint: {one_line(broken.suggestion)}\n",
        ]
    return tuple(pieces)


def _finding(path: str, finding: Finding, lines: list[str]) -> Iterable[str | Styled]:
    span = finding.span
    step = f" (step {finding.step_id})" if finding.step_id else ""
    yield Styled(f"{path}:{span.line}:{span.column}", "bold")
    yield " "
    yield Styled(finding.rule, _LOOKS[finding.severity])
    yield f" {finding.severity}: {finding.message}{step}\n"
    if 0 < span.line <= len(lines) and lines[span.line - 1].strip():
        yield from _excerpt(finding, lines[span.line - 1])
    if finding.hint:
        yield f"    = help: {finding.hint}\n"
    if finding.fix is not None:
        yield f"    = fix: {finding.fix.description} (oraclepack validate --fix)\n"
    yield "\n"


def _excerpt(finding: Finding, line: str) -> Iterable[str | Styled]:
    """The line, or the part of a long one that matters, with the place marked below it."""
    span = finding.span
    start = span.column - 1
    end = span.end_column - 1 if span.end_line == span.line else len(line)
    first = 0 if start < _WIDEST_LINE - _CONTEXT_CELLS else start - _CONTEXT_CELLS
    last = first + _WIDEST_LINE
    before, marked = line[first:start], line[start : min(end, last)]
    cut, more = "…" if first else "", "…" if last < len(line) else ""
    yield Styled(f"{span.line:>6} | ", "dim")
    yield f"{cut}{line[first:last]}{more}\n".replace("\t", " ")
    yield Styled(f"{'':>6} | ", "dim")
    marks = " " * (len(cut) + _cells(before)) + "^" * max(1, _cells(marked))
    yield Styled(f"{marks}\n", _LOOKS[finding.severity])


def _cells(text: str) -> int:
    """How many cells of a terminal a text takes: some characters take two, some none."""
    printable = visible(text)
    if printable.isascii():
        return len(printable)
    import unicodedata

    wide = sum(unicodedata.east_asian_width(char) in "WF" for char in printable)
    return len(printable) + wide - sum(unicodedata.combining(char) > 0 for char in printable)


def _summary(checked: CheckedPack) -> Iterable[str | Styled]:
    counts = checked.report.counts
    yield Styled(one_line(checked.report.path), "bold")
    yield (
        f": {_many(counts.steps, 'step')}, {_many(counts.oracle_questions, 'question')}, "
        f"{_many(counts.oracle_invocations, 'oracle call')}: "
    )
    weights = [finding.severity for finding in checked.report.findings]
    severities = [
        _many(weights.count(severity), severity.value)
        for severity in Severity
        if severity in weights
    ]
    colour = "green" if checked.report.ok else "red"
    yield Styled("ok" if checked.report.ok else "not ok", colour)
    yield f" ({', '.join(severities)})\n" if severities else "\n"
    if checked.report.fixed:
        left = "" if checked.report.ok else "; the errors above are left"
        yield f"  changed: {fixed_line(checked)}{left}\n"
    yield from _skipped(checked.report.checks)


def fixed_line(checked: CheckedPack) -> str:
    """What `--fix` wrote: `3 fixes written to docs/pack.md`."""
    count = checked.report.fixed
    return f"{count} {'fix' if count == 1 else 'fixes'} written to {one_line(checked.report.path)}"


def _skipped(checks: Iterable[CheckRun]) -> Iterable[str]:
    for check in checks:
        if check.status == "skipped":
            yield f"  {check.name}: skipped, {check.reason}\n"


def _many(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 or what == "advice" else f"{number} {what}s"
