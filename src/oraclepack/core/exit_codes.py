"""Every exit code there is."""

from enum import IntEnum
from typing import Self

SIGNALLED = 128
"""What shells add to the number of the signal that ended a program."""


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
    INVALID = 2, "bad usage, invalid input or a missing program; nothing was run"
    STEP_FAILED = 3, "a step failed; what was finished before it is kept"
    CONTRACT = 4, "outputs do not meet their contract"
    POLICY = 5, "the CI policy is not met"
    LOCKED = 6, "the run is in use by another process"
    INTERRUPTED = SIGNALLED + 2, "stopped by Ctrl-C"
    TERMINATED = SIGNALLED + 15, "stopped by a termination signal"
