"""A rehearsal: the same objections as the real tool, and an answer that says what it is."""

import pytest

from oraclepack.engines.rehearsal import (
    AttachedText,
    ToolRefusal,
    refused_argv,
    rehearsed_answer,
    tokens,
    too_large,
)
from oraclepack.pack.answer_sections import (
    ALL_SECTIONS,
    NOTICE,
    Section,
    missing_sections,
    sections_present,
)
from oraclepack.tools.argv import parse_argv
from oraclepack.tools.flag_tables import table_of
from oraclepack.tools.oracle_failures import FailureClass, classify
from oraclepack.tools.oracle_question import OracleQuestion, read_question

ORACLE = table_of("oracle")
FILES = (
    AttachedText("src/b.py", "\n\nimport x\n\n\ndef load(path):\n    pass\n"),
    AttachedText("notes.txt", "\nsome `words`\n"),
    AttachedText("empty", ""),
)


def objection(*argv: str) -> ToolRefusal | None:
    return refused_argv(ORACLE, argv, read_question(parse_argv(ORACLE, argv), argv))


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        pytest.param(
            ("-p", "x", "--nosuch"), "error: unknown option '--nosuch'", id="unknown flag"
        ),
        pytest.param(
            ("-p", "x", "-e", "foo"),
            "error: option '-e, --engine <value>' argument 'foo' is invalid. "
            "Allowed choices are api, browser.",
            id="a bad choice",
        ),
        pytest.param(
            ("-p", "x", "--engine=foo"), "argument 'foo' is invalid", id="a bad choice, glued"
        ),
        pytest.param(
            ("-p", "x", "--timeout"),
            "error: option '--timeout <value>' argument missing",
            id="no value",
        ),
        pytest.param(
            ("a", "b"),
            "error: too many arguments. Expected 1 argument but got 2: a, b.",
            id="too many words",
        ),
        pytest.param(("-m", "gpt-5.2"), "Prompt is required.", id="no prompt"),
        pytest.param(("-p", "x", "-s", "one two"), "✖ Custom slug", id="a short slug"),
    ],
)
def test_the_same_objections(argv: tuple[str, ...], said: str) -> None:
    refusal = objection(*argv)

    assert refusal is not None
    assert (refusal.err or refusal.out).startswith(said) or said in refusal.err
    assert classify(refusal.out, refusal.err).kind is FailureClass.FINAL
    assert classify(refusal.out, refusal.err).code == "USAGE"


def test_a_good_call_is_not_refused() -> None:
    assert objection("-p", "x", "-s", "one two three", "-f", "a") is None


def test_the_limit_itself_is_allowed() -> None:
    assert too_large([("x", 1_048_576)]) is None
    refusal = too_large([("x", 2048)], 1024)
    assert refusal is not None
    assert refusal.reason == "✖ The following files exceed the 1 KB limit:\n- x (2 KB)"
    assert classify("", refusal.reason).code == "BAD_ATTACHMENT"


@pytest.mark.parametrize(
    "sections",
    [pytest.param(ALL_SECTIONS, id="all"), *(pytest.param((s,), id=s.value) for s in Section)],
)
def test_the_requested_sections_and_no_others(sections: tuple[Section, ...]) -> None:
    answer = rehearsed_answer(OracleQuestion("why?"), FILES, sections)

    assert missing_sections(answer, sections, require_headings=True) == ()
    assert sections_present(answer, require_headings=True) == set(sections)


def test_it_says_plainly_what_it_is_and_cites_the_files() -> None:
    answer = rehearsed_answer(OracleQuestion("\n Why is it so?\nBecause."), FILES, ALL_SECTIONS)

    assert answer.startswith(NOTICE)
    assert "The question began: Why is it so?\n" in answer
    assert "`src/b.py:6` (`def load(path):`)" in answer
    assert "`notes.txt:2` (`some 'words'`)" in answer
    assert "`empty:1` promises" in answer


@pytest.mark.parametrize(
    ("files", "said"),
    [
        pytest.param(FILES, "- `notes.txt:2`", id="with files"),
        pytest.param((), "attaches no file", id="without"),
    ],
)
def test_without_sections_it_is_a_plain_text(files: tuple[AttachedText, ...], said: str) -> None:
    answer = rehearsed_answer(OracleQuestion("why?"), files, ())

    assert "##" not in answer
    assert said in answer


def test_the_same_call_gives_the_same_bytes_in_any_order() -> None:
    one = rehearsed_answer(OracleQuestion("why?"), FILES, ALL_SECTIONS)

    assert one == rehearsed_answer(OracleQuestion("why?"), FILES[::-1], ALL_SECTIONS)


def test_tokens() -> None:
    assert tokens(OracleQuestion("Which of them " * 25), ()) == 75
    assert tokens(OracleQuestion("Which of them " * 25), FILES) > 75
