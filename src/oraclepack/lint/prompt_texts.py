"""The texts that become prompts, and what bash would put in place of parts of them."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property

import msgspec
from msgspec.structs import replace

from oraclepack.lint.finding import Edit
from oraclepack.pack.missing_files import is_looking_git
from oraclepack.pack.model import Pack
from oraclepack.pack.script import Expansion, ExpansionKind, Script, SimpleCommand, Span
from oraclepack.pack.tool_call import ToolCall

MEANT = (
    *("awk", "basename", "cat", "column", "comm", "cut", "date", "diff", "dirname", "du", "echo"),
    *("egrep", "fgrep", "file", "find", "fmt", "fold", "grep", "head", "hostname", "id", "jq"),
    *("ls", "nl", "node", "nproc", "paste", "perl", "printenv", "printf", "pwd", "python"),
    *("python3", "readlink", "realpath", "rg", "ruby", "seq", "sha256sum", "sort", "stat", "tac"),
    *("tail", "tr", "tree", "uname", "uniq", "wc", "which", "whoami", "yq"),
)
"""Commands that print something: `$(…)` with them in a prompt is intended."""
_IN_PLACE = {
    "sed": ("-i", "--in-place"),
    "perl": ("-i", "-pi"),
    "find": ("-delete", "-exec", "-ok"),
}
"""What makes a change of a command that prints otherwise."""

_FROM_OUTSIDE = frozenset(
    {
        *("HOME", "USER", "LOGNAME", "PATH", "PWD", "OLDPWD", "SHELL", "TMPDIR", "LANG", "TERM"),
        *("HOSTNAME", "EDITOR", "VISUAL", "PAGER", "CI", "RANDOM", "SECONDS", "LINENO", "UID"),
        *("EUID", "PPID", "IFS", "OSTYPE", "HOSTTYPE", "MACHTYPE", "SHLVL", "EPOCHSECONDS"),
        *("EPOCHREALTIME", "FUNCNAME", "DIRSTACK", "PIPESTATUS", "REPLY", "OPTARG", "OPTIND"),
        *("COLUMNS", "LINES", "out_dir"),
    }
)
_FROM_OUTSIDE_TOO = ("BASH", "LC_", "XDG_", "GITHUB_", "CI_", "ORACLEPACK_", "ORACLE_", "_")
_SPECIAL = frozenset("@*#?$!-0")
_READERS = frozenset({"cat", "head", "tail", "sed"})
_PRINTERS = frozenset({"echo", "printf"})
_INSERTED = re.compile(r"\$(?:\(|\{[!#]?(\w+)|(\w+)|[@*#?$!-])")
_PIPE = re.compile(r"[^;|&]*(?:\d?>&\d[^;|&]*)?\|&?\s*(?:\\\s*)?")
_FURTHEST = 20


class PromptText(msgspec.Struct, frozen=True):
    """One text that becomes a prompt, or a part of one."""

    span: Span
    expansions: tuple[Expansion, ...]
    """In the order of the text."""
    sets: frozenset[str] = frozenset()
    """The variables that the prelude and the steps that use it may set."""
    sets_anything: bool = False
    has_arguments: bool = False
    """It is in a function, or `set` gives `$1` and the others their values."""

    def of(self, kind: ExpansionKind) -> list[Expansion]:
        return [each for each in self.expansions if each.kind is kind]

    def is_set(self, name: str) -> bool:
        """Whether something gives a variable its value, as far as the text shows."""
        if self.sets_anything or name in self.sets or name in _SPECIAL | _FROM_OUTSIDE:
            return True
        if name.isdecimal():
            return self.has_arguments
        return name.startswith(_FROM_OUTSIDE_TOO)

    def is_empty(self, expansion: Expansion) -> bool:
        """Whether it is a variable that nothing sets."""
        return expansion.kind is ExpansionKind.VARIABLE and not (
            expansion.has_default or self.is_set(expansion.name)
        )


class _Stretches:
    """Some stretches of a file, of which it is asked whether one holds another."""

    def __init__(self, spans: Iterable[Span]) -> None:
        self.spans: list[Span] = []
        for span in sorted(spans):
            if not self.spans or not self.spans[-1].contains(span):
                self.spans.append(span)

    def hold(self, span: Span) -> bool:
        start = (span.line, span.column)
        index = bisect_right(self.spans, start, key=lambda one: (one.line, one.column)) - 1
        return index >= 0 and self.spans[index].contains(span)


class Prompts(msgspec.Struct, frozen=True, dict=True):
    """Looks for the texts of prompts through a whole pack."""

    pack: Pack
    lines: Sequence[str]

    @cached_property
    def texts(self) -> tuple[PromptText, ...]:
        """Every text that becomes a prompt and holds something that bash expands."""
        by_span: dict[Span, dict[Expansion, None]] = {}
        users: dict[Span, PromptText] = {}
        prelude = self.pack.prelude.script if self.pack.prelude is not None else Script()
        for script, calls in self._parts:
            anything = prelude.sets_anything or script.sets_anything
            given = _sets_arguments((*prelude.commands, *script.commands))
            sets = prelude.sets | script.sets
            for call in calls:
                expansions = list(self._of_call(call, script))
                for each in expansions:
                    by_span.setdefault(each.text, {})[each] = None
                for text in {each.text for each in expansions}:
                    old = users.get(text, PromptText(text, ()))
                    users[text] = PromptText(
                        text,
                        (),
                        old.sets | sets,
                        old.sets_anything or anything,
                        old.has_arguments or given or self._in_function(text),
                    )
        return tuple(
            replace(users[text], expansions=tuple(sorted(by_span[text], key=lambda one: one.span)))
            for text in sorted(by_span)
        )

    def is_foreign(self, span: Span) -> bool:
        """Whether a place lies in prose that bash would run: it is no part of the script."""
        return self._foreign.hold(Span.at(span.line, span.column))

    @cached_property
    def _foreign(self) -> "_Stretches":
        doubtful = [each.span for each in self._all if self.is_doubtful(each)]
        return _Stretches([*self._backquoted.spans, *doubtful])

    @cached_property
    def _backquoted(self) -> "_Stretches":
        return _Stretches([e.span for e in self._all if e.kind is ExpansionKind.BACKQUOTES])

    @cached_property
    def _all(self) -> list[Expansion]:
        return [each for text in self.texts for each in text.expansions if not each.is_nested]

    def is_doubtful(self, expansion: Expansion) -> bool:
        """Whether it is a `$(…)` whose commands are not plainly meant."""
        if expansion.kind is not ExpansionKind.COMMAND:
            return False
        commands = self._within(expansion.span)
        own = [command for command in commands if not self._backquoted.hold(command.span)]
        return not commands or not all(map(self.is_meant, own))

    def is_meant(self, command: SimpleCommand) -> bool:
        """Whether this command is only written into a text in order to run it."""
        name = command.name
        if not command.words:
            return bool(command.redirects or command.heredocs or command.assignments)
        words = [word.display_text for word in command.words[1:]]
        if any(name in script.functions for script, _ in self._parts):
            return True
        if name == "git":
            return is_looking_git(command)
        changing = _IN_PLACE.get(name or "", ())
        if any(word.startswith(sign) for word in words for sign in changing):
            return False
        return name in MEANT or name == "sed"

    @cached_property
    def _parts(self) -> list[tuple[Script, tuple[ToolCall, ...]]]:
        prelude = self.pack.prelude
        before = [(prelude.script, prelude.calls)] if prelude is not None else []
        return [*before, *((step.script, step.calls) for step in self.pack.steps)]

    @cached_property
    def _commands(self) -> list[SimpleCommand]:
        commands = [command for script, _ in self._parts for command in script.commands]
        return sorted(commands, key=lambda command: command.span)

    @cached_property
    def _starts(self) -> list[tuple[int, int]]:
        return [(each.span.line, each.span.column) for each in self._commands]

    def _within(self, span: Span) -> list[SimpleCommand]:
        start = bisect_left(self._starts, (span.line, span.column))
        end = bisect_left(self._starts, (span.end_line, span.end_column))
        return self._commands[start:end]

    def _in_function(self, text: Span) -> bool:
        index = bisect_right(self._starts, (text.line, text.column)) - 1
        return index >= 0 and bool(self._commands[index].function)

    def _of_call(self, call: ToolCall, script: Script) -> Iterator[Expansion]:
        yield from call.expansions
        if self._written:
            yield from self._from_files(self._files_read(call))
        yield from self._piped(call, script)

    @cached_property
    def _written(self) -> Mapping[str, tuple[Expansion, ...]]:
        """By path: what bash expands in the texts that the pack writes there."""
        written: dict[str, tuple[Expansion, ...]] = {}
        for command in self._commands:
            texts = _printed_by(command)
            if not texts:
                continue
            paths = [each.target.display_text for each in command.redirects if each.takes_stdout]
            if command.name == "tee":
                paths += [word.display_text for word in command.words[1:]]
            for path in paths:
                written[path] = (*written.get(path, ()), *texts)
        return written

    def _from_files(self, paths: Iterable[str]) -> Iterator[Expansion]:
        for path in paths:
            yield from self._written.get(path, ())

    def _files_read(self, call: ToolCall) -> Iterator[str]:
        yield from (each.target.display_text for each in call.redirects if each.operator == "<")
        for expansion in call.expansions:
            if expansion.kind is ExpansionKind.COMMAND and not expansion.is_nested:
                for command in self._within(expansion.span):
                    yield from _read_by(command)

    def _piped(self, call: ToolCall, script: Script) -> Iterator[Expansion]:
        """What is expanded in the text that another command prints into the call."""
        commands = script.commands
        index = bisect_left(commands, call.span, key=lambda command: command.span)
        printer: SimpleCommand | None = None
        for command in reversed(commands[max(index - _FURTHEST, 0) : index]):
            before, after = command.span, call.span
            between = self.lines[after.line - 1][before.end_column - 1 : after.column - 1]
            if before.end_line != after.line or not _PIPE.fullmatch(between):
                continue
            # A command in a substitution is before the pipe as well: take the outer one.
            if printer is None or command.span.contains(printer.span):
                printer = command
        if printer is not None:
            yield from _printed_by(printer)
            yield from self._from_files(_read_by(printer))


def _sets_arguments(commands: Iterable[SimpleCommand]) -> bool:
    """Whether `set` gives `$1` and the others their values."""
    given = (command.words[1:] for command in commands if command.name == "set")
    return any(
        word.display_text == "--" or not word.display_text.startswith(("-", "+"))
        for words in given
        for word in words
        if word.display_text != "pipefail"
    )


def _printed_by(command: SimpleCommand) -> tuple[Expansion, ...]:
    if command.name in _PRINTERS:
        return tuple(each for word in command.words[1:] for each in word.expansions)
    return command.fed


def _read_by(command: SimpleCommand) -> Iterator[str]:
    yield from (each.target.display_text for each in command.redirects if each.operator == "<")
    if command.name in _READERS:
        yield from (word.display_text for word in command.words[1:])


def escapes(text: PromptText, expansion: Expansion, lines: Sequence[str]) -> Iterator[Edit]:
    """The backslashes that make bash pass an expansion on as it is written."""
    span = expansion.span
    for number in range(span.line, min(span.end_line, len(lines)) + 1):
        line = lines[number - 1]
        at = span.column - 1 if number == span.line else 0
        end = span.end_column - 1 if number == span.end_line else len(line)
        while at < end:
            if line[at] == "\\":
                at += 2
                continue
            if _is_special(text, expansion, line, at):
                yield Edit.of(Span.at(number, at + 1), "\\")
            at += 1


def _is_special(text: PromptText, expansion: Expansion, line: str, at: int) -> bool:
    sign = line[at]
    if sign == "`":
        return True
    if sign == '"':
        return expansion.quoted
    match = _INSERTED.match(line, at) if sign == "$" else None
    if match is None:
        return False
    name = match[1] or match[2]
    # What the pack sets is meant to be filled in, between backquotes too.
    return name is None or not (text.sets_anything or name in text.sets)
