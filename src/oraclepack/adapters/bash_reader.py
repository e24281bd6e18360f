"""Whether bash can read a text: `bash -n` parses it and runs nothing."""

import functools
import re
from collections.abc import Iterator

import msgspec

from oraclepack.adapters.checker import Checker, Said
from oraclepack.system.programs import find_program
from oraclepack.system.text_limits import regex

PATIENCE = 10.0


_COMPLAINT = regex(r"^[^:\n]*:(?: -c:)? line (?P<line>\d+): (?P<said>.*)$", re.MULTILINE)


_HEREDOC = regex(
    r"warning: here-document at line (?P<line>\d+)"
    r" delimited by end-of-file \(wanted `(?P<word>.*)'\)"
)


_UNENDED = "syntax error: unexpected end of file"


class Complaint(msgspec.Struct, frozen=True):
    line: int
    """Counted from 1 in the text that was read."""
    message: str


def complete(text: str) -> bool:
    """Whether bash reads a text as a whole number of complete commands. False without bash."""
    # Extended patterns may have been switched on by lines before this stretch.
    said = read_text(text, extended=True)
    # Of a `[[` that never ends and of such a heredoc bash only speaks: it exits with 0.
    return said is not None and said.exit_code == 0 and not any(complaints(said.err))


def complaints(words: str) -> Iterator[Complaint]:
    # Nearly always bash has nothing to say.
    for match in _COMPLAINT.finditer(words) if words else ():
        line, message = int(match["line"]), match["said"]
        heredoc = _HEREDOC.match(message)
        if heredoc is not None:
            text = f"the here-document never ends: no line says {heredoc['word']}"
            yield Complaint(int(heredoc["line"]), text)
        elif message.startswith(_UNENDED):
            yield Complaint(line, f"{message}: something opened above is not closed")
        # Bash repeats the offending line in `…'; that is no second complaint.
        elif not (message.startswith("`") and message.endswith("'")):
            yield Complaint(line, message)


def read_text(text: str, *, extended: bool) -> Said | None:
    bash = find_program("bash")
    return None if bash is None else _read_once(bash, text, extended=extended)


@functools.lru_cache(maxsize=128)
def _read_once(bash: str, text: str, *, extended: bool) -> Said:
    return start_bash(bash, text, extended=extended).finish(PATIENCE)


def start_bash(bash: str, text: str, *, extended: bool) -> Checker:
    # As a named file, since bash leaves out line numbers for a script it reads from stdin.
    options = ("-O", "extglob") if extended else ()
    return Checker([bash, *options, "-n", "/dev/stdin"], text)
