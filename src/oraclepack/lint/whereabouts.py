"""Whether the paths of a step mean what they say: relative to the project root."""

from collections.abc import Iterable

from oraclepack.pack.model import Pack, Step
from oraclepack.pack.script import Command

_MOVERS = frozenset({"cd", "pushd", "popd"})


def stays_put(pack: Pack, step: Step) -> bool:
    """No command of the step may change the directory that its paths are relative to."""
    own = step.script.commands
    lent = pack.prelude.script.commands if pack.prelude else ()
    return not _moves(own) and not _moves(command for command in lent if command.function)


def _moves(commands: Iterable[Command]) -> bool:
    return any(command.name in _MOVERS for command in commands)
