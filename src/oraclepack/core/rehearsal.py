"""Rehearsed answers: the line that marks one, how one is recognised, what they are not for."""

from oraclepack.core.sections import numbered
from oraclepack.errors import UsageError

NOTICE = "This is a rehearsal: no model was asked, and nothing here is an answer."


def is_rehearsed(text: str) -> bool:
    """Whether oraclepack wrote this text in a rehearsal, or something was made of such a text.

    In prose the notice must be a line of its own outside of code blocks: a real answer about
    oraclepack may quote it.
    """
    if NOTICE not in text:
        return False
    if text.lstrip("\ufeff \t\r\n").startswith(("{", "[")):
        return True
    lines = numbered(text.splitlines())
    return any(not block and line.strip() == NOTICE for _, line, block in lines)


def refuse_export(*, allowed: bool) -> None:
    """What a rehearsal made up is not for a tracker, unless somebody says so."""
    if not allowed:
        raise UsageError(
            "--export: these answers come from a rehearsal, in which no model was asked",
            hint="leave --export out, or add --allow-rehearsal to export them marked as such",
        )
