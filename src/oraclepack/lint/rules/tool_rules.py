"""OP6xx: how the tools are called."""

import re
from collections.abc import Iterator
from itertools import pairwise

from msgspec.structs import replace

from oraclepack.lint.finding import Severity
from oraclepack.lint.rule import Problem, Subject, rule
from oraclepack.lint.wrapped_calls import losses
from oraclepack.pack.model import Step
from oraclepack.pack.questions import asking_calls, is_question
from oraclepack.pack.script import Enclosure, SimpleCommand, Span
from oraclepack.pack.tool_call import ToolCall
from oraclepack.tools.argv import ArgvProblem, Loss
from oraclepack.tools.flag_tables import table_of
from oraclepack.tools.tool_names import ORACLE, FlagFault
from oraclepack.tools.wrappers import PACKAGE_RUNNERS

_EARLY = {"head": (), "grep": ("-q", "-m", "--quiet", "--max-count")}
"""Programs that stop reading before the end, and the flags that make them do so."""
_PIPE = re.compile(r"\s*(?:\d?>&\d\s*)?\|&?\s*")
_TYPOGRAPHIC = frozenset("–—“”‘’")
"""What a word processor makes of hyphens and quotes."""
_PLACEHOLDER = re.compile(r"\{\{\s*[\w.-]+\s*\}\}")
_OPENED = re.compile(r"[\w.-]+\s*\}\}")
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


@rule("OP601", Severity.WARNING, Severity.ERROR)
def unguarded_tool(subject: Subject) -> Iterator[Problem]:
    """A step that uses codex, gemini or task-master checks first that it is installed.

    Why: these tools are optional; a step that checks can say `SKIP` instead of failing halfway.
    Fix: put `command -v codex >/dev/null || { echo "SKIP: codex not found"; exit 0; }` before the
    call, or the call into an `if`.

    Bad::
        # 01) without a check
        codex exec "Fix the test." -o docs/fixed.md

    Good::
        # 01) with a check
        if ! command -v codex >/dev/null; then
          echo "SKIP: codex not found"
        else
          codex exec "Fix the test." -o docs/fixed.md
        fi
    """
    for step in subject.pack.steps:
        named: set[str] = set()
        for call in step.calls:
            fetched = any(name.split()[0] in PACKAGE_RUNNERS for name in call.wrappers)
            if call.tool == ORACLE or call.guarded or fetched or call.tool in named:
                continue
            named.add(call.tool)
            message = f"{call.spelled} is called without asking whether it is there"
            skip = f'{{ echo "SKIP: {call.spelled} not found"; exit 0; }}'
            hint = f"put before it: command -v {call.spelled} >/dev/null || {skip}"
            yield Problem(call.span, message, hint, step=step.id)


@rule("OP602", Severity.WARNING)
def interactive_use(subject: Subject) -> Iterator[Problem]:
    """No command of a step waits for a person.

    Why: a step has no terminal and its standard input is empty; such a command fails or does
    nothing.
    Fix: call the tool in its headless form: `codex exec`, `gemini -p`, `parse-prd --force`,
    `oracle -p`.

    Bad::
        # 01) interactive
        codex "Fix the test."

    Good::
        # 01) headless
        codex exec "Fix the test."
    """
    for step in subject.pack.steps:
        yield from _waiting(step, subject.lines)


def _waiting(step: Step, lines: list[str]) -> Iterator[Problem]:
    """The commands of a step that need a person; `lines` are those of the pack."""
    for call in step.calls:
        is_whole = not call.partly_hidden and "xargs" not in call.wrappers
        tool = _tool(call, fed=_fed(call, lines)) if is_whole else None
        if tool is not None:
            yield Problem(call.span, *tool)
    if any(redirect.operator == "<" for c in step.script.commands for redirect in c.redirects):
        return
    for command in step.script.commands:
        yield from _plain(command, lines)


def _plain(command: SimpleCommand, lines: list[str]) -> Iterator[Problem]:
    given = {word.display_text for word in command.words[1:]}
    if command.name in EDITORS and not given & _UNATTENDED and not command.function:
        message = f"{command.name} is for a terminal, and a step has none"
        yield Problem(command.span, message, "change the file with a command that does not ask")
    fed = bool(command.heredocs or command.redirects or "<" in _text(command.span, lines))
    if command.name == "read" and not fed and not command.places & _FED and "-u" not in given:
        message = "read waits for a person: the standard input of a step is empty"
        yield Problem(command.span, message, "read from a file, or take the value from a variable")


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
    if call.has("--help", "--version"):
        return None
    if call.subcommand in {None, "resume"}:
        return "codex opens its own screen here", "use codex exec"
    if call.subcommand == "exec" and not call.operands and not fed:
        return "codex exec has no prompt", "give the prompt as its last word"
    return None


def _gemini(call: ToolCall, *, fed: bool) -> tuple[str, str] | None:
    if call.has("--prompt-interactive"):
        return "gemini -i goes on talking after the answer", "use -p"
    shows = ("--help", "--version", "--list-extensions", "--list-sessions", "--delete-session")
    if call.subcommand is not None or call.has(*shows):
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


@rule("OP603", Severity.WARNING)
def not_interceptable(subject: Subject) -> Iterator[Problem]:
    """A tool is called in a way that oraclepack can intercept.

    Why: oraclepack sees such a call only where the tool is a Node program. Otherwise it is neither
    cached nor retried nor limited, its output path is not checked, and its step fails as ESCAPED.
    Fix: call the tool by its bare name and leave PATH alone.

    Bad::
        # 01) by its path
        /usr/local/bin/oracle -p "Why?" --write-output a.md

    Good::
        # 01) by its name
        oracle -p "Why?" --write-output a.md
    """
    for step in subject.pack.steps:
        for call in step.calls:
            if call.escapes is not None:
                message = f"oraclepack cannot see this call of {call.tool}: {call.escapes}"
                hint = f"call {call.tool} by its bare name"
                yield Problem(call.span, message, hint, step=step.id)


@rule("OP604", Severity.WARNING)
def refused_argument(subject: Subject) -> Iterator[Problem]:
    """A tool is given flags and words that it knows.

    Why: it refuses the whole call, after the steps before it have been paid for.
    Fix: correct the flag. What is known is the version that `oraclepack doctor` names; a newer
    tool may know more.

    Bad::
        # 01) mistyped
        oracle -p "Why?" --write-ouput a.md

    Good::
        # 01) correct
        oracle -p "Why?" --write-output a.md
    """
    for step in subject.pack.steps:
        for call in step.calls:
            for problem in call.parsed.problems:
                message, hint = _refusal(call, problem)
                yield Problem(call.argv[problem.at].span, message, hint, step=step.id)
            odd = next((word for word in call.operands if word.source[:1] in _TYPOGRAPHIC), None)
            if odd is not None:
                message = (
                    f"{odd.display_text} begins with {odd.source[0]}, which is no sign of bash"
                )
                hint = "write a plain hyphen or plain quotes in its place"
                yield Problem(odd.span, message, hint, step=step.id)
            for word in [call.argv[at] for at in call.parsed.excess[:1] if odd is None]:
                message = f"{call.tool} takes no further word here: {word.display_text}"
                yield Problem(word.span, message, "quote the question as one word", step=step.id)


def _refusal(call: ToolCall, problem: ArgvProblem) -> tuple[str, str]:
    name = f"{call.tool} {call.subcommand}" if call.subcommand else call.tool
    known = f"{table_of(call.tool).tool} {table_of(call.tool).version}"
    match problem.fault:
        case FlagFault.UNKNOWN:
            near = f"did you mean {problem.nearest}?" if problem.nearest else ""
            hint = near or "remove it, or allow this rule if your version has it"
            return f"{name} has no flag {problem.spelled} (as of {known})", hint
        case FlagFault.NO_VALUE:
            return f"{problem.spelled} lacks its value", f"write {problem.spelled} <value>"
        case _:
            hint = f"one of: {', '.join(problem.allowed)}"
            return f"{name} does not take this value for {problem.spelled}", hint


@rule("OP606", Severity.WARNING)
def call_in_background(subject: Subject) -> Iterator[Problem]:
    """A step waits for the calls that it sends to the background.

    Why: the commands after the call run before the answer is there, and nobody looks at its exit
    code; oraclepack waits for the answer when the step has ended.
    Fix: remove the `&`, or end the step with `wait`.

    Bad::
        # 01) does not wait
        oracle -p "Why?" --write-output a.md &

    Good::
        # 01) waits
        oracle -p "Why?" --write-output a.md &
        wait
    """
    for step in subject.pack.steps:
        if any(command.name == "wait" for command in step.script.commands):
            continue
        for call in step.calls:
            if Enclosure.BACKGROUND in call.places:
                message = f"the step does not wait for this call of {call.tool}"
                yield Problem(call.span, message, "remove the &, or end the step with wait")


@rule("OP607", Severity.WARNING)
def detached_call(subject: Subject) -> Iterator[Problem]:
    """An oracle call stays until its answer is there.

    Why: with `--no-wait` oracle ends at once and a worker of its own writes the answer later; if
    that fails, it goes unnoticed.
    Fix: remove `--no-wait`.

    Bad::
        # 01) detaches
        oracle -p "Why?" --no-wait --write-output a.md

    Good::
        # 01) waits for the answer
        oracle -p "Why?" --wait --write-output a.md
    """
    for step in subject.pack.steps:
        for call in step.oracle_calls:
            waits = [use for use in call.parsed.flags if use.name in {"--wait", "--no-wait"}]
            if waits and waits[-1].name == "--no-wait":
                message = "--no-wait ends the call before the answer is there"
                yield Problem(call.argv[waits[-1].at].span, message, "remove --no-wait")


@rule("OP608", Severity.WARNING)
def closed_pipe(subject: Subject) -> Iterator[Problem]:
    """What reads from oracle reads to the end.

    Why: when its standard output is closed early oracle crashes and writes no answer.
    Fix: send the output to a file, or leave it; the answer is in the `--write-output` file.

    Bad::
        # 01) reads only the beginning
        oracle -p "Why?" --write-output a.md | head -n 5

    Good::
        # 01) reads the file
        oracle -p "Why?" --write-output a.md
        head -n 5 a.md
    """
    lines = subject.lines
    for step in subject.pack.steps:
        spans = {call.span for call in asking_calls(step) if Enclosure.PIPELINE in call.places}
        commands = step.script.commands
        for command, after in pairwise(commands):
            piped = command.span in spans and _joined(lines, command.span, after.span)
            if piped and _stops_early(after):
                message = f"{after.name} closes the pipe early, so oracle crashes"
                yield Problem(after.span, message, "read the output file instead")


def _joined(lines: list[str], before: Span, after: Span) -> bool:
    if before.end_line != after.line:
        return False
    between = lines[after.line - 1][before.end_column - 1 : after.column - 1]
    return _PIPE.fullmatch(between) is not None


def _stops_early(command: SimpleCommand) -> bool:
    flags = _EARLY.get(command.name or "")
    given = [word.display_text for word in command.words[1:]]
    return flags is not None and (not flags or any(word.startswith(flags) for word in given))


@rule("OP609", Severity.WARNING)
def unrendered_placeholder(subject: Subject) -> Iterator[Problem]:
    """No `{{placeholder}}` of a template is where a command or its files should be.

    Why: bash would look for a program of that name.
    Fix: fill in the template.

    Bad::
        # 01) a template
        {{oracle_cmd}} -p "Why?" --write-output a.md

    Good::
        # 01) filled in
        oracle -p "Why?" --write-output a.md
    """
    lines = subject.lines
    for step in subject.pack.steps:
        for command in step.script.commands:
            start = command.span.column - 1
            before = lines[command.span.line - 1][max(start - 2, 0) : start]
            name = command.words[0].source if command.words else ""
            if before == "{{" and _OPENED.match(name):
                message = f"{{{{{name} is a placeholder, not a command"
                where = replace(command.span, column=start - 1)
                yield Problem(where, message, "fill in the template", step=step.id)
        words = [output.path for output in step.outputs]
        words += [each.word for call in step.calls for each in call.attachments]
        for word in words:
            match = _PLACEHOLDER.search(word.display_text) if "{{" in word.display_text else None
            if match is not None:
                message = f"{match[0]} is a placeholder, not a path"
                yield Problem(word.span, message, "fill in the template", step=step.id)
