"""Bash's own verdict on a text: `bash -n` reads it and runs nothing."""

import functools
import re
from collections.abc import Iterator

import msgspec

from oraclepack.adapters.checker import Checker, Said
from oraclepack.adapters.programs import find_program
from oraclepack.core.facts import Check, CheckStatus, Diagnostic, skipped
from oraclepack.core.pack import Fence, Pack
from oraclepack.core.regex import regex

NAME = "bash -n"
PATIENCE = 10.0
_COMPLAINT = regex(r"^[^:\n]*:(?: -c:)? line (?P<line>\d+): (?P<said>.*)$", re.MULTILINE)
_HEREDOC = regex(
    r"warning: here-document at line (?P<line>\d+)"
    r" delimited by end-of-file \(wanted `(?P<word>.*)'\)"
)
_UNENDED = "syntax error: unexpected end of file"


class _Complaint(msgspec.Struct, frozen=True):
    line: int
    """Counted from 1 in the text that was read."""
    message: str


def complete(text: str) -> bool:
    """Whether bash reads a text as a whole number of complete commands. False without bash."""
    # Extended patterns may have been switched on by lines before this stretch.
    said = _read(text, extended=True)
    # Of a `[[` that never ends and of such a heredoc bash only speaks: it exits with 0.
    return said is not None and said.exit_code == 0 and not any(_complaints(said.err))


def start_reading(block: Fence) -> Checker | None:
    """Bash at work on a whole block, so that others can work beside it. None without bash."""
    bash = find_program("bash")
    return None if bash is None else _reader(bash, block.content, extended=_is_extended(block))


def check_syntax(pack: Pack, started: Checker | None = None) -> Check:
    """The whole block at once; when that fails, each step by itself, to name the guilty one.

    `started` is bash that already reads the block.
    """
    if pack.block is None:
        return skipped(NAME, "the pack has no bash block")
    extended = _is_extended(pack.block)
    if started is not None:
        said: Said | None = started.finish(PATIENCE)
    else:
        said = _read(pack.block.content, extended=extended)
    if said is None:
        return skipped(NAME, "bash is not on PATH")
    if said.exit_code is None:
        return skipped(NAME, f"bash could not be asked: {said.trouble}")
    first = pack.block.content_line
    found = [*_diagnostics(said, first, pack.block.content)]
    if not found and said.exit_code == 0:
        return Check(NAME, CheckStatus.OK)
    found = [*_by_part(pack, extended=extended)] or found
    if not found:
        words = said.err.strip() or f"bash ended with exit code {said.exit_code}"
        found = [Diagnostic(first, 1, words)]
    return Check(NAME, CheckStatus.FAILED, found[0].message, tuple(found))


def _by_part(pack: Pack, *, extended: bool) -> Iterator[Diagnostic]:
    parts = [(pack.prelude.code, pack.prelude.span.line)] if pack.prelude else []
    parts.extend((step.code, step.span.line + 1) for step in pack.steps)
    for code, first in parts:
        said = _read(code, extended=extended) if code.strip() else None
        if said is not None:
            yield from _diagnostics(said, first, code)


def _diagnostics(said: Said, first: int, text: str) -> Iterator[Diagnostic]:
    last = max(text.rstrip().count("\n") + 1, 1)
    for complaint in _complaints(said.err):
        line = min(max(complaint.line, 1), last)
        yield Diagnostic(first + line - 1, 1, complaint.message)


def _complaints(words: str) -> Iterator[_Complaint]:
    # Nearly always bash has nothing to say.
    for match in _COMPLAINT.finditer(words) if words else ():
        line, message = int(match["line"]), match["said"]
        heredoc = _HEREDOC.match(message)
        if heredoc is not None:
            text = f"the here-document never ends: no line says {heredoc['word']}"
            yield _Complaint(int(heredoc["line"]), text)
        elif message.startswith(_UNENDED):
            yield _Complaint(line, f"{message}: something opened above is not closed")
        # Bash repeats the offending line in `…'; that is no second complaint.
        elif not (message.startswith("`") and message.endswith("'")):
            yield _Complaint(line, message)


def _read(text: str, *, extended: bool) -> Said | None:
    bash = find_program("bash")
    return None if bash is None else _asked(bash, text, extended=extended)


@functools.lru_cache(maxsize=128)
def _asked(bash: str, text: str, *, extended: bool) -> Said:
    return _reader(bash, text, extended=extended).finish(PATIENCE)


def _reader(bash: str, text: str, *, extended: bool) -> Checker:
    # As a named file, since bash leaves out line numbers for a script it reads from stdin.
    options = ("-O", "extglob") if extended else ()
    return Checker([bash, *options, "-n", "/dev/stdin"], text)


def _is_extended(block: Fence) -> bool:
    return "extglob" in block.content
