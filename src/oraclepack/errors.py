"""The exceptions that commands raise on purpose, and nothing else.

    OraclePackError            what happened, then what to do
    ├── UsageError             the request itself is wrong (flag, argument, setting)
    │   ├── NotFoundError      it names something that does not exist
    │   └── AlreadyExistsError what it would write is there already
    ├── InputError             a file we were given cannot be used
    │   └── MissingFileError   it does not exist
    ├── LockedError            another process works on the run
    └── MachineError           the machine refused: disk, permission, a program that is missing
        └── RunAbortedError    the same in the middle of a run, which the next command continues

`exit_code_of` decides which exit code an error gives.
"""

from collections.abc import Iterable, Sequence
from enum import IntEnum
from typing import Self

import msgspec


class StepError(msgspec.Struct, frozen=True, kw_only=True):
    """Why a step, a call or the prelude failed."""

    code: str
    message: str
    transient: bool = False
    retry_after: float | msgspec.UnsetType = msgspec.UNSET
    """Seconds after which the provider asks to be tried again; left out where it does not say."""

    @property
    def known_wait(self) -> float | None:
        return None if self.retry_after is msgspec.UNSET else self.retry_after


_NEAR = 0.65
"""How alike two words are, from 0 to 1, for one to be taken as the other mistyped."""


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known word that is most like this one; the dashes of options do not make them alike."""
    from difflib import get_close_matches  # only needed after a typing error

    by_letters = {_letters(name): name for name in sorted(known)}
    matches = get_close_matches(_letters(word), by_letters, n=1, cutoff=_NEAR)
    return by_letters[matches[0]] if matches else None


def _letters(word: str) -> str:
    return word.lower().lstrip("-")


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """A hint that names the nearest known word, empty when none is near."""
    match = nearest(word, known)
    return f"did you mean {match}?" if match else ""


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
    INTERNAL = 1, "internal error: a fault of oraclepack itself; see the log file"
    INVALID = 2, "bad usage, invalid input or a missing program; nothing was run"
    STEP_FAILED = 3, "a step failed; what was finished before it is kept"
    CONTRACT = 4, "outputs lack what was asked for"
    POLICY = 5, "the CI policy is not met"
    LOCKED = 6, "the run is in use by another process"
    BUDGET = 7, "the budget is reached; the next call would not fit"
    DECISION = 8, "a decision is needed: it is unknown whether a call was paid for"
    INTERRUPTED = SIGNALLED + 2, "stopped by Ctrl-C"
    TERMINATED = SIGNALLED + 15, "stopped by a termination signal"


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


class NotFoundError(UsageError):
    """The request names something that does not exist: a run, a step, a rule, a directory."""

    code = "NOT_FOUND"


class AlreadyExistsError(UsageError):
    """What should be written is there already, and is not replaced without a request."""

    code = "ALREADY_EXISTS"


class InputError(OraclePackError):
    """A file we were given is missing, unreadable or not what it should be."""

    code = "INVALID_INPUT"


class MissingFileError(InputError):
    """A file we were given does not exist."""

    code = NotFoundError.code


class LockedError(OraclePackError):
    """Another process works on the run."""

    code = "LOCKED"
    retryable = True
    retry_after = 30.0
    """A pause between tries: when the other process ends is not known."""


class MachineError(OraclePackError):
    """The machine prevents it: a full disk, a missing permission, a missing program."""

    code = "ENVIRONMENT"


class RunAbortedError(MachineError):
    """The machine stopped a run in the middle. What was finished is kept."""


_BY_ERROR: dict[type[OraclePackError], ExitCode] = {
    OraclePackError: ExitCode.INVALID,
    LockedError: ExitCode.LOCKED,
    RunAbortedError: ExitCode.STEP_FAILED,
}
"""The nearest class in an error's ancestry decides."""


def exit_code_of(error: OraclePackError) -> ExitCode:
    """The exit code of a command that ends with this error."""
    return next(_BY_ERROR[kind] for kind in type(error).__mro__ if kind in _BY_ERROR)


def combined(errors: Sequence[UsageError]) -> UsageError:
    """Several wrong things of one request as one error, each on a line of its detail."""
    if len(errors) == 1:
        return errors[0]
    lines = [f"{one.message} (hint: {one.hint})" if one.hint else one.message for one in errors]
    return UsageError(f"{len(errors)} values cannot be used", detail="\n".join(lines))


class Refusal(msgspec.Struct, frozen=True):
    """An expected refusal, as a value with its reason. Nothing was changed."""

    reason: str
    hint: str = ""
    """What to do about it."""
    kind: type[OraclePackError] = UsageError
    """The error that it becomes where the command cannot continue."""
    subject: str = ""
    """What is refused, where the reason does not name it: a path, a flag with its value."""

    def __str__(self) -> str:
        return f"{self.subject}: {self.reason}" if self.subject else self.reason

    def error(self) -> OraclePackError:
        return self.kind(str(self), hint=self.hint)
