"""An answer beside its question: whether it only repeats it, or is written in another script."""

from collections.abc import Iterator

from oraclepack.pack.answer_sections import normalise
from oraclepack.verify.outline import Part
from oraclepack.verify.suspicion import Suspicion

_SHORTEST_ECHO = 80
_LAST_LATIN = "ɏ"
"""The end of Latin Extended-B: letters beyond it belong to another script."""


def echo(text: str, prompt: str) -> Iterator[Suspicion]:
    """The answer repeats the question: its own words are fewer than those of the prompt."""
    asked, said = normalise(prompt), normalise(text)
    if len(said) < _SHORTEST_ECHO or len(asked) < _SHORTEST_ECHO:
        return
    whole = asked in said and len(said) < 2 * len(asked)
    if whole or _lines(text) <= _lines(prompt):
        yield Suspicion("echo", "it repeats the prompt and adds little", 1)


def other_script(parts: tuple[Part, ...], prompt: str) -> Iterator[Suspicion]:
    """The question is in Latin letters and most of the answer is not."""
    body = [line for part in parts for line in part.body]
    if body and _foreign(prompt) < _LITTLE and _foreign("".join(line for _, line in body)) > _MOST:
        yield Suspicion("script", "it is written in another script than the prompt", body[0][0])


_LITTLE, _MOST = 0.1, 0.5


def _lines(text: str) -> set[str]:
    return {normalise(line) for line in text.split("\n")} - {""}


def _foreign(text: str) -> float:
    """The share of letters that are not Latin."""
    letters = [letter for letter in text if letter.isalpha()]
    return sum(letter > _LAST_LATIN for letter in letters) / len(letters) if letters else 0.0
