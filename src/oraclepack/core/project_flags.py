"""Which flags of oracle a project may set: those that the flag table marks `project`.

They choose a model, its effort, how long to wait and how much to print. None of them names a host,
a program, a key or a file, attaches anything, skips a question, or lets oracle pay twice.
"""

import shlex

from oraclepack.core.flag_tables import table_of
from oraclepack.core.flags import parse_argv
from oraclepack.core.tool_names import ORACLE


def refused_flag(text: str, *, per_step: bool) -> str | None:
    """The first flag in a text that a project may not set; with `per_step`, after `03,07:`.

    The text is read as it is for the call. What cannot be read as flags is named as a whole.
    """
    flags = text.partition(":")[2] if per_step else text
    try:
        parsed = parse_argv(table_of(ORACLE), flag_words(flags))
    except ValueError:
        return repr(flags)
    refused = next((use.spec.name for use in parsed.flags if not use.spec.project), None)
    if refused is not None:
        return refused
    plain = parsed.flags and not (parsed.problems or parsed.operands or parsed.subcommand)
    return None if plain else repr(flags)


def flag_words(text: str) -> tuple[str, ...]:
    """One flag, or several separated by spaces. After `--x=` everything is the value.

    Raises ValueError where a quotation does not end.
    """
    head = text.strip().partition("=")[0]
    if head.startswith("--") and " " not in head and "=" in text and " --" not in text:
        return (text.strip(),)
    return tuple(shlex.split(text))
