"""What shellcheck says about the bash block of a pack."""

import msgspec

from oraclepack.lint.facts import CheckResult, CheckStatus, Diagnostic, skipped
from oraclepack.pack.model import Fence
from oraclepack.shell.checker import Checker, CheckerOutput
from oraclepack.system.programs import find_tool

NAME = "shellcheck"
PATIENCE = 8.0
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

    def result(self, patience: float = PATIENCE) -> CheckResult:
        if self._reader is None or self._block is None:
            return skipped(NAME, self._reason)
        return _judge(self._reader.finish(patience), self._block)

    def drop(self, reason: str) -> CheckResult:
        """End it; its result is not needed."""
        if self._reader is None:
            return skipped(NAME, self._reason)
        self._reader.stop()
        return skipped(NAME, reason)


def _judge(output: CheckerOutput, block: Fence) -> CheckResult:
    if output.exit_code is None:
        return skipped(NAME, f"shellcheck could not be asked: {output.trouble}")
    try:
        report = msgspec.json.decode(output.out, type=_Report)
    except (msgspec.MsgspecError, RecursionError):
        words = output.err.strip().splitlines()
        return skipped(NAME, f"shellcheck could not be understood: {(words or ['no report'])[0]}")
    first = block.content_line
    stuck = next((comment for comment in report.comments if comment.code in _GAVE_UP), None)
    if stuck is not None:
        where = f"line {first + stuck.line - 1}"
        return skipped(NAME, f"shellcheck cannot read {where}, though bash can: {stuck.message}")
    diagnostics = sorted({_diagnostic(comment, first) for comment in report.comments}, key=_order)
    return CheckResult(
        NAME, CheckStatus.FAILED if diagnostics else CheckStatus.OK, "", tuple(diagnostics)
    )


def _diagnostic(comment: _Comment, first: int) -> Diagnostic:
    line = first + comment.line - 1
    return Diagnostic(line, comment.column, comment.message, f"SC{comment.code}", comment.level)


def _order(diagnostic: Diagnostic) -> tuple[int, int, str]:
    return (diagnostic.line, diagnostic.column, diagnostic.code)
