"""Internal errors: written to a log file, whose path is shown."""

from __future__ import annotations

import os
import platform
import sys
from pathlib import Path

from oraclepack import __version__
from oraclepack.cli.reply import Reply, ReplyError
from oraclepack.errors import ExitCode
from oraclepack.system.secrets import redacted


def write_crash_log(text: str) -> Path | None:
    """Write a new file only its owner can read; None when that is not possible."""
    import tempfile

    from platformdirs import user_log_path

    try:
        folder = user_log_path("oraclepack", appauthor=False)
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        # mkstemp: a unique name, mode 0600, no race.
        descriptor, name = tempfile.mkstemp(prefix="crash-", suffix=".log", dir=folder)
        os.write(descriptor, text.encode("utf-8", "backslashreplace"))
        os.close(descriptor)
    except OSError:
        return None
    return Path(name)


def log_crash(error: BaseException, command: str) -> Path | None:
    """Write what is known of a fault to a file of its own; None when that is not possible."""
    return write_crash_log(redacted(_crash_report(error, command)))


def crashed(error: BaseException, command: str) -> Reply:
    """The reply to a fault of our own. Never a traceback on the screen."""
    path = log_crash(error, command)
    summary = redacted(f"{type(error).__name__}: {error}").splitlines()[0]
    return Reply(
        exit_code=ExitCode.INTERNAL,
        error=ReplyError(
            code="INTERNAL",
            message="oraclepack failed in a way it should not",
            detail=f"{summary}\nlog: {path}" if path else summary,
            phase="internal",
            suggestion="report this together with the log file" if path else "report this",
        ),
    )


def _crash_report(error: BaseException, command: str) -> str:
    import traceback

    # Arguments stay out: they may hold prompts and keys.
    head = (
        f"oraclepack {__version__}, command {command or '(none)'}\n"
        f"Python {platform.python_version()} on {sys.platform}\n\n"
    )
    return head + "".join(traceback.format_exception(error))
