"""What a command answers. Only the boundary prints it and ends the process."""

import msgspec

from oraclepack.core.envelope import Failure
from oraclepack.errors import ExitCode


class Styled(msgspec.Struct, frozen=True):
    """A piece of text with a look: `bold`, `dim`, `red`, `green`, `yellow`, `blue`, `cyan`."""

    text: str
    look: str


Text = str | tuple[str | Styled, ...]
"""Plain text, or pieces of it where some have a look on a coloured screen."""


class Reply(msgspec.Struct, frozen=True):
    """A command's answer, once for programs and once for people."""

    data: object = None
    """The `data` of the envelope: anything made of plain values, dataclasses and structs."""
    text: Text = ""
    """What goes to stdout when people ask."""
    exit_code: ExitCode = ExitCode.DONE
    warnings: tuple[str, ...] = ()
    error: Failure | None = None
    """Why the exit code is not 0."""
    talk: Text = ""
    """What goes to stderr when people ask, before warnings and error."""
    bare: str | None = None
    """A format of its own (SARIF, annotations): printed as it is, without the envelope."""
    wants_json: bool = False
    """The envelope was asked for by a flag of the command itself."""
