"""What a step reads and writes, as far as its text tells."""

from collections.abc import Iterable, Iterator

from oraclepack.core.call import ToolCall
from oraclepack.core.script import Command, Script, Word
from oraclepack.core.source import Span
from oraclepack.core.step import OUTPUTS, Directive, Output
from oraclepack.tools.flag_tables import Role

_WRITERS = frozenset({"tee", "touch", "cp", "mv", "install", "ln", "rm", "truncate", "dd", "sed"})
_READ_NOTHING = frozenset({"mkdir", "echo", "printf"})
"""They name paths and read none: a step that makes its own folder needs no other step."""

_LONGEST_PATH = 500
_NO_FILE = ("/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty", "/dev/fd/")


def outputs_of(calls: Iterable[ToolCall], directives: Iterable[Directive]) -> tuple[Output, ...]:
    """The outputs a step declares, in the order of the text, each path once."""
    found: dict[str, Output] = {}
    for number, call in enumerate(calls):
        for output in _of_call(number, call):
            found.setdefault(output.path.shown, output)
    for directive in directives:
        if directive.name == OUTPUTS:
            for path in directive.value.split(","):
                word = _word(path.strip(), directive.span)
                if word.template:
                    found.setdefault(word.template, Output(word, "directive"))
    return tuple(found.values())


def reads_of(script: Script, outputs: Iterable[Output]) -> frozenset[str]:
    """Every path-like word that is not an output: too many is safe, an edge needs a writer."""
    written = {output.path.shown for output in outputs}
    named = (word for command in script.commands for word in _inputs(command))
    return frozenset(
        path for word in named if (path := _clean(word.shown)) and word.shown not in written
    )


def writes_of(script: Script, outputs: Iterable[Output]) -> tuple[frozenset[str], bool]:
    """The paths a step writes, and whether it may write to paths the text does not tell."""
    words = [output.path for output in outputs]
    words.extend(word for command in script.commands for word in _targets(command))
    known = frozenset(_clean(word.value) for word in words if word.value)
    return known - {""}, any(word.value is None for word in words)


def _of_call(number: int, call: ToolCall) -> Iterator[Output]:
    for flag in call.flags:
        if flag.role == Role.OUTPUT and flag.value is not None:
            yield Output(flag.value, flag.name, number)
    for redirect in call.redirects:
        target = redirect.target
        if redirect.takes_stdout and not target.shown.startswith(_NO_FILE):
            yield Output(target, redirect.operator, number)


def _inputs(command: Command) -> Iterator[Word]:
    named = () if command.name in _READ_NOTHING else command.words[1:]
    words = [*named, *(r.target for r in command.redirects if r.operator == "<")]
    return (word for word in words if _looks_like_path(word.shown))


def _targets(command: Command) -> Iterator[Word]:
    for redirect in command.redirects:
        if redirect.writes and not redirect.target.shown.startswith(_NO_FILE):
            yield redirect.target
    if command.name not in _WRITERS:
        return
    words = [word for word in command.words[1:] if not word.shown.startswith("-")]
    if command.name == "sed":
        edits = any(word.shown.startswith("-i") for word in command.words)
        words = words[1:] if edits else []
    if command.name in {"cp", "install", "ln"}:
        words = words[-1:]
    yield from words


def _looks_like_path(text: str) -> bool:
    if not text or text.startswith("-") or "\n" in text:
        return False
    return len(text) <= _LONGEST_PATH and ("/" in text or "." in text)


def _clean(path: str) -> str:
    while path.startswith("./"):
        path = path[2:]
    return path.rstrip("/")


def _word(text: str, span: Span) -> Word:
    return Word(text, text, span, template=text)
