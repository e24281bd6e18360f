"""An argument list as a tool reads it: its flags, operands, and what the tool would refuse."""

import msgspec

from oraclepack.core.flag_tables import FlagSpec, Role
from oraclepack.core.tool_names import FlagFault


class Begun(msgspec.Struct, frozen=True):
    """A word of which only the beginning is known: `--file=$x` begins with `--file=`."""

    text: str


ArgvWord = str | Begun | None
"""A word of an argument list. None: only the running shell knows it."""


class FlagUse(msgspec.Struct, frozen=True):
    """One flag of an argument list, with one value: a variadic flag is used once per value."""

    spec: FlagSpec
    spelled: str
    at: int
    """Which word holds the flag."""
    value: str | None = None
    """None: there is no value, or only the running shell knows it (then `value_at` is set)."""
    value_at: int | None = None
    """Which word holds the value; the same as `at` for `--x=y` and `-xy`."""
    value_offset: int = 0
    """Where in that word the value begins."""

    @property
    def name(self) -> str:
        return self.spec.name


class ArgvProblem(msgspec.Struct, frozen=True):
    """A flag the tool would refuse."""

    fault: FlagFault
    spelled: str
    at: int
    allowed: tuple[str, ...] = ()
    nearest: str | None = None
    """For an unknown flag: the known one that looks most like it."""


class ParsedArgv(msgspec.Struct, frozen=True):
    """An argument list (without the tool's own name) as the tool reads it."""

    flags: tuple[FlagUse, ...]
    operands: tuple[int, ...]
    problems: tuple[ArgvProblem, ...] = ()
    excess: tuple[int, ...] = ()
    """Operands beyond what the tool accepts."""
    uncertain: frozenset[int] = frozenset()
    """Operands that may be something else, because a word before them is hidden."""
    hidden: bool = False
    """Some words may become none or several, flags among them."""
    subcommand: str | None = None
    """Sub-commands in order, separated by a space: `status`, `bridge host`."""

    def uses(self, name: str) -> tuple[FlagUse, ...]:
        return tuple(use for use in self.flags if use.name == name)

    def last(self, name: str) -> FlagUse | None:
        """The use that counts when a single value is given several times."""
        return next((use for use in reversed(self.flags) if use.name == name), None)

    def with_role(self, role: Role) -> tuple[FlagUse, ...]:
        return tuple(use for use in self.flags if use.spec.role is role)
