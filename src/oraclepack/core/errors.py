"""What we raise on purpose, and nothing else.

    OraclePackError            what happened, then what to do
    ├── UsageError             the request itself is wrong (flag, argument, setting)
    ├── InputError             a file we were given cannot be used
    ├── LockedError            another process works on the run
    └── WorldError             the machine refused: disk, permission, a program that is missing
        └── BrokenOffError     the same in the middle of a run, which the next command continues

Which exit code an error gives is the command line's business (`cli/main.py`), not the error's.
"""


class OraclePackError(Exception):
    """Base of everything we raise on purpose: what happened, then what to do."""

    code = "ERROR"
    retryable = False
    """The same command may succeed later without any change."""
    retry_after: float | None = None
    """Seconds to wait before that, where a time can be named."""

    def __init__(
        self,
        message: str,
        *,
        hint: str = "",
        detail: str = "",
        retryable: bool | None = None,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.detail = detail
        if retryable is not None:
            self.retryable = retryable
        if retry_after is not None:
            self.retry_after = retry_after


class UsageError(OraclePackError):
    """The request is wrong: an unknown flag, step, setting or a value out of range."""

    code = "USAGE"


class InputError(OraclePackError):
    """A file we were given is missing, unreadable or not what it should be."""

    code = "INVALID_INPUT"


class LockedError(OraclePackError):
    """Another process works on the run."""

    code = "LOCKED"
    retryable = True
    retry_after = 30.0
    """A pause between tries: when the other process ends is not known."""


class WorldError(OraclePackError):
    """The machine would not do it: a full disk, a missing permission, a missing program."""

    code = "ENVIRONMENT"


class BrokenOffError(WorldError):
    """The machine would not go on in the middle of a run. What was finished is kept."""
