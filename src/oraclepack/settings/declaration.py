"""What a setting is: one declaration from which flag, variable, key, check and docs follow."""

from enum import IntEnum
from typing import Generic, TypeVar

import msgspec

from oraclepack.settings.project_rules import ProjectRule
from oraclepack.settings.value_kinds import Bool, ValueKind

T = TypeVar("T")

PREFIX = "ORACLEPACK_"


class ValueSource(IntEnum):
    """Who may give a value. The higher one wins."""

    DEFAULT = 0
    USER = 1
    PROJECT = 2
    DOTENV = 3
    ENVIRONMENT = 4
    FLAG = 5


EVERYWHERE = frozenset(ValueSource)
OWN = frozenset({ValueSource.DEFAULT, ValueSource.USER, ValueSource.ENVIRONMENT, ValueSource.FLAG})
"""The sources that belong to the person who runs the command, not to the repository."""
NOT_A_FLAG = EVERYWHERE - {ValueSource.FLAG}
OWN_NOT_A_FLAG = OWN - {ValueSource.FLAG}


def variable_of(name: str) -> str:
    """The environment variable of a setting's name."""
    return PREFIX + name.upper().replace(".", "_")


class _Ruled(msgspec.Struct, frozen=True, kw_only=True):
    project: ProjectRule
    """What a project may do with it. There is no default: each declaration decides."""


class Setting(_Ruled, Generic[T], frozen=True):
    """One thing a user may set, and everything there is to know about it."""

    name: str
    """The TOML key; a dot stands for a table."""
    kind: ValueKind[T]
    default: T
    help: str
    spelled: str = ""
    """The flag where it differs from the name."""
    short: str = ""
    """The flag of one letter, where there is one."""
    former_flag: str = ""
    """An earlier spelling of the flag; it is still understood."""
    sources: frozenset[ValueSource] = EVERYWHERE
    inverse: str = ""
    """The earlier key of a boolean, which meant the opposite; it is still understood."""
    negated: str = ""
    """The flag that switches a boolean off, where it is not `--no-…`."""

    @property
    def flag(self) -> str:
        return self.spelled or "--" + self.name.replace("_", "-").replace(".", "-")

    @property
    def off_flag(self) -> str:
        """The flag that switches a boolean off."""
        return self.negated or f"--no-{self.flag.removeprefix('--')}"

    @property
    def variable(self) -> str:
        return variable_of(self.name)

    @property
    def parameter(self) -> str:
        """Its name as a Python word."""
        return self.name.replace(".", "_")


def switch(
    name: str,
    text: str,
    *,
    project: ProjectRule,
    default: bool = False,
    inverse: str = "",
    negated: str = "",
    sources: frozenset[ValueSource] = EVERYWHERE,
) -> Setting[bool]:
    """A setting that is on or off."""
    named = {"inverse": inverse, "negated": negated}
    return Setting(name, Bool(), default, text, sources=sources, project=project, **named)
