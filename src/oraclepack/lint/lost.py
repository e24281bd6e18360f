"""Words of an oracle call that oracle drops, or reads as something else."""

from oraclepack.core.call import ORACLE, ToolCall
from oraclepack.core.flags import LostValue, lost_values, parse_argv, table_of


def losses(call: ToolCall) -> tuple[LostValue, ...]:
    """What gets lost in a call, as places in its list of words."""
    table = table_of(ORACLE)
    loose = [index for index, word in enumerate(call.argv) if word.splits]
    return lost_values(table, parse_argv(table, [word.value for word in call.argv], loose))
