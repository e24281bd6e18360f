"""A program that reads a text and says something about it, such as `bash -n`."""

import os
import signal
import subprocess
from collections.abc import Sequence
from contextlib import ExitStack

import msgspec

from oraclepack.adapters.nameless import make_nameless

MOST_BYTES = 8_000_000
"""What is kept of a program's words; a checker that says more has lost its way."""


class Said(msgspec.Struct, frozen=True):
    """What a program said and how it ended."""

    exit_code: int | None
    """None when it did not start or did not end in time; `trouble` then says which."""
    out: str = ""
    err: str = ""
    trouble: str = ""


class Checker:
    """A program at work on a text. Of the environment it is given nothing but a language."""

    def __init__(self, argv: Sequence[str], text: str, language: str = "C") -> None:
        self._trouble = ""
        self._process: subprocess.Popen[bytes] | None = None
        with ExitStack() as stack:
            try:
                # A file, not a pipe: nobody has to stand by and feed the text.
                given = make_nameless(stack, text.encode("utf-8", "surrogateescape")).fd
                os.lseek(given, 0, os.SEEK_SET)
                self._process = _start(argv, given, language)
            except OSError as trouble:
                self._trouble = f"it cannot be started: {trouble.strerror or trouble}"

    def finish(self, patience: float) -> Said:
        """Wait for its end; when that takes too long, end it and all it started."""
        if self._process is None:
            return Said(None, trouble=self._trouble)
        with self._process as process:
            try:
                out, err = process.communicate(timeout=patience)
            except subprocess.TimeoutExpired:
                self.stop()
                return Said(None, trouble=f"it did not end within {patience:g} s")
        return Said(process.returncode, _words(out), _words(err))

    def stop(self) -> None:
        """End it now; nobody wants to hear the rest."""
        if self._process is None:
            return
        try:
            os.killpg(self._process.pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            self._process.kill()
        self._process.communicate()


def _start(argv: Sequence[str], given: int, language: str) -> "subprocess.Popen[bytes]":
    # BASH_ENV, SHELLOPTS, SHELLCHECK_OPTS and people's own language would all change the verdict.
    return subprocess.Popen(
        argv,
        stdin=given,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={"LC_ALL": language},
        start_new_session=True,
    )


def _words(said: bytes) -> str:
    return said[:MOST_BYTES].decode("utf-8", "replace")
