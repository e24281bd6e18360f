"""Where the answers of a pack go, as far as its text tells."""

from collections.abc import Iterator

from oraclepack.pack.model import Pack, Step
from oraclepack.pack.questions import destinations
from oraclepack.pack.script import Word


def known_outputs(pack: Pack) -> Iterator[tuple[Step, Word]]:
    """The outputs whose path is known, by flag, redirection or directive."""
    for step in pack.steps:
        words = [word for call in step.calls for word in destinations(call)]
        words += [output.path for output in step.outputs if output.call is None]
        for word in words:
            if word.value is not None:
                yield step, word
