"""OP2xx: what bash would make of the block, and whether that is what the author meant."""

import re
from collections.abc import Iterator

from oraclepack.lint.finding import CheckStatus, Severity
from oraclepack.lint.rule import Problem, Subject, rule, text_between
from oraclepack.lint.wrapped_calls import Stretch
from oraclepack.pack.script import Span, Substitution

_COVERED_BY_OTHERS = frozenset({"SC2215"})
"""What shellcheck says of orphaned flags; OP201 says it with a fix."""
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


@rule("OP201", Severity.ERROR)
def orphaned_flag(subject: Subject) -> Iterator[Problem]:
    r"""A flag belongs to the command before it: no line begins a command with a flag.

    Why: without a backslash at the end of the line before, bash ends the call there, asks the
    question without the flag, and then looks for a program named `-p`.
    Fix: add a backslash at the end of the line before, and put no blank line or comment between
    them. `validate --fix` adds the backslash where the line before ends the call.

    Bad::
        # 01) one question
        oracle -f src/api.py
          -p "Why?"

    Good::
        # 01) one question
        oracle -f src/api.py \
          -p "Why?"
    """
    for stretch in subject.stretches:
        for orphan in stretch.orphans:
            flag = orphan.words[0]
            fix = stretch.join(orphan)
            words = flag.source.partition("\n")[0][:40]
            message = f"orphaned flag {words}: bash would run it as a command"
            hint = "join it to its call: a backslash ends every line but the last"
            hint = fix.description if fix is not None else hint
            yield Problem(flag.span, message, hint, fix)


@rule("OP202", Severity.ERROR)
def comment_in_wrapped_call(subject: Subject) -> Iterator[Problem]:
    r"""No comment is between the lines of a wrapped call.

    Why: a comment ends the command. What follows on the next line is not part of the call, and
    after `\ #` the tool even receives the comment as words.
    Fix: move the comment above the call. After the last line of a call it is fine.

    Bad::
        # 01) one question
        oracle -f src/api.py \ # the reference
          -p "Why?"

    Good::
        # 01) one question
        # the reference:
        oracle -f src/api.py \
          -p "Why?"
    """
    for stretch in subject.stretches:
        cut = {stretch.comment_before(orphan) for orphan in stretch.orphans}
        cut |= {comment for _, comment in stretch.false_continuations()}
        for comment in cut - {None}:
            assert comment is not None
            message = "this comment ends the call in the middle"
            yield Problem(comment.span, message, "move it above the call")


@rule("OP203", Severity.ERROR)
def bash_syntax(subject: Subject) -> Iterator[Problem]:
    """Bash can read the block.

    Why: bash would stop in the middle of a step, perhaps after a paid call.
    Fix: look at the line, and above it for a quote, bracket or heredoc that is never closed.

    Bad::
        # 01) one question
        if true; then
          oracle -p "Why?" --write-output a.md

    Good::
        # 01) one question
        if true; then
          oracle -p "Why?" --write-output a.md
        fi
    """
    check, block = subject.facts.syntax, subject.pack.block
    hint = "look above it for a quote, bracket or heredoc that is never closed"
    if block is not None and block.closed and subject.pack.fences[-1].span > block.span:
        end, longer = block.span.end_line, block.marker + block.marker[0]
        hint += f"; if line {end} belongs to a prompt, put {longer} around the block"
    for diagnostic in check.diagnostics:
        where = Span.at(diagnostic.line, max(diagnostic.column, 1))
        yield Problem(where, f"bash cannot read this: {diagnostic.message}", hint)
    if check.status is CheckStatus.FAILED and not check.diagnostics and block is not None:
        where = Span.at(block.content_line)
        yield Problem(where, f"bash cannot read the block: {check.reason}".rstrip(": "), hint)


@rule("OP204", Severity.ERROR)
def crosses_step_boundary(subject: Subject) -> Iterator[Problem]:
    """Every loop, condition, function and group ends in the step in which it begins.

    Why: steps run one by one, so that half of a construct would be in each of them.
    Fix: close it before the header, or move the header out of it.

    Bad::
        # 01) ROI=4.0 one question
        if true; then
          oracle -p "Why?" --write-output a.md
        # 02) ROI=3.0 another question
          oracle -p "How?" --write-output b.md
        fi

    Good::
        # 01) ROI=4.0 one question
        if true; then
          oracle -p "Why?" --write-output a.md
        fi
        # 02) ROI=3.0 another question
        oracle -p "How?" --write-output b.md
    """
    for comment in subject.pack.swallowed:
        number = comment.text.partition(")")[0][:12]
        message = f"step header {number}) is inside a construct that begins before it"
        hint = "end the loop, condition, function or continued line before it"
        yield Problem(comment.span, message, hint)


@rule("OP205", Severity.WARNING, Severity.ERROR)
def shellcheck_error(subject: Subject) -> Iterator[Problem]:
    """Shellcheck finds no errors in the block.

    Why: it knows mistakes that bash only notices, or silently misreads, when the line runs.
    Fix: see the page of the code. Without shellcheck the check is reported as skipped.

    Bad::
        # 01) one question
        notes=(-f "one note.md" -f b.md)
        oracle -p "Why?" --write-output a.md ${notes[@]}

    Good::
        # 01) one question
        notes=(-f "one note.md" -f b.md)
        oracle -p "Why?" --write-output a.md "${notes[@]}"
    """
    yield from _shellcheck(subject, "error")


@rule("OP209", Severity.WARNING)
def shellcheck_warning(subject: Subject) -> Iterator[Problem]:
    """Shellcheck has no warnings about the block.

    Why: most of them are words that split, or commands whose failure goes unnoticed.
    Fix: see the page of the code. Remarks about style are left out.

    Bad::
        # 01) one question
        oracle -p "Why?" -f $(head -1 list.txt) --write-output a.md

    Good::
        # 01) one question
        oracle -p "Why?" -f "$(head -1 list.txt)" --write-output a.md
    """
    yield from _shellcheck(subject, "warning")


def _shellcheck(subject: Subject, level: str) -> Iterator[Problem]:
    unreadable = subject.facts.syntax.status is CheckStatus.FAILED
    for diagnostic in subject.facts.shellcheck.diagnostics:
        # Codes below 2000 are about syntax: where bash reports a syntax error, that is enough.
        is_echo = unreadable and diagnostic.code.startswith("SC1")
        if diagnostic.level == level and diagnostic.code not in _COVERED_BY_OTHERS and not is_echo:
            where = Span.at(diagnostic.line, max(diagnostic.column, 1))
            hint = (
                f"see https://www.shellcheck.net/wiki/{diagnostic.code}" if diagnostic.code else ""
            )
            yield Problem(
                where, f"{diagnostic.code}: {diagnostic.message}".removeprefix(": "), hint
            )


@rule("OP208", Severity.WARNING)
def blank_after_backslash(subject: Subject) -> Iterator[Problem]:
    r"""Nothing, not even a blank, follows the backslash that continues a line.

    Why: a backslash before a blank is the blank itself: the tool receives it as a word, and the
    command ends with the line.
    Fix: remove the blanks at the end of the line.

    Bad::
        # 01) one question, whose first line ends with a blank
        oracle -f src/api.py \␠
          -p "Why?"

    Good::
        # 01) one question
        oracle -f src/api.py \
          -p "Why?"
    """
    for stretch in subject.stretches:
        for (line, column), comment in stretch.false_continuations():
            if comment is None:
                message = "blanks after the backslash: the line is not continued"
                yield Problem(Span.at(line, column), message, "remove the blanks")


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
        rest = stretch.rest(end)
        if rest.lstrip().startswith("|&"):
            yield "|&", Span.at(end[0], end[1] + rest.index("|"))
    if declares:
        yield from _maps(stretch)


def _maps(stretch: Stretch) -> Iterator[tuple[str, Span]]:
    """`declare -A` at the start of a line that is neither in a string nor in a heredoc."""
    # A block that is opened on the last line of the file spans a line that is not there.
    last = min(stretch.span.end_line, len(stretch.lines))
    lines = range(stretch.span.line, last + 1)
    declarations = [
        number
        for number in lines
        if (line := stretch.lines[number - 1]).lstrip(" \t").startswith(_DECLARERS)
        if re.match(_MAP, line)
    ]
    if not declarations:
        return
    texts = [heredoc.span for heredoc in stretch.script.heredocs]
    texts += [word.span for command in stretch.script.commands for word in command.words]
    covered = {line for span in texts for line in range(span.line + 1, span.end_line + 1)}
    covered |= {heredoc.span.line for heredoc in stretch.script.heredocs}
    for number in declarations:
        if number not in covered:
            yield "declare -A", Span.at(number)
