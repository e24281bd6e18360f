"""Which steps must wait for which: what they read and write, as far as their text shows.

Edges only ever lead from a smaller step id to a larger one, so there are no cycles.
"""

import re
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from posixpath import normpath

import msgspec

from oraclepack.pack.model import Step, StepId
from oraclepack.pack.tree_policy import TreePolicy, policy_of
from oraclepack.tools.tool_names import ORACLE

_EXPANSION = re.compile(r"\$(?:\w+|\{[^}]*\})")
_GLOB = re.compile(r"\*\*/|\*\*|\*|\?|\[[^\]/]*\]|\{[^}]*\}")
_SIGNS = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}


class Edges(msgspec.Struct, frozen=True):
    """What one step waits for."""

    needs: tuple[StepId, ...]
    """It reads what these write."""
    after: tuple[StepId, ...]
    """They write the same, or read what it writes: overtaking them would change results."""


def edges_of(steps: Sequence[Step]) -> dict[StepId, Edges]:
    """The edges of each step; the steps are ordered by id."""
    reads = [Paths.of(_named(step.reads)) for step in steps]
    writes = [Paths.of(step.writes) for step in steps]
    edges: dict[StepId, Edges] = {}
    # Most steps of some packs name no path, and each pair costs.
    writers, named = _some(writes), _some(reads) | _some(writes)
    for place, step in enumerate(steps):
        needs = [at for at in range(place) if at in writers and reads[place].touch(writes[at])]
        earlier = range(place) if place in writers else ()
        after = [
            at
            for at in earlier
            if at in named
            and at not in needs
            and (writes[place].touch(writes[at]) or reads[at].touch(writes[place]))
        ]
        edges[step.id] = Edges(
            tuple(steps[at].id for at in needs), tuple(steps[at].id for at in after)
        )
    return edges


def _some(named: Sequence["Paths"]) -> set[int]:
    """The places of those that hold a path at all."""
    return {at for at, paths in enumerate(named) if paths.exact or paths.pattern}


def is_barrier(step: Step) -> bool:
    """Nothing may run at the same time: it may change anything, or its writes are not known."""
    return step.writes_unknown or any(tool != ORACLE for tool in step.tools)


_HARMLESS = frozenset({"mkdir", "echo", "printf", "set", "export", "readonly", "true", ":"})
"""Commands beside a question that change nothing another step could see, but empty folders."""


def only_asks(step: Step) -> bool:
    """It asks questions over an API and does nothing else, as far as its text shows.

    A browser answers one question at a time, so its questions gain nothing by company.
    """
    asked = step.oracle_calls
    browser = any(word.value == "browser" for call in asked for word in call.values("--engine"))
    if not asked or browser or is_barrier(step) or policy_of(step) is not TreePolicy.READ_ONLY:
        return False
    return all(
        not command.words
        or any(call.span.contains(command.span) for call in asked)
        or (command.name in _HARMLESS and not any(one.writes for one in command.redirects))
        for command in step.script.commands
    )


class Paths(msgspec.Struct, frozen=True):
    """A set of paths and patterns, comparable with another one."""

    exact: frozenset[str]
    above: frozenset[str]
    """Every directory above an exact path."""
    pattern: re.Pattern[str] | None
    """All patterns as one: it matches what they name and everything below."""

    @classmethod
    def of(cls, paths: AbstractSet[str]) -> "Paths":
        patterns = {path for path in paths if _GLOB.search(path) or _EXPANSION.search(path)}
        exact = frozenset(map(normpath, paths - patterns))
        above = frozenset(folder for path in exact for folder in _folders(path))
        return cls(exact, above, _compiled(sorted(patterns)) if patterns else None)

    def touch(self, other: "Paths") -> bool:
        """Some path is the same, or is above or below one of the others."""
        if self.exact & other.exact or self.exact & other.above or self.above & other.exact:
            return True
        if self.pattern is not None and other.pattern is not None:
            return True  # two patterns: unknown, and waiting is safe
        return self.matches(other.exact) or other.matches(self.exact)

    def matches(self, paths: Iterable[str]) -> bool:
        return self.pattern is not None and any(map(self.pattern.fullmatch, paths))


def _named(reads: Iterable[str]) -> set[str]:
    """The paths in the words of a step: lists are split, exclusions left out."""
    parts = (part for word in reads for part in ([word] if "{" in word else word.split(",")))
    return {part for part in parts if part and not part.startswith("!")}


def _folders(path: str) -> set[str]:
    """The directories above a path; for a relative one the project root is among them."""
    names = path.split("/")
    above = {"/".join(names[:end]) or "/" for end in range(1, len(names))}
    return above if path.startswith("/") else above | {"."}


def _compiled(patterns: Iterable[str]) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{_translated(one)})(?:/.*)?" for one in patterns), re.DOTALL)


def _translated(pattern: str) -> str:
    # A variable that only the shell knows may hold any path.
    text = _EXPANSION.sub("**", pattern)
    path = text.removeprefix("./")
    place, parts = 0, []
    for sign in _GLOB.finditer(path):
        parts.append(re.escape(path[place : sign.start()]))
        parts.append(_SIGNS.get(sign[0], ".*" if sign[0].startswith("{") else "[^/]"))
        place = sign.end()
    return "".join([*parts, re.escape(path[place:])])
