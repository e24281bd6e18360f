"""A question that could be asked: its evidence, and what to ask about it."""

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import NamedTuple

import msgspec

_TEXTS = Path(__file__).parent / "questions.toml"
_UNPRINTABLE = re.compile(r"[^\x20-\x7e\u00a0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]+")
MOST_EVIDENCE = 6
FEWEST_EVIDENCE = 2


class Place(NamedTuple):
    """A line that a question quotes."""

    path: str
    line: int


class QuestionText(msgspec.Struct, frozen=True):
    """The words of a kind of questions, and what the kind is worth."""

    category: str
    question: str
    good: str
    """What a good answer contains."""
    why: str
    worth: int = 0
    """Of a hundred questions of this kind, how many are worth their price."""
    severity: int = 0
    """How bad the worst answer would be: 1 to 4."""
    certainty: int = 0
    """How strongly the evidence supports the question, in hundredths."""
    test: bool = False
    """Whether a test of the reference helps to answer it."""


@cache
def question_texts() -> dict[str, QuestionText]:
    """The kinds of questions, by name."""
    content = _TEXTS.read_bytes()
    return msgspec.toml.decode(content, type=dict[str, QuestionText])


@dataclass(frozen=True, slots=True)
class QuestionCandidate:
    """One possible question. It holds no text that its evidence does not show."""

    key: str
    """The kind of question, such as `round-trip`, or the name that a model gave it."""
    subject: str
    """The symbol that it is about, for its name."""
    reference: str
    """The file that it is about."""
    question: str
    evidence: tuple[Place, ...]
    text: QuestionText
    weight: int = 0
    """Decides between questions of equal worth: how much there is to get wrong."""
    facts: tuple[str, ...] = ()
    """Further premises, such as subjects of commits."""
    diff: tuple[str, ...] = ()
    """With `--since`: the lines of the diff that it is about."""

    @property
    def paths(self) -> tuple[str, ...]:
        """The files of the evidence, the reference first."""
        others = dict.fromkeys(place.path for place in self.evidence)
        return tuple(dict.fromkeys((self.reference, *others)))


def candidate(
    key: str,
    subject: str,
    evidence: tuple[Place, ...],
    *,
    weight: int = 0,
    facts: tuple[str, ...] = (),
    diff: tuple[str, ...] = (),
    **values: object,
) -> QuestionCandidate:
    """A question of a kind about the file of its first quoted line."""
    # Names may come from string literals and commits, so they may contain line breaks.
    text = question_texts()[key]
    question = on_one_line(text.question.format_map(values))
    return QuestionCandidate(
        key, subject, evidence[0].path, question, evidence, text, weight, facts, diff
    )


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
