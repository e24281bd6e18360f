"""The commands that a statement hands on, verbatim: in code, in shell blocks, after "run"."""

import re
from collections.abc import Iterator, Sequence

from oraclepack.answers.sentences import masked
from oraclepack.pack.answer_sections import FENCE, numbered
from oraclepack.system.markdown_text import code_spans

_SHELLS = frozenset({"bash", "sh", "shell", "zsh", "console", "shell-session", "terminal"})
_PROGRAMS = (
    "ack|ag|ansible|aws|az|bash|bazel|bun|bundle|cargo|cat|ck|cmake|codex|composer|ctest|curl|deno"
    "|docker|docker-compose|dotnet|eslint|fd|find|gcloud|gemini|gh|git|go|gradle|grep|helm|hyperfine"
    "|java|jest|jq|just|k6|kubectl|ls|make|mix|mvn|mypy|node|nox|npm|npx|oracle|oraclepack|php|pip"
    "|playwright|pnpm|podman|psql|pytest|python|python3|rake|redis-cli|rg|rspec|ruff|sed|sh|sqlite3"
    "|strace|task-master|terraform|tm|tox|tsc|uv|vitest|wrk|yarn"
)
_COMMAND = re.compile(rf"(?:\$\s+)?(?:\w+=\S+\s+)*(?:\./[\w./-]+|(?:{_PROGRAMS})(?=\s))\s*\S")
_QUOTED = r"\"(?:\\.|[^\"\\])*\"|'[^']*'"
_STOPS = (
    "a|an|and|are|as|at|by|for|from|if|in|into|is|it|of|on|or|so|that|the|then|this|to|via|when"
    "|where|which|with"
)
_NAME = rf"(?!(?:{_STOPS})\b)[A-Za-z][\w-]*(?=[\s.,;)]|$)"
_MARKED = (
    rf"-{{1,2}}\w[^\s\"'`]*(?:\s+{_NAME})?|" r"[^\s\"'`]*[/*_=<>$~:][^\s\"'`]*|\w[\w-]*\.\w+|\."
)
_BARE = re.compile(
    rf"(?:run|runs|running|execute|executes|example|concretely|e\.g\.,?|then|or|and|[:(]|^)[\s:(*_]*"
    rf"(?P<command>(?:\./[\w./-]+|(?:{_PROGRAMS})(?=\s))(?:\s+{_NAME}){{0,2}}"
    rf"(?:\s+(?:(?:{_QUOTED})(?:\s+{_NAME})?|{_MARKED}))*)",
    re.IGNORECASE | re.MULTILINE,
)
"""A command without backquotes: its program, one or two words, then what only commands have."""
_SURE = re.compile(rf"\s(?:-{{1,2}}\w|{_QUOTED})")
_ASKED = re.compile(r"(?:run|execute)", re.IGNORECASE)
_NOT = re.compile(
    r"\b(?:not|never|don[’']t|forbid|block|deny|reject|instead of|avoid)\b[^.;:]*$", re.IGNORECASE
)


def commands_in(text: str) -> tuple[str, ...]:
    """The commands of a statement, in order."""
    commands: list[str] = []
    block: list[str] = []
    for _, line, opened in numbered((*text.split("\n"), "")):
        if opened:
            block.append(line)
            continue
        commands += _from_block(block) if block else ()
        block = []
        commands += [*_in_code(line), *_bare(line)]
    return tuple(dict.fromkeys(commands))


def _from_block(block: Sequence[str]) -> list[str]:
    """The commands of a shell code block, one for each line; continued lines are one command."""
    opening = FENCE.match(block[0])
    language = opening["info"].strip().lower().partition(" ")[0] if opening is not None else ""
    body = [line for line in block[1:] if FENCE.match(line) is None]
    lines = [line.strip() for line in "\n".join(body).replace("\\\n", " ").split("\n")]
    if any(line.startswith("$ ") for line in lines):
        # A transcript: only what was typed, not what was answered.
        lines = [line for line in lines if line.startswith("$ ")]
    typed = [" ".join(line.removeprefix("$ ").split()) for line in lines]
    is_shell = language in _SHELLS
    return [
        line
        for line in typed
        if line
        and not line.startswith("#")
        and (is_shell or (not language and _COMMAND.match(line)))
    ]


def _in_code(line: str) -> Iterator[str]:
    for start, _, code in code_spans(line):
        if _COMMAND.match(code.strip()) and not _NOT.search(line[:start]):
            yield code.strip()


def _bare(line: str) -> Iterator[str]:
    """Commands without backquotes: after "run", or with a flag or a quotation."""
    for match in _BARE.finditer(masked(line)):
        command = line[match.start("command") : match.end("command")].rstrip(",;:")
        command = command if command.endswith(" .") else command.rstrip(".")
        is_asked = _ASKED.match(match[0]) is not None and " " in command
        if (is_asked or _SURE.search(command)) and not _NOT.search(line[: match.start()]):
            yield command
