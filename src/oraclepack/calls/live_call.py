"""One call of a tool while a step runs, and the interface through which it is answered."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Protocol

import msgspec

from oraclepack.shell.attempt import ProcessIdentity

TAIL_BYTES = 64_000
"""How much of a tool's output is kept: enough to see why it failed."""


class LiveCall(msgspec.Struct, frozen=True):
    """A call as its shim reports it: the words the shell really made of the step's text."""

    tool: str
    """The name we know the tool by: one of `call.TOOLS`."""
    argv: tuple[str, ...]
    """The words after the tool's name."""
    cwd: str
    env: Mapping[str, str]
    """The environment of the caller."""
    step: str
    attempt: int
    number: int
    """Which call of the attempt, counted from 1."""
    began_at: str | None = None
    """When it arrived, in the journal's time format."""
    is_overridden: bool = False
    """The flags of the person who runs the pack are in its words already."""


class ToolRun(msgspec.Struct, frozen=True):
    """A request to start the real tool once."""

    tool: str
    argv: tuple[str, ...]
    cwd: str
    env: Mapping[str, str]
    timeout: float | None = None
    """Seconds until it is stopped; the tools' own limits are no deadlines."""
    stdin: bytes | None = None
    """What it reads; None gives it the caller's own stdin."""
    hidden: bool = False
    """Its output is not passed on to the step."""
    keep: int = TAIL_BYTES
    """How many bytes at the end of each stream are kept in memory."""
    outlives_caller: bool = False
    """It keeps running when its caller is killed: it may be paid for already."""
    is_paid: bool = False
    """It costs money: a polite stop lets it finish."""
    on_output: Callable[[str], bool] | None = None
    """Gets the beginning of its stdout whenever that has grown, until it returns False."""
    folder: Path | None = None
    """Where what it prints is kept under a name, so that it survives us; None: nowhere."""


class ToolEnd(msgspec.Struct, frozen=True):
    """How the real tool ended."""

    exit_code: int
    """As a shell reports it: 128 + n for a signal, 127 when it was not found."""
    out: str = ""
    """The end of its stdout."""
    err: str = ""
    cut: bool = False
    """Its output was longer than what was kept."""
    timed_out: bool = False
    stopped: bool = False
    """It was asked to end: the run is being stopped, or the caller is gone."""
    trouble: str = ""
    """Why it could not be started."""


class Shim(Protocol):
    """The step's side of one call."""

    def run(self, order: ToolRun, on_started: Callable[[ProcessIdentity], None]) -> ToolEnd:
        """Start the real tool and wait for its end."""

    def write_stdout(self, text: str) -> None:
        """Write to the step's stdout."""

    def write_stderr(self, text: str) -> None:
        """Write to the step's stderr."""

    def read_stdin(self) -> bytes:
        """Everything the step gives to the call's stdin."""

    def pause(self, seconds: float) -> bool:
        """Wait; False as soon as the call is to be given up."""

    def next_call(self) -> int:
        """The number of one more call of the same attempt."""
