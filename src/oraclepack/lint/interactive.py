"""Commands that wait for a person: a step has no terminal, and its stdin is empty."""

from collections.abc import Iterator

import msgspec

from oraclepack.lint.wrapped_calls import losses
from oraclepack.pack.model import Step
from oraclepack.pack.questions import is_question
from oraclepack.pack.script import Enclosure, SimpleCommand, Span
from oraclepack.pack.tool_call import ToolCall
from oraclepack.tools.argv import Loss

EDITORS = frozenset({"vi", "vim", "nvim", "nano", "pico", "emacs", "less", "more"})
_UNATTENDED = frozenset({"-e", "-es", "-s", "-Es", "-c", "--batch", "-batch", "--headless"})
_FED = frozenset(
    {
        Enclosure.PIPELINE,
        Enclosure.LOOP,
        Enclosure.FUNCTION,
        Enclosure.SUBSTITUTION,
        Enclosure.SUBSHELL,
    }
)
"""Where standard input may come from somewhere that the command itself does not show."""


class InteractiveCommand(msgspec.Struct, frozen=True):
    """A command that would wait for a person, and how to avoid it."""

    span: Span
    message: str
    hint: str


def waiting(step: Step, lines: list[str]) -> Iterator[InteractiveCommand]:
    """The commands of a step that need a person; `lines` are those of the pack."""
    for call in step.calls:
        is_whole = not call.partly_hidden and "xargs" not in call.wrappers
        tool = _tool(call, fed=_fed(call, lines)) if is_whole else None
        if tool is not None:
            yield InteractiveCommand(call.span, *tool)
    if any(redirect.operator == "<" for c in step.script.commands for redirect in c.redirects):
        return
    for command in step.script.commands:
        yield from _plain(command, lines)


def _plain(command: SimpleCommand, lines: list[str]) -> Iterator[InteractiveCommand]:
    given = {word.display_text for word in command.words[1:]}
    if command.name in EDITORS and not given & _UNATTENDED and not command.function:
        message = f"{command.name} is for a terminal, and a step has none"
        yield InteractiveCommand(
            command.span, message, "change the file with a command that does not ask"
        )
    fed = bool(command.heredocs or command.redirects or "<" in _text(command.span, lines))
    if command.name == "read" and not fed and not command.places & _FED and "-u" not in given:
        message = "read waits for a person: the standard input of a step is empty"
        yield InteractiveCommand(
            command.span, message, "read from a file, or take the value from a variable"
        )


def _tool(call: ToolCall, *, fed: bool) -> tuple[str, str] | None:
    match call.tool:
        case "oracle":
            return _oracle(call, fed=fed)
        case "codex":
            return _codex(call, fed=fed)
        case "gemini":
            return _gemini(call, fed=fed)
        case _:
            return _task_master(call, fed=fed)


def _fed(call: ToolCall, lines: list[str]) -> bool:
    """Something may be waiting on its standard input."""
    reads = any(redirect.operator in {"<", "<>", "<&"} for redirect in call.redirects)
    is_here = bool(call.heredocs) or "<<<" in _text(call.span, lines)
    return is_here or reads or bool(call.places & _FED)


def _text(span: Span, lines: list[str]) -> str:
    """The lines of a command: a here-string is no redirection in what we read of a script."""
    return "\n".join(lines[span.line - 1 : span.end_line])


def _oracle(call: ToolCall, *, fed: bool) -> tuple[str, str] | None:
    if call.subcommand == "tui":
        return "oracle tui is for a terminal", "ask by oracle -p"
    if not is_question(call) or call.has("--exec-session"):
        return None
    if call.prompt is None:
        swallowed = any(loss.loss is Loss.SWALLOWED_PROMPT for loss in losses(call))
        return None if swallowed else ("oracle is called without a question", "add -p <question>")
    if call.prompt.text == "-" and call.prompt.complete and not fed:
        return "-p - reads the question from stdin, which is empty", "feed it by a here-document"
    return None


def _codex(call: ToolCall, *, fed: bool) -> tuple[str, str] | None:
    if any(flag.name in {"--help", "--version"} for flag in call.flags):
        return None
    if call.subcommand in {None, "resume"}:
        return "codex opens its own screen here", "use codex exec"
    if call.subcommand == "exec" and not call.operands and not fed:
        return "codex exec has no prompt", "give the prompt as its last word"
    return None


def _gemini(call: ToolCall, *, fed: bool) -> tuple[str, str] | None:
    if call.has("--prompt-interactive"):
        return "gemini -i goes on talking after the answer", "use -p"
    shows = {"--help", "--version", "--list-extensions", "--list-sessions", "--delete-session"}
    if call.subcommand is not None or any(flag.name in shows for flag in call.flags):
        return None
    if call.has("--prompt") or call.operands or fed:
        return None
    return "gemini opens its own screen here", "give the prompt by -p"


def _task_master(call: ToolCall, *, fed: bool) -> tuple[str, str] | None:
    given = {word.display_text for word in call.argv}
    if call.subcommand == "parse-prd" and not fed:
        if call.has("--force") or call.has("--append"):
            return None
        message = "parse-prd asks before it replaces tasks, and does nothing without an answer"
        return message, "add --force or --append"
    if call.subcommand == "init" and not given & {"-y", "--yes"} and not fed:
        return "init asks several questions", "add --yes"
    if call.subcommand == "models" and "--setup" in given:
        return "models --setup asks several questions", "set the models by --set-main and its like"
    return None
