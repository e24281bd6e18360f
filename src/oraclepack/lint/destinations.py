"""Where the answers of a pack go, as far as its text tells."""

from collections.abc import Iterator

from oraclepack.core.call import ORACLE, ToolCall
from oraclepack.core.flag_tables import Role
from oraclepack.core.pack import Pack
from oraclepack.core.script import Word
from oraclepack.core.step import Step


def known_outputs(pack: Pack) -> Iterator[tuple[Step, Word]]:
    """The outputs whose path is known, by flag, redirection or directive."""
    for step in pack.steps:
        words = [word for call in step.calls for word in destinations(call)]
        words += [output.path for output in step.outputs if output.call is None]
        for word in words:
            if word.value is not None:
                yield step, word


def destinations(call: ToolCall) -> tuple[Word, ...]:
    """Where the answer of a call goes: its last output flag, else where stdout is sent."""
    named = [flag.value for flag in call.flags if flag.role == Role.OUTPUT and flag.value]
    if named:
        # Given twice, oracle takes the last; the others take each.
        return tuple(named[-1:] if call.tool == ORACLE else named)
    targets = [redirect.target for redirect in call.redirects if redirect.takes_stdout]
    return tuple(word for word in targets if not word.shown.startswith("/dev/"))
