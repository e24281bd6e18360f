"""OP2xx: what bash would make of the block, and whether that is what the author meant."""

from collections.abc import Iterator

from oraclepack.lint.facts import CheckStatus
from oraclepack.lint.finding import Severity
from oraclepack.lint.rule import Problem, Subject, rule
from oraclepack.pack.script import Span

_COVERED_BY_OTHERS = frozenset({"SC2215"})
"""What shellcheck says of orphaned flags; OP201 says it with a fix."""


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
    check = subject.facts.syntax
    hint = "look above it for a quote, bracket or heredoc that is never closed"
    for diagnostic in check.diagnostics:
        where = Span.at(diagnostic.line, max(diagnostic.column, 1))
        yield Problem(where, f"bash cannot read this: {diagnostic.message}", hint)
    block = subject.pack.block
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
