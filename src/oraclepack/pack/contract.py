"""The output contract: which sections each declared output of a step must have, and why."""

import re
from collections.abc import Iterator, Sequence
from enum import StrEnum
from functools import lru_cache
from itertools import takewhile

import msgspec

from oraclepack.pack.answer_sections import (
    ALL_SECTIONS,
    Section,
    mentions,
    normalise,
    sections_named,
)
from oraclepack.pack.model import CONTRACT, Output, Step

ANSWER_FORMAT = "answer format"
"""The words that promise an answer in sections."""


class RequestedFormat(msgspec.Struct, frozen=True):
    """What a text asks for. Lines are offsets from its first line, which is 0."""

    format_line: int | None = None
    """Where the words "Answer format" stand first, if they do."""
    only: Section | None = None
    """The single section that is asked for."""
    only_line: int = 0
    phrase: str = ""
    """The line that asks for it."""


class Phrasing(msgspec.Struct, frozen=True):
    """One way to ask for a single section: an example, and the pattern that finds it."""

    example: str
    words: str
    """What every match holds, in lower case."""
    pattern: str


_SECTION = "output section"


def _phrasing(example: str, words: str, pattern: str = r"\b{}\b(?P<rest>.*)") -> Phrasing:
    return Phrasing(example, words, "(?i)" + pattern.format(words))


PHRASINGS = (
    _phrasing("Return only: Direct answer", "return only"),
    _phrasing("Only return the direct answer", "only return"),
    _phrasing("Output only: Risks/unknowns", "output only"),
    _phrasing("Only output the next experiment", "only output"),
    _phrasing("Write only the missing evidence", "write only"),
    _phrasing("Only write the direct answer", "only write"),
    _phrasing("Answer only with the direct answer", "answer only with"),
    _phrasing("Respond only with the direct answer", "respond only with"),
    _phrasing("Output section: Direct answer", _SECTION, r"^\W*{}\s*:(?P<rest>.*)"),
)
"""Words followed by the one section they ask for. "Direct answer only" is found besides."""

_LONGEST_LIST = 12
_SENTENCE_END = re.compile(r"[.;!?](?=\s|$)")
_PARENTHESIS = re.compile(r"\([^()]*\)")
_REFUSED = re.compile(r"\b(?:no|not|without)\b")
_LEAD = re.compile(r"^(?:\d{1,2} )?(?:the |your |a |section )*")
_NEGATIONS = frozenset(("no", "not", "never", "t"))
_NEGATED = re.compile(r"(?:\bnot|\bnever|n[’']t)\W*$", re.IGNORECASE)


@lru_cache(maxsize=256)
def requested_format(text: str) -> RequestedFormat:
    """What a prompt or a step's text asks for.

    Conservative: two "only" phrases that ask for different sections cancel each other out, and
    a phrase that names a second section is none.
    """
    small = text.lower()
    lines, lowered = text.split("\n"), small.split("\n")
    both = enumerate(zip(lines, lowered, strict=True))
    promised = None
    if "format" in small or not text.isascii():  # few prompts have such a line
        promised = next((n for n, (line, low) in both if _promises(line, low)), None)
    candidates = [at for at, low in enumerate(lowered) if "only" in low or _SECTION in low]
    sections = [(at, section) for at in candidates for section in _only(lines, at)]
    if len({section for _, section in sections}) == 1:
        at, section = sections[0]
        return RequestedFormat(promised, section, at, lines[at].strip())
    return RequestedFormat(promised)


def _promises(line: str, lowered: str) -> bool:
    # Folding every line of every prompt would be a tenth of the time a long pack takes.
    if "format" not in lowered and line.isascii():
        return False
    return mentions(normalise(line), (ANSWER_FORMAT,))


def _only(lines: Sequence[str], at: int) -> Iterator[Section]:
    """The single section that one line asks for, once for each phrase that does."""
    line = lines[at]
    lowered = line.lower()
    # Beyond ASCII a pattern takes more letters for the same than lower case does.
    possible = [each for each in PHRASINGS if each.words in lowered or not line.isascii()]
    for phrasing in possible:
        match = re.search(phrasing.pattern, line)
        if match is None or _NEGATED.search(line[: match.start()]):
            continue
        rest = match["rest"]
        # "Return only:" may be followed by a list, up to the next empty line.
        below = takewhile(str.strip, lines[at + 1 : at + 1 + _LONGEST_LIST])
        text = rest if normalise(rest) else "\n".join(below)
        section = _the_one(text)
        if section is not None:
            yield section
    for sentence in _SENTENCE_END.split(_PARENTHESIS.sub(" ", line)):
        folded = normalise(sentence)
        if folded.endswith(" only"):
            # The section a sentence "… only" ends with, if it names no other.
            head = folded.removesuffix(" only").removesuffix(" section")
            named = sections_named(head)
            if len(named) == 1 and _NEGATIONS.isdisjoint(head.split()):
                yield from (one for one in named if head.endswith(one.wordings))


def _the_one(text: str) -> Section | None:
    """The section a phrase asks for, if it begins with one and names no other."""
    first = _SENTENCE_END.split(_PARENTHESIS.sub(" ", text))[0]
    folded = _REFUSED.split(normalise(first))[0].strip()
    opening = _LEAD.sub("", folded, count=1)
    named = sections_named(folded)
    begun = [section for section in named if opening.startswith(section.wordings)]
    return begun[0] if len(named) == 1 and begun else None


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


class DeclaredOutput(msgspec.Struct, frozen=True):
    """An output of a step and the prompt of the call that writes it, if that is known."""

    path: str
    prompt: str | None = None
    prompt_line: int = 1
    """The line of the pack on which the prompt begins."""
    line: int | None = None
    """The line of the pack on which the output is named."""
    group: str = ""
    """Outputs of one group are the answers of several models to one question."""


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
    requested: Section
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
    named, requested = by_suffix(path), requested_format(prompt)
    if named is None or requested.only is None or named is requested.only:
        return None
    return Contradiction(named, requested.only, requested.only_line)


def infer(
    outputs: Sequence[DeclaredOutput],
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
    # One call that writes files for different sections, as in a loop, has several outputs too.
    groups = {(output.group or output.path, by_suffix(output.path)) for output in outputs}
    several = len(groups) > 1 if chunks is ChunkMode.AUTO else chunks is ChunkMode.MULTI
    if several:
        return tuple(_suffixed(output) for output in outputs)
    requested = requested_format(step_text)
    return tuple(_worded(output, requested, step_line, mode) for output in outputs)


def _marked(path: str, word: str, line: int | None) -> OutputContract:
    because = f"the step says contract={word}"
    if word in set(Section):
        return OutputContract(path, ContractKind.SINGLE_SECTION, (Section(word),), because, line)
    kind = ContractKind(word)
    sections = ALL_SECTIONS if kind is ContractKind.ALL_SECTIONS else ()
    return OutputContract(path, kind, sections, because, line)


def _suffixed(output: DeclaredOutput) -> OutputContract:
    section = by_suffix(output.path)
    kind = ContractKind.NONE if section is None else ContractKind.BY_SUFFIX
    ending = "no section" if section is None else f"-{section}"
    because = f"one of several outputs, and its name ends in {ending}"
    sections = () if section is None else (section,)
    return OutputContract(output.path, kind, sections, because, output.line)


def _worded(
    output: DeclaredOutput, of_step: RequestedFormat, step_line: int, mode: ContractMode
) -> OutputContract:
    """The contract by the words of the call's own prompt, or else of the whole step."""
    voices = ((requested_format(output.prompt or ""), output.prompt_line), (of_step, step_line))
    formats = [first + a.format_line for a, first in voices if a.format_line is not None]
    if not formats:
        because = 'nothing in the step says "Answer format"'
        return OutputContract(output.path, ContractKind.NONE, (), because)
    single = next(((a, first) for a, first in voices if a.only is not None), None)
    if single is None or mode is ContractMode.ALL_SECTIONS:
        because = 'the step says "Answer format"'
        kind = ContractKind.ALL_SECTIONS
        return OutputContract(output.path, kind, ALL_SECTIONS, because, formats[0])
    requested, first = single
    sections = (requested.only,) if requested.only else ()
    because = f'the step says "{requested.phrase}"'
    kind = ContractKind.SINGLE_SECTION
    return OutputContract(output.path, kind, sections, because, first + requested.only_line)


def contracts_of(
    step: Step,
    *,
    chunks: ChunkMode = ChunkMode.AUTO,
    mode: ContractMode = ContractMode.AUTO,
    named: Sequence[tuple[Output | None, str]] | None = None,
) -> tuple[OutputContract, ...]:
    """What each output of a step must hold, in the order of the outputs.

    `named` are the outputs with their paths, where more is known of them than the text shows.
    """
    markers = [directive for directive in step.directives if directive.name == CONTRACT]
    outputs = (
        [(output, output.path.display_text) for output in step.outputs] if named is None else named
    )
    return infer(
        [_declared(step, output, path) for output, path in outputs],
        step.code,
        step_line=step.header.span.line + 1,
        marker=markers[-1].value if markers else None,
        marker_line=markers[-1].span.line if markers else None,
        chunks=chunks,
        mode=mode,
    )


def _declared(step: Step, output: Output | None, path: str) -> DeclaredOutput:
    if output is None:
        return DeclaredOutput(path)
    prompt = step.calls[output.call].prompt if output.call is not None else None
    line, group = output.path.span.line, group_of(output)
    if prompt is None:
        return DeclaredOutput(path, line=line, group=group)
    return DeclaredOutput(path, prompt.text, prompt.span.line, line, group)


def group_of(output: Output) -> str:
    """The question that an output answers: several models may answer one."""
    is_of_oracle = output.origin == "--write-output" and output.call is not None
    return f"call {output.call}" if is_of_oracle else output.path.display_text
