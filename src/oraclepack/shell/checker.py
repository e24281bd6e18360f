"""A program that checks a text, such as `bash -n`."""

import functools
import os
import re
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import ExitStack

import msgspec

from oraclepack.shell.anonymous_files import file_in_memory
from oraclepack.system.programs import find_program, kill_group

MOST_BYTES = 8_000_000
"""Bytes of a program's output that are read; more is of no use."""


class CheckerOutput(msgspec.Struct, frozen=True):
    """The output of a program and how it ended."""

    exit_code: int | None
    """None when it did not start or did not end in time; `trouble` then says which."""
    out: str = ""
    err: str = ""
    trouble: str = ""


class Checker:
    """A program that checks a text. It gets no environment except a language."""

    def __init__(self, argv: Sequence[str], text: str, language: str = "C") -> None:
        self._trouble = ""
        self._process: subprocess.Popen[bytes] | None = None
        with ExitStack() as stack:
            try:
                # A file, not a pipe: no thread has to feed the text.
                given = file_in_memory(stack, text.encode("utf-8", "surrogateescape")).fd
                os.lseek(given, 0, os.SEEK_SET)
                # BASH_ENV, SHELLOPTS, SHELLCHECK_OPTS and the user's language would change the
                # result.
                self._process = subprocess.Popen(
                    argv,
                    stdin=given,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    env={"LC_ALL": language},
                    start_new_session=True,
                )
            except OSError as trouble:
                self._trouble = f"it cannot be started: {trouble.strerror or trouble}"

    def finish(self, patience: float) -> CheckerOutput:
        """Wait for its end; when that takes too long, end it and all it started."""
        if self._process is None:
            return CheckerOutput(None, trouble=self._trouble)
        with self._process as process:
            try:
                out, err = process.communicate(timeout=patience)
            except subprocess.TimeoutExpired:
                self.stop()
                return CheckerOutput(None, trouble=f"it did not end within {patience:g} s")
        return CheckerOutput(process.returncode, _words(out), _words(err))

    def stop(self) -> None:
        """End it now; its output is not needed."""
        if self._process is not None:
            kill_group(self._process)


def _words(output: bytes) -> str:
    return output[:MOST_BYTES].decode("utf-8", "replace")


PATIENCE = 10.0


_COMPLAINT = re.compile(r"^[^:\n]*:(?: -c:)? line (?P<line>\d+): (?P<said>.*)$", re.MULTILINE)


_HEREDOC = re.compile(
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
    result = read_text(text, extended=True)
    # For an unclosed `[[` or heredoc bash only prints a warning and exits with 0.
    return result is not None and result.exit_code == 0 and not any(complaints(result.err))


def complaints(words: str) -> Iterator[Complaint]:
    # Usually bash prints nothing.
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


def read_text(text: str, *, extended: bool) -> CheckerOutput | None:
    bash = find_program("bash")
    return None if bash is None else _read_once(bash, text, extended=extended)


@functools.lru_cache(maxsize=128)
def _read_once(bash: str, text: str, *, extended: bool) -> CheckerOutput:
    return start_bash(bash, text, extended=extended).finish(PATIENCE)


def start_bash(bash: str, text: str, *, extended: bool) -> Checker:
    # As a named file, since bash leaves out line numbers for a script it reads from stdin.
    options = ("-O", "extglob") if extended else ()
    return Checker([bash, *options, "-n", "/dev/stdin"], text)
