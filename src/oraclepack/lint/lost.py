"""Words of an oracle call that oracle drops, or reads as something else."""

from oraclepack.pack.script import Word
from oraclepack.pack.tool_call import ToolCall
from oraclepack.tools.argv import LostValue, lost_values, parse_argv, table_of
from oraclepack.tools.flag_tables import Role
from oraclepack.tools.tool_names import ORACLE


def losses(call: ToolCall) -> tuple[LostValue, ...]:
    """What gets lost in a call, as places in its list of words."""
    if _loses_nothing(call):
        return ()
    table = table_of(ORACLE)
    loose = [index for index, word in enumerate(call.argv) if word.splits]
    return lost_values(table, parse_argv(table, [word.value for word in call.argv], loose))


def _loses_nothing(call: ToolCall) -> bool:
    """Whether what was read of the call tells it: then its words need not be read again.

    The question has its flag, no certain word stands without one, and no file has a comma.
    """
    if call.tool != ORACLE or any(map(_is_begun, call.argv)):
        return False
    if any(word.value is not None for word in call.operands):
        return False
    asked = any(flag.role == Role.PROMPT for flag in call.flags)
    files = (flag.value for flag in call.flags if flag.role == Role.ATTACHMENT)
    return asked and not any("," in (word.value or "") for word in files if word is not None)


def _is_begun(word: Word) -> bool:
    """Known in part: a call is read with that part, its losses without it."""
    return word.value is None and word.beginning != ""
