"""OP2xx: what bash would run or replace in the text of a prompt."""

from collections.abc import Iterator

from oraclepack.lint.finding import Edit, Fix, Severity
from oraclepack.lint.prompt_texts import MEANT, PromptText, escapes
from oraclepack.lint.rule import Problem, Subject, rule, text_between
from oraclepack.pack.script import Expansion, ExpansionKind

_LONGEST = 40
ABOUT_PROMPTS = frozenset({"OP203", "OP210", "OP211", "OP212"})
"""The rules that may report a place in a prompt that bash would run as a command. To the
others it is prose: an orphaned flag there, say, is none."""


@rule("OP210", Severity.ERROR)
def backquotes_in_prompt(subject: Subject) -> Iterator[Problem]:
    r"""No prompt holds backquotes that bash would run.

    Why: between double quotes, and in a heredoc whose delimiter is not quoted, bash runs what
    is between backquotes and sends its output instead: the question arrives mangled, and
    whatever it mentions is executed. Texts that reach a prompt through a variable, an array, a
    function, a pipe or a file count as well, as far as the script shows.
    Fix: put a backslash before each backquote, or give the prompt by a heredoc with a quoted
    delimiter. `validate --fix` adds the backslashes. If the command is meant to run, write `$(…)`.

    Bad::
        # 01) one question
        oracle -p "What does `rm -rf build` break?" --write-output a.md

    Good::
        # 01) one question
        oracle -p "What does \`rm -rf build\` break?" --write-output a.md
    """
    for text in subject.prompts.texts:
        backquotes = text.of(ExpansionKind.BACKQUOTES)
        if not backquotes:
            continue
        first = backquotes[0]
        source = "it" if first.is_nested else _source_of(subject, first)
        others = f" and {len(backquotes) - 1} more" if len(backquotes) > 1 else ""
        message = f"bash would run {source}{others} instead of sending the text"
        if _is_meant(subject, first):
            hint = "the command seems to be meant: write $(…) instead of backquotes"
            yield Problem(first.span, message, hint)
            continue
        fix = _escaped(subject, text, backquotes, "put a backslash before each backquote")
        hint = "put a backslash before each backquote (validate --fix does), or quote the heredoc"
        yield Problem(first.span, message, hint, fix)


def _is_meant(subject: Subject, expansion: Expansion) -> bool:
    """Nothing but a command that prints a text: `-p "`cat prompt.md`"`."""
    if not expansion.is_whole or expansion.is_nested:
        return False
    words = _source_of(subject, expansion).strip("` ").split()
    return bool(words) and words[0] in MEANT


@rule("OP211", Severity.WARNING)
def command_in_prompt(subject: Subject) -> Iterator[Problem]:
    r"""A `$(…)` in a prompt runs a command that is plainly meant.

    Why: bash runs it and sends its output. In a text about shell commands that is
    seldom what the author wants.
    Fix: put a backslash before the dollar sign, or use a heredoc with a quoted delimiter; if it is
    meant, allow the rule in that step. `validate --fix` adds the backslash where the rest of the
    text shows that it is prose. Plainly meant are functions of the pack, `$(< file)`, `sed`, `perl`
    and `find` unless they change files, `git` with a subcommand that only looks (blame, branch,
    cat-file, config, describe, diff, for-each-ref, grep, log, ls-files, ls-tree, merge-base,
    name-rev, remote, rev-list, rev-parse, shortlog, show, status, symbolic-ref, tag), and awk,
    basename, cat, column, comm, cut, date, diff, dirname, du, echo, egrep, fgrep, file, find, fmt,
    fold, grep, head, hostname, id, jq, ls, nl, node, nproc, paste, perl, printenv, printf, pwd,
    python, python3, readlink, realpath, rg, ruby, seq, sha256sum, sort, stat, tac, tail, tr, tree,
    uname, uniq, wc, which, whoami, yq.

    Bad::
        # 01) one question
        oracle -p "What does $(make clean) remove?" --write-output a.md

    Good::
        # 01) one question
        oracle -p "What changed? $(git log --oneline -5)" --write-output a.md
    """
    for text in subject.prompts.texts:
        for expansion in text.of(ExpansionKind.COMMAND):
            if expansion.is_nested or not subject.prompts.is_doubtful(expansion):
                continue
            message = f"bash would run {_source_of(subject, expansion)} and send its output"
            fix = None
            span = expansion.span
            is_plain = span.line == span.end_line and "\\" not in text_between(subject.lines, span)
            if is_plain and not expansion.is_whole:
                fix = _escaped(subject, text, [expansion], "put a backslash before the dollar sign")
            hint = "put a backslash before the dollar sign; if it is meant, allow OP211 here"
            yield Problem(expansion.span, message, hint, fix)


@rule("OP212", Severity.WARNING)
def empty_variable_in_prompt(subject: Subject) -> Iterator[Problem]:
    r"""A variable in a prompt is set somewhere.

    Why: bash puts nothing in its place, so that a word of the question is missing; under `set -u`
    the step fails.
    Fix: put a backslash before the dollar sign, or set the variable in the prelude or the step.
    `validate --fix` adds the backslash, but not before names in capitals: the environment may set
    those. `${NAME:-}` says that it may be empty.

    Bad::
        # 01) one question
        oracle -p "Where does the schema resolve $ref?" --write-output a.md

    Good::
        # 01) one question
        oracle -p "Where does the schema resolve \$ref?" --write-output a.md
    """
    for text in subject.prompts.texts:
        for expansion in text.of(ExpansionKind.VARIABLE):
            if expansion.is_nested or not text.is_empty(expansion):
                continue
            fix = None
            if not expansion.name.isupper():
                fix = _escaped(subject, text, [expansion], "put a backslash before the dollar sign")
            message = (
                f"nothing sets {_source_of(subject, expansion)}: bash leaves a gap in the prompt"
            )
            hint = "put a backslash before the dollar sign, or set the variable"
            yield Problem(expansion.span, message, hint, fix)


def _escaped(
    subject: Subject, text: PromptText, expansions: list[Expansion], description: str
) -> Fix | None:
    if any(each.is_nested for each in expansions):
        return None
    edits: dict[Edit, None] = {}
    for each in expansions:
        edits.update(dict.fromkeys(escapes(text, each, subject.lines)))
    return Fix(description, tuple(edits))


def _source_of(subject: Subject, expansion: Expansion) -> str:
    """The source of an expansion, on one line and cut where it is long."""
    text = " ".join(text_between(subject.lines, expansion.span).split())
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
