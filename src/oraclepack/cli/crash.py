"""What happens when oraclepack itself is at fault: a log file, and a word where it is."""

import platform
import sys
import traceback

from oraclepack import __version__
from oraclepack.adapters.crash_log import write_crash_log
from oraclepack.cli.reply import Reply
from oraclepack.core.envelope import Failure
from oraclepack.errors import ExitCode
from oraclepack.system.environment import environment
from oraclepack.system.secrets import Redactor


def crashed(error: BaseException, command: str) -> Reply:
    """The reply to a fault of our own. Never a traceback on the screen."""
    redactor = Redactor.of(environment())
    path = write_crash_log(redactor.clean(_story(error, command)))
    told = redactor.clean(f"{type(error).__name__}: {error}").splitlines()[0]
    return Reply(
        exit_code=ExitCode.INTERNAL,
        error=Failure(
            code="INTERNAL",
            message="oraclepack failed in a way it should not",
            detail=f"{told}\nlog: {path}" if path else told,
            phase="internal",
            suggestion="report this together with the log file" if path else "report this",
        ),
    )


def _story(error: BaseException, command: str) -> str:
    # Arguments stay out: they may hold prompts and keys.
    head = (
        f"oraclepack {__version__}, command {command or '(none)'}\n"
        f"Python {platform.python_version()} on {sys.platform}\n\n"
    )
    return head + "".join(traceback.format_exception(error))
