"""Bash's own verdict on a text: `bash -n` reads it and runs nothing."""

from collections.abc import Iterator

from oraclepack.lint.facts import CheckResult, CheckStatus, Diagnostic, skipped
from oraclepack.pack.model import Fence, Pack
from oraclepack.shell.checker import (
    PATIENCE,
    Checker,
    CheckerOutput,
    complaints,
    read_text,
    start_bash,
)
from oraclepack.system.programs import find_program

NAME = "bash -n"


def start_reading(block: Fence) -> Checker | None:
    """Bash at work on a whole block, so that others can work beside it. None without bash."""
    bash = find_program("bash")
    return None if bash is None else start_bash(bash, block.content, extended=_is_extended(block))


def check_syntax(pack: Pack, started: Checker | None = None) -> CheckResult:
    """The whole block at once; when that fails, each step by itself, to find the wrong one.

    `started` is bash that already reads the block.
    """
    if pack.block is None:
        return skipped(NAME, "the pack has no bash block")
    extended = _is_extended(pack.block)
    if started is not None:
        output: CheckerOutput | None = started.finish(PATIENCE)
    else:
        output = read_text(pack.block.content, extended=extended)
    if output is None:
        return skipped(NAME, "bash is not on PATH")
    if output.exit_code is None:
        return skipped(NAME, f"bash could not be asked: {output.trouble}")
    first = pack.block.content_line
    diagnostics = [*_diagnostics(output, first, pack.block.content)]
    if not diagnostics and output.exit_code == 0:
        return CheckResult(NAME, CheckStatus.OK)
    diagnostics = [*_by_part(pack, extended=extended)] or diagnostics
    if not diagnostics:
        words = output.err.strip() or f"bash ended with exit code {output.exit_code}"
        diagnostics = [Diagnostic(first, 1, words)]
    return CheckResult(NAME, CheckStatus.FAILED, diagnostics[0].message, tuple(diagnostics))


def _by_part(pack: Pack, *, extended: bool) -> Iterator[Diagnostic]:
    parts = [(pack.prelude.code, pack.prelude.span.line)] if pack.prelude else []
    parts.extend((step.code, step.span.line + 1) for step in pack.steps)
    for code, first in parts:
        output = read_text(code, extended=extended) if code.strip() else None
        if output is not None:
            yield from _diagnostics(output, first, code)


def _diagnostics(output: CheckerOutput, first: int, text: str) -> Iterator[Diagnostic]:
    last = max(text.rstrip().count("\n") + 1, 1)
    for complaint in complaints(output.err):
        line = min(max(complaint.line, 1), last)
        yield Diagnostic(first + line - 1, 1, complaint.message)


def _is_extended(block: Fence) -> bool:
    return "extglob" in block.content
