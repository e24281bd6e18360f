"""One call of a tool while a step runs, and the interface through which it is answered."""

from collections.abc import Callable, Mapping
from typing import Protocol

import msgspec

from oraclepack.engines.engine import ToolEnd, ToolRun
from oraclepack.shell.attempt import ProcessIdentity


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
