"""The lines of a repository that prompts quote as evidence: `- path:line  text` below a heading."""

import re
from collections.abc import Iterator

import msgspec

from oraclepack.pack.model import Pack, Step
from oraclepack.pack.script import Span

_HEADING = re.compile(
    r"\s*(?:#+ *|\*\*)?Evidence *(?P<rest>\([^()\n]*\))? *:?(?:\*\*)?:?\s*", re.IGNORECASE
)
_COMMIT = re.compile(r"\bcommit[ :]+(?P<sha>[0-9a-f]{7,64})\b", re.IGNORECASE)
_QUOTE = re.compile(
    r"\s*[-*] +`?(?P<path>[^\s`][^`\n]*?):(?P<line>\d{1,7})`?(?:  +| *\t *|: )(?P<text>\S.*)"
)
_CUT = "…"


class QuotedLine(msgspec.Struct, frozen=True):
    """One line that a prompt quotes."""

    path: str
    line: int
    text: str
    commit: str
    """What the heading names; empty: the work tree."""
    span: Span
    """Where the pack quotes it."""

    @property
    def key(self) -> tuple[str, str, int]:
        return self.commit, self.path, self.line


class StepEvidence(msgspec.Struct, frozen=True):
    """What a step quotes."""

    step: Step
    is_announced: bool
    """There is a heading that says how it is written."""
    lines: tuple[QuotedLine, ...]


def agrees(quoted: str, actual: str) -> bool:
    """Whether a line is the quoted one; blanks do not count, cuts are marked."""
    mine, theirs = " ".join(quoted.split()), " ".join(actual.split())
    if mine.endswith(_CUT):
        return theirs.startswith(mine.removesuffix(_CUT).rstrip())
    return mine == theirs


def evidence_of(pack: Pack) -> Iterator[StepEvidence]:
    """The evidence of each step that asks a question whose text is known."""
    raw = pack.text.split("\n")
    for step in pack.steps:
        prompt = next((call.prompt for call in step.calls if call.prompt is not None), None)
        if prompt is None:
            continue
        first, last = step.span.line, step.span.end_line
        numbers = {line.strip(): n for n, line in enumerate(raw[first - 1 : last], first)}
        commit, inside, is_announced = "", False, False
        lines = []
        for text in prompt.text.split("\n"):
            heading = _HEADING.fullmatch(text)
            quote = _QUOTE.match(text) if inside else None
            if heading is not None:
                inside = True
                is_announced = is_announced or bool(heading["rest"])
                named = _COMMIT.search(heading["rest"] or "")
                commit = named["sha"].lower() if named else ""
            elif quote is not None:
                at = Span.at(numbers.get(text.strip(), step.header.span.line), 1)
                lines.append(
                    QuotedLine(quote["path"], int(quote["line"]), quote["text"], commit, at)
                )
            elif text.strip():
                inside = False
        yield StepEvidence(step, is_announced, tuple(lines))


def without_evidence(text: str) -> str:
    """A prompt without the lines that it quotes: they are no part of what is asked."""
    return "\n".join(line for line in text.split("\n") if _QUOTE.match(line) is None)
