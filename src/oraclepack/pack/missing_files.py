"""Files that a call is sure to miss: attached by name, not there, and created by nothing before."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from posixpath import normpath

import msgspec

from oraclepack.pack.model import Pack, Step
from oraclepack.pack.questions import asking_calls
from oraclepack.pack.script import Enclosure, Script, SimpleCommand, Span
from oraclepack.pack.tool_call import AttachmentKind, ToolCall
from oraclepack.tools.tool_names import ORACLE

_READ_ONLY = frozenset(
    {
        *(":", "[", "[[", "basename", "cat", "command", "cp", "cut", "date", "declare", "dirname"),
        *("echo", "egrep", "exit", "export", "false", "fgrep", "getopts", "grep", "hash", "head"),
        *("hostname", "install", "jq", "let", "ln", "local", "ls", "mapfile", "mkdir", "mv"),
        *("printf", "pwd", "read", "readarray", "readlink", "readonly", "realpath", "return", "rg"),
        *("rm", "rmdir", "sed", "seq", "set", "shift", "shopt", "sleep", "sort", "stat", "tail"),
        *("tee", "test", "touch", "tr", "trap", "true", "truncate", "type", "typeset", "ulimit"),
        *("umask", "uname", "uniq", "unset", "wait", "wc", "which", "whoami"),
    }
)
"""Commands that create no file but those their words and redirections name."""
_MOVERS = frozenset({"cd", "pushd", "popd"})
_MAKERS = frozenset({"mkdir", "cp", "install", "ln", "mv"})
GIT_LOOKS = frozenset(
    {
        *("blame", "branch", "cat-file", "config", "describe", "diff", "for-each-ref", "grep"),
        *("log", "ls-files", "ls-tree", "merge-base", "name-rev", "remote", "rev-list"),
        *("rev-parse", "shortlog", "show", "status", "symbolic-ref", "tag"),
    }
)


def is_looking_git(command: SimpleCommand) -> bool:
    """Whether it calls git for something that changes nothing in the work tree."""
    words = (word.display_text for word in command.words[1:])
    first = next((word for word in words if not word.startswith("-")), "")
    return command.name == "git" and first in GIT_LOOKS


class MissingFile(msgspec.Struct, frozen=True):
    """An attachment that is not there when its step begins."""

    step: str
    span: Span
    path: str


def literal_attachments(pack: Pack) -> frozenset[str]:
    """The files that the calls of a pack attach by name."""
    return frozenset(
        attachment.value
        for step in pack.steps
        for call in asking_calls(step)
        for attachment in call.attachments
        if attachment.kind is AttachmentKind.LITERAL
    )


def missing_files(
    pack: Pack, missing: Collection[str], running: Collection[str], settled: Collection[str]
) -> Iterator[MissingFile]:
    """The attachments that the steps that run are sure to miss, in the order of the text.

    `missing` are attachments that are not there now. What steps write that run before, or that
    are `settled`, is not missed; and after a command that may create anything (a script, a
    program, another tool) nothing is said any more.
    """
    prelude = pack.prelude.script if pack.prelude is not None else Script()
    if not missing or not _tells_all(prelude.commands, _bodies(prelude), ()):
        return
    created = set(_named_in(prelude.commands))
    for step in sorted(pack.steps, key=lambda step: step.id):
        if step.id in settled or step.id in running:
            created |= {normpath(path) for path in step.writes}
        if step.id not in running:
            continue
        makers = (one for one in step.script.commands if one.name in _MAKERS)
        created |= set(_named_in(makers))
        bodies = {**_bodies(prelude), **_bodies(step.script)}
        if stays_put(pack, step):
            yield from _missed(step, missing, created, bodies)
        if step.writes_unknown or not _tells_all(step.script.commands, bodies, step.calls):
            return


def _missed(
    step: Step,
    missing: Collection[str],
    created: set[str],
    bodies: Mapping[str, list[SimpleCommand]],
) -> Iterator[MissingFile]:
    for call in asking_calls(step):
        if Enclosure.CONDITION in call.places:
            continue
        end = (call.span.end_line, call.span.end_column)
        before = [
            command
            for command in step.script.commands
            if (command.span.line, command.span.column) < end and command.span != call.span
        ]
        if not _tells_all(before, bodies, step.calls):
            return
        for attachment in call.attachments:
            path = attachment.value
            literal = attachment.kind is AttachmentKind.LITERAL
            if literal and path in missing and not _is_created(normpath(path), created):
                yield MissingFile(step.id, attachment.span, path)


def _is_created(path: str, created: set[str]) -> bool:
    """Whether something creates a path, a file in it, or a folder above it as a whole."""
    folder = f"{path}/"
    return any(
        path == one or one.startswith(folder) or path.startswith(f"{one}/") for one in created
    )


def _tells_all(
    commands: Iterable[SimpleCommand],
    bodies: Mapping[str, list[SimpleCommand]],
    calls: Iterable[ToolCall],
) -> bool:
    """Whether the commands create no file but those that the text names."""
    oracle = {call.span for call in calls if call.tool == ORACLE}
    others = {call.span for call in calls if call.tool != ORACLE}
    pending = [command for command in commands if not command.function]
    called: set[str] = set()
    while pending:
        command = pending.pop()
        if command.span in others:
            return False
        if command.name is not None and command.name in bodies:
            if command.name not in called:
                called.add(command.name)
                pending += bodies[command.name]
        elif command.span not in oracle and not _prints(command):
            return False
    return True


def _prints(command: SimpleCommand) -> bool:
    if any(redirect.writes and redirect.target.value is None for redirect in command.redirects):
        return False
    if not command.words or command.name == ORACLE:
        return True
    return is_looking_git(command) or command.name in _READ_ONLY


def _bodies(script: Script) -> dict[str, list[SimpleCommand]]:
    """The commands of each function."""
    bodies: dict[str, list[SimpleCommand]] = {name: [] for name in script.functions}
    for command in script.commands:
        if command.function:
            bodies.setdefault(command.function, []).append(command)
    return bodies


def stays_put(pack: Pack, step: Step) -> bool:
    """No command of the step may change the directory that its paths are relative to."""
    lent = pack.prelude.script.commands if pack.prelude is not None else ()
    commands = (*step.script.commands, *(command for command in lent if command.function))
    return not any(command.name in _MOVERS for command in commands)


def _named_in(commands: Iterable[SimpleCommand]) -> Iterator[str]:
    """Every path that some commands name, whatever they do with it: too many is safe here."""
    for command in commands:
        for word in command.words[1:]:
            if word.value and not word.value.startswith("-"):
                yield normpath(word.value)
        for redirect in command.redirects:
            if redirect.target.value:
                yield normpath(redirect.target.value)
