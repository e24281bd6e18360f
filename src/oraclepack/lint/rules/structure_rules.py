"""OP1xx: the shape of the file: one bash block, whole and alone."""

from collections.abc import Iterator

from oraclepack.lint.finding import Severity
from oraclepack.lint.fix import LINE_ENDS
from oraclepack.lint.rule import Problem, Subject, rule
from oraclepack.pack.model import Fence
from oraclepack.pack.script import Span

_SHELLS = frozenset({"sh", "shell", "zsh", "console", "shell-session", "bash-session", ""})


@rule("OP101", Severity.ERROR)
def no_bash_block(subject: Subject) -> Iterator[Problem]:
    """The file holds a fenced block whose info string is `bash`.

    Why: that block is what runs; without it there is nothing to run.
    Fix: open the block with three backticks (or tildes) and the word bash. Words after it are
    fine; `sh` and `shell` are not bash.

    Bad file::
        # My pack

        ```sh
        # 01) one question
        oracle -p "Why?" --write-output a.md
        ```

    Good file::
        # My pack

        ```bash
        # 01) one question
        oracle -p "Why?" --write-output a.md
        ```
    """
    if subject.pack.block is not None:
        return
    near = next((fence for fence in subject.pack.fences if _may_mean_bash(fence)), None)
    if near is None:
        yield Problem(Span.at(1), "no bash block", "put the steps into one ```bash block")
        return
    label = f'labelled "{near.language}"' if near.language else "without a label"
    message = f"no bash block: the block at line {near.span.line} is {label}"
    yield Problem(near.span, message, f"open it with {near.marker}bash")


def _may_mean_bash(fence: Fence) -> bool:
    language = fence.language.lower().strip("{}.")
    return bool(fence.marker) and (language == "bash" or language in _SHELLS)


@rule("OP102", Severity.WARNING, Severity.ERROR)
def several_bash_blocks(subject: Subject) -> Iterator[Problem]:
    """The file holds one bash block, not several.

    Why: only the first block runs, so that the steps of the others never do.
    Fix: move everything into one block; show other commands as plain indented text.

    Bad file::
        ```bash
        # 01) one question
        oracle -p "Why?" --write-output a.md
        ```

        ```bash
        # 02) another question
        oracle -p "How?" --write-output b.md
        ```

    Good file::
        ```bash
        # 01) one question
        oracle -p "Why?" --write-output a.md
        # 02) another question
        oracle -p "How?" --write-output b.md
        ```
    """
    blocks = subject.pack.bash_blocks
    for block in blocks[1:]:
        message = f"this bash block does not run: only the one at line {blocks[0].span.line} does"
        yield Problem(block.span, message, "move its steps into the first block")


@rule("OP103", Severity.WARNING, Severity.ERROR)
def other_fence(subject: Subject) -> Iterator[Problem]:
    """The bash block is the only fenced block of the file.

    Why: other tools look for the one fence, and a fence of three backticks inside a prompt ends
    the bash block early.
    Fix: indent the other text by four spaces, or make it a list.

    Bad file::
        ```bash
        # 01) one question
        oracle -p "Why?" --write-output a.md
        ```

        ```json
        {"expected": "answer"}
        ```

    Good file::
        ```bash
        # 01) one question
        oracle -p "Why?" --write-output a.md
        ```

            {"expected": "answer"}
    """
    if subject.pack.block is None:
        return  # one of them is meant to be the bash block; another rule reports that
    for fence in subject.pack.fences:
        if fence.marker and not fence.is_bash:
            label = f" ({fence.language})" if fence.language else ""
            message = f"a fence{label} beside the bash block"
            yield Problem(fence.span, message, "indent its text by four spaces instead")


@rule("OP104", Severity.ERROR)
def unclosed_fence(subject: Subject) -> Iterator[Problem]:
    """Every fence is closed.

    Why: an open fence takes in the rest of the file, headings and all, as code.
    Fix: close it with a line of the same characters, at least as many as open it.

    Bad file::
        ```bash
        # 01) one question
        oracle -p "Why?" --write-output a.md

        ## Coverage check

    Good file::
        ```bash
        # 01) one question
        oracle -p "Why?" --write-output a.md
        ```

        ## Coverage check
    """
    for fence in subject.pack.fences:
        if fence.marker and not fence.closed:
            hint = f"close it with a line {fence.marker}"
            yield Problem(Span.at(fence.span.line), "this fence is never closed", hint)


@rule("OP111", Severity.ADVICE)
def foreign_line_ends(subject: Subject) -> Iterator[Problem]:
    """The file has LF line ends and no byte order mark.

    Why: oraclepack reads either, but bash takes a carriage return for part of the last word when
    the block is copied into a terminal.
    Fix: `validate --fix` writes LF line ends and removes the mark.

    Bad file::
        ```bash␍
        # 01) one question␍
        oracle -p "Why?" --write-output a.md␍
        ```␍

    Good file::
        ```bash
        # 01) one question
        oracle -p "Why?" --write-output a.md
        ```
    """
    pack = subject.pack
    faults = [
        words
        for words, here in (("CRLF line ends", pack.had_crlf), ("a byte order mark", pack.had_bom))
        if here
    ]
    if faults:
        message = f"the file has {' and '.join(faults)}"
        yield Problem(Span.at(1), message, "validate --fix removes them", LINE_ENDS)
