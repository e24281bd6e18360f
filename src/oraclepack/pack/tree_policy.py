"""What a step may do to the work tree."""

from collections.abc import Iterable
from enum import StrEnum
from fnmatch import fnmatchcase

import msgspec

from oraclepack.pack.model import POLICY, Pack, Step
from oraclepack.pack.tool_call import ToolCall
from oraclepack.tools.tool_names import ORACLE

_EDITING = frozenset({"auto_edit", "yolo"})
_MOVING = frozenset(
    {"am", "checkout", "cherry-pick", "commit", "merge"}
    | {"pull", "rebase", "reset", "revert", "switch"}
)
"""What git calls the commands that may leave HEAD elsewhere."""


class TreePolicy(StrEnum):
    """`# oraclepack: policy=…`, or what follows from the tools a step calls."""

    READ_ONLY = "read-only"
    """Nothing but its declared outputs may change; otherwise a warning, an error if strict."""
    OWNED = "owned"
    """The same, and a change elsewhere fails the step."""
    MUTATES = "mutates"
    """It may change anything; what it changed is recorded."""
    UNWATCHED = "unwatched"
    """It calls no known tool: nothing is checked."""


class TreePolicyResult(msgspec.Struct):
    """The result of watching a step: the files it should not have touched."""

    policy: TreePolicy
    strange: tuple[str, ...] = ()

    @property
    def message(self) -> str:
        """What is wrong with them, for people."""
        return f"files it does not own changed while it ran: {', '.join(self.strange[:5])}"


def policy_of(step: Step) -> TreePolicy:
    """The directive of the author, else: codex and editing gemini mutate, oracle calls read."""
    values = [directive.value for directive in step.directives if directive.name == POLICY]
    if values and values[-1] in set(TreePolicy):
        return TreePolicy(values[-1])
    if any(_edits(call) for call in step.calls):
        return TreePolicy.MUTATES
    return TreePolicy.READ_ONLY if step.tools == (ORACLE,) else TreePolicy.UNWATCHED


def disallowed(changed: Iterable[str], allowed: Iterable[str]) -> tuple[str, ...]:
    """The changed paths that no pattern allows; a folder's pattern ends in a slash."""
    patterns = tuple(allowed)
    folders = tuple(one for one in patterns if one.endswith("/"))
    strange = (path for path in changed if not path.startswith(folders))
    return tuple(sorted(one for one in strange if not any(fnmatchcase(one, p) for p in patterns)))


def _edits(call: ToolCall) -> bool:
    if call.tool == "codex":
        return True
    if call.tool != "gemini":
        return False
    modes = {word.value for word in call.values("--approval-mode")}
    return bool(modes & _EDITING) or None in modes or call.has("--yolo")


def mutates(pack: Pack) -> bool:
    """Some step may change the work tree, and so move HEAD.

    A runner that is killed right after a step's own commit has had no time to write it down.
    """
    return any(
        any(call.tool in {"codex", "gemini"} for call in step.calls)
        or any(
            command.name == "git" and any(word.value in _MOVING for word in command.words)
            for command in step.script.commands
        )
        for step in pack.steps
    )
