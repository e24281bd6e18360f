"""Functions that share most of their lines and differ in some: copies that drifted apart."""

import re
from collections.abc import Iterator
from difflib import SequenceMatcher, get_close_matches
from itertools import combinations
from typing import NamedTuple

from oraclepack.authoring.question_candidate import QuestionCandidate, candidate, places
from oraclepack.authoring.repository_survey import RepositorySurvey
from oraclepack.authoring.source_facts import Definition

_SHORTEST_COPY = 8
"""Lines that a function has at least before a second one like it is worth a question."""
_SHORTEST_LINE = 12
"""Characters; shorter lines are the same everywhere."""
_IDIOM = 6
"""A line that more functions share is idiom, not a copy."""
_ALIKE = 0.6
_FEWEST_SHARED = 8
_SIMILAR = 0.7
"""From this on a line is the other one, changed."""
_LONGEST_SIGNATURE = 20
_NAME = re.compile(
    r"\b(?!(?:None|True|False|null|nil|undefined|true|false|not|and|or|in|is|if|else|elif|for|while"
    r"|return|raise|throw|new|del|try|except|catch|with|yield|break|continue)\b)[A-Za-z_$][\w$]*"
)
_STRING = re.compile(r"\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'|`[^`]*`")
_COMMENT = re.compile(r"\s*(?:#|//).*$")
_LAST_COMMA = re.compile(r",\s*([)\]}])")
_OPPOSITES = (
    *(("prev", "next"), ("previous", "next"), ("and", "or"), ("get", "set"), ("min", "max")),
    *(("up", "down"), ("left", "right"), ("first", "last"), ("start", "stop"), ("read", "write")),
    *(("encode", "decode"), ("push", "pop"), ("add", "remove"), ("lock", "unlock"), ("any", "all")),
    *(("begin", "end"), ("before", "after"), ("enable", "disable"), ("send", "receive")),
    *(("send", "recv"), ("source", "sink"), ("client", "server"), ("request", "response")),
    *(("register", "unregister"), ("connect", "disconnect"), ("open", "close"), ("load", "save")),
    *(("insert", "delete"), ("attach", "detach"), ("create", "destroy"), ("import", "export")),
)
"""Functions with such names mirror each other: their differences are their purpose."""
_GUARD = re.compile(
    r"[}\s]*(?:(?:else )?if|elif|unless|raise|throw|rescue|except|catch|finally|ensure|assert|await"
    r"|defer|return (?:err|nil|null|None|false|False|-1)|break|continue)\b"
)
_SHOWN = frozenset({"__repr__", "__str__", "toString", "to_s", "inspect", "String", "fmt"})
"""Functions that only show a value."""
_PARTS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_ASYNC = re.compile(r"\b(?:async|await)\s+")


class _Body(NamedTuple):
    path: str
    name: str
    function: Definition
    lines: dict[str, int]
    """The lines of code, with the first place of each."""


def duplicate_questions(survey: RepositorySurvey) -> Iterator[QuestionCandidate]:
    """A question for each pair of copies that differ."""
    bodies = list(_bodies(survey))
    by_line: dict[str, list[int]] = {}
    for number, body in enumerate(bodies):
        for text in body.lines:
            by_line.setdefault(text, []).append(number)
    shared: dict[tuple[int, int], int] = {}
    for numbers in by_line.values():
        if len(numbers) <= _IDIOM:
            for pair in combinations(numbers, 2):
                shared[pair] = shared.get(pair, 0) + 1
    for (one, other), count in sorted(shared.items()):
        question = _compared(bodies[one], bodies[other], count)
        if question is not None:
            yield question


def _bodies(survey: RepositorySurvey) -> Iterator[_Body]:
    for file, source in survey.sources:
        for function, _ in source.functions:
            is_short = function.length < _SHORTEST_COPY or not function.branches
            if is_short or function.name in _SHOWN:
                continue
            lines: dict[str, int] = {}
            for number in range(_body_line(file.lines, function), function.end_line + 1):
                text = " ".join(_code_of(file.lines[number - 1]).split())
                if len(text) > _SHORTEST_LINE and number not in source.prose:
                    lines.setdefault(text, number)
            if len(lines) >= _SHORTEST_COPY - 2:
                yield _Body(file.path, source.qualified(function), function, lines)


def _body_line(lines: list[str], function: Definition) -> int:
    """The first line after the signature, which differs between any two functions."""
    for number in range(function.line, min(function.line + _LONGEST_SIGNATURE, len(lines)) + 1):
        if _code_of(lines[number - 1]).rstrip().endswith((":", "{")):
            return number + 1
    return function.line + 1


def _code_of(line: str) -> str:
    """A line without the comment at its end."""
    masked = _STRING.sub(lambda match: "s" * len(match[0]), line)
    comment = _COMMENT.search(masked)
    return line[: comment.start()] if comment is not None else line


def _only_names_differ(mine: list[str], yours: list[str], shared: set[str]) -> bool:
    """Whether one text becomes the other by giving each name another one, everywhere.

    Such twins (of a sync and an async method, of two kinds of a thing) have not drifted apart.
    Texts of strings and comments may differ as they like.
    """
    left, right = (_plain(" ".join(lines)) for lines in (mine, yours))
    if _NAME.sub("n", left).replace(" ", "") != _NAME.sub("n", right).replace(" ", ""):
        return False
    common = {name for line in shared for name in _NAME.findall(_plain(line))}
    names: dict[str, str] = {}
    for one, other in zip(_NAME.findall(left), _NAME.findall(right), strict=True):
        if names.setdefault(one, other) != other or (one != other and one in common):
            return False
    return len({*names.values()}) == len(names)


def _are_variants(one: _Body, other: _Body) -> bool:
    """Whether the copies differ line for line: one value or call instead of another.

    A correction that one copy lacks is a line more, or a line in another place.
    """
    matcher = SequenceMatcher(None, [*one.lines], [*other.lines], autojunk=False)
    return all(
        tag in {"equal", "replace"} and end - start == last - first
        for tag, start, end, first, last in matcher.get_opcodes()
    )


def _guards(mine: dict[str, int], yours: dict[str, int]) -> Iterator[str]:
    """The lines of one copy that check or leave, and that nothing in the other is like."""
    for own, others in ((mine, yours), (yours, mine)):
        for text in own:
            near = get_close_matches(text, others, 1, _SIMILAR)
            if _GUARD.match(text) and not near:
                yield text


def _are_opposite(one: str, other: str) -> bool:
    words = [[part.lower() for part in _PARTS.findall(name)] for name in (one, other)]
    if len(words[0]) != len(words[1]):
        return False
    pairs = [(a, b) for a, b in zip(*words, strict=True) if a != b]
    return bool(pairs) and all({*pair} in map(set, _OPPOSITES) for pair in pairs)


def _plain(text: str) -> str:
    """Code without the texts of strings, what makes it asynchronous, and commas that end lists."""
    return _LAST_COMMA.sub(r"\1", _ASYNC.sub("", _STRING.sub('""', text)))


def _compared(one: _Body, other: _Body, count: int) -> QuestionCandidate | None:
    first, second = one.function, other.function
    nested = one.path == other.path and (
        first.line <= second.line <= first.end_line or second.line <= first.line <= second.end_line
    )
    is_overload = one.path == other.path and one.name == other.name
    is_alike = count >= max(_FEWEST_SHARED, _ALIKE * max(len(one.lines), len(other.lines)))
    if nested or is_overload or not is_alike or _are_opposite(one.name, other.name):
        return None
    mine = {text: n for text, n in one.lines.items() if text not in other.lines}
    yours = {text: n for text, n in other.lines.items() if text not in one.lines}
    if _only_names_differ([*mine], [*yours], {*one.lines} & {*other.lines}):
        return None
    if _are_variants(one, other):
        return None
    lacking = list(_guards(mine, yours))
    if not mine or not yours or not lacking:
        return None
    # What one copy guards against and the other does not is quoted first.
    here, there = (
        sorted([*(own[t] for t in lacking if t in own), *own.values()][:2]) for own in (mine, yours)
    )
    where = "" if one.path == other.path else f" in {other.path}"
    names = f"{one.name}() and {other.name}(){where}"
    if one.name == other.name:
        names = f"The definitions of {one.name}() in {one.path} and {other.path}"
    return candidate(
        "two-copies",
        one.name,
        (*places(one.path, first.line, *here), *places(other.path, second.line, *there)),
        weight=count,
        names=names,
    )
