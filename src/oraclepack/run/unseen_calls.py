"""Calls that a step's text declares and that never reached oraclepack."""

from collections.abc import Collection, Sequence
from posixpath import normpath

from oraclepack.pack.model import Step
from oraclepack.pack.script import Enclosure, Script, SimpleCommand
from oraclepack.pack.tool_call import ToolCall
from oraclepack.tools.flag_tables import Role
from oraclepack.tools.providers import may_cost
from oraclepack.tools.tool_names import ORACLE

ESCAPED = "ESCAPED"
"""The code of a step that made a call which oraclepack did not see."""

_CERTAIN = frozenset({Enclosure.SUBSHELL, Enclosure.PIPELINE, Enclosure.SUBSTITUTION})
"""A command there runs as surely as one at the top."""
_MAY_NOT_CALL = frozenset({"timeout", "xargs"})
"""Wrappers that may end the tool before it begins, or have nothing to call it for."""
_WAYS_OUT = frozenset({".", "eval", "exec", "exit", "source", "trap"})
"""Commands after which the rest of a step may not run although it ends with exit code 0."""

ALLOWED = "call it by its name and leave PATH alone; --allow-unseen-calls accepts such a step"
"""What to do about it."""

SeenCall = tuple[str, tuple[str, ...]]
"""A call that reached oraclepack: the tool and its words."""


def describe_unseen(calls: Sequence[ToolCall], appeared: Collection[str]) -> str:
    """What is wrong with a step that made such calls."""
    places = ", ".join(f"{call.tool} on line {call.span.line}" for call in calls)
    files = sorted({path for call in calls for path in _outputs(call)} & {*appeared})
    made = f", although {', '.join(files)} appeared" if files else ""
    return (
        f"the call of {places} did not reach oraclepack{made}: it is not recorded, its cost is "
        "unknown, and no budget holds for it"
    )


def unseen_calls(
    step: Step,
    seen: Sequence[SeenCall],
    appeared: Collection[str],
    prelude: Script | None = None,
    *,
    succeeded: bool,
) -> tuple[ToolCall, ...]:
    """The calls that a step surely made, and that are not among those that were seen.

    A call is sure that stands in no condition, loop, function or background job of a step that
    `succeeded`, with no way out before it; and one whose output is among the declared paths where
    a file `appeared`, unless another command of the step names that file.
    """
    questions = [call for call in step.calls if may_cost(call.tool, _words(call))]
    asked = [one for one in seen if may_cost(*one)]
    unmatched = [call for call in questions if not any(_fits(call, one) for one in asked)]
    named = {normpath(word.rpartition("=")[2]) for _, argv in asked for word in argv}
    unnamed = {path for path in appeared if normpath(path) not in named}
    escaped = [call for call in unmatched if _outputs(call) & unnamed - _written(step, call)]
    sure = [call for call in questions if succeeded and _is_sure(call, step, prelude)]
    for tool in {call.tool for call in sure}:
        mine = [call for call in sure if call.tool == tool]
        missing = max(len(mine) - sum(called == tool for called, _ in asked), 0)
        escaped += sorted(mine, key=lambda call: call not in unmatched)[:missing]
    return tuple(call for call in step.calls if call in escaped)


def _words(call: ToolCall) -> tuple[str, ...]:
    return tuple(word.display_text for word in call.argv)


def _outputs(call: ToolCall) -> set[str]:
    """The paths that a call is told to write to, where the text says them."""
    values = call.given(Role.OUTPUT)
    return {word.value for word in values if word.value is not None}


def _fits(call: ToolCall, seen: SeenCall) -> bool:
    """Whether it may be the call that the text declares."""
    tool, argv = seen
    named = (
        any(word == path or word.endswith(f"={path}") for word in argv) for path in _outputs(call)
    )
    return call.tool == tool and all(named)


def _is_sure(call: ToolCall, step: Step, prelude: Script | None) -> bool:
    """Whether a step that ended well made the call, as far as its text shows."""
    is_optional = call.guarded if call.tool != ORACLE else call.prompt is None
    if is_optional or call.places - _CERTAIN or _MAY_NOT_CALL & {*call.wrappers}:
        return False
    commands = [*(prelude.commands if prelude else ()), *step.script.commands]
    leaving: set[str] = set()
    while found := {one.function for one in commands if _leaves(one, leaving)} - leaving - {""}:
        leaving |= found
    before = (one for one in step.script.commands if one.span < call.span and not one.function)
    return not any(_leaves(one, leaving) for one in before)


def _leaves(command: SimpleCommand, functions: Collection[str]) -> bool:
    """Whether a command may end the step with exit code 0; `functions` are those that may."""
    words = [word.value for word in command.words]
    if not words or words[0] is None:
        return bool(words)
    if words[0] not in _WAYS_OUT:
        return words[0] in functions
    match words:
        case ["exit", str(code)]:
            return not code.isdigit() or int(code) == 0
        case ["exec"] | ["trap", _, "EXIT"]:  # a redirection; what happens at the end
            return False
    return True


def _written(step: Step, call: ToolCall) -> set[str]:
    """The outputs of a call that other commands of the step name too: they may have made them."""
    spelled = {
        word.source: word.value for word in call.given(Role.OUTPUT) if word.value is not None
    }
    others = (one for one in step.script.commands if not one.span.contains(call.span))
    words = [
        word
        for one in others
        for word in (*one.words, *(redirect.target for redirect in one.redirects))
    ]
    named = {word.value for word in words} | {spelled.get(word.source) for word in words}
    return {path for path in spelled.values() if path in named}
