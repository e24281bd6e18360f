"""The commands that an answer asks to run, verbatim, not those it only mentions."""

import re
from collections.abc import Iterator, Sequence

from oraclepack.answers.sentences import masked, word_set
from oraclepack.pack.answer_sections import FENCE, numbered
from oraclepack.system.markdown_text import code_spans

_SHELLS = frozenset({"", "bash", "sh", "shell", "zsh", "console", "shell-session", "terminal"})
_PROGRAMS = (
    "ack|ag|ansible|awk|aws|az|bash|bazel|bun|bundle|cargo|cat|ck|cmake|codex|composer|ctest|curl"
    "|deno|diff|docker|docker-compose|dotnet|eslint|fd|find|gcloud|gdb|gemini|gh|git|go|gradle|grep"
    "|head|helm|hyperfine|java|jest|jq|just|k6|kubectl|locust|ls|make|mix|mvn|mypy|mysql|node|nox"
    "|npm|npx|oracle|oraclepack|perf|php|pip|playwright|pnpm|podman|psql|pytest|python|python3|rake"
    "|redis-cli|rg|rspec|ruff|rustc|sed|sh|sqlite3|strace|tail|task-master|terraform|time|tm|tox"
    "|tsc"
    "|uv|valgrind|vitest|wc|wget|wrk|xargs|yarn"
)
_SEARCHES = frozenset({"ack", "ag", "ck", "fd", "find", "git", "grep", "rg"})
_QUOTED = r"\"(?:\\.|[^\"\\])*\"|'[^']*'"
_WORD = rf"(?:{_QUOTED}|[^\s\"'`()])(?:{_QUOTED}|[^\s\"'`()]|\((?=\S))*"
_KNOWN = re.compile(
    rf"(?:\$\s+)?(?:\w+=\S+\s+)*(?P<program>\./[\w./-]+|(?:[\w.-]*/)*(?:{_PROGRAMS}))(?=\s|$)"
)
_SHAPED = re.compile(r"(?:\$\s+)?(?:\./)?[a-z][\w.-]*(?=\s+(?:-{1,2}\w|\"|'))")
"""A program that is not known by name: a word in small letters followed by a flag or a quote."""
_NEXT = re.compile(rf"\s+(?P<word>{_WORD})")
_ARGUMENT = re.compile(r"-{1,2}\w|[\"'$<>|&./~*\\]|\w+=|.*[/.*:=<>_\d]|.*[A-Z]")
_STOPS = word_set(
    "a an and are as at but by for from if in into is it of on or so that the then this to via "
    "when where which while with you your across against inside plus returns should must "
    "asserts assert checks check"
)
_LEADS = re.compile(
    r"(?:^|\b(?:run|runs|running|execute|executing|example|concretely|command|try|via|using|use"
    r"|with|then|or|e\.g\.,?|i\.e\.,?))[\s:(*_“\"]*$",
    re.IGNORECASE,
)
_MAY_LEAD = re.compile(r"(?::|;|\band)[\s(*_“\"]*$", re.IGNORECASE)
"""Leads to a command if that is a program known by name."""
_NOT = re.compile(
    r"\b(?:not|never|don[’']t|forbid|forbidden|block|deny|reject|instead of|avoid)\b[^.;:]*$",
    re.IGNORECASE,
)


def commands_in(text: str) -> tuple[str, ...]:
    """The commands that a unit asks to run, in order."""
    commands: list[str] = []
    block: list[str] = []
    for _, line, opened in numbered((*text.split("\n"), "")):
        if opened:
            block.append(line)
            continue
        commands += _from_block(block) if block else ()
        block = []
        commands += [command for _, command in sorted([*_in_code(line), *_bare(line)])]
    return tuple(dict.fromkeys(commands))


def is_command(text: str) -> bool:
    """Whether a text as a whole is a command."""
    bare = text.strip().strip("`*")
    known = _KNOWN.match(bare)
    return bool(_arguments(bare, known.end()) if known is not None else _SHAPED.match(bare))


def _is_code_command(span: str) -> bool:
    """In backquotes all of it is the command, whatever its arguments look like."""
    known = _KNOWN.match(span)
    return is_command(span) or (known is not None and known.end() < len(span))


def is_search(command: str) -> bool:
    """Whether a command looks for a text in files."""
    known = _KNOWN.match(command)
    return known is not None and known["program"].rpartition("/")[2] in _SEARCHES


def _from_block(block: Sequence[str]) -> list[str]:
    """The commands of a shell code block, one for each line; continued lines are one command."""
    opening = FENCE().match(block[0])
    language = opening["info"].strip().lower().partition(" ")[0] if opening is not None else ""
    if language not in _SHELLS:
        return []
    body = [line for line in block[1:] if FENCE().match(line) is None]
    lines = [line.strip() for line in "\n".join(body).replace("\\\n", " ").split("\n")]
    if any(line.startswith("$ ") for line in lines):
        # A transcript: only what was typed, not what was answered.
        lines = [line for line in lines if line.startswith("$ ")]
    typed = (" ".join(line.removeprefix("$ ").split()) for line in lines)
    return [line for line in typed if line and not line.startswith("#") and _runs(line, language)]


def _runs(line: str, language: str) -> bool:
    return bool(language or _KNOWN.match(line) or is_command(line))


def _in_code(line: str) -> Iterator[tuple[int, str]]:
    for start, _, code in code_spans(line):
        span = code.strip()
        before = line[:start].rstrip("*_ ")
        if _is_code_command(span) and _leads(before, span) and not _NOT.search(before):
            yield start, span


def _leads(before: str, command: str) -> bool:
    """What is before a command asks to run it."""
    is_known = _KNOWN.match(command) is not None
    return bool(_LEADS.search(before) or (is_known and _MAY_LEAD.search(before)))


def _bare(line: str) -> Iterator[tuple[int, str]]:
    """Commands without backquotes: from the program to the last word that can be an argument."""
    mask = masked(line)
    at = 0
    while at < len(line):
        match = _program_at(line, at)
        before = mask[:at]
        if (
            match is None
            or mask[at : at + 1] in "`\0"
            or not _leads(before, line[at:])
            or _NOT.search(before)
        ):
            following = line.find(" ", at)
            opened = line.find("(", at)
            steps = [one for one in (following, opened) if one >= 0]
            if not steps:
                return
            at = min(steps) + 1
            continue
        end = _arguments(line, match)
        if end:
            yield at, line[at:end].rstrip(".,;:")
            at = end
        else:
            at = match


def _program_at(line: str, at: int) -> int | None:
    """Where the program ends that a command at this place would start."""
    match = _KNOWN.match(line, at) or _SHAPED.match(line, at)
    return match.end() if match is not None else None


def _arguments(line: str, at: int) -> int:
    """The end of the last argument; 0 when none of the words looks like one."""
    end, position, after_flag = at, False, False
    while (match := _NEXT.match(line, end)) is not None:
        word = match["word"]
        is_name = word[0].isupper() and not after_flag
        if word.lower().strip(".,;:") in _STOPS or (position and is_name):
            break
        position = position or _ARGUMENT.match(word) is not None
        after_flag = word.startswith("-")
        end = match.end()
        if word.endswith((".", ",", ";", ":")):
            break
    return end if position else 0
