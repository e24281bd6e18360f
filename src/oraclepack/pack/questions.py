"""How many questions a pack asks."""

import re
from collections.abc import Iterable

import msgspec

from oraclepack.pack.contract import by_suffix
from oraclepack.pack.model import META_BLOCK, META_OPENS, Pack, Step
from oraclepack.pack.script import Word
from oraclepack.pack.tool_call import ToolCall
from oraclepack.tools.flag_tables import Effect, Role
from oraclepack.tools.tool_names import ORACLE


class Disorder(msgspec.Struct, frozen=True):
    """A step that should be before the one above it."""

    step_id: str
    line: int
    message: str


def roi_disorder(steps: Iterable[Step]) -> tuple[Disorder, ...]:
    """Each step that scores higher than the scored step before it.

    Steps without a number in ROI are passed over: another rule asks for the number.
    """
    disorders: list[Disorder] = []
    before: Step | None = None
    for step in steps:
        if step.number("ROI") is None:
            continue
        message = _wrong(before, step) if before is not None else None
        if message is not None:
            disorders.append(Disorder(step.id, step.header.span.line, message))
        before = step
    return tuple(disorders)


def _wrong(before: Step, step: Step) -> str | None:
    above, own = before.number("ROI"), step.number("ROI")
    assert above is not None
    assert own is not None
    if own > above:
        return (
            f"step {step.id} has ROI {step.attribute('ROI')} but follows step {before.id} "
            f"with ROI {before.attribute('ROI')}"
        )
    first, second = before.number("effort"), step.number("effort")
    if own == above and first is not None and second is not None and second < first:
        return (
            f"steps {before.id} and {step.id} have the same ROI, but step {step.id} "
            f"takes less effort ({step.attribute('effort')} against {before.attribute('effort')})"
        )
    return None


_ARGUMENT = re.compile(r"\$\{?[0-9@*]")
"""An argument of a function: each of its calls may mean another path by it."""


class Counts(msgspec.Struct, frozen=True):
    """What there is in a pack, in numbers."""

    steps: int
    bash_blocks: int
    oracle_invocations: int
    """Calls in the text that ask a model; a call in a loop counts once."""
    oracle_questions: int


def count(pack: Pack) -> Counts:
    return Counts(
        steps=len(pack.steps),
        bash_blocks=len(pack.bash_blocks),
        oracle_invocations=sum(len(asking_calls(step)) for step in pack.steps),
        oracle_questions=sum(questions_of(step) for step in pack.steps),
    )


def is_question(call: ToolCall) -> bool:
    """An oracle call that puts a question, unlike `oracle status` or `oracle --dry-run`."""
    if call.tool != ORACLE or call.subcommand is not None:
        return False
    return not any(use.spec.effect is Effect.INSPECT for use in call.parsed.flags)


def asking_calls(step: Step) -> tuple[ToolCall, ...]:
    return tuple(call for call in step.calls if is_question(call))


def questions_of(step: Step) -> int:
    """How many questions a step asks.

    The chunks of one answer are one question: their outputs differ only in the section suffix.
    So are calls that write the same file, since one of them replaces the other.
    """
    return len(question_groups(step))


def question_groups(step: Step) -> tuple[tuple[ToolCall, ...], ...]:
    """The asking calls of a step, those of one question together, in the order of the text."""
    groups: dict[str, list[ToolCall]] = {}
    for number, call in enumerate(asking_calls(step)):
        path = next((word.display_text for word in reversed(destinations(call))), "")
        known = path and not ("$" in path and _ARGUMENT.search(path))
        # A NUL is in no path: calls with unknown outputs stay apart.
        key = _without_section(path) if known else f"\0{number}"
        groups.setdefault(key, []).append(call)
    return tuple(tuple(group) for group in groups.values())


def destinations(call: ToolCall) -> tuple[Word, ...]:
    """Where the answer of a call goes: its last output flag, else where stdout is sent."""
    named = call.given(Role.OUTPUT)
    if named:
        # Given twice, oracle takes the last; the others take each.
        return named[-1:] if call.tool == ORACLE else named
    targets = [redirect.target for redirect in call.redirects if redirect.takes_stdout]
    return tuple(word for word in targets if not word.display_text.startswith("/dev/"))


def _without_section(path: str) -> str:
    section = by_suffix(path)
    if section is None:
        return path
    at = path.lower().rindex(f"-{section}")
    return path[:at] + path[at + 1 + len(section) :]


_QUESTION = re.compile(
    r"^[ \t]*Question\s*:[ \t]*(?P<same>\S[^\n]*)?\n?(?P<next>[^\n]*)", re.MULTILINE
)


_LONGEST_TITLE = 100


def title_of(step: Step) -> str:
    """The header's words, else the question itself without its metadata, cut to one line."""
    return step.title or question_text(step)[:_LONGEST_TITLE]


def short_title(step: Step) -> str:
    """The title for people: a question that is too long ends after a whole word, in `…`.

    `title_of` names files of a run, so it stays as it is.
    """
    text = question_text(step)
    if step.title or len(text) <= _LONGEST_TITLE:
        return title_of(step)
    words = text[:_LONGEST_TITLE].rpartition(" ")[0] or text[: _LONGEST_TITLE - 1]
    return f"{words.rstrip(' .,;:')}…"


def question_text(step: Step) -> str:
    """The question that a step asks, without its metadata; the first line where none is marked."""
    for call in step.calls:
        text = META_BLOCK.sub("", call.prompt.text) if call.prompt else ""
        # A block that is never closed goes on to the end.
        text = text.partition(META_OPENS)[0]
        match = _QUESTION.search(text)
        text_found = (match["same"] or match["next"]) if match else text.strip().partition("\n")[0]
        if text_found.strip():
            return text_found.strip()
    return ""
