"""What bash and shellcheck say about the bash block of a pack: they read it and run nothing."""

from collections.abc import Iterator

import msgspec

from oraclepack.lint.finding import CheckResult, CheckStatus, Diagnostic, skipped
from oraclepack.pack.model import Fence, Pack
from oraclepack.shell.checker import (
    PATIENCE,
    Checker,
    CheckerOutput,
    complaints,
    read_text,
    start_bash,
)
from oraclepack.system.programs import find_program, find_tool

_BASH = "bash -n"


def start_reading(block: Fence) -> Checker | None:
    """Bash at work on a whole block, so that others can work beside it. None without bash."""
    bash = find_program("bash")
    return None if bash is None else start_bash(bash, block.content, extended=_is_extended(block))


def check_syntax(pack: Pack, started: Checker | None = None) -> CheckResult:
    """The whole block at once; when that fails, each step by itself, to find the wrong one.

    `started` is bash that already reads the block.
    """
    if pack.block is None:
        return skipped(_BASH, "the pack has no bash block")
    extended = _is_extended(pack.block)
    if started is not None:
        output: CheckerOutput | None = started.finish(PATIENCE)
    else:
        output = read_text(pack.block.content, extended=extended)
    if output is None:
        return skipped(_BASH, "bash is not on PATH")
    if output.exit_code is None:
        return skipped(_BASH, f"bash could not be asked: {output.trouble}")
    first = pack.block.content_line
    diagnostics = [*_complaints(output, first, pack.block.content)]
    if not diagnostics and output.exit_code == 0:
        return CheckResult(_BASH, CheckStatus.OK)
    diagnostics = [*_by_part(pack, extended=extended)] or diagnostics
    if not diagnostics:
        words = output.err.strip() or f"bash ended with exit code {output.exit_code}"
        diagnostics = [Diagnostic(first, 1, words)]
    return CheckResult(_BASH, CheckStatus.FAILED, diagnostics[0].message, tuple(diagnostics))


def _by_part(pack: Pack, *, extended: bool) -> Iterator[Diagnostic]:
    parts = [(pack.prelude.code, pack.prelude.span.line)] if pack.prelude else []
    parts.extend((step.code, step.span.line + 1) for step in pack.steps)
    for code, first in parts:
        output = read_text(code, extended=extended) if code.strip() else None
        if output is not None:
            yield from _complaints(output, first, code)


def _complaints(output: CheckerOutput, first: int, text: str) -> Iterator[Diagnostic]:
    last = max(text.rstrip().count("\n") + 1, 1)
    for complaint in complaints(output.err):
        line = min(max(complaint.line, 1), last)
        yield Diagnostic(first + line - 1, 1, complaint.message)


def _is_extended(block: Fence) -> bool:
    return "extglob" in block.content


_LONGEST_WAIT = 8.0
MOST_TEXT = 1_000_000
"""Beyond this shellcheck takes minutes and gigabytes."""

EXCLUDED = {
    1090: "sourced files are the author's business",
    1091: "sourced files are the author's business",
    2034: "a variable may be there for a later step or for a program",
    2093: "exec at the end of a step ends that step only",
    2128: "each step is a shell of its own: the name may be an array in another one",
    2154: "variables may come from the environment",
    2178: "each step is a shell of its own: the name may be an array in another one",
    2207: "mapfile, which it recommends, needs a newer bash than some systems have",
}
"""Codes that say nothing about a pack, each with the reason."""

_GAVE_UP = frozenset({1072, 1073})
"""Shellcheck's own parser could not go on. Bash decides about syntax, so that is no verdict."""


class _Comment(msgspec.Struct, frozen=True):
    line: int
    column: int
    level: str
    code: int
    message: str


class _Report(msgspec.Struct, frozen=True):
    comments: tuple[_Comment, ...]


class Shellcheck:
    """Shellcheck at work on a block, started early so that others can work beside it."""

    def __init__(self, block: Fence | None) -> None:
        self._block = block
        self._reason = ""
        self._reader: Checker | None = None
        program = find_tool("shellcheck")
        if block is None:
            self._reason = "the pack has no bash block"
        elif program is None:
            self._reason = "shellcheck is neither on PATH nor installed beside oraclepack"
        elif len(block.content) > MOST_TEXT:
            self._reason = f"the block is longer than {MOST_TEXT:,} characters"
        else:
            codes = ",".join(f"SC{code}" for code in sorted(EXCLUDED))
            argv = [program, "--norc", "-f", "json1", "-s", "bash", "-S", "warning", "-e", codes]
            # Without a UTF-8 language it cannot print the words of the script it complains about.
            self._reader = Checker([*argv, "-"], block.content, "C.UTF-8")

    def result(self, patience: float = _LONGEST_WAIT) -> CheckResult:
        if self._reader is None or self._block is None:
            return _no_verdict(self._reason)
        return _judge(self._reader.finish(patience), self._block)

    def drop(self, reason: str) -> CheckResult:
        """End it; its result is not needed."""
        if self._reader is None:
            return _no_verdict(self._reason)
        self._reader.stop()
        return _no_verdict(reason)


def _judge(output: CheckerOutput, block: Fence) -> CheckResult:
    if output.exit_code is None:
        return _no_verdict(f"shellcheck could not be asked: {output.trouble}")
    try:
        report = msgspec.json.decode(output.out, type=_Report)
    except (msgspec.MsgspecError, RecursionError):
        words = output.err.strip().splitlines()
        return _no_verdict(f"shellcheck could not be understood: {(words or ['no report'])[0]}")
    first = block.content_line
    stuck = next((comment for comment in report.comments if comment.code in _GAVE_UP), None)
    if stuck is not None:
        where = f"line {first + stuck.line - 1}"
        return _no_verdict(f"shellcheck cannot read {where}, though bash can: {stuck.message}")
    found = {
        Diagnostic(first + one.line - 1, one.column, one.message, f"SC{one.code}", one.level)
        for one in report.comments
    }
    diagnostics = sorted(found, key=lambda one: (one.line, one.column, one.code))
    status = CheckStatus.FAILED if diagnostics else CheckStatus.OK
    return CheckResult("shellcheck", status, "", tuple(diagnostics))


def _no_verdict(reason: str) -> CheckResult:
    return skipped("shellcheck", reason)


class RunningChecks:
    """Shellcheck and bash at work on a block, while its pack is still being read."""

    def __init__(self, block: Fence | None) -> None:
        # Shellcheck is the slow one: it starts first.
        self.shellcheck = Shellcheck(block)
        self.bash = start_reading(block) if block is not None else None

    def stop(self) -> None:
        """End both: the pack cannot be read, so their results are not needed."""
        self.shellcheck.drop("the pack cannot be read")
        if self.bash is not None:
            self.bash.stop()
