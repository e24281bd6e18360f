"""Regroup the steps of a pack so that each has one question, without moving a command."""

import re
from dataclasses import dataclass

from oraclepack.pack.model import Pack, Step
from oraclepack.pack.questions import question_groups, questions_of

_CHANGES_SHELL = frozenset(
    {"cd", "pushd", "popd", "exit", "set", "shopt", "trap", "exec", "return", "unset", "export"}
    | {"declare", "typeset", "local", "readonly", "source", ".", "eval", "read", "mapfile"}
    | {"readarray", "umask", "ulimit", "alias", "unalias", "enable", "let", "getopts"}
)
"""Commands that change the state of the shell, on which later commands may depend."""
_USED = re.compile(r"\$\{?[#!]?(\w+)")
_SET = re.compile(
    r"(?:^|[\s;&|({])(?:for[ \t]+)?([A-Za-z_]\w*)(?:(?:\[[^]\n]*\])?\+?=(?!=)|[ \t]+in\b)"
)


@dataclass(frozen=True, slots=True)
class StepPart:
    """A new step: the step whose header it gets, and its lines of the file."""

    step: Step
    bodies: tuple[tuple[int, int], ...]
    """First and last line of each block of lines, in order."""


def regroup(pack: Pack) -> tuple[list[StepPart], list[str], list[str]]:
    """The parts, notes on what was joined or split, and reasons against what was not."""
    parts: list[StepPart] = []
    notes: list[str] = []
    reasons: list[str] = []
    waiting: list[Step] = []
    for step in pack.steps:
        questions = questions_of(step)
        if questions == 0:
            reason = _why_not_joinable(step, pack)
            reasons += [f"step {step.id} asks nothing, and {reason}"] if reason else []
            waiting.append(step)
            continue
        bodies = tuple(_body(each) for each in (*waiting, step))
        notes += [f"step {each.id} asks nothing: joined to step {step.id}" for each in waiting]
        waiting = []
        cuts = _cuts(step, reasons) if questions > 1 else []
        notes += [f"step {step.id} asks {questions} questions: split"] if cuts else []
        parts += _split(step, bodies, cuts)
    if waiting and parts:
        last = parts[-1]
        bodies = (*last.bodies, *map(_body, waiting))
        parts[-1] = StepPart(last.step, bodies)
        notes += [f"step {each.id} asks nothing: joined to the one before" for each in waiting]
    return parts, notes, reasons


def _body(step: Step) -> tuple[int, int]:
    return step.header.span.line + 1, step.span.end_line


def _why_not_joinable(step: Step, pack: Pack) -> str | None:
    """Why a step without a question cannot be joined to the next one; None if it can."""
    change = _shell_change(step)
    if change or step.script.functions:
        return f"its {change or 'function'} would affect the step it is joined to"
    prelude = pack.prelude.script.commands if pack.prelude else ()
    stops = any(
        command.name == "set"
        and any(re.match(r"-\w*e|errexit", word.source) for word in command.words[1:])
        for command in prelude
    )
    return None if stops else "without set -e its failure would be ignored"


def _shell_change(step: Step) -> str | None:
    """The first command or variable of a step that changes the state of the shell."""
    for command in step.script.commands:
        if command.name in _CHANGES_SHELL:
            return f"`{command.name}`"
    named = sorted(_set_between(step, *_body(step)))
    return f"variable {named[0]}" if named else None


def _cuts(step: Step, reasons: list[str]) -> list[int]:
    """The last line of each question but the last; none if they cannot be separated."""
    groups = question_groups(step)
    ends = [max(call.span.end_line for call in group) for group in groups]
    starts = [min(call.span.line for call in group) for group in groups]
    is_disjoint = all(end < start for end, start in zip(ends, starts[1:], strict=False))
    plain = all(not call.places for group in groups for call in group)
    if not is_disjoint or not plain or step.script.functions:
        reasons.append(f"step {step.id} asks {len(groups)} questions that cannot be separated")
        return []
    for end in ends[:-1]:
        shared = _shared(step, end)
        if shared:
            reasons.append(f"step {step.id} asks {len(groups)} questions that share {shared}")
            return []
    return ends[:-1]


def _shared(step: Step, end: int) -> str | None:
    """What the lines up to `end` set and later lines need; None if there is nothing."""
    first, last = _body(step)
    commands = step.script.commands
    above = (command.name for command in commands if command.span.end_line <= end)
    changing = next((name for name in above if name in _CHANGES_SHELL - {"read"}), None)
    if changing:
        return f"`{changing}`"
    # A variable that the first command below sets again is not needed from above.
    opening = next((command for command in commands if command.span.line > end), None)
    set_again = _set_between(step, end + 1, opening.span.end_line) if opening else set[str]()
    below = "\n".join(_lines(step, end + 1, last))
    common = sorted(_set_between(step, first, end) & set(_USED.findall(below)) - set_again)
    return f"the variable {common[0]}" if common else None


def _set_between(step: Step, first: int, last: int) -> set[str]:
    """The variables that some lines set, outside of heredocs. Extra names do no harm."""
    heredoc_lines = {
        line
        for heredoc in step.script.heredocs
        for line in range(heredoc.span.line, heredoc.span.end_line + 1)
    }
    numbers = (n for n in range(first, last + 1) if n not in heredoc_lines)
    code = "\n".join(line for n in numbers for line in _lines(step, n, n))
    read = (
        word.value or ""
        for command in step.script.commands
        if command.name == "read" and first <= command.span.line <= last
        for word in command.words[1:]
        if not word.source.startswith("-")
    )
    return {*_SET.findall(code), *read} - {"", "IFS"}


def _lines(step: Step, first: int, last: int) -> list[str]:
    start = step.header.span.line + 1
    return step.code.split("\n")[first - start : last - start + 1]


def _split(step: Step, bodies: tuple[tuple[int, int], ...], cuts: list[int]) -> list[StepPart]:
    first, last = bodies[-1]
    edges = [first, *(cut + 1 for cut in cuts), last + 1]
    blocks = [(edges[i], edges[i + 1] - 1) for i in range(len(edges) - 1)]
    opening = StepPart(step, (*bodies[:-1], blocks[0]))
    return [opening, *(StepPart(step, (block,)) for block in blocks[1:])]
