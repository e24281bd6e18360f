"""A call of a step and what the cache knows of its question, for people."""

from oraclepack.calls.cache import CallExplained

SHORT = 12
"""How much of a key is shown."""


def call_line(call: CallExplained) -> str:
    name = call.key[:SHORT] if call.key else "no key"
    how = f"{call.how}; " if call.how else ""
    reason = f"  {call.reason}\n" if call.reason else ""
    return f"call {call.call}: {name}, {how}{'cached' if call.cached else 'not cached'}\n{reason}"


def differing(call: CallExplained) -> str:
    """In which parts the question differs from the one that is most like it."""
    if call.nearest is None:
        return ""
    changes = "".join(f"  {change}\n" for change in call.changes)
    which = "the question asked before it" if call.cached else "the nearest that is cached"
    return f"from {which}, {call.nearest[:SHORT]}, it differs in:\n{changes}"
