"""What an attack gets, and what it gives back: the figures of `make torture`."""

from collections.abc import Callable
from enum import StrEnum
from pathlib import Path

import msgspec

from tests.e2e.run.project import Zygote


class Promise(StrEnum):
    """What must hold after every attack; each is counted, and each count must be zero."""

    PAID_TWICE = "calls paid for twice"
    LOST = "answers lost"
    UNVERIFIED = "unverified answers accepted"
    CORRUPT = "corrupt files"
    TOUCHED = "files changed that are not ours"
    LEFT = "processes left behind"
    ENDING = "runs that did not end like an undisturbed one"
    DISCLOSED = "secrets written or printed"
    CAP = "limits exceeded"
    ALTERED = "texts from outside changed or made active"
    UNAPPROVED = "runs without approval"


class Scene(msgspec.Struct, frozen=True):
    """Where an attack takes place: a folder of its own, chance by seed, and how much to do.

    `share` is 1 for every trial there is; `make torture` gives less, and the short form inside
    `make test` a small part. An attack does at least one trial of each kind it knows.
    """

    folder: Path
    zygote: Zygote
    seed: int
    share: float = 1.0

    def some(self, full: int) -> int:
        """How many trials of what would be `full` ones."""
        return max(1, round(full * self.share))


class Broken(msgspec.Struct, frozen=True):
    """One promise that did not hold, and how it showed."""

    promise: Promise
    what: str


class Tally(msgspec.Struct, frozen=True):
    """The figures of one attack."""

    trials: int
    kills: int = 0
    """How often something was seen to die of kill -9; a trial may kill twice, or come too late."""
    broken: tuple[Broken, ...] = ()
    facts: dict[str, int] = {}
    """Further figures worth printing: operations, calls, runners, damaged bytes."""
    where: dict[str, int] = {}
    """For kills: the histogram of the operations they came before or fell into."""
    not_played: str = ""
    """Why there are no figures: what the attack needs is not to be had here."""


Attack = Callable[[Scene], Tally]
"""Its docstring is what RELIABILITY.md says of it."""
