"""A question that could be asked: its evidence, and what to ask about it."""

import re
from dataclasses import dataclass
from typing import NamedTuple


class Place(NamedTuple):
    """A line that a question quotes."""

    path: str
    line: int


MOST_EVIDENCE = 6
FEWEST_EVIDENCE = 2
_UNPRINTABLE = re.compile(r"[^\x20-\x7e\u00a0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]+")


@dataclass(frozen=True, slots=True)
class QuestionCandidate:
    """One possible question. It holds no text that its evidence does not show."""

    key: str
    """The kind of question, such as `no-timeout`."""
    category: str
    subject: str
    """The symbol that it is about, for its name."""
    reference: str
    """The file that it is about."""
    question: str
    good: str
    """What a good answer contains."""
    why: str
    evidence: tuple[Place, ...]
    severity: int
    """How bad the worst answer would be: 1 to 4."""
    certainty: int
    """How strongly the evidence supports the question, in hundredths."""
    is_about_notes: bool = False
    """Whether it is about comments: only then evidence may point to one."""
    weight: int = 0
    """Decides between questions of equal value: how much there is to get wrong."""
    facts: tuple[str, ...] = ()
    """Further premises, such as subjects of commits."""

    @property
    def paths(self) -> tuple[str, ...]:
        """The files of the evidence, the reference first."""
        others = dict.fromkeys(place.path for place in self.evidence)
        return tuple(dict.fromkeys((self.reference, *others)))


def places(path: str, *lines: int) -> tuple[Place, ...]:
    """Evidence in one file: each line once, in order."""
    return tuple(Place(path, line) for line in sorted({line for line in lines if line > 0}))


def listed(names: list[str] | tuple[str, ...], most: int = 4) -> str:
    """`a, b and c`."""
    listed_names = list(dict.fromkeys(names))[:most]
    if len(listed_names) < 2:
        return "".join(listed_names)
    return f"{', '.join(listed_names[:-1])} and {listed_names[-1]}"


def on_one_line(text: str) -> str:
    """Text without line ends and control characters.

    Such text can end neither the heredoc nor the code block that it is put into.
    """
    return " ".join(_UNPRINTABLE.sub(" ", text).split())
