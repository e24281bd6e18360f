"""What a setting is: one declaration from which flag, variable, key, check and docs follow."""

from enum import IntEnum
from typing import Generic, TypeVar

import msgspec

from oraclepack.core.kinds import Kind

T = TypeVar("T")

PREFIX = "ORACLEPACK_"


class Source(IntEnum):
    """Who may give a value. The higher one wins."""

    DEFAULT = 0
    USER = 1
    PROJECT = 2
    DOTENV = 3
    ENVIRONMENT = 4
    FLAG = 5


EVERYWHERE = frozenset(Source)
OWN = frozenset({Source.DEFAULT, Source.USER, Source.ENVIRONMENT, Source.FLAG})
"""The sources that belong to the person who runs the command, not to the repository."""


class Setting(msgspec.Struct, Generic[T], frozen=True):
    """One thing a user may set, and everything there is to know about it."""

    name: str
    """The TOML key; a dot stands for a table."""
    kind: Kind[T]
    default: T
    help: str
    spelled: str = ""
    """The flag where it differs from the name."""
    sources: frozenset[Source] = EVERYWHERE
    trusted_only: bool = False
    """It names a program: a repository may set it only if the user allows that."""

    @property
    def flag(self) -> str:
        return self.spelled or "--" + self.name.replace("_", "-").replace(".", "-")

    @property
    def variable(self) -> str:
        return PREFIX + self.name.upper().replace(".", "_")

    @property
    def parameter(self) -> str:
        """Its name as a Python word."""
        return self.name.replace(".", "_")
