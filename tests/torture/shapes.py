"""The packs that are tortured: one for each way in which a run can be broken off."""

from dataclasses import dataclass

from tests.e2e.run.project import asking

_OUT = "set -eu\nmkdir -p out\n"


@dataclass(frozen=True)
class Shape:
    """A pack, how it is run, and how it begins."""

    what: str
    bash: str
    words: tuple[str, ...] = ()


SHAPES: dict[str, Shape] = {
    "asking": Shape("two questions", _OUT + asking(1) + asking(2)),
}
