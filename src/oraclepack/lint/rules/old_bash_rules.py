"""OP2xx: what bash 3.2, as macOS ships it, cannot do. Always advice."""

import re
from collections.abc import Iterator

from oraclepack.lint.finding import Severity
from oraclepack.lint.rule import Problem, Subject, rule, text_between
from oraclepack.lint.wrapped_calls import Stretch
from oraclepack.pack.script import Span, Substitution

_QUOTES = ("'", '"', "`")
# One at a time: Python before 3.11.5 repeats groups possessively in a wrong way (gh-106052).
_PAIR = r"""[^'"`\\#]+|\\.|'[^']*'|"[^"\\]*(?:\\.[^"\\]*)*"|`[^`\\]*(?:\\.[^`\\]*)*`"""
_PAIRED = re.compile(rf"{_PAIR}|#", re.DOTALL)
_PAIRED_OR_COMMENT = re.compile(rf"(?<=[\s(])#[^\n]*|{_PAIR}|#", re.DOTALL)
"""As bash 3.2 reads `$(…)`: outside double quotes it skips what looks like a comment."""
_NEW_COMMANDS = frozenset({"mapfile", "readarray", "coproc"})
_CASE = re.compile(r"\$\{!?\w+(?:\[[^]\n]{0,99}\])?(?:\^\^?|,,?)")
_DECLARERS = ("declare", "typeset", "local")
_MAP = r"[ \t]*(?:declare|typeset|local)[ \t]+-[a-zA-Z]{0,9}A[a-zA-Z]*[ \t]+\w+(?:=\(|$)"


@rule("OP206", Severity.ADVICE)
def unclosed_quote_in_heredoc(subject: Subject) -> Iterator[Problem]:
    """The quotes of heredocs inside `$(…)` come in pairs, apostrophes among them.

    Why: bash 3.2 looks for the end of `$(…)` without knowing heredocs. It pairs quotes, apostrophes
    and backquotes as it meets them, and does not find the end where one has no partner. Two
    apostrophes are a pair, one between double quotes needs none, nor does one in a line that looks
    like a comment, if no double quotes are around the `$(…)`.
    Fix: write the word without its apostrophe, read the heredoc with `read -r -d ''` instead, or
    use a newer bash.

    Bad::
        # 01) one question
        oracle --write-output a.md -p "$(cat <<'PROMPT'
        Why doesn't it stop?
        PROMPT
        )"

    Good::
        # 01) one question
        oracle --write-output a.md -p "$(cat <<'PROMPT'
        Why does it not stop?
        PROMPT
        )"
    """
    for stretch in subject.stretches:
        for substitution in stretch.script.substitutions:
            place = _unclosed_quote(substitution, subject.lines)
            if place is not None:
                message = "bash 3.2 cannot read this heredoc in $(…): a quote without a partner"
                yield Problem(place, message, "reword it without the apostrophe or quote")


def _unclosed_quote(substitution: Substitution, lines: list[str]) -> Span | None:
    """Where the quote stands that is still open where the substitution ends."""
    span = substitution.span
    text = text_between(lines, span)[:-1]
    if not any(quote in text for quote in _QUOTES):
        return None
    paired = _PAIRED if substitution.quoted else _PAIRED_OR_COMMENT
    end = len("$(")
    while match := paired.match(text, end):
        end = match.end()
    if end >= len(text):
        return None
    before = text[:end]
    column = end - before.rfind("\n") if "\n" in before else span.column + end
    return Span.at(span.line + before.count("\n"), column)


@rule("OP207", Severity.ADVICE)
def needs_bash_4(subject: Subject) -> Iterator[Problem]:
    """The block does with bash 3.2.

    Why: macOS ships bash 3.2, which knows no `mapfile`, `declare -A`, `${x^^}`, `|&`, `&>>` or
    `coproc`. Each is named once, where it is first used.
    Fix: use `while read`, plain arrays, `tr`, `2>&1 |`, `>> file 2>&1`; or tell readers which
    bash the pack needs.

    Bad::
        # 01) one question
        mapfile -t files < list.txt
        oracle -p "Why?" -f "${files[0]}" --write-output a.md

    Good::
        # 01) one question
        read -r file < list.txt
        oracle -p "Why?" -f "$file" --write-output a.md
    """
    seen: set[str] = set()
    declares = any(word in subject.pack.text for word in _DECLARERS)
    for stretch in subject.stretches:
        for construct, span in _new_things(stretch, declares=declares):
            if construct not in seen:
                seen.add(construct)
                yield Problem(span, f"{construct} needs bash 4; macOS ships 3.2")


def _new_things(stretch: Stretch, *, declares: bool) -> Iterator[tuple[str, Span]]:
    for command, end in zip(stretch.script.commands, stretch.ends, strict=True):
        if command.name in _NEW_COMMANDS:
            yield command.name or "", command.span
        for word in command.words:
            # Most words expand nothing, or are prompts.
            expands = "${" in word.source and ("^" in word.source or "," in word.source)
            expands = expands and "'" not in word.source
            match = _CASE.search(word.source) if expands else None
            if match is not None:
                yield f"{match[0]}}}", word.span
        for redirect in command.redirects:
            if redirect.operator == "&>>":
                yield "&>>", redirect.span
        yield from _pipe(stretch, end)
    if declares:
        yield from _maps(stretch)


def _pipe(stretch: Stretch, place: tuple[int, int]) -> Iterator[tuple[str, Span]]:
    rest = stretch.rest(place)
    if rest.lstrip().startswith("|&"):
        yield "|&", Span.at(place[0], place[1] + rest.index("|"))


def _maps(stretch: Stretch) -> Iterator[tuple[str, Span]]:
    """`declare -A` at the start of a line that is neither in a string nor in a heredoc."""
    # A block that is opened on the last line of the file spans a line that is not there.
    last = min(stretch.span.end_line, len(stretch.lines))
    lines = range(stretch.span.line, last + 1)
    declarations = [number for number in lines if _declares(stretch.lines[number - 1])]
    if not declarations:
        return
    texts = [heredoc.span for heredoc in stretch.script.heredocs]
    texts += [word.span for command in stretch.script.commands for word in command.words]
    covered = {line for span in texts for line in range(span.line + 1, span.end_line + 1)}
    covered |= {heredoc.span.line for heredoc in stretch.script.heredocs}
    for number in declarations:
        if number not in covered:
            yield "declare -A", Span.at(number)


def _declares(line: str) -> bool:
    return line.lstrip(" \t").startswith(_DECLARERS) and re.match(_MAP, line) is not None
