"""Rehearsed answers: the line that marks one, and how one is recognised."""

from oraclepack.core.sections import numbered

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
