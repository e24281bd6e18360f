"""Every exit code there is, and which error gives which."""

from enum import IntEnum
from typing import Self

from oraclepack.core.errors import BrokenOffError, LockedError, OraclePackError


class ExitCode(IntEnum):
    """What the exit code of any command means."""

    meaning: str

    def __new__(cls, value: int, meaning: str = "") -> Self:
        code = int.__new__(cls, value)
        code._value_ = value
        code.meaning = meaning
        return code

    DONE = 0, "done"
    INTERNAL = 1, "internal error: a fault of oraclepack itself; a log file tells more"
    INVALID = 2, "bad usage, invalid input or a missing program; nothing was changed"
    STEP_FAILED = 3, "a step failed; what was finished before it is kept"
    CONTRACT = 4, "outputs do not meet their contract"
    POLICY = 5, "the CI policy is not met"
    LOCKED = 6, "the run is in use by another process"
    INTERRUPTED = 130, "stopped by Ctrl-C"
    TERMINATED = 143, "stopped by a termination signal"


_BY_ERROR: dict[type[OraclePackError], ExitCode] = {
    OraclePackError: ExitCode.INVALID,
    LockedError: ExitCode.LOCKED,
    BrokenOffError: ExitCode.STEP_FAILED,
}
"""The nearest class in an error's ancestry decides."""


def for_error(error: OraclePackError) -> ExitCode:
    return next(_BY_ERROR[kind] for kind in type(error).__mro__ if kind in _BY_ERROR)
