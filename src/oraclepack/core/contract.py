"""The output contract: which sections each declared output of a step must have, and why."""

from collections.abc import Sequence
from enum import StrEnum
from functools import lru_cache

import msgspec

from oraclepack.core.asked import Asked, asked_for
from oraclepack.core.sections import ALL_SECTIONS, Section


class ContractKind(StrEnum):
    """How the sections of an output were decided."""

    NONE = "none"
    ALL_SECTIONS = "all-sections"
    SINGLE_SECTION = "single-section"
    BY_SUFFIX = "by-suffix"


class ChunkMode(StrEnum):
    """`--output-chunk-mode`: whether the outputs of a step are chunks of one answer."""

    AUTO = "auto"
    SINGLE = "single"
    MULTI = "multi"


class ContractMode(StrEnum):
    """`--output-contract`: follow the step's words, or ignore every "only" among them."""

    AUTO = "auto"
    ALL_SECTIONS = "all-sections"


MARKERS = (ContractKind.NONE.value, ContractKind.ALL_SECTIONS.value, *(s.value for s in Section))
"""What an author may write after `# oraclepack: contract=`."""


class Declared(msgspec.Struct, frozen=True):
    """An output of a step and the prompt of the call that writes it, if that is known."""

    path: str
    prompt: str | None = None
    prompt_line: int = 1
    """The line of the pack on which the prompt begins."""
    line: int | None = None
    """The line of the pack on which the output is named."""


class OutputContract(msgspec.Struct, frozen=True):
    """What an output must hold, and which words of the step say so."""

    path: str
    kind: ContractKind
    sections: tuple[Section, ...]
    because: str
    line: int | None = None
    """The line of the pack that decided it."""


class Contradiction(msgspec.Struct, frozen=True):
    """The name of an output promises one section, its prompt asks for another."""

    named: Section
    asked: Section
    line: int


@lru_cache(maxsize=1_000)
def by_suffix(path: str) -> Section | None:
    """The section a file name ends in, whatever extensions follow (`…-direct-answer.gpt-5.md`)."""
    name = path.replace("\\", "/").rpartition("/")[2].lower()
    cuts = [at for at, letter in enumerate(name) if letter == "."] + [len(name)]
    ends = (name[:cut] for cut in cuts)
    return next((part for end in ends for part in Section if end.endswith(f"-{part}")), None)


def contradiction(path: str, prompt: str) -> Contradiction | None:
    """The section a file is named for against the one its prompt asks for."""
    named, asked = by_suffix(path), asked_for(prompt)
    if named is None or asked.only is None or named is asked.only:
        return None
    return Contradiction(named, asked.only, asked.only_line)


def infer(
    outputs: Sequence[Declared],
    step_text: str,
    *,
    step_line: int = 1,
    marker: str | None = None,
    marker_line: int | None = None,
    chunks: ChunkMode = ChunkMode.AUTO,
    mode: ContractMode = ContractMode.AUTO,
) -> tuple[OutputContract, ...]:
    """The contract of every output of a step, in the order given.

    An author's marker decides alone; one we do not know is left to the linter and ignored here.
    """
    word = (marker or "").strip().lower()
    if word in MARKERS:
        return tuple(_marked(output.path, word, marker_line) for output in outputs)
    several = len(outputs) > 1 if chunks is ChunkMode.AUTO else chunks is ChunkMode.MULTI
    if several:
        return tuple(_suffixed(output) for output in outputs)
    asked = asked_for(step_text)
    return tuple(_worded(output, asked, step_line, mode) for output in outputs)


def _marked(path: str, word: str, line: int | None) -> OutputContract:
    because = f"the step says contract={word}"
    if word == ContractKind.NONE:
        return OutputContract(path, ContractKind.NONE, (), because, line)
    if word == ContractKind.ALL_SECTIONS:
        return OutputContract(path, ContractKind.ALL_SECTIONS, ALL_SECTIONS, because, line)
    return OutputContract(path, ContractKind.SINGLE_SECTION, (Section(word),), because, line)


def _suffixed(output: Declared) -> OutputContract:
    path, section = output.path, by_suffix(output.path)
    if section is None:
        because = "one of several outputs, and its name ends in no section"
        return OutputContract(path, ContractKind.NONE, (), because, output.line)
    because = f"one of several outputs, and its name ends in -{section}"
    return OutputContract(path, ContractKind.BY_SUFFIX, (section,), because, output.line)


def _worded(output: Declared, of_step: Asked, step_line: int, mode: ContractMode) -> OutputContract:
    """The contract by the words of the call's own prompt, or else of the whole step."""
    voices = ((asked_for(output.prompt or ""), output.prompt_line), (of_step, step_line))
    formats = [first + a.format_line for a, first in voices if a.format_line is not None]
    if not formats:
        because = 'nothing in the step says "Answer format"'
        return OutputContract(output.path, ContractKind.NONE, (), because)
    single = next(((a, first) for a, first in voices if a.only is not None), None)
    if single is None or mode is ContractMode.ALL_SECTIONS:
        because = 'the step says "Answer format"'
        kind = ContractKind.ALL_SECTIONS
        return OutputContract(output.path, kind, ALL_SECTIONS, because, formats[0])
    asked, first = single
    sections = (asked.only,) if asked.only else ()
    because = f'the step says "{asked.phrase}"'
    kind = ContractKind.SINGLE_SECTION
    return OutputContract(output.path, kind, sections, because, first + asked.only_line)
