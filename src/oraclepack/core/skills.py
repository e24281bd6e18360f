"""Installed copies of the prompt for agents: what there is to tell about them."""

from enum import StrEnum

import msgspec

from oraclepack.run.transaction import Carried


class SkillState(StrEnum):
    """What stands at the place of a skill."""

    ABSENT = "absent"
    CURRENT = "current"
    STALE = "stale"
    """Written by us, by another version or from another prompt."""
    EDITED = "edited"
    """Written by us and changed since."""
    FOREIGN = "foreign"
    """Somebody else's file."""

    @property
    def is_ours(self) -> bool:
        """It may be replaced without asking: nobody's work is lost."""
        return self in {SkillState.ABSENT, SkillState.CURRENT, SkillState.STALE}


class SkillShown(msgspec.Struct, frozen=True):
    """The file that `skills install` would write for an agent."""

    agent: str
    path: str
    version: str
    text: str


class SkillFound(msgspec.Struct, frozen=True):
    """A skill at its place."""

    agent: str
    path: str
    state: SkillState
    version: str | None = None
    """The version of oraclepack that wrote it, as its mark says."""


class SkillInstalled(msgspec.Struct, frozen=True):
    """What installing did for one agent."""

    agent: str
    path: str
    before: SkillState
    written: bool


class SkillsInstalled(Carried, frozen=True, kw_only=True):
    """What `skills install` did."""

    version: str
    skills: tuple[SkillInstalled, ...] = ()


class SkillsChecked(msgspec.Struct, frozen=True):
    """What `skills check` found."""

    version: str
    skills: tuple[SkillFound, ...]

    @property
    def outdated(self) -> tuple[SkillFound, ...]:
        wrong = {SkillState.STALE, SkillState.EDITED}
        return tuple(skill for skill in self.skills if skill.state in wrong)
